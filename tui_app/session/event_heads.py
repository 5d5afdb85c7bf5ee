"""The light half of an event: enough to paint a row and count a view, without its text or message.

Heads are what opening a session reads; they are small, and nothing here imports pydantic-ai.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal

from tui_app.context.storage_errors import StorageError
from tui_app.context.tool_titles import call_title, command_failed, result_note
from tui_app.events import (
    REWRITES,
    AgentOutput,
    ApprovalDecided,
    AssistantMessage,
    CheckpointCreated,
    CompactionAcknowledged,
    CompactionComplete,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    Error,
    FilesRestored,
    HookRan,
    MemoryAdded,
    MemoryConsolidated,
    MemoryInbox,
    MemoryPressure,
    MemoryPruned,
    MessagePinned,
    ModelChange,
    Payload,
    PolicyChange,
    Record,
    RewriteUndone,
    SessionRestored,
    SessionRewind,
    SubAgentEnd,
    SubAgentStart,
    SubAgentStep,
    SystemMessage,
    ToolArchived,
    ToolCall,
    ToolNormalised,
    ToolOffloaded,
    ToolPointers,
    ToolResult,
    ToolTrimmed,
    Truncation,
    UserMessage,
    ViewRewrite,
    payload_from_json,
    payload_to_json,
)
from tui_app.text import count, words_of

TITLE_LIMIT = 160
"""Characters of a title."""
COMMAND_FAILED = "command failed"
"""State of the result of a command that was run, and did not end well."""
LATER = 2**62
"""A log number behind all others, for an event that is only tried."""


_STORED = {
    "t": "title", "c": "chars", "k": "tokens", "i": "ids", "s": "state", "r": "reported", "m": "model",
    "f": "ref", "x": "removed", "w": "changes",
}  # fmt: skip
"""What the log calls the fields of a head."""
_read = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True, kw_only=True)
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
    ids: tuple[str, ...] = ()
    """Tool calls an answer makes; for a call or result its own id."""
    state: str = ""
    """Outcome of a tool, hook or compaction; ``interrupted`` for a cut answer; ``pinned`` or ``unpinned``."""
    reported: int = 0
    """Input plus output tokens the provider reported with an answer."""
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
        """Rebuild a head from the log."""
        pairs, end = _read(text, 0)
        if end != len(text):
            raise ValueError(f"no head: {text!r}")
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
    return _cut(line)


def spoken_line(text: str) -> str:
    """First words of what somebody said, without Markdown's signs, cut to a row's length."""
    return _cut(words_of(text))


def _cut(line: str) -> str:
    return line if len(line) <= TITLE_LIMIT else f"{line[: TITLE_LIMIT - 1]}…"


# What the rows of the context window's own events say: compactions, rewrites, requests that were cut.

_DONE = {
    ToolNormalised.TYPE: ("long result cut to size", "long results cut to size"),
    ToolOffloaded.TYPE: ("large result put in a file", "large results put in files"),
    ToolArchived.TYPE: ("old result archived", "old results archived"),
    ToolTrimmed.TYPE: ("old result trimmed", "old results trimmed"),
    ToolPointers.TYPE: ("written text replaced by a pointer", "written texts replaced by pointers"),
}


def thousands(tokens: int) -> str:
    """Tokens in thousands or millions with one digit, for example ``91.5k``."""
    return f"{tokens / 1_000:.1f}k" if tokens < 999_950 else f"{tokens / 1_000_000:.1f}M"


def output_text(payload: AgentOutput) -> str:
    """What an agent returned, as Markdown: JSON one value to a line."""
    if not payload.structured:
        return payload.text
    try:
        text = json.dumps(json.loads(payload.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        text = payload.text
    return f"```json\n{text}\n```"


def rewrite_title(payload: ViewRewrite) -> str:
    """What a reversible stage did, in one line."""
    changed, (one, many) = len(payload.changes), _DONE[payload.TYPE]
    sizes = f"{thousands(payload.tokens_before)} → {thousands(payload.tokens_after)}"
    return f"{changed} {one if changed == 1 else many} · {sizes}"


def compaction_title(payload: CompactionComplete) -> str:
    """The numbers of a compaction in one line; the reason when it did not succeed."""
    if payload.outcome != "success":
        return payload.reason or payload.outcome
    kept = "" if payload.retention is None else f" · facts kept {payload.retention:.0%}"
    by = _writer(payload)
    sizes = f"{thousands(payload.tokens_before)} → {thousands(payload.tokens_after)}"
    part = _span(payload)
    return (
        f"{sizes} · {count(payload.messages_before, 'message')} → {payload.messages_after:,}{part}{kept}{by}"
    )


def _writer(payload: CompactionComplete) -> str:
    """Who wrote a summary, where it was not the model that was meant to."""
    if payload.performed_by == "provider":
        return " · by the provider"
    stands_in = {"heuristic": "extraction", "marker": "a marker"}.get(payload.performed_by, payload.model)
    return f" · by {stands_in}" if payload.reason else ""


def _span(payload: CompactionComplete) -> str:
    first = f" from #{payload.from_message}" if payload.from_message else ""
    last = f" up to #{payload.up_to_message}" if payload.up_to_message else ""
    return f" ·{first}{last}" if first or last else ""


def edit_title(payload: CompactionEdited) -> str:
    """What was changed in a summary, in one line."""
    sizes = f"{thousands(payload.tokens_before)} → {thousands(payload.tokens_after)}"
    what = f"brought back: {payload.fact}" if payload.fact else "summary edited"
    return f"{what} · {sizes}"


def pressure_text(payload: MemoryPressure) -> str:
    """What is done about too little memory, as a sentence."""
    done = "caches were dropped" if payload.action == "drop" else "the history is compacted"
    return f"Memory is short ({payload.rss_mb:,} of {payload.limit_mb:,} MB): {done}."


def sub_agent_title(payload: SubAgentEnd) -> str:
    """What a sub-agent has done, in one line; the reason too where it did not get to its end."""
    calls = count(payload.calls, "call")
    size = thousands(payload.input_tokens + payload.output_tokens)
    price = "" if payload.cost_usd is None else f" · ${payload.cost_usd:.4f}"
    ended = "" if payload.outcome == "done" else f" · {payload.outcome}"
    why = f": {payload.reason}" if payload.reason else ""
    return f"{calls} · {size} tokens{price} · {payload.duration_s:.0f} s{ended}{why}"


def truncation_title(payload: Truncation) -> str:
    """What one request went without, in one line; the conversation itself is as it was."""
    removed = payload.messages_removed
    what = count(removed, "message") if removed > 0 else "long results cut"
    tokens = payload.tokens_removed
    size = thousands(tokens) if tokens >= 1_000 else str(tokens)
    # What is counted again when a request is cut can outweigh what little left.
    sizes = f", ~{size} tokens" if tokens > 0 else ""
    return f"Request truncated: {what}{sizes} left out of this request only"


def hook_title(payload: HookRan) -> str:
    """Which hook ran and what came of it; without anything to tell, the beginning of what it printed."""
    name = f"{payload.hook} hook {payload.command}"
    if payload.reason:
        return f"{name} {payload.reason}"
    printed = " ".join(payload.output.split())
    return f"{name} · {printed}" if printed else name


def inbox_title(payload: MemoryInbox) -> str:
    """What a session was given from earlier ones."""
    given = payload.entries
    more = f", {payload.left_out} more had no room" if payload.left_out else ""
    return f"context board: {given} {'entry' if given == 1 else 'entries'} from earlier sessions{more}"


def pruned_title(payload: MemoryPruned) -> str:
    """What was taken off the board, and why."""
    why = f"replaced by {payload.replaced_by}" if payload.replaced_by else payload.reason
    return f"no longer remembered{f' ({why})' if why else ''}: {payload.text}"


def consolidated_title(payload: MemoryConsolidated) -> str:
    """What came of reading a session for the board."""
    if payload.outcome != "success":
        return f"memory: the session could not be read: {payload.reason}"
    by = payload.model or "extraction"
    return f"memory: {payload.added} remembered, {payload.pruned} taken off, by {by}"


def approval_title(payload: ApprovalDecided) -> str:
    """What was decided about a call, by whom, and why, in one line."""
    subject = " ".join(payload.subject.split())
    said = {"allowed": "allowed", "denied": "denied", "cancelled": "not answered"}[payload.decision]
    if payload.scope == "always":
        said = f'allowed from now on by "{payload.rule}"'
    elif payload.scope == "rule" and payload.rule:
        said = f'{said} by the rule "{payload.rule}"'
    elif payload.by == "person" and payload.decision == "allowed":
        said = "allowed once"
    why = f" · {' '.join(payload.reason.split())}" if payload.reason else ""
    return f"{said}: {payload.tool} {subject[:60]}{why}"


def files_title(payload: FilesRestored) -> str:
    """How many files hold again what they held, are gone again, or were left alone."""
    removed = sum(not file.after for file in payload.files)
    fates = (
        (len(payload.files) - removed, "restored"),
        (removed, "removed"),
        (len(payload.skipped), "left alone"),
    )
    (number, fate), *others = [each for each in fates if each[0]] or [(0, "restored")]
    first = f"{count(number, 'file')} {fate}"
    said = ", ".join([first, *(f"{number} {fate}" for number, fate in others)])
    return f"taken back: {said}" if payload.undo else said


# What the head of each event takes from it: a title, sizes, ids, what it points to.


def head_of(seq: int, time: float, payload: Payload) -> Head:
    """Take the light fields out of a payload."""
    base = Head(seq=seq, type=payload.TYPE, time=time)
    return (
        _conversation(base, payload)
        or _compactions(base, payload)
        or _memory(base, payload)
        or _tools(base, payload)
        or _sub_agents(base, payload)
        or _others(base, payload)
        or base
    )


def _conversation(base: Head, payload: Payload) -> Head | None:
    match payload:
        case UserMessage() | SystemMessage():
            return _with(
                base, title=spoken_line(payload.text), chars=len(payload.text), tokens=payload.tokens
            )
        case AssistantMessage():
            return _with(
                base,
                title=spoken_line(payload.text or payload.thinking),
                chars=len(payload.text),
                tokens=payload.tokens,
                ids=payload.call_ids,
                state="interrupted" if payload.interrupted else "",
                reported=payload.input_tokens + payload.output_tokens if payload.input_tokens else 0,
                model=payload.model,
            )
        case AgentOutput(text=text):
            return _with(base, title=spoken_line(text), chars=len(text))
        case ToolCall():
            return _with(base, title=call_title(payload.name, payload.args), ids=(payload.tool_call_id,))
        case ToolResult():
            ended_badly = payload.outcome == "success" and command_failed(payload.name, payload.text)
            return _with(
                base,
                title=result_note(payload.name, payload.text, payload.outcome),
                chars=len(payload.text),
                tokens=payload.tokens,
                ids=(payload.tool_call_id,),
                state=COMMAND_FAILED if ended_badly else payload.outcome,
            )
        case MessagePinned():
            return _with(base, ref=payload.seq, state="pinned" if payload.pinned else "unpinned")
        case _:
            return None


def _compactions(base: Head, payload: Payload) -> Head | None:
    match payload:
        case CompactionComplete():
            return _with(
                base,
                title=compaction_title(payload),
                chars=len(payload.summary),
                tokens=payload.tokens,
                state=payload.outcome,
                removed=payload.removed,
                ref=payload.behind,
            )
        case CompactionAcknowledged():
            return _with(base, title=first_line(payload.text), tokens=payload.tokens)
        case CompactionUndone() | CompactionRedone():
            return _with(base, ref=payload.compaction)
        case CompactionEdited():
            return _with(
                base,
                title=first_line(edit_title(payload)),
                chars=len(payload.summary),
                tokens=payload.tokens,
                ref=payload.compaction,
            )
        case ViewRewrite():
            changes = tuple((change.seq, change.tokens) for change in payload.changes)
            return _with(base, title=rewrite_title(payload), tokens=payload.tokens, changes=changes)
        case RewriteUndone():
            return _with(base, ref=payload.rewrite)
        case SessionRestored():
            return _with(base, ref=payload.cut)
        case _:
            return None


def _memory(base: Head, payload: Payload) -> Head | None:
    match payload:
        case MemoryInbox():
            return _with(base, title=inbox_title(payload), chars=len(payload.text), tokens=payload.tokens)
        case MemoryAdded():
            return _with(base, title=first_line(f"remembered: {payload.text}"), ref=payload.entry)
        case MemoryPruned():
            return _with(base, title=first_line(pruned_title(payload)), ref=payload.entry)
        case MemoryConsolidated():
            state = "" if payload.outcome == "success" else "failed"
            return _with(base, title=first_line(consolidated_title(payload)), state=state)
        case _:
            return None


def _tools(base: Head, payload: Payload) -> Head | None:
    match payload:
        case ApprovalDecided():
            quiet = payload.by == "rule" and payload.decision == "allowed"
            title = first_line(approval_title(payload))
            ids = (payload.tool_call_id,)
            return _with(base, title=title, ids=ids, state="quiet" if quiet else payload.decision)
        case FilesRestored():
            return _with(
                base, title=files_title(payload), ref=payload.to, state="undo" if payload.undo else ""
            )
        case _:
            return None


def _sub_agents(base: Head, payload: Payload) -> Head | None:
    match payload:
        case SubAgentStart():
            return _with(
                base, title=spoken_line(payload.task), ids=(payload.tool_call_id,), model=payload.model
            )
        case SubAgentStep():
            tokens = payload.input_tokens + payload.output_tokens
            made = (f"{number}" for number in range(len(payload.calls)))
            return _with(base, ids=(payload.tool_call_id, *made), reported=tokens, model=payload.model)
        case SubAgentEnd():
            title = first_line(sub_agent_title(payload))
            return _with(base, title=title, ids=(payload.tool_call_id,), state=payload.outcome)
        case _:
            return None


def _others(base: Head, payload: Payload) -> Head | None:
    match payload:
        case SessionRewind():
            title = "" if payload.failed else f"rewound to before #{payload.to}"
            return _with(base, title=title, ref=payload.to, state="failed" if payload.failed else "")
        case ModelChange():
            return _with(base, title=f"{payload.old} → {payload.new}", model=payload.new)
        case PolicyChange():
            return _with(base, title=f"policy {payload.old} → {payload.new}")
        case CheckpointCreated():
            title = f"checkpoint {payload.number:03d}  {payload.title}"
            return _with(base, title=title, model=PurePath(payload.path).name, ref=payload.number)
        case Error():
            return _with(
                base, title=first_line(f"{payload.message} {payload.hint}"), chars=len(payload.detail)
            )
        case Truncation():
            return _with(base, title=truncation_title(payload))
        case HookRan():
            return _with(
                base,
                title=first_line(hook_title(payload)),
                chars=len(payload.output),
                state=payload.outcome,
            )
        case _:
            return None


def _with(base: Head, **values: object) -> Head:
    fields = {"seq": base.seq, "type": base.type, "time": base.time, **values}
    return Head(**fields)  # type: ignore[arg-type]


# An event as a row of the log, and back: the same text in every store.


class DamagedEvent(StorageError):
    """An event of the log that can be found and not understood."""

    def __init__(self, session: str, seq: object) -> None:
        super().__init__(
            f"Event {seq} of session {session} is damaged, or was written by a newer Plimsoll.",
            f"Nothing was deleted: plimsoll sessions show {session} lists what can be read.",
        )


def plain(text: str) -> str:
    """Text that a database can hold: half a surrogate pair (a pasted half character) becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def row_of(record: Record, message: str | None) -> tuple[str, int, str, float, str, str, str | None]:
    """Session, number, type, time, head, payload and message; head and payload are ASCII alone."""
    head = head_of(record.seq, record.time, record.data).to_text()
    data = json.dumps(payload_to_json(record.data), ensure_ascii=True, separators=(",", ":"))
    return (record.session, record.seq, record.data.TYPE, record.time, head, data, message)


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
# Everything a person or a model said is for both. What stands for other messages is for the model alone: a
# person has the originals, and a row that says what was done to them.

MessageKind = Literal[
    "user", "assistant", "system", "tool_result", "tool_result_archived", "tool_summary", "summary",
    "acknowledgement", "memory",
]  # fmt: skip
_SAID: dict[str, MessageKind] = {
    UserMessage.TYPE: "user",
    AssistantMessage.TYPE: "assistant",
    ToolResult.TYPE: "tool_result",
    SystemMessage.TYPE: "system",
}
_STAND_INS: dict[str, MessageKind] = {
    CompactionComplete.TYPE: "summary",
    CompactionAcknowledged.TYPE: "acknowledgement",
    ToolArchived.TYPE: "tool_summary",
}
_GIVEN: dict[str, MessageKind] = {MemoryInbox.TYPE: "memory"}
MESSAGES = frozenset(_SAID)
"""Events that carry a message of their own."""
CARRYING = MESSAGES | frozenset(_GIVEN)
"""Those, and events whose message the program gives the model and nobody said."""
AFTERWARDS = frozenset({MemoryAdded.TYPE, MemoryPruned.TYPE, MemoryConsolidated.TYPE})
"""Events that are written when a session is over: they are no use of it."""
LEADING = frozenset({SystemMessage.TYPE, *_GIVEN})
"""Events whose message stands in front of a summary."""
STAGES = frozenset(kind.TYPE for kind in REWRITES)
"""Events that give messages another form."""
STAND_INS = frozenset(_STAND_INS)
"""Events whose message stands for others, for the model alone."""


@dataclass(frozen=True, slots=True)
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
        """Whether a person is shown it, and exports of the user view hold it."""
        return self.head.type in MESSAGES


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
