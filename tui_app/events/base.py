"""Base of all events, and their declaration: ``@event("its.type")`` over its class."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

from tui_app.records import frozen
from tui_app.text import plain_line

Trigger = Literal[
    "manual", "background", "blocking", "turn_end", "overflow", "model_switch", "memory_pressure", "headless",
    "model",
]  # fmt: skip
"""Triggers of compactions."""
Outcome = Literal["success", "failed", "cancelled", "discarded", "vetoed"]
ErrorKind = Literal[
    "context_overflow", "rate_limit", "auth", "network", "provider", "tool", "input", "internal"
]
Origin = Literal["model", "user", "code"]
"""Author of a passage in a replacement."""
FactState = Literal["kept", "recoverable", "lost"]
RowKind = Literal[
    "system", "user", "assistant", "tool", "compaction", "rewrite", "truncation", "model", "checkpoint",
    "clear", "error", "notice", "hook", "memory", "approval", "files", "shell", "merge",
]  # fmt: skip
"""Kinds of rows in the conversation."""
COMMAND_FAILED = "command failed"
"""State in the head of a failed command's result."""
PRIVATE = "private"
"""First word of the head's state for a command that is hidden from the model, and for its result."""


@frozen(kw_only=True)
class Payload:
    """Base of all events of a session."""

    TYPE: ClassVar[str] = ""
    STORED: ClassVar[bool] = True
    """Whether it is stored in the log; live-only payloads are shown and dropped."""
    VERSION: ClassVar[int] = 1
    """Version of its data; incremented when a field changes its meaning."""
    ROW: ClassVar[RowKind | None] = None
    """Its kind of row in the conversation; None if it has no row."""
    SAYS: ClassVar[str] = ""
    """The field whose first words are its headline, or a pattern of fields: ``mode {0.old} → {0.new}``."""
    LIGHT: ClassVar[Mapping[str, str]] = {}
    """Fields of its head, with the event's field each is read from."""

    def headline(self) -> str:
        """Return the row's text in one line; empty without a row, or if the row needs more than the event."""
        if "{" in self.SAYS:
            return self.SAYS.format(self)
        return plain_line(getattr(self, self.SAYS)) if self.SAYS else ""

    def light(self) -> dict[str, Any]:
        """Return the fields of its head (``session/event_heads.py``) besides headline and tokens."""
        found = {name: getattr(self, source) for name, source in self.LIGHT.items()}
        # Derived fields: the length of a text, the ids of a call.
        made: dict[str, Callable[[Any], Any]] = {"chars": len, "ids": lambda one: (one,)}
        return {name: made[name](value) if name in made else value for name, value in found.items()}


@frozen(kw_only=True)
class Said(Payload):
    """Base of events with a message that is one text."""

    text: str
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the message by category (see ``usage.CATEGORIES``); zero categories left out."""


@frozen(kw_only=True)
class Paid(Payload):
    """Base of events about model requests."""

    model: str = ""
    """Name of the model; empty if none was called."""
    input_tokens: int = 0
    """Input tokens reported by the provider, including cached ones; 0 if not reported."""
    output_tokens: int = 0
    cost_usd: float | None = None
    """Cost of the model request; null if unknown."""


@frozen(kw_only=True)
class Changed(Payload):
    """Base of events that change a mode of the session, also after it is resumed."""

    old: str
    new: str


@frozen(kw_only=True)
class Resized(Payload):
    """Base of events that change the size of the view."""

    tokens_before: int = 0
    tokens_after: int = 0


BY_TYPE: dict[str, type[Payload]] = {}
"""Every event by its type, in the order of declaration."""

_Event = TypeVar("_Event", bound=Payload)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def event(
    kind: str,
    *,
    stored: bool = True,
    version: int = 1,
    row: RowKind | None = None,
    says: str = "",
    light: Mapping[str, str] | None = None,
) -> Callable[[type[_Event]], type[_Event]]:
    """Declare an event: its class becomes a frozen dataclass and is registered by its type.

    The decoder, the JSON Schema and the tables of ``docs/events.md`` are generated from the class.

    Args:
        kind: The ``type`` in the log and in JSON output.
        stored: Whether the log keeps it.
        version: Version of its data; incremented when a field changes its meaning.
        row: Its kind of row in the conversation; None if it has no row.
        says: The field whose first words are its headline, or a pattern of fields; empty if the class
            computes one, or there is none.
        light: Fields of its head besides headline and tokens, each with the field it is read from.
    """

    def declare(cls: type[_Event]) -> type[_Event]:
        cls.TYPE, cls.STORED, cls.VERSION, cls.ROW = kind, stored, version, row
        cls.SAYS, cls.LIGHT = says, light or {}
        declared = frozen(cls, kw_only=True)
        BY_TYPE[kind] = declared
        return declared

    return declare
