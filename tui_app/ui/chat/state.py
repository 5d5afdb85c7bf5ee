"""The state of the chat screen as one frozen value, and the fold of events into it."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple

from tui_app.events import (
    DECLINED,
    ApprovalDecided,
    ApprovalRequested,
    ApprovalsAhead,
    AssistantDelta,
    AssistantMessage,
    BranchMerged,
    CompactionAwaited,
    CompactionComplete,
    CompactionEdited,
    CompactionProgress,
    CompactionProposed,
    CompactionRedone,
    CompactionStart,
    CompactionUndone,
    EffortChange,
    Error,
    GaugeChanged,
    GoalChecked,
    GoalEnded,
    GoalSet,
    HookRan,
    MemoryPressure,
    ModeChange,
    ModelChange,
    Notice,
    Payload,
    PolicyChange,
    QuestionAsked,
    QuestionClosed,
    QueueChanged,
    SessionClear,
    SessionRestored,
    SessionRewind,
    SessionStart,
    ShellCommand,
    ShellResult,
    SubAgentEnd,
    SubAgentStart,
    SubAgentStep,
    TaskEnded,
    TaskResumed,
    TaskStarted,
    ToolCall,
    ToolOutput,
    ToolResult,
    TurnEnd,
    TurnRetry,
    TurnStart,
    UserMessage,
)
from tui_app.modes import ABOUT, Mode
from tui_app.next_steps import screen_text
from tui_app.records import frozen
from tui_app.session.event_heads import prompt_line
from tui_app.session.figures.costs import Costs
from tui_app.session.measurement import Goal
from tui_app.tool_specs import PLAN, TODO
from tui_app.ui.chat.compaction_outcome import (
    NOTICE_CELLS,
    REASON_CELLS,
    WRITES_CHARS,
    offers_extract,
    outcome_text,
    stand_in_text,
)
from tui_app.ui.keyboard.keys import Locked
from tui_app.ui.panels.status import Status
from tui_app.ui.panels.todo import TodoItem, read_todos
from tui_app.ui.words.cost_words import turn_text
from tui_app.ui.words.text import count, counted_text, one_line, tokens
from tui_app.usage import ContextUsage

KEPT_FROM_MODEL = "Not sent to the model."
LOADING = "Loading the model. Your prompt is next."
NOTICES = 200
"""Maximum number of notices kept; the oldest are dropped."""
EARLIER = "From an earlier session: "
"""Prefix of notices that were unread when their session was left."""


class Running(NamedTuple):
    """A tool call that has no result yet."""

    id: str
    name: str
    since: float
    """Monotonic seconds."""
    output: str = ""
    """The end of its output so far."""


@frozen(kw_only=True)
class ChatState:
    """Everything around the transcript. Widgets get parts of it; nothing else keeps a copy."""

    def worded(self, text: str, *steps: str) -> str:
        """Return a sentence followed by the next steps with the user's keys."""
        return screen_text(text, steps, self.keymap)

    keymap: Mapping[str, str] = field(default_factory=dict)
    """The user's key mappings."""
    title: str = ""
    model: str = ""
    policy: str = ""
    effort: str = ""
    """The reasoning effort; empty for the setting's value."""
    mode: Mode = "ask"
    worked: Mode = "ask"
    """The mode before plan mode, in which an accepted plan is carried out."""
    goal: str = ""
    """Progress of the goal; empty if there is none."""
    planned: bool = False
    """Whether the model has proposed a plan that can be accepted."""
    costs: Costs = field(default_factory=Costs)
    """Costs of the session so far: dollars, and requests without a known price."""
    turn_costs: Costs = field(default_factory=Costs)
    usage: ContextUsage | None = None
    status: Status = field(default_factory=Status)
    queue: tuple[str, ...] = ()
    paused: bool = False
    locked: Locked = ""
    """Why nothing can be changed; empty if it can."""
    notices: tuple[str, ...] = ()
    unread: int = 0
    """Number of notices not read yet."""
    sending: str = ""
    """The prompt of the running turn until the log has it; empty from then on."""
    turn: bool = False
    """Whether a turn is running."""
    turn_started: float = 0.0
    streamed: int = 0
    """Characters streamed in this turn."""
    unlogged: int = 0
    """Streamed characters that the measured context usage does not include yet."""
    background: float | None = None
    """Progress of a background compaction, 0 to 1; negative if it has one part; None if none runs."""
    writing: tuple[int, str] = (1, "")
    """The part of a summary that is being written, from 1, and its text so far."""
    leaving: tuple[tuple[int, int], ...] = ()
    """Inclusive ranges of log numbers of the messages that a running compaction would replace."""
    tokens_leaving: int = 0
    """Size of those messages in tokens."""
    compacting: bool = False
    """Whether the user waits for a running compaction."""
    reviewing: bool = False
    """Whether a summary waits for the user's review."""
    shell: str = ""
    """Id of the user's running shell command; empty if none runs."""
    tasks: frozenset[str] = frozenset()
    """Ids of the running background commands."""
    forks: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    """Calls of the running subagents: of forks, and of others."""
    calls: tuple[Running, ...] = ()
    """Tool calls without a result yet, newest last."""
    question: ApprovalRequested | None = None
    """The tool call that waits for approval; None if there is none."""
    asked: QuestionAsked | None = None
    """The model's question; None if there is none."""
    todos: tuple[TodoItem, ...] = ()
    """The todo list as last written."""
    ahead: tuple[str, ...] = ()
    """Ids of the calls that are not approved yet."""

    @property
    def writes_summary(self) -> bool:
        """Whether part of a summary can be read before its review."""
        return (self.compacting or self.background is not None) and bool(self.writing[1])

    @property
    def output(self) -> str:
        """The end of the output of the newest running command that has any."""
        return next((call.output for call in reversed(self.calls) if call.output), "")

    @property
    def waits_for_user(self) -> bool:
        """Whether an approval or a question is open."""
        return self.question is not None or self.asked is not None

    @property
    def scale(self) -> float:
        """Model tokens per locally counted token; every size on the screen is scaled by it."""
        return self.usage.scale if self.usage is not None else 1.0

    @property
    def lasting_status(self) -> Status:
        """The status row without an answer to a key."""
        return self.status if self.status.under is None else self.status.under

    @property
    def answer(self) -> str:
        """The status row's answer to the last key; empty if there is none."""
        status = self.status
        if status.under is None:
            return ""
        return status.notes[0] if status.busy and status.notes else status.text

    @property
    def busy(self) -> bool:
        """Whether esc has something to stop."""
        waited_for = self.turn or self.compacting or self.reviewing or bool(self.shell)
        return waited_for or self.background is not None


def early(state: ChatState, queue: tuple[str, ...]) -> ChatState:
    """Show the work queued while the agent side loads, including after some was removed or moved."""
    status = state.status if queue else Status()
    if len(queue) > len(state.queue):
        status = Status(kind="message", text=LOADING)
    return replace(state, queue=queue, status=status)


def keeping(state: ChatState, todos: str, plan: str) -> ChatState:
    """Restore the todo list and the plan that a session was left with."""
    planned = state.mode == "plan" and bool(plan.strip())
    return replace(state, todos=read_todos(todos), planned=planned)


def saying(state: ChatState, text: str) -> ChatState:
    """Show a sentence in the status row: after the running work, or alone."""
    if state.status.busy:
        return replace(state, status=replace(state.status, notes=(text,) if text else (), under=None))
    return replace(state, status=Status(kind="message", text=text))


def answering(state: ChatState, text: str) -> ChatState:
    """Answer a key in the status row, until the next key that acts."""
    updated = saying(state, text)
    return replace(updated, status=replace(updated.status, under=state.lasting_status))


def moved_on(state: ChatState) -> ChatState:
    """Remove the answer to a key from the status row; work shown there before may have progressed since."""
    under = state.status.under
    if under is None:
        return state
    before = replace(state.status, notes=under.notes, under=None) if state.status.busy else under
    return replace(state, status=before)


def noting(state: ChatState, text: str) -> ChatState:
    """Add a notice, dropping the oldest ones."""
    notices = (*state.notices, text)[-NOTICES:]
    return replace(state, notices=notices, unread=min(state.unread + 1, NOTICES))


def unread_of(state: ChatState) -> tuple[str, ...]:
    """Return the notices that are not read yet."""
    return state.notices[len(state.notices) - state.unread :]


def bringing(state: ChatState, notices: Iterable[str]) -> ChatState:
    """Insert the unread notices of the previous session before this one's, each once."""
    before = tuple(dict.fromkeys(EARLIER + text.removeprefix(EARLIER) for text in notices))
    every = (*before, *state.notices)[-NOTICES:]
    return replace(state, notices=every, unread=min(len(before) + state.unread, NOTICES))


LATER = "Compaction will be retried later."
"""What follows a cancelled compaction, for the notice: the status row has no space for it."""
PROPOSED = "The summary waits for your review. Nothing has changed yet."
STOPPED = Status(kind="message", text="Stopped. Nothing was lost.")
PLANNED = "The plan is ready: /accept carries it out · or say what to change"
_OUTPUT_CHARS = 4_000
_EXACT_TOKENS = 100
"""Tokens of an answer up to which each is counted on the screen."""


def _turn(state: ChatState, payload: Payload, now: float) -> ChatState:
    match payload:
        case TurnStart(text=text):
            status = Status(kind="connecting", started=now, model=state.model)
            state = replace(state, turn=True, turn_started=now, sending=text, status=status)
            return replace(state, streamed=0, unlogged=0, calls=())
        case TurnRetry():
            nth, reason = f"try {payload.attempt} of {payload.attempts}", one_line(payload.reason, 200)
            status = Status(kind="pausing", started=now, wait_s=payload.wait_s, text=reason, notes=(nth,))
            return _showing(state, status, unlogged=0)
        case AssistantDelta(text=text, thinking=thinking):
            size = len(text) + len(thinking)
            streamed, unlogged = state.streamed + size, state.unlogged + size
            # In steps of ten: a row that counted every token would be rewritten with each, even on slow
            # connections.
            written = -(-streamed // 4)
            written -= written % 10 if written > _EXACT_TOKENS else 0
            status = Status(kind="answering", started=state.turn_started, tokens=written)
            return _showing(state, status, streamed=streamed, unlogged=unlogged)
        case AssistantMessage():
            return replace(state, unlogged=0)
        case TurnEnd(outcome=outcome, broken_by=broken_by):
            current, costs = state.status, turn_text(state.turn_costs)
            missed = (f"cache missed: {broken_by}",) if costs and broken_by else ()
            done = Status(kind="message" if costs else "idle", text=costs, notes=missed)
            if current.busy and current.notes and current.under is None:
                # After what was reported at the end of the turn.
                notes = (costs, *missed) if costs else ()
                done = Status(kind="message", text=current.notes[0], notes=notes)
            if state.planned:
                done = Status(kind="message", text=PLANNED)
            stopped = replace(STOPPED, notes=("the goal continues with your next prompt",) * bool(state.goal))
            ends = {"cancelled": stopped, "done": done}
            # The last note of a failed turn stays, since it may be the reason. The count of attempts does
            # not.
            kept = state.status.notes if outcome == "failed" and state.status.kind != "pausing" else ()
            other = Status(kind="message", text=kept[0]) if kept else Status()
            # A question of a background subagent stays.
            state = replace(state, calls=(), ahead=(), turn=False, sending="", unlogged=0)
            return _showing(state, ends.get(outcome, other))
    return state


def _tool(state: ChatState, payload: Payload, now: float) -> ChatState:
    """Show approvals, questions and output of tools."""
    match payload:
        case ToolCall(tool_call_id=id, name=name):
            state = replace(state, calls=(*state.calls, Running(id, one_line(name, 40), now)))
            return state if state.waits_for_user else _between(state)
        case ToolResult() if state.turn:
            state = _returned(state, payload)
            return state if state.waits_for_user else _between(state)
        case QuestionAsked(attended=True):
            return replace(state, asked=payload, status=Status())  # the box itself shows that it waits
        case QuestionClosed(id=id) if state.asked is not None and state.asked.id == id:
            return replace(state, asked=None)
        case ApprovalRequested():
            return replace(state, question=payload, status=Status())
        case ApprovalsAhead(call_ids=calls):
            return replace(state, ahead=calls)
        case ApprovalDecided(id=id) if state.question is not None and state.question.id == id:
            runs = Status(kind="tool", text=one_line(payload.tool, 40), started=now)
            state = replace(state, question=None)
            of_agent = not state.turn and (state.forks or state.agents)
            if payload.decision == "allowed" and not of_agent:
                return _showing(state, runs)
            return _between(state)
        case ToolOutput(tool_call_id=id, text=text):
            mine = {call: call._replace(output=(call.output + text)[-_OUTPUT_CHARS:]) for call in state.calls}
            return replace(state, calls=tuple(mine[call] if call.id == id else call for call in state.calls))
    return state


def _command(state: ChatState, payload: Payload, now: float) -> ChatState:
    """Follow the user's shell commands, subagents and background commands."""
    match payload:
        case SubAgentStart(tool_call_id=call, fork=True):
            return replace(state, forks=state.forks | {call})
        case SubAgentStart(tool_call_id=call):
            return replace(state, agents=state.agents | {call})
        case SubAgentEnd(tool_call_id=call):
            return replace(state, forks=state.forks - {call}, agents=state.agents - {call})
        case TaskStarted(id=id) | TaskResumed(id=id):
            return replace(state, tasks=state.tasks | {id})
        case TaskEnded(id=id):
            return replace(state, tasks=state.tasks - {id})
        case ShellCommand(id=id, text=text):
            status = Status(kind="tool", text=f"$ {one_line(text, 40)}", started=now)
            return _showing(state, status, shell=id)
        case ShellResult(id=id) if id == state.shell:
            done = Status(kind="message", text=KEPT_FROM_MODEL) if payload.private else Status()
            return _showing(state, STOPPED if payload.outcome == "stopped" else done, shell="")
    return state


def _returned(state: ChatState, result: ToolResult) -> ChatState:
    """Remove a finished call, applying a result of the plan or todo tool."""
    calls = tuple(call for call in state.calls if call.id != result.tool_call_id)
    planned, todos = state.planned, state.todos
    if result.outcome == "success" and result.name == PLAN.name:
        planned = state.mode == "plan"
    elif result.outcome == "success" and result.name == TODO.name:
        todos = read_todos(result.text)
    return replace(state, calls=calls, planned=planned, todos=todos)


def _between(state: ChatState) -> ChatState:
    """Show the newest running call, or else the wait for the model."""
    newest = state.calls[-1] if state.calls else None
    status = Status(kind="tool", text=newest.name, started=newest.since) if newest else _waiting(state)
    return _showing(state, status)


def _waiting(state: ChatState) -> Status:
    """Return the status of waiting for the model; idle between turns, when a goal's check may ask."""
    busy = Status(kind="connecting", started=state.turn_started, model=state.model)
    return busy if state.turn else Status()


def _showing(state: ChatState, status: Status, **changes: Any) -> ChatState:
    """Set a status, unless the row shows a compaction that the user waits for."""
    return replace(state, status=state.status if state.compacting else status, **changes)


def _compaction(state: ChatState, payload: Payload, now: float) -> ChatState:
    match payload:
        case CompactionStart(trigger="background"):
            return replace(_with_leaving(state, payload), background=-1.0)
        case CompactionStart():
            status = Status(kind="compacting", started=now, trigger=payload.trigger, model=payload.model)
            size, leaves = payload.tokens_before, payload.tokens_leaving
            status = replace(status, size=size, stays=max(0, size - leaves) if leaves else 0)
            return replace(_with_leaving(state, payload), compacting=True, status=status)
        case CompactionAwaited(began_as=trigger, model=model):
            status = Status(kind="compacting", started=now, trigger=trigger, model=model)
            return replace(state, compacting=True, background=None, status=status)
        case CompactionProgress(part=part, parts=parts):
            goes_on = part == state.writing[0] and payload.tokens_written
            text = (state.writing[1] if goes_on else "") + payload.text
            state = replace(state, writing=(part, text))
            if not state.compacting:
                return replace(state, background=(part - 1) / parts if parts > 1 else -1.0)
            written, model, writes = payload.tokens_written, payload.model, text[-WRITES_CHARS:]
            status = replace(state.status, part=part, parts=parts, tokens=written, model=model, writes=writes)
            return replace(state, status=status)
        case CompactionProposed():
            status = _waiting(state) if state.turn else Status(kind="message", text=PROPOSED)
            return replace(state, compacting=False, reviewing=True, status=status)
        case CompactionComplete():
            return _compacted(state, payload)
    return state


def _with_leaving(state: ChatState, start: CompactionStart) -> ChatState:
    return replace(state, leaving=start.leaving, tokens_leaving=start.tokens_leaving, writing=(1, ""))


def _compacted(state: ChatState, done: CompactionComplete) -> ChatState:
    text, notes = outcome_text(done, keymap=state.keymap)
    outcome = Status(kind="message", text=text, notes=notes, failed=done if offers_extract(done) else None)
    if done.outcome in ("failed", "discarded", "vetoed") and done.reason != DECLINED:
        state = noting(state, outcome_text(done, NOTICE_CELLS)[0])
    elif done.outcome == "cancelled" and done.reason:
        state = noting(state, state.worded(f"{text}. {LATER}", "compact"))
    elif notice := stand_in_text(done):
        state = noting(state, notice)
    # The end of a background compaction does not replace the status, unless the user's review ended it.
    status = state.status if done.trigger == "background" and not state.reviewing else outcome
    state = replace(state, compacting=False, reviewing=False, background=None, leaving=(), tokens_leaving=0)
    if not state.turn:
        return replace(state, status=status)
    state = replace(state, status=_waiting(state))
    return saying(state, text) if done.outcome == "cancelled" and done.reason else state


def _rewritten(state: ChatState, payload: Payload, now: float) -> ChatState:
    """Word an undo, an edit, a rewind or another change of the history."""
    match payload:
        case CompactionUndone(tokens_after=after):
            text = f"Undone: the full history is back (~{tokens(after)}) · /redo applies it again"
        case CompactionEdited(fact=fact, tokens_after=after):
            what = f"Brought back: {one_line(fact, REASON_CELLS)}" if fact else "Summary edited"
            text = f"{what}, ~{tokens(after)} · u on its row undoes it"
        case CompactionRedone(tokens_after=after):
            text = f"Applied again: ~{tokens(after)} · /undo undoes it"
        case SessionClear():
            text = "Cleared: the model starts fresh · /undo undoes it until you send a prompt"
        case SessionRewind(failed=False, again=False):
            text = "Rewound: the prompt is in the editor · to undo: ctrl+c, then /undo"
        case BranchMerged(name=name, taken=taken):
            added = round(sum(payload.tokens.values()) * state.scale)
            figures = f"{tokens(added)} added, {count(len(taken), 'file')}"
            text = f"Merged {one_line(name, 40)}: {figures} · /undo undoes both"
        case SessionRestored(tokens_after=after):
            text = f"Undone: the conversation is as it was before, ~{tokens(after)}"
        case _:
            return state
    return saying(state, text)


def _goal(state: ChatState, payload: Payload, now: float) -> ChatState:
    match payload:
        case GoalSet():
            state = replace(state, goal=Goal(0, payload).progress)
        case GoalChecked(turn=turn):
            _, of, most = state.goal.partition(" of ")
            state = replace(state, goal=f"goal {turn}{of}{most}")
        case GoalEnded(outcome=outcome):
            state = replace(state, goal="")
            if outcome == "met":
                return state  # the check's own status already shows it
        case _:
            return state
    if not (state.turn or state.shell or isinstance(payload, GoalSet)):
        # The check that needed approval is no longer running.
        state = _showing(state, Status())
    return answering(state, payload.headline())


def _session(state: ChatState, payload: Payload, now: float) -> ChatState:
    match payload:
        case SessionStart():
            return replace(state, title=payload.title, model=payload.model, policy=payload.policy)
        case UserMessage(text=text):
            return replace(state, sending="", title=state.title or prompt_line(text))
        case QueueChanged(prompts=prompts, paused=paused):
            return replace(state, queue=prompts, paused=paused)
        case GaugeChanged(usage=usage):
            before, status = state.usage, state.status
            if before is not None and before.scale != usage.scale and status.text == _answers(state.model):
                status = replace(status, notes=(counted_text(before.total, usage.total),))
            return replace(state, usage=usage, status=status)
        case ModelChange(new=new):
            return replace(state, model=new, status=Status(kind="message", text=_answers(new)))
        case EffortChange(new=new):
            return replace(state, effort=new, status=Status(kind="message", text=f"Effort: {new}"))
        case ModeChange(old=old, new=new):
            worked = old if old != "plan" else state.worked
            about, state = ABOUT[new], replace(state, mode=new, worked=worked, planned=False)
            return answering(state, f"{new} mode: {about[0].lower()}{about[1:]}")
        case PolicyChange(new=new):
            return replace(state, policy=new, status=Status(kind="message", text=f"Policy: {new}"))
    return state


def _answers(model: str) -> str:
    return f"Now answering: {model}"


def _with_notice(state: ChatState, payload: Payload, now: float) -> ChatState:
    """Add events that the user must not miss to the notices."""
    match payload:
        case Notice(text=text, actions=actions, passing=True):
            return answering(state, state.worded(text, *actions))
        case Notice(text=text, actions=actions):
            text = state.worded(text, *actions)
        case HookRan(outcome="failed" | "timeout" | "missing" | "overruled"):
            text = f"The {one_line(payload.headline(), 400).rstrip('.')}. Nothing changed."
        case MemoryPressure():
            text = payload.headline()
        case Error(message=message, hint=hint, actions=actions):
            return noting(state, state.worded(f"{message} {hint}".strip(), *actions))
        case _:
            return state
    return noting(saying(state, text), text)


_PARTS = (_turn, _tool, _command, _compaction, _rewritten, _goal, _session, _with_notice)
"""The parts of the fold; each ignores the events of the others."""


def advance(state: ChatState, payload: Payload, now: float) -> ChatState:
    """Fold one event into the state.

    Args:
        state: The state before it.
        payload: The event.
        now: Monotonic seconds, the clock of the status row.
    """
    before = state.status
    if isinstance(payload, TurnStart):
        state = replace(state, turn_costs=Costs())
    elif (costs := state.costs.after(payload)) is not state.costs:
        of_turn = isinstance(payload, AssistantMessage | SubAgentStep)
        turn = state.turn_costs.after(payload) if of_turn else state.turn_costs
        state = replace(state, costs=costs, turn_costs=turn)
    for part in _PARTS:
        state = part(state, payload, now)
    status = state.status
    if before.under is None or not (before.busy and status.busy) or status.notes or status.under is not None:
        return state
    # The answer to a key stays although other work is running now.
    return replace(state, status=replace(status, notes=before.notes, under=status))
