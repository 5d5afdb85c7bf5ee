"""An event with its place in the log, and both as JSON."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from tui_app.events.base import Payload
from tui_app.events.context import (
    REWRITES,
    CompactionAcknowledged,
    CompactionAwaited,
    CompactionComplete,
    CompactionEdited,
    CompactionProgress,
    CompactionProposed,
    CompactionRedone,
    CompactionStart,
    CompactionUndone,
    Fact,
    GaugeChanged,
    RewriteUndone,
    Rewritten,
    Truncation,
    UsageInfo,
)
from tui_app.events.conversation import (
    AgentOutput,
    ApprovalDecided,
    ApprovalRequested,
    ApprovalsAhead,
    AssistantDelta,
    AssistantMessage,
    CheckpointCreated,
    Error,
    FileChanged,
    FilesRestored,
    HookRan,
    MemoryAdded,
    MemoryConsolidated,
    MemoryInbox,
    MemoryPressure,
    MemoryPruned,
    MessagePinned,
    ModelChange,
    Notice,
    PolicyChange,
    QueueChanged,
    RestoredFile,
    SessionClear,
    SessionEnd,
    SessionRestored,
    SessionRewind,
    SessionStart,
    SubAgentCall,
    SubAgentEnd,
    SubAgentStart,
    SubAgentStep,
    SystemMessage,
    ToolCall,
    ToolOutput,
    ToolResult,
    TurnEnd,
    TurnRetry,
    TurnStart,
    UserMessage,
)
from tui_app.usage import ContextUsage

SCHEMA_VERSION = 1
"""Version of the envelope; it grows when a field changes its meaning."""
PAYLOADS: tuple[type[Payload], ...] = (
    SessionStart,
    SystemMessage,
    UserMessage,
    AssistantMessage,
    ToolCall,
    ToolResult,
    AgentOutput,
    MessagePinned,
    ApprovalDecided,
    FileChanged,
    FilesRestored,
    UsageInfo,
    Truncation,
    CompactionStart,
    CompactionAwaited,
    CompactionProgress,
    CompactionProposed,
    CompactionComplete,
    CompactionAcknowledged,
    CompactionUndone,
    CompactionRedone,
    CompactionEdited,
    ModelChange,
    PolicyChange,
    SessionClear,
    SessionRestored,
    SessionRewind,
    CheckpointCreated,
    MemoryInbox,
    MemoryAdded,
    MemoryPruned,
    MemoryConsolidated,
    HookRan,
    SubAgentStart,
    SubAgentStep,
    SubAgentEnd,
    Error,
    SessionEnd,
    TurnStart,
    AssistantDelta,
    TurnRetry,
    TurnEnd,
    QueueChanged,
    GaugeChanged,
    MemoryPressure,
    Notice,
    ApprovalRequested,
    ApprovalsAhead,
    ToolOutput,
    *REWRITES,
    RewriteUndone,
)
Restated = CompactionUndone | CompactionRedone | RewriteUndone | SessionRestored
"""Events by which the view goes back to what it was, or forth again."""
_USAGE_OWN = tuple(each.name for each in fields(UsageInfo) if each.name != "usage")
"""Fields of ``UsageInfo`` that stand beside the figures of the usage."""
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
        return payload.usage | {name: getattr(payload, name) for name in _USAGE_OWN}
    if isinstance(payload, GaugeChanged):
        window = payload.usage.window
        believed = {"believed_limit": window.limit} if window.announced else {}
        return payload.usage.to_json() | {"scale": payload.usage.scale} | believed
    return asdict(payload)


def payload_from_json(kind: str, data: dict[str, Any]) -> Payload:
    """Rebuild a payload from the log; unknown keys of newer versions are ignored.

    Raises:
        KeyError: if ``kind`` is not a known event type.
    """
    cls = BY_TYPE[kind]
    if cls is UsageInfo:
        usage = {name: value for name, value in data.items() if name not in _USAGE_OWN}
        return UsageInfo(usage=usage, **{name: data.get(name) for name in _USAGE_OWN})
    if cls is GaugeChanged:
        return GaugeChanged(usage=ContextUsage.from_json(data))
    known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
    for name in ("call_ids", "attachments", "prompts", "skipped"):
        if name in known:
            known[name] = tuple(known[name])
    if "removed" in known:
        known["removed"] = tuple((int(a), int(b)) for a, b in known["removed"])
    if "facts" in known:
        known["facts"] = tuple(Fact(**fact) for fact in known["facts"])
    if "files" in known:
        known["files"] = tuple(RestoredFile(**file) for file in known["files"])
    if "changes" in known:
        known["changes"] = tuple(Rewritten(**change) for change in known["changes"])
    if "calls" in known and cls is SubAgentStep:
        known["calls"] = tuple(SubAgentCall(**call) for call in known["calls"])
    return cls(**known)
