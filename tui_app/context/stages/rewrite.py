"""What a reversible stage decides: other forms of messages, and the files to write first."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic_ai.messages import ModelMessage

from tui_app.context.compaction.spending import Spent

Stage = Literal["normalise", "offload", "archive", "trim", "pointers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The new form of one message. Role, tool names and call ids are those of the old one."""

    key: int
    """Key of the item; its handle stays the same."""
    message: ModelMessage
    note: str = ""
    """What was done, for a person: a path, a length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpillFile:
    """A file that must be on disk before the view refers to it."""

    name: str
    """Path relative to the session's folder, such as ``tool_outputs/grep_20260101_120000_ab12cd34.txt``."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What archived results held, and what a model took for saying it."""

    text: str = ""
    """Empty where none was written."""
    performed_by: Literal["model", "heuristic"] = "model"
    model: str = ""
    """Name of the model that was asked, also where it failed; empty when none was."""
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """One stage's decision for one pass over the view."""

    stage: Stage
    changes: tuple[Change, ...]
    files: tuple[SpillFile, ...] = ()
    digest: ModelMessage | None = None
    """A message for the model alone that stands for what was archived, behind the last changed one."""
    written: Digest | None = None
    """By whom that message was written; None without one."""
    policy: str = ""
    """Name of the policy that wanted it."""
