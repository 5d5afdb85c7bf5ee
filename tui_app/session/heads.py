"""The light half of an event: enough to paint a row and count a view, without its text or message.

Heads are what opening a session reads; they are small, and nothing here imports pydantic-ai.
"""

import json
from dataclasses import dataclass, field
from pathlib import PurePath

from tui_app.context.events import (
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
    MemoryPruned,
    MessagePinned,
    ModelChange,
    Payload,
    PolicyChange,
    RewriteUndone,
    SessionRewind,
    SubAgentEnd,
    SubAgentStart,
    SubAgentStep,
    SystemMessage,
    ToolCall,
    ToolResult,
    Truncation,
    UserMessage,
    ViewRewrite,
)
from tui_app.context.tool_titles import call_title, result_note
from tui_app.session.head_titles import (
    approval_title,
    compaction_title,
    consolidated_title,
    edit_title,
    files_title,
    hook_title,
    inbox_title,
    pruned_title,
    rewrite_title,
    sub_agent_title,
    truncation_title,
)

_TITLE_LIMIT = 160


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
        pairs = {
            "t": self.title,
            "c": self.chars,
            "k": self.tokens,
            "i": self.ids,
            "s": self.state,
            "r": self.reported,
            "m": self.model,
            "f": self.ref,
            "x": self.removed,
            "w": self.changes,
        }
        return json.dumps({key: value for key, value in pairs.items() if value}, separators=(",", ":"))

    @classmethod
    def from_text(cls, seq: int, kind: str, time: float, text: str) -> "Head":
        """Rebuild a head from the log."""
        pairs = json.loads(text)
        get = pairs.get
        return cls(
            seq=seq,
            type=kind,
            time=time,
            title=get("t", ""),
            chars=get("c", 0),
            tokens=get("k", {}),
            ids=tuple(get("i", ())),
            state=get("s", ""),
            reported=get("r", 0),
            model=get("m", ""),
            ref=get("f", 0),
            removed=tuple((a, b) for a, b in get("x", ())),
            changes=tuple((seq, tokens) for seq, tokens in get("w", ())),
        )


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
            return _with(base, title=first_line(payload.text), chars=len(payload.text), tokens=payload.tokens)
        case AssistantMessage():
            return _with(
                base,
                title=first_line(payload.text or payload.thinking),
                chars=len(payload.text),
                tokens=payload.tokens,
                ids=payload.call_ids,
                state="interrupted" if payload.interrupted else "",
                reported=payload.input_tokens + payload.output_tokens if payload.input_tokens else 0,
                model=payload.model,
            )
        case AgentOutput(text=text):
            return _with(base, title=first_line(text), chars=len(text))
        case ToolCall():
            return _with(base, title=call_title(payload.name, payload.args), ids=(payload.tool_call_id,))
        case ToolResult():
            return _with(
                base,
                title=result_note(payload.name, payload.text, payload.outcome),
                chars=len(payload.text),
                tokens=payload.tokens,
                ids=(payload.tool_call_id,),
                state=payload.outcome,
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
                base, title=first_line(payload.task), ids=(payload.tool_call_id,), model=payload.model
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


def first_line(text: str) -> str:
    """First line with anything on it, cut to a row's length."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _TITLE_LIMIT else f"{line[: _TITLE_LIMIT - 1]}…"
