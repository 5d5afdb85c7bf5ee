"""Events of the reversible stages: messages that stand in the agent view in another form from now on.

The originals stay in the log and in the user view; each event can be undone by its number.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from tui_app.context.events.base import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """One message that has another form now."""

    seq: int
    """Log number of the message; its handle stays the same."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the new form, by category."""
    note: str = ""
    """What was done, for example the path of the file that holds the full text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRewrite(Payload):
    """Base of the stages' events."""

    changes: tuple[Rewritten, ...] = ()
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the digest that stands for archived results, by category; empty without one."""
    policy: str = ""
    """Name of the policy that wanted it; empty where a person did."""
    tokens_before: int = 0
    tokens_after: int = 0
    tokens_removed: int = 0
    messages_before: int = 0
    messages_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNormalised(ViewRewrite):
    """Long results were cut to head and tail when they arrived; the full text is kept."""

    TYPE: ClassVar[str] = "tool.normalised"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOffloaded(ViewRewrite):
    """Large results went to files; a preview and the path stay."""

    TYPE: ClassVar[str] = "tool.offloaded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolArchived(ViewRewrite):
    """Old results became one digest, which only the model sees."""

    TYPE: ClassVar[str] = "tool.archived"
    performed_by: str = "heuristic"
    """Who wrote the digest: ``model`` or ``heuristic``."""
    model: str = ""
    """Name of the model that was asked, also where it failed; empty when none was."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """What asking it has cost; null where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTrimmed(ViewRewrite):
    """Old results kept their beginning."""

    TYPE: ClassVar[str] = "tool.trimmed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPointers(ViewRewrite):
    """Bodies of written files became pointers to these files."""

    TYPE: ClassVar[str] = "tool.pointers"


REWRITES: tuple[type[ViewRewrite], ...] = (
    ToolNormalised,
    ToolOffloaded,
    ToolArchived,
    ToolTrimmed,
    ToolPointers,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteUndone(Payload):
    """The messages of one rewrite are back in their old form, and that stage leaves them alone."""

    TYPE: ClassVar[str] = "tool.restored"
    rewrite: int
    """Log number of the event that is undone."""
    tokens_before: int = 0
    tokens_after: int = 0
