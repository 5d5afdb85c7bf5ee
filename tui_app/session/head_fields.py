"""What the head of each event takes from it: a title, sizes, ids, what it points to."""

from pathlib import PurePath

from tui_app.context.tool_titles import call_title, command_failed, result_note
from tui_app.events import (
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
    SessionRestored,
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
from tui_app.session.heads import COMMAND_FAILED, Head, first_line, spoken_line


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
