"""Events of what outlives a session: the context board, and the message that brings it to a new one."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tui_app.context.events.base import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInbox(Payload):
    """A session was given the context board of its repository and branch; the message is for the model."""

    TYPE: ClassVar[str] = "memory.inbox"
    text: str
    entries: int
    """How many entries it holds."""
    left_out: int = 0
    """How many more had no room."""
    repository: str = ""
    branch: str = ""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens by category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryAdded(Payload):
    """An entry was put on the context board."""

    TYPE: ClassVar[str] = "memory.added"
    entry: int
    """Its id."""
    text: str
    kind: str
    """``rule``, ``decision``, ``command``, ``file`` or ``note``."""
    made_by: str
    """``person``, ``extraction``, or the name of a model."""
    source: int = 0
    """Log number of the message it comes from; 0 for none."""
    source_session: str = ""
    """Id of the session that message is in."""
    repository: str = ""
    branch: str = ""
    """Empty where it holds for every branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPruned(Payload):
    """An entry was taken off the context board; it is kept, marked."""

    TYPE: ClassVar[str] = "memory.pruned"
    entry: int
    text: str
    by: str
    """``person``, ``extraction``, or the name of a model."""
    reason: str = ""
    replaced_by: int = 0
    """Id of the entry that stands in its place; 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConsolidated(Payload):
    """The session was read for what is worth remembering."""

    TYPE: ClassVar[str] = "memory.consolidated"
    outcome: Literal["success", "failed"]
    performed_by: Literal["model", "extraction"]
    model: str = ""
    interaction: str = "memory-consolidation"
    """The marker that its requests carry."""
    read_until: int = 0
    """Log number of the last message that was read."""
    parts: int = 0
    """In how many parts it was read."""
    added: int = 0
    pruned: int = 0
    refused: int = 0
    """Entries that were offered and not taken."""
    reason: str = ""
    """Why it failed, or why a model did not do it, in one sentence."""
    duration_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
