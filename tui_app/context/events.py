"""Events of a session: frozen values shared by the log, the screen, the JSON output and programs.

A payload says what happened; a :class:`Record` adds when and where it stands in the log. Records with
``seq`` 0 are live only (streamed text, progress): they are shown, never stored. Nothing here imports
pydantic-ai, so a resumed session can be painted before the agent side is loaded.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from tui_app.context.usage import ContextUsage

SCHEMA_VERSION = 1

Trigger = Literal[
    "manual", "background", "blocking", "turn_end", "overflow", "model_switch", "memory_pressure", "headless"
]
"""Why a compaction started."""
Outcome = Literal["success", "failed", "cancelled", "discarded"]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart(Payload):
    """A session began, or was imported from another tool."""

    TYPE: ClassVar[str] = "session.start"
    cwd: str
    model: str
    policy: str = "plimsoll"
    title: str = ""
    imported_from: str = ""
    """Format name when the session is an import, else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage(Payload):
    """A system prompt that stands in the history itself (imports); compaction never removes it."""

    TYPE: ClassVar[str] = "system.message"
    text: str
    tokens: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage(Payload):
    """A prompt as the person typed it."""

    TYPE: ClassVar[str] = "user.message"
    text: str
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens by category (see ``usage.CATEGORIES``); zero categories left out."""
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage(Payload):
    """One model response, whole or as far as it got."""

    TYPE: ClassVar[str] = "assistant.message"
    text: str
    thinking: str = ""
    call_ids: tuple[str, ...] = ()
    """Ids of the tool calls it makes, in order."""
    tokens: dict[str, int] = field(default_factory=dict)
    model: str = ""
    input_tokens: int = 0
    """As reported by the provider; 0 when it reported nothing."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    finish_reason: str = ""
    interrupted: bool = False
    duration_s: float = 0.0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(Payload):
    """The model asked for a tool; the call itself is part of the assistant message before it."""

    TYPE: ClassVar[str] = "tool.call"
    tool_call_id: str
    name: str
    args: str
    """Arguments as JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(Payload):
    """What a tool answered, success and failure alike."""

    TYPE: ClassVar[str] = "tool.result"
    tool_call_id: str
    name: str
    text: str
    outcome: Literal["success", "error", "denied", "interrupted"] = "success"
    tokens: dict[str, int] = field(default_factory=dict)
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageInfo(Payload):
    """The measured context of a request: the payload is ``ContextUsage.to_json()``."""

    TYPE: ClassVar[str] = "session.usage_info"
    usage: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation(Payload):
    """One request was cut to fit; the view itself did not change, and replay ignores this."""

    TYPE: ClassVar[str] = "session.truncation"
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    tokens_removed: int
    messages_removed: int
    performed_by: str = "truncator"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionStart(Payload):
    """A compaction job began."""

    TYPE: ClassVar[str] = "session.compaction_start"
    job: str
    trigger: Trigger
    tokens_before: int
    messages_before: int
    model: str
    policy: str = "plimsoll"
    focus: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionProgress(Payload):
    """How far a running job is."""

    TYPE: ClassVar[str] = "session.compaction_progress"
    STORED: ClassVar[bool] = False
    job: str
    part: int
    parts: int
    tokens_written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Something the dropped history held, and what became of it."""

    kind: Literal["rule", "request", "file", "command", "error", "decision", "todo", "question", "detail"]
    text: str
    """What a person reads, for example ``import.py · edited 3×``."""
    source: str = ""
    """Handle of the message it comes from, for example ``#142``."""
    state: FactState = "kept"
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionComplete(Payload):
    """A compaction ended. With outcome ``success`` it changes the agent view; else nothing changed."""

    TYPE: ClassVar[str] = "session.compaction_complete"
    job: str
    outcome: Outcome
    trigger: Trigger
    policy: str = "plimsoll"
    performed_by: str = "model"
    """``model``, ``heuristic``, ``marker`` or ``provider``."""
    model: str = ""
    reason: str = ""
    """Why it failed, in one sentence; empty on success."""
    focus: str = ""
    title: str = ""
    summary: str = ""
    removed: tuple[tuple[int, int], ...] = ()
    """Inclusive ranges of log numbers that left the agent view."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the summary message, by category."""
    tokens_before: int = 0
    tokens_after: int = 0
    messages_before: int = 0
    messages_after: int = 0
    tokens_removed: int = 0
    messages_removed: int = 0
    retention: float | None = None
    facts: tuple[Fact, ...] = ()
    checkpoint_path: str = ""
    history_path: str = ""
    duration_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionUndone(Payload):
    """The view from before a compaction is back; ``compaction`` is its log number."""

    TYPE: ClassVar[str] = "session.compaction_undone"
    compaction: int
    tokens_before: int = 0
    tokens_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRedone(Payload):
    """An undone compaction stands again."""

    TYPE: ClassVar[str] = "session.compaction_redone"
    compaction: int
    tokens_before: int = 0
    tokens_after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChange(Payload):
    """The conversation goes on with another model."""

    TYPE: ClassVar[str] = "session.model_change"
    old: str
    new: str
    limit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClear(Payload):
    """The agent view was emptied; the log keeps everything."""

    TYPE: ClassVar[str] = "session.clear"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRewind(Payload):
    """The agent view ends before message ``to`` again; the log keeps what came after."""

    TYPE: ClassVar[str] = "session.rewind"
    to: int
    """Log number of the first message that leaves the view."""
    failed: bool = False
    """The prompt was never answered and went back to the editor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointCreated(Payload):
    """A checkpoint file was written."""

    TYPE: ClassVar[str] = "checkpoint.created"
    number: int
    title: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Error(Payload):
    """Something went wrong, said for a person."""

    TYPE: ClassVar[str] = "error"
    kind: ErrorKind
    message: str
    """One sentence: what happened and why."""
    hint: str = ""
    """What to do next."""
    retryable: bool = False
    limit: int | None = None
    requested: int | None = None
    detail: str = ""
    """Raw text of the provider or the exception; shown on demand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd(Payload):
    """The session was closed."""

    TYPE: ClassVar[str] = "session.end"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart(Payload):
    """A turn began: the prompt left the queue."""

    TYPE: ClassVar[str] = "turn.start"
    STORED: ClassVar[bool] = False
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantDelta(Payload):
    """Streamed text or thinking of the answer being written."""

    TYPE: ClassVar[str] = "assistant.delta"
    STORED: ClassVar[bool] = False
    text: str = ""
    thinking: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd(Payload):
    """A turn is over; ``prompt`` is the text to give back to the editor when it was never sent."""

    TYPE: ClassVar[str] = "turn.end"
    STORED: ClassVar[bool] = False
    outcome: Literal["done", "cancelled", "failed"]
    duration_s: float = 0.0
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(Payload):
    """What waits to be sent, oldest first; ``paused`` after a cancelled turn."""

    TYPE: ClassVar[str] = "queue.changed"
    STORED: ClassVar[bool] = False
    prompts: tuple[str, ...]
    paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GaugeChanged(Payload):
    """The estimate of the next request after any change of the view, model or tokenizer."""

    TYPE: ClassVar[str] = "session.gauge"
    STORED: ClassVar[bool] = False
    usage: ContextUsage


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Payload):
    """Something worth knowing that is no error: shown quietly, never over the prompt."""

    TYPE: ClassVar[str] = "notice"
    STORED: ClassVar[bool] = False
    text: str


PAYLOADS: tuple[type[Payload], ...] = (
    SessionStart, SystemMessage, UserMessage, AssistantMessage, ToolCall, ToolResult, UsageInfo, Truncation,
    CompactionStart, CompactionProgress, CompactionComplete, CompactionUndone, CompactionRedone, ModelChange,
    SessionClear, SessionRewind, CheckpointCreated, Error, SessionEnd, TurnStart, AssistantDelta, TurnEnd, QueueChanged,
    GaugeChanged, Notice,
)  # fmt: skip
BY_TYPE: dict[str, type[Payload]] = {payload.TYPE: payload for payload in PAYLOADS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One event with its place in the log."""

    seq: int
    """Number in the session's log, from 1; 0 for live-only events."""
    time: float
    """Seconds since the epoch."""
    session: str
    data: Payload

    def to_json(self) -> dict[str, Any]:
        """The public envelope of an event."""
        return {
            "type": self.data.TYPE,
            "session": self.session,
            "seq": self.seq,
            "time": self.time,
            "version": SCHEMA_VERSION,
            "data": payload_to_json(self.data),
        }


def payload_to_json(payload: Payload) -> dict[str, Any]:
    """Flatten a payload to JSON values; usage events carry their figures at the top."""
    if isinstance(payload, UsageInfo):
        return dict(payload.usage)
    return asdict(payload)


def payload_from_json(kind: str, data: dict[str, Any]) -> Payload:
    """Rebuild a payload from the log; unknown keys of newer versions are ignored.

    Raises:
        KeyError: if ``kind`` is not a known event type.
    """
    cls = BY_TYPE[kind]
    if cls is UsageInfo:
        return UsageInfo(usage=data)
    known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
    for name in ("call_ids", "attachments", "prompts"):
        if name in known:
            known[name] = tuple(known[name])
    if "removed" in known:
        known["removed"] = tuple((int(a), int(b)) for a, b in known["removed"])
    if "facts" in known:
        known["facts"] = tuple(Fact(**fact) for fact in known["facts"])
    return cls(**known)
