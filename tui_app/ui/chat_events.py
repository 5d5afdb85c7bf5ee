"""How each event changes the state of the chat screen: one fold, in parts."""

from dataclasses import replace

from tui_app.events import (
    ApprovalDecided,
    ApprovalRequested,
    ApprovalsAhead,
    AssistantDelta,
    AssistantMessage,
    CompactionAwaited,
    CompactionComplete,
    CompactionEdited,
    CompactionProgress,
    CompactionProposed,
    CompactionRedone,
    CompactionStart,
    CompactionUndone,
    Error,
    GaugeChanged,
    HookRan,
    MemoryPressure,
    ModelChange,
    Notice,
    Payload,
    PolicyChange,
    QueueChanged,
    SessionClear,
    SessionRestored,
    SessionRewind,
    SessionStart,
    SubAgentStep,
    ToolCall,
    ToolOutput,
    ToolResult,
    TurnEnd,
    TurnRetry,
    TurnStart,
    UserMessage,
)
from tui_app.session.event_heads import hook_title, pressure_text, spoken_line
from tui_app.session.stats import Costs
from tui_app.ui.chat_state import ChatState, Running, answering, going_on, noting, saying
from tui_app.ui.compaction_outcome import NOTICE_CELLS, REASON_CELLS, outcome_text, stand_in_text
from tui_app.ui.format import tokens
from tui_app.ui.safe_text import one_line
from tui_app.ui.turn_text import turn_text
from tui_app.ui.widgets.status import Status

LATER = "Compaction is tried again later; ctrl+g compacts now."
"""What a stopped compaction leads to where the row, which says the rest, has no room for it."""
PROPOSED = "The summary waits for your review. Nothing has changed yet."
STOPPED = Status(kind="message", text="Stopped. Nothing is lost.")
ASKING = "A tool waits for your answer."
_OUTPUT_CHARS = 4_000


def advance(state: ChatState, payload: Payload, now: float) -> ChatState:
    """Fold one event into the state.

    Args:
        state: Before it.
        payload: What happened.
        now: Monotonic seconds, the clock of the status row.
    """
    before = state.status
    state = _spending(state, payload)
    after = (
        _turn(state, payload, now)
        or _tool(state, payload, now)
        or _compaction(state, payload, now)
        or _rewritten(state, payload)
        or _changed(state, payload)
        or _session(state, payload)
        or _told(state, payload)
        or state
    )
    return going_on(after, before)


def _spending(state: ChatState, payload: Payload) -> ChatState:
    """Add up what an event has cost."""
    if isinstance(payload, TurnStart):
        return replace(state, turn_costs=Costs())
    if isinstance(payload, AssistantMessage | SubAgentStep):
        state = replace(state, turn_costs=state.turn_costs.after(payload))
    before = Costs(usd=state.spent, unpriced=state.unpriced, unpriced_models=state.unpriced_models)
    session = before.after(payload)
    return replace(
        state, spent=session.usd, unpriced=session.unpriced, unpriced_models=session.unpriced_models
    )


def _turn(state: ChatState, payload: Payload, now: float) -> ChatState | None:
    match payload:
        case TurnStart(text=text):
            status = Status(kind="connecting", started=now, model=state.model)
            state = replace(state, turn=True, turn_started=now, sending=text, status=status)
            return replace(state, streamed=0, unlogged=0, calls=())
        case TurnRetry():
            return replace(state, unlogged=0, status=_unless_compacting(state, _pausing(payload, now)))
        case AssistantDelta(text=text, thinking=thinking):
            size = len(text) + len(thinking)
            streamed, unlogged = state.streamed + size, state.unlogged + size
            status = Status(kind="answering", started=state.turn_started, tokens=-(-streamed // 4))
            status = _unless_compacting(state, status)
            return replace(state, streamed=streamed, unlogged=unlogged, status=status)
        case AssistantMessage():
            return replace(state, unlogged=0)
        case TurnEnd(outcome=outcome):
            done = _with_costs(state)
            ends = {"cancelled": STOPPED, "done": done}
            status = _unless_compacting(state, ends.get(outcome, _after(state, outcome)))
            state = replace(state, calls=(), question=None, ahead=())
            return replace(state, turn=False, sending="", unlogged=0, status=status)
        case _:
            return None


def _tool(state: ChatState, payload: Payload, now: float) -> ChatState | None:
    """What a tool asks and prints."""
    match payload:
        case ToolCall(tool_call_id=id, name=name):
            state = replace(state, calls=(*state.calls, Running(id, one_line(name, 40), now)))
            return _between(state, _waiting(state)) if state.question is None else state
        case ToolResult(tool_call_id=id) if state.turn:
            left = tuple(call for call in state.calls if call.id != id)
            state = replace(state, calls=left)
            return _between(state, _waiting(state)) if state.question is None else state
        case ApprovalRequested():
            return replace(state, question=payload, status=Status(kind="message", text=ASKING))
        case ApprovalsAhead(call_ids=calls):
            return replace(state, ahead=calls)
        case ApprovalDecided(id=id) if state.question is not None and state.question.id == id:
            runs = Status(kind="tool", text=one_line(payload.tool, 40), started=now)
            state = replace(state, question=None)
            if payload.decision == "allowed":
                return replace(state, status=_unless_compacting(state, runs))
            return _between(state, _waiting(state))
        case ToolOutput(tool_call_id=id, text=text):
            return replace(state, calls=tuple(_printed(call, id, text) for call in state.calls))
        case _:
            return None


def _printed(call: Running, id: str, text: str) -> Running:
    return call._replace(output=(call.output + text)[-_OUTPUT_CHARS:]) if call.id == id else call


def _between(state: ChatState, nothing: Status) -> ChatState:
    """Name the newest call that still runs; where none does, say something else."""
    newest = state.calls[-1] if state.calls else None
    status = Status(kind="tool", text=newest.name, started=newest.since) if newest else nothing
    return replace(state, status=_unless_compacting(state, status))


def _after(state: ChatState, outcome: str) -> Status:
    """What was said in the row last while a turn failed stays: it may be why. The count of tries does not."""
    said = state.status.notes if outcome == "failed" and state.status.kind != "pausing" else ()
    return Status(kind="message", text=said[0]) if said else Status()


def _waiting(state: ChatState) -> Status:
    return Status(kind="connecting", started=state.turn_started, model=state.model)


def _pausing(retry: TurnRetry, now: float) -> Status:
    nth = f"try {retry.attempt} of {retry.attempts}"
    return Status(
        kind="pausing", started=now, wait_s=retry.wait_s, text=one_line(retry.reason, 200), notes=(nth,)
    )


def _with_costs(state: ChatState) -> Status:
    """What a turn has cost, behind what was reported as it came to its end."""
    told, costs = state.status, turn_text(state.turn_costs)
    if told.busy and told.notes and told.under is None:
        return Status(kind="message", text=told.notes[0], notes=(costs,) if costs else ())
    return Status(kind="message" if costs else "idle", text=costs)


def _unless_compacting(state: ChatState, status: Status) -> Status:
    return state.status if state.compacting else status


def _compaction(state: ChatState, payload: Payload, now: float) -> ChatState | None:
    match payload:
        case CompactionStart(trigger="background"):
            return replace(state, background=-1.0)
        case CompactionStart():
            status = Status(
                kind="compacting",
                started=now,
                trigger=payload.trigger,
                model=payload.model,
                size=payload.tokens_before,
            )
            return replace(state, compacting=True, status=status)
        case CompactionAwaited(trigger=trigger, model=model):
            status = Status(kind="compacting", started=now, trigger=trigger, model=model)
            return replace(state, compacting=True, background=None, status=status)
        case CompactionProgress(part=part, parts=parts) if state.compacting:
            written, model = payload.tokens_written, payload.model
            status = replace(state.status, part=part, parts=parts, tokens=written, model=model)
            return replace(state, status=status)
        case CompactionProgress(part=part, parts=parts):
            return replace(state, background=(part - 1) / parts if parts > 1 else -1.0)
        case CompactionProposed():
            status = _waiting(state) if state.turn else Status(kind="message", text=PROPOSED)
            return replace(state, compacting=False, reviewing=True, status=status)
        case CompactionComplete():
            return _compacted(state, payload)
        case _:
            return None


def _compacted(state: ChatState, done: CompactionComplete) -> ChatState:
    text, notes = outcome_text(done)
    outcome = Status(kind="message", text=text, notes=notes)
    if done.outcome in ("failed", "discarded", "vetoed"):
        state = noting(state, outcome_text(done, NOTICE_CELLS)[0])
    elif done.outcome == "cancelled" and done.reason:
        state = noting(state, f"{text}. {LATER}")
    elif told := stand_in_text(done):
        state = noting(state, told)
    # What ends in the background is not interrupted for, unless it was a person's decision that ended it.
    status = state.status if done.trigger == "background" and not state.reviewing else outcome
    state = replace(state, compacting=False, reviewing=False, background=None)
    if not state.turn:
        return replace(state, status=status)
    state = replace(state, status=_waiting(state))
    return saying(state, text) if done.outcome == "cancelled" and done.reason else state


def _rewritten(state: ChatState, payload: Payload) -> ChatState | None:
    """What is said once the view was rewritten by hand."""
    match payload:
        case CompactionUndone(tokens_after=after):
            back = f"what it replaced is back, ~{tokens(after)}"
            return saying(state, f"Undone: {back} · /redo applies it again")
        case CompactionEdited(fact=fact, tokens_after=after):
            what = f"Brought back: {one_line(fact, REASON_CELLS)}" if fact else "Summary edited"
            return saying(state, f"{what}, ~{tokens(after)} · u on its row takes it back")
        case CompactionRedone(tokens_after=after):
            return saying(state, f"Applied again: ~{tokens(after)} · /undo takes it back")
        case SessionClear():
            return saying(
                state, "Cleared: the model starts afresh · /undo takes it back until you send a prompt"
            )
        case SessionRewind(failed=False, again=False):
            return saying(state, "Rewound: the prompt is in the editor · ctrl+c, then /undo takes it back")
        case SessionRestored(tokens_after=after):
            return saying(state, f"Undone: the conversation is as it was before, ~{tokens(after)}")
        case _:
            return None


def _changed(state: ChatState, payload: Payload) -> ChatState | None:
    """What a person has chosen for the rest of the session."""
    match payload:
        case ModelChange(new=new):
            return replace(state, model=new, status=Status(kind="message", text=f"Now answering: {new}"))
        case PolicyChange(new=new):
            return replace(state, policy=new, status=Status(kind="message", text=f"Policy: {new}"))
        case _:
            return None


def _session(state: ChatState, payload: Payload) -> ChatState | None:
    match payload:
        case SessionStart():
            return replace(state, title=payload.title, model=payload.model, policy=payload.policy)
        case UserMessage(text=text):
            return replace(state, sending="", title=state.title or spoken_line(text))
        case QueueChanged(prompts=prompts, paused=paused):
            return replace(state, queue=prompts, paused=paused)
        case GaugeChanged(usage=usage):
            return replace(state, usage=usage)
        case _:
            return None


def _told(state: ChatState, payload: Payload) -> ChatState | None:
    """What must not be missed: it stays among the notices."""
    match payload:
        case Notice(text=text, passing=True):
            return answering(state, text)
        case Notice(text=text):
            return noting(saying(state, text), text)
        case HookRan(outcome="failed" | "timeout" | "missing" | "overruled"):
            text = f"The {one_line(hook_title(payload), 400).rstrip('.')}. It changed nothing."
            return noting(saying(state, text), text)
        case MemoryPressure():
            text = pressure_text(payload)
            return noting(saying(state, text), text)
        case Error(message=message, hint=hint):
            return noting(state, f"{message} {hint}".strip())
        case _:
            return None
