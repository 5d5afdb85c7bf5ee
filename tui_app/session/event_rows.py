"""Events as rows of the log: the same text in every store."""

import json
import zlib
from collections.abc import Sequence
from typing import Literal

from tui_app.context.storage_errors import StorageError
from tui_app.events import (
    PRIVATE,
    REWRITES,
    AssistantMessage,
    BranchMerged,
    CompactionAcknowledged,
    CompactionComplete,
    FolderInstructions,
    FullnessTold,
    Handoff,
    MemoryAdded,
    MemoryConsolidated,
    MemoryInbox,
    MemoryPruned,
    ModeTold,
    Payload,
    Record,
    ShellCommand,
    ShellResult,
    SystemMessage,
    TaskTold,
    ToolArchived,
    ToolCall,
    ToolResult,
    UserMessage,
    payload_from_json,
    payload_to_json,
)
from tui_app.records import frozen
from tui_app.session.event_heads import Head, head_of


class DamagedEvent(StorageError):
    """Raised when an event of the log cannot be decoded."""

    def __init__(self, session: str, seq: object) -> None:
        super().__init__(
            f"Event {seq} of session {session} is damaged, or was written by a newer Plimsoll.",
            "Nothing was deleted. To keep everything else: plimsoll doctor --repair.",
        )


def plain(text: str) -> str:
    """Make a text storable: a lone surrogate (half of a pasted character) becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


EventRow = tuple[str, int, str, float, str, str, str | None]
"""Session, log number, type, time, head, payload and message."""


def row_of(record: Record, message: str | None) -> EventRow:
    """Encode an event as a row; head and payload are pure ASCII."""
    head = head_of(record.seq, record.time, record.data).to_text()
    data = json.dumps(payload_to_json(record.data), ensure_ascii=True, separators=(",", ":"))
    return (record.session, record.seq, record.data.TYPE, record.time, head, data, message)


def row_sum(row: EventRow) -> int:
    """Return a checksum of a whole row."""
    session, seq, kind, time, *texts = row
    # Whole seconds may be read back without a fraction.
    content = "\0".join([session, str(seq), kind, repr(float(time)), *(text or "" for text in texts)])
    return zlib.crc32(content.encode("utf-8", "replace"))


def heads_of_rows(session: str, rows: Sequence[tuple[int, str, float, str]]) -> list[Head]:
    """Decode heads from rows of log number, type, time and text.

    Raises:
        DamagedEvent: if a text is no head.
    """
    found: list[Head] = []
    for seq, kind, time, text in rows:
        try:
            found.append(Head.from_text(seq, kind, time, text))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise DamagedEvent(session, seq) from error
    return found


def record_of(session: str, row: Sequence[object]) -> Record:
    """Decode an event from log number, type, time and payload.

    Raises:
        DamagedEvent: if the payload is invalid, or of another type.
    """
    seq, kind, time, data = row
    payload = payload_of(session, seq, kind, data)
    return Record(seq=int(str(seq)), time=float(str(time)), session=session, data=payload)


def payload_of(session: str, seq: object, kind: object, data: object) -> Payload:
    """Decode the payload of an event.

    Raises:
        DamagedEvent: if it is invalid, or of another type.
    """
    try:
        return payload_from_json(str(kind), json.loads(str(data)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedEvent(session, seq) from error


def event_text(payload: Payload) -> str:
    """Return an event's searchable text: of a message, of a summary, or a call's arguments."""
    if isinstance(payload, UserMessage | AssistantMessage | ToolResult | ShellCommand | ShellResult):
        return payload.text
    if isinstance(payload, CompactionComplete):
        return payload.summary
    return payload.as_text if isinstance(payload, ToolCall) else ""


MessageKind = Literal[
    "user", "assistant", "system", "tool_result", "tool_result_archived", "tool_summary", "summary",
    "acknowledgement", "memory", "fullness", "folder", "shell", "task", "mode",
]  # fmt: skip

_MESSAGE_KINDS: dict[str, MessageKind] = {
    UserMessage.TYPE: "user",
    AssistantMessage.TYPE: "assistant",
    ToolResult.TYPE: "tool_result",
    SystemMessage.TYPE: "system",
    ShellResult.TYPE: "shell",
}

_STAND_INS: dict[str, MessageKind] = {
    CompactionComplete.TYPE: "summary",
    CompactionAcknowledged.TYPE: "acknowledgement",
    ToolArchived.TYPE: "tool_summary",
}

_PROGRAM_KINDS: dict[str, MessageKind] = {
    MemoryInbox.TYPE: "memory",
    Handoff.TYPE: "memory",
    BranchMerged.TYPE: "memory",
    FullnessTold.TYPE: "fullness",
    TaskTold.TYPE: "task",
    FolderInstructions.TYPE: "folder",
    ModeTold.TYPE: "mode",
}

MESSAGES = frozenset(_MESSAGE_KINDS)
"""Events that are messages of the conversation."""

CARRYING = MESSAGES | frozenset(_PROGRAM_KINDS)
"""Those, and events whose message the program adds for the model."""

NOTES = frozenset({FullnessTold.TYPE, FolderInstructions.TYPE, ModeTold.TYPE, TaskTold.TYPE})
"""Events whose message is a note within a turn that needs no answer."""

TURNS = MESSAGES | NOTES - {TaskTold.TYPE}
"""Events whose message belongs to a turn, and is removed with a failed one."""

AFTERWARDS = frozenset({MemoryAdded.TYPE, MemoryPruned.TYPE, MemoryConsolidated.TYPE})
"""Events written after a session has ended; they do not count as using it."""

LEADING = frozenset({SystemMessage.TYPE, MemoryInbox.TYPE, Handoff.TYPE})
"""Events whose message comes before a summary."""

STAGES = frozenset(kind.TYPE for kind in REWRITES)
"""Events that give messages another form."""

STAND_INS = frozenset(_STAND_INS)
"""Events whose message replaces others, for the model only."""


@frozen
class Seen:
    """One message of a session, and who sees it."""

    head: Head
    """In the form that the model gets, or would get."""
    kind: MessageKind
    agent: bool
    """Whether the next request contains it: then it is counted, sent, and in exports of the agent view."""
    stage: str = ""
    """Type of the event that gave it its present form; empty for the original."""
    hidden_by: int = 0
    """Log number of the event that removed it from the agent view; 0 if it is there."""

    @property
    def user(self) -> bool:
        """Whether the user sees it, and exports of the user view contain it."""
        return self.head.type in MESSAGES


def is_private(head: Head) -> bool:
    """Return whether an event belongs to a command whose output the user keeps from the model."""
    return head.state.startswith(PRIVATE) and head.type in (ShellCommand.TYPE, ShellResult.TYPE)


def seen(head: Head, *, hidden_by: int, stage: str = "") -> Seen:
    """Determine who sees a message.

    Args:
        head: The message in its present form.
        hidden_by: Log number of the event that removed it from the agent view; 0 for none.
        stage: Type of the event that gave it its form; the model has only a stub of an archived tool result.
    """
    kind = (_MESSAGE_KINDS | _PROGRAM_KINDS | _STAND_INS)[head.type]
    archived = kind == "tool_result" and stage == ToolArchived.TYPE
    shown: MessageKind = "tool_result_archived" if archived else kind
    return Seen(head, shown, agent=hidden_by == 0, stage=stage, hidden_by=hidden_by)
