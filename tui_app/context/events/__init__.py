"""Events of a session: frozen values shared by the log, the screen, the JSON output and programs.

A payload says what happened; a :class:`Record` adds when and where it stands in the log. Records with
``seq`` 0 are live only (streamed text, progress): they are shown, never stored. Nothing here imports
pydantic-ai, so a resumed session can be painted before the agent side is loaded.
"""

from tui_app.context.events.base import ErrorKind, FactState, Outcome, Payload, Trigger
from tui_app.context.events.compaction import (
    CompactionAwaited,
    CompactionComplete,
    CompactionProgress,
    CompactionRedone,
    CompactionStart,
    CompactionUndone,
    Fact,
    GaugeChanged,
    Truncation,
    UsageInfo,
)
from tui_app.context.events.messages import (
    AssistantDelta,
    AssistantMessage,
    SystemMessage,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from tui_app.context.events.record import (
    BY_TYPE,
    PAYLOADS,
    SCHEMA_VERSION,
    Record,
    payload_from_json,
    payload_to_json,
)
from tui_app.context.events.session import (
    CheckpointCreated,
    Error,
    ModelChange,
    Notice,
    QueueChanged,
    SessionClear,
    SessionEnd,
    SessionRewind,
    SessionStart,
)

__all__ = [
    "BY_TYPE",
    "PAYLOADS",
    "SCHEMA_VERSION",
    "AssistantDelta",
    "AssistantMessage",
    "CheckpointCreated",
    "CompactionAwaited",
    "CompactionComplete",
    "CompactionProgress",
    "CompactionRedone",
    "CompactionStart",
    "CompactionUndone",
    "Error",
    "ErrorKind",
    "Fact",
    "FactState",
    "GaugeChanged",
    "ModelChange",
    "Notice",
    "Outcome",
    "Payload",
    "QueueChanged",
    "Record",
    "SessionClear",
    "SessionEnd",
    "SessionRewind",
    "SessionStart",
    "SystemMessage",
    "ToolCall",
    "ToolResult",
    "Trigger",
    "Truncation",
    "TurnEnd",
    "TurnStart",
    "UsageInfo",
    "UserMessage",
    "payload_from_json",
    "payload_to_json",
]
