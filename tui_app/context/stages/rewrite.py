"""What a reversible stage decides: other forms of messages, and the files to write first."""

from dataclasses import dataclass
from typing import Literal

from pydantic_ai.messages import ModelMessage

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
class Rewrite:
    """One stage's decision for one pass over the view."""

    stage: Stage
    changes: tuple[Change, ...]
    files: tuple[SpillFile, ...] = ()
    digest: ModelMessage | None = None
    """A message for the model alone that stands for what was archived, behind the last changed one."""
