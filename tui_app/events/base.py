"""What every event of a session shares."""

from dataclasses import dataclass
from typing import ClassVar, Literal

Trigger = Literal[
    "manual", "background", "blocking", "turn_end", "overflow", "model_switch", "memory_pressure", "headless"
]
"""Why a compaction started."""
Outcome = Literal["success", "failed", "cancelled", "discarded", "vetoed"]
ErrorKind = Literal[
    "context_overflow", "rate_limit", "auth", "network", "provider", "tool", "input", "internal"
]
FactState = Literal["kept", "recoverable", "lost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """Base of everything that can happen in a session."""

    TYPE: ClassVar[str] = ""
    STORED: ClassVar[bool] = True
    """Whether the log keeps it; live-only payloads are shown and forgotten."""
