"""The light half of an event: enough to paint a row and count a view, without its text or message.

Heads are what opening a session reads; they are small, and nothing here imports pydantic-ai.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from tui_app.context.storage_errors import StorageError
from tui_app.context.tool_titles import call_title, command_failed, result_note
from tui_app.events import (
    COMMAND_FAILED,
    PRIVATE,
    REWRITES,
    AgentOutput,
    AssistantMessage,
    BranchMerged,
    CheckpointCreated,
    CompactionAcknowledged,
    CompactionComplete,
    EffortChange,
    FilesRestored,
    FolderInstructions,
    FullnessTold,
    Handoff,
    MemoryAdded,
    MemoryConsolidated,
    MemoryInbox,
    MemoryPruned,
    MessageExcluded,
    ModeChange,
    ModelChange,
    ModeTold,
    Payload,
    PolicyChange,
    Record,
    SessionRewind,
    ShellCommand,
    ShellResult,
    SystemMessage,
    TaskTold,
    ToolArchived,
    ToolCall,
    ToolResult,
    ToolSwitch,
    Truncation,
    UserMessage,
    ViewRewrite,
    payload_from_json,
    payload_to_json,
)
from tui_app.records import frozen
from tui_app.text import cut, words_of

TITLE_LIMIT = 160
"""Characters of a title."""
LATER = 2**62
"""A log number behind all others, for an event that is only tried."""


_STORED = {
    "t": "title", "c": "chars", "k": "tokens", "i": "ids", "s": "state", "r": "reported", "m": "model",
    "o": "output", "f": "ref", "x": "removed", "w": "changes", "p": "pictured",
}  # fmt: skip
"""What the log calls the fields of a head."""
_read = json.JSONDecoder().raw_decode


@frozen(kw_only=True)
class Head:
    """One event of the log, less its bulk."""

    seq: int = 0
    type: str = ""
    time: float = 0.0
    """Seconds since the epoch."""
    title: str = ""
    chars: int = 0
    """Characters of the full text."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Counted tokens by category, without any factor."""
    pictured: bool = False
    """Whether the attachments among them are no text, so that there is no factor for them."""
    ids: tuple[str, ...] = ()
    """Tool calls an answer makes; for a call or result its own id."""
    state: str = ""
    """Outcome of a tool, hook or compaction; ``interrupted`` for a cut answer; ``pinned`` or ``unpinned``."""
    reported: int = 0
    """Input plus output tokens the provider reported with an answer."""
    output: int = 0
    """Those of them that were the answer's own; 0 in older logs."""
    model: str = ""
    """Model of an answer or a change; file name of a checkpoint."""
    ref: int = 0
    """Log number another event points to: the compaction undone, the message rewound to or pinned, the one
    that a summary stands behind. Of a checkpoint its own number."""
    removed: tuple[tuple[int, int], ...] = ()
    changes: tuple[tuple[int, dict[str, int]], ...] = ()
    """Of a rewrite: log number and tokens of each message that has another form now."""
    form: tuple[int, int] = (0, 0)
    """Where this form of the message is: number of a rewrite and the place in it; zeros for the first form.
    The view sets it; it is never stored."""

    def to_text(self) -> str:
        """Compact JSON, columns of the log table left out."""
        pairs = {key: value for key, name in _STORED.items() if (value := getattr(self, name))}
        return json.dumps(pairs, separators=(",", ":"))

    @classmethod
    def from_text(cls, seq: int, kind: str, time: float, text: str) -> "Head":
        pairs, end = _read(text, 0)
        if end != len(text):
            raise ValueError("no head")
        values = {_STORED[key]: value for key, value in pairs.items() if key in _STORED}
        if ids := values.get("ids"):
            values["ids"] = tuple(ids)
        for name in ("removed", "changes"):
            if name in values:
                values[name] = tuple(map(tuple, values[name]))
        return cls(seq=seq, type=kind, time=time, **values)


def first_line(text: str) -> str:
    """First line with anything on it, cut to a row's length."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return cut(line, TITLE_LIMIT)


def spoken_line(text: str) -> str:
    """First words of a prompt, without Markdown's signs, cut to a row's length."""
    return cut(words_of(text), TITLE_LIMIT)


def output_text(payload: AgentOutput) -> str:
    """What an agent returned, as Markdown: JSON one value to a line."""
    if not payload.structured:
        return payload.text
    try:
        text = json.dumps(json.loads(payload.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = payload.text
    return f"```json\n{text}\n```"


_UNCUT = (
    CheckpointCreated, CompactionComplete, EffortChange, FilesRestored, ModeChange, ModelChange, PolicyChange,
    SessionRewind, ToolCall, ToolResult, ToolSwitch, Truncation, ViewRewrite, MessageExcluded,
)  # fmt: skip
"""Events whose headline is never longer than a row, or is cut where it is painted."""


def head_of(seq: int, time: float, payload: Payload) -> Head:
    """Take the light fields out of a payload: its headline and tokens, and what it says of itself besides."""
    match payload:
        case ToolCall():
            fields = {"title": call_title(payload.name, payload.args), **payload.light()}
        case ToolResult():
            note = result_note(payload.name, payload.text, payload.outcome)
            ended_badly = payload.outcome == "success" and command_failed(payload.name, payload.text)
            fields = {"title": note, **payload.light()} | ({"state": COMMAND_FAILED} if ended_badly else {})
        case _:
            fields = payload.light()
    title = str(fields.pop("title", "") or payload.headline())
    title = title if isinstance(payload, _UNCUT) else first_line(title)
    tokens = getattr(payload, "tokens", {})
    return Head(seq=seq, type=payload.TYPE, time=time, title=title, tokens=tokens, **fields)


# An event as a row of the log, and back: the same text in every store.


class DamagedEvent(StorageError):
    """An event of the log that can be found and not understood."""

    def __init__(self, session: str, seq: object) -> None:
        super().__init__(
            f"Event {seq} of session {session} is damaged, or was written by a newer Plimsoll.",
            "Nothing was deleted. To keep everything else: plimsoll doctor --repair.",
        )


def plain(text: str) -> str:
    """Text that a database can hold: half a surrogate pair (a pasted half character) becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


EventRow = tuple[str, int, str, float, str, str, str | None]
"""Session, number, type, time, head, payload and message."""


def row_of(record: Record, message: str | None) -> EventRow:
    """Session, number, type, time, head, payload and message; head and payload are ASCII alone."""
    head = head_of(record.seq, record.time, record.data).to_text()
    data = json.dumps(payload_to_json(record.data), ensure_ascii=True, separators=(",", ":"))
    return (record.session, record.seq, record.data.TYPE, record.time, head, data, message)


def row_sum(row: EventRow) -> int:
    """A checksum over all of a row."""
    session, seq, kind, time, *texts = row
    # A whole number of seconds may come back without its fraction.
    said = "\0".join([session, str(seq), kind, repr(float(time)), *(text or "" for text in texts)])
    return zlib.crc32(said.encode("utf-8", "replace"))


def heads_of_rows(session: str, rows: Sequence[tuple[int, str, float, str]]) -> list[Head]:
    """Heads from number, type, time and text.

    Raises:
        DamagedEvent: if the text of one is none.
    """
    found: list[Head] = []
    for seq, kind, time, text in rows:
        try:
            found.append(Head.from_text(seq, kind, time, text))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise DamagedEvent(session, seq) from error
    return found


def record_of(session: str, row: Sequence[object]) -> Record:
    """An event from its number, type, time and payload.

    Raises:
        DamagedEvent: if the payload is none, or none of this type.
    """
    seq, kind, time, data = row
    payload = payload_of(session, seq, kind, data)
    return Record(seq=int(str(seq)), time=float(str(time)), session=session, data=payload)


def payload_of(session: str, seq: object, kind: object, data: object) -> Payload:
    """What an event says.

    Raises:
        DamagedEvent: if that is no payload, or none of this type.
    """
    try:
        return payload_from_json(str(kind), json.loads(str(data)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedEvent(session, seq) from error


# Who sees a message of a session, and what kind of message it is.
#
# Everything the user or a model said is for both. What stands for other messages is for the model alone: a
# user has the originals, and a row that says what was done to them.

MessageKind = Literal[
    "user", "assistant", "system", "tool_result", "tool_result_archived", "tool_summary", "summary",
    "acknowledgement", "memory", "fullness", "folder", "shell", "task", "mode",
]  # fmt: skip
_SAID: dict[str, MessageKind] = {
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
_GIVEN: dict[str, MessageKind] = {
    MemoryInbox.TYPE: "memory",
    Handoff.TYPE: "memory",
    BranchMerged.TYPE: "memory",
    FullnessTold.TYPE: "fullness",
    TaskTold.TYPE: "task",
    FolderInstructions.TYPE: "folder",
    ModeTold.TYPE: "mode",
}
MESSAGES = frozenset(_SAID)
"""Events that carry a message of their own."""
CARRYING = MESSAGES | frozenset(_GIVEN)
"""Those, and events whose message the program itself gives the model."""
NOTES = frozenset({FullnessTold.TYPE, FolderInstructions.TYPE, ModeTold.TYPE, TaskTold.TYPE})
"""Events whose message is a note in the middle of a turn: nobody has to answer it."""
TURNS = MESSAGES | NOTES - {TaskTold.TYPE}
"""Events whose message belongs to a turn, and leaves with one that failed."""
AFTERWARDS = frozenset({MemoryAdded.TYPE, MemoryPruned.TYPE, MemoryConsolidated.TYPE})
"""Events that are written when a session is over: they are no use of it."""
LEADING = frozenset({SystemMessage.TYPE, MemoryInbox.TYPE, Handoff.TYPE})
"""Events whose message stands in front of a summary."""
STAGES = frozenset(kind.TYPE for kind in REWRITES)
"""Events that give messages another form."""
STAND_INS = frozenset(_STAND_INS)
"""Events whose message stands for others, for the model alone."""


@frozen
class Seen:
    """One message of a session with whom it is shown to."""

    head: Head
    """In the form that the model is shown, or would be."""
    kind: MessageKind
    agent: bool
    """Whether the next request holds it: then it is counted, sent, and in exports of the agent view."""
    stage: str = ""
    """Type of the event that gave it the form it has now; empty while it is as it was said."""
    hidden_by: int = 0
    """Log number of the event that took it out of the agent view; 0 while it is there."""

    @property
    def user(self) -> bool:
        """Whether the user is shown it, and exports of the user view hold it."""
        return self.head.type in MESSAGES


def is_private(head: Head) -> bool:
    """Whether an event is of a command that the user keeps from the model."""
    return head.state.startswith(PRIVATE) and head.type in (ShellCommand.TYPE, ShellResult.TYPE)


def seen(head: Head, *, hidden_by: int, stage: str = "") -> Seen:
    """Tell who sees a message.

    Args:
        head: The message, in the form it has now.
        hidden_by: Number of the event that has taken it out of the agent view; 0 for none.
        stage: Type of the event that gave it its form; of an archived tool result the model has but a stub.
    """
    kind = (_SAID | _GIVEN | _STAND_INS)[head.type]
    archived = kind == "tool_result" and stage == ToolArchived.TYPE
    shown: MessageKind = "tool_result_archived" if archived else kind
    return Seen(head, shown, agent=hidden_by == 0, stage=stage, hidden_by=hidden_by)
