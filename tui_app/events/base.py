"""What every event of a session shares, and how one is declared: ``@event("its.type")`` over its class."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, TypeVar, dataclass_transform

from tui_app.records import frozen
from tui_app.text import plain_first_line

Trigger = Literal[
    "manual", "background", "blocking", "turn_end", "overflow", "model_switch", "memory_pressure", "headless",
    "model",
]  # fmt: skip
"""Why a compaction started."""
Outcome = Literal["success", "failed", "cancelled", "discarded", "vetoed"]
ErrorKind = Literal[
    "context_overflow", "rate_limit", "auth", "network", "provider", "tool", "input", "internal"
]
Origin = Literal["model", "user", "code"]
"""Who a passage of a replacement is by."""
FactState = Literal["kept", "recoverable", "lost"]
RowKind = Literal[
    "system", "user", "assistant", "tool", "compaction", "rewrite", "truncation", "model", "checkpoint",
    "clear", "error", "notice", "hook", "memory", "approval", "files", "shell", "merge",
]  # fmt: skip
"""What the row of an event is in the conversation."""
COMMAND_FAILED = "command failed"
"""State in the head of the result of a command that was run, and did not end well."""
PRIVATE = "private"
"""State in the head of a command that the user keeps from the model; of its result the first word of it."""


@frozen(kw_only=True)
class Payload:
    """Base of everything that can happen in a session."""

    TYPE: ClassVar[str] = ""
    STORED: ClassVar[bool] = True
    """Whether the log keeps it; live-only payloads are shown and forgotten."""
    VERSION: ClassVar[int] = 1
    """Version of its data; it grows when a field changes its meaning."""
    ROW: ClassVar[RowKind | None] = None
    """What it is as a row of the conversation; None for what has none of its own."""
    SAYS: ClassVar[str] = ""
    """The field whose first words are its headline, or a pattern of fields: ``mode {0.old} → {0.new}``."""
    LIGHT: ClassVar[Mapping[str, str]] = {}
    """Of its head: fields by those of the event that they are read from."""

    def headline(self) -> str:
        """One line about it, as a row shows it; empty where the row has none or needs more than the event."""
        if "{" in self.SAYS:
            return self.SAYS.format(self)
        return plain_first_line(getattr(self, self.SAYS)) if self.SAYS else ""

    def light(self) -> dict[str, Any]:
        """Fields of its head (``session/event_heads.py``) besides headline and tokens."""
        found = {name: getattr(self, source) for name, source in self.LIGHT.items()}
        # Of a text its length, of a call its id among others.
        made: dict[str, Callable[[Any], Any]] = {"chars": len, "ids": lambda one: (one,)}
        return {name: made[name](value) if name in made else value for name, value in found.items()}


@frozen(kw_only=True)
class Said(Payload):
    """Base of what carries a message that is one text."""

    text: str
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the message by category (see ``usage.CATEGORIES``); zero categories left out."""


@frozen(kw_only=True)
class Paid(Payload):
    """Base of what a model was asked for."""

    model: str = ""
    """Name of the model; empty where none was asked."""
    input_tokens: int = 0
    """As reported by the provider, cached ones included; 0 when it reported nothing."""
    output_tokens: int = 0
    cost_usd: float | None = None
    """What asking it has cost; null where that is not known."""


@frozen(kw_only=True)
class Changed(Payload):
    """Base of what goes on in another way from here on, also when the session is resumed."""

    old: str
    new: str


@frozen(kw_only=True)
class Resized(Payload):
    """Base of events that give the view another size."""

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
    """Declare an event: its class becomes a frozen dataclass and is known by its type from then on.

    The decoder, the JSON Schema and the tables of ``docs/events.md`` are read off the class.

    Args:
        kind: The ``type`` in the log and in JSON output.
        stored: Whether the log keeps it.
        version: Version of its data; one more when a field changes its meaning.
        row: What it is as a row of the conversation; None for what has none of its own.
        says: The field whose first words are its headline, or a pattern of fields; empty where the class
            words one, or there is none.
        light: What its head holds besides headline and tokens, each with the field it is read from.
    """

    def declare(cls: type[_Event]) -> type[_Event]:
        cls.TYPE, cls.STORED, cls.VERSION, cls.ROW = kind, stored, version, row
        cls.SAYS, cls.LIGHT = says, light or {}
        declared = frozen(cls, kw_only=True)
        BY_TYPE[kind] = declared
        return declared

    return declare
