"""The state of the chat screen as one frozen value."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple

from tui_app.events import (
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
"""So many of the newest notices are kept."""
EARLIER = "From an earlier session: "
"""In front of notices that were unread when their session was left."""


class Running(NamedTuple):
    """A call of a tool that has no result yet."""

    id: str
    name: str
    since: float
    """Monotonic seconds."""
    output: str = ""
    """The end of what it has printed so far."""


@frozen(kw_only=True)
class ChatState:
    """Everything around the transcript. Children are given parts of it; nobody else keeps a copy."""

    def worded(self, said: str, *steps: str) -> str:
        """A sentence with what can be done next, in the keys of the user."""
        return screen_text(said, steps, self.keymap)

    keymap: Mapping[str, str] = field(default_factory=dict)
    """Keys that the settings have changed."""
    title: str = ""
    model: str = ""
    policy: str = ""
    effort: str = ""
    """How much the model thinks; empty as it is set."""
    mode: Mode = "ask"
    worked: Mode = "ask"
    """The mode before plan mode, in which an accepted plan is carried out."""
    goal: str = ""
    """How far the goal is; empty where there is none."""
    planned: bool = False
    """Whether the model has proposed a plan that can be accepted."""
    costs: Costs = field(default_factory=Costs)
    """Of the session so far: dollars, and requests whose price is not known."""
    turn_costs: Costs = field(default_factory=Costs)
    usage: ContextUsage | None = None
    status: Status = field(default_factory=Status)
    queue: tuple[str, ...] = ()
    paused: bool = False
    locked: Locked = ""
    """Why nothing can be changed; empty when it can."""
    notices: tuple[str, ...] = ()
    unread: int = 0
    """How many of them came since they were looked at last."""
    sending: str = ""
    """The prompt of the turn under way until the log holds it; empty from then on."""
    turn: bool = False
    """Whether a turn is under way."""
    turn_started: float = 0.0
    streamed: int = 0
    """Characters streamed in this turn."""
    unlogged: int = 0
    """Of these, the characters that the measured context does not hold yet."""
    background: float | None = None
    """Progress of a background compaction, 0 to 1; negative for one part; None when none runs."""
    writing: tuple[int, str] = (1, "")
    """The part of a summary that is being written, from 1, and all of its text so far."""
    leaving: tuple[tuple[int, int], ...] = ()
    """Inclusive ranges of log numbers of what a compaction under way would replace."""
    tokens_leaving: int = 0
    """What that has in the context, in tokens."""
    compacting: bool = False
    """Whether a compaction runs that the user waits for."""
    reviewing: bool = False
    """Whether a summary waits for a decision."""
    shell: str = ""
    """Id of the run of a command of the user's; empty while none runs."""
    tasks: frozenset[str] = frozenset()
    """Ids of the background commands that run."""
    forks: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    """Calls of the sub-agents that work: of those that are forks, and of others."""
    calls: tuple[Running, ...] = ()
    """Calls of tools without a result yet, the newest last."""
    question: ApprovalRequested | None = None
    """What a tool asks; None when none does."""
    asked: QuestionAsked | None = None
    """What the model asks; None when it asks nothing."""
    todos: tuple[TodoItem, ...] = ()
    """The todo list, as it was kept last."""
    ahead: tuple[str, ...] = ()
    """Ids of the calls that nobody has allowed yet."""

    @property
    def writes_summary(self) -> bool:
        """Whether there is some of a summary to read that nobody is asked about."""
        return (self.compacting or self.background is not None) and bool(self.writing[1])

    @property
    def output(self) -> str:
        """The end of what the newest running command that prints has printed."""
        return next((call.output for call in reversed(self.calls) if call.output), "")

    @property
    def waits_for_user(self) -> bool:
        """Whether a tool or the model has asked something."""
        return self.question is not None or self.asked is not None

    @property
    def scale(self) -> float:
        """Tokens as the model counts them for each counted one: every size on the screen is shown on it."""
        return self.usage.scale if self.usage is not None else 1.0

    @property
    def lasting_status(self) -> Status:
        """What the status row says apart from what only answers a key."""
        return self.status if self.status.under is None else self.status.under

    @property
    def answer(self) -> str:
        """What the status row answers to the last key; empty where it answers nothing."""
        status = self.status
        if status.under is None:
            return ""
        return status.notes[0] if status.busy and status.notes else status.text

    @property
    def busy(self) -> bool:
        """Whether Esc has something to stop."""
        waited_for = self.turn or self.compacting or self.reviewing or bool(self.shell)
        return waited_for or self.background is not None


def early(state: ChatState, queue: tuple[str, ...]) -> ChatState:
    """Show what waits for the agent side, also after some of it was undone or moved."""
    status = state.status if queue else Status()
    if len(queue) > len(state.queue):
        status = Status(kind="message", text=LOADING)
    return replace(state, queue=queue, status=status)


def keeping(state: ChatState, todos: str, plan: str) -> ChatState:
    """Go on with the texts of the todo list and the plan that a session was left with."""
    planned = state.mode == "plan" and bool(plan.strip())
    return replace(state, todos=read_todos(todos), planned=planned)


def saying(state: ChatState, text: str) -> ChatState:
    """Put a sentence in the status row: behind what is under way, or alone."""
    if state.status.busy:
        return replace(state, status=replace(state.status, notes=(text,) if text else (), under=None))
    return replace(state, status=Status(kind="message", text=text))


def answering(state: ChatState, text: str) -> ChatState:
    """Put a sentence in the status row that answers a key: it goes with the next one that does something."""
    said = saying(state, text)
    return replace(said, status=replace(said.status, under=state.lasting_status))


def moved_on(state: ChatState) -> ChatState:
    """Take what answered a key off the status row; what stood there before may have gone on since."""
    under = state.status.under
    if under is None:
        return state
    before = replace(state.status, notes=under.notes, under=None) if state.status.busy else under
    return replace(state, status=before)


def noting(state: ChatState, text: str) -> ChatState:
    """Add a notice; the oldest ones leave."""
    notices = (*state.notices, text)[-NOTICES:]
    return replace(state, notices=notices, unread=min(state.unread + 1, NOTICES))


def unread_of(state: ChatState) -> tuple[str, ...]:
    """The notices that came since they were looked at last."""
    return state.notices[len(state.notices) - state.unread :]


def bringing(state: ChatState, notices: Iterable[str]) -> ChatState:
    """Put unread notices of the session before in front of this one's, each once."""
    before = tuple(dict.fromkeys(EARLIER + text.removeprefix(EARLIER) for text in notices))
    every = (*before, *state.notices)[-NOTICES:]
    return replace(state, notices=every, unread=min(len(before) + state.unread, NOTICES))


LATER = "Compaction will be retried later."
"""What a stopped compaction leads to where the row, which says the rest, has no room for it."""
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
            # In tens: a row that counted each word would be written anew with each, on slow lines too.
            written = -(-streamed // 4)
            written -= written % 10 if written > _EXACT_TOKENS else 0
            status = Status(kind="answering", started=state.turn_started, tokens=written)
            return _showing(state, status, streamed=streamed, unlogged=unlogged)
        case AssistantMessage():
            return replace(state, unlogged=0)
        case TurnEnd(outcome=outcome, broken_by=broken_by):
            told, costs = state.status, turn_text(state.turn_costs)
            missed = (f"cache missed: {broken_by}",) if costs and broken_by else ()
            done = Status(kind="message" if costs else "idle", text=costs, notes=missed)
            if told.busy and told.notes and told.under is None:
                # After what was reported at its end.
                notes = (costs, *missed) if costs else ()
                done = Status(kind="message", text=told.notes[0], notes=notes)
            if state.planned:
                done = Status(kind="message", text=PLANNED)
            ends = {"cancelled": STOPPED, "done": done}
            # What was said last while a turn failed stays: it may be why. The count of tries does not.
            said = state.status.notes if outcome == "failed" and state.status.kind != "pausing" else ()
            other = Status(kind="message", text=said[0]) if said else Status()
            # What a sub-agent in the background asks stays.
            state = replace(state, calls=(), ahead=(), turn=False, sending="", unlogged=0)
            return _showing(state, ends.get(outcome, other))
    return state


def _tool(state: ChatState, payload: Payload, now: float) -> ChatState:
    """Show what a tool asks and prints."""
    match payload:
        case ToolCall(tool_call_id=id, name=name):
            state = replace(state, calls=(*state.calls, Running(id, one_line(name, 40), now)))
            return state if state.waits_for_user else _between(state)
        case ToolResult() if state.turn:
            state = _returned(state, payload)
            return state if state.waits_for_user else _between(state)
        case QuestionAsked(attended=True):
            return replace(state, asked=payload, status=Status())  # the box says that it waits
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
    """Follow a command of the user's, and what goes on in the background."""
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
            told = Status(kind="message", text=KEPT_FROM_MODEL) if payload.private else Status()
            return _showing(state, STOPPED if payload.outcome == "stopped" else told, shell="")
    return state


def _returned(state: ChatState, result: ToolResult) -> ChatState:
    """Take a call off those that run, with what its result says of plan, todo list and question."""
    calls = tuple(call for call in state.calls if call.id != result.tool_call_id)
    planned, todos = state.planned, state.todos
    if result.outcome == "success" and result.name == PLAN.name:
        planned = state.mode == "plan"
    elif result.outcome == "success" and result.name == TODO.name:
        todos = read_todos(result.text)
    return replace(state, calls=calls, planned=planned, todos=todos)


def _between(state: ChatState) -> ChatState:
    """Name the newest call that still runs; where none does, whoever is waited for."""
    newest = state.calls[-1] if state.calls else None
    status = Status(kind="tool", text=newest.name, started=newest.since) if newest else _waiting(state)
    return _showing(state, status)


def _waiting(state: ChatState) -> Status:
    """The model is waited for, or nobody: a goal's check asks between two turns."""
    busy = Status(kind="connecting", started=state.turn_started, model=state.model)
    return busy if state.turn else Status()


def _showing(state: ChatState, status: Status, **changes: Any) -> ChatState:
    """A status, unless the row has a compaction that the user waits for."""
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
    if done.outcome in ("failed", "discarded", "vetoed"):
        state = noting(state, outcome_text(done, NOTICE_CELLS)[0])
    elif done.outcome == "cancelled" and done.reason:
        state = noting(state, state.worded(f"{text}. {LATER}", "compact"))
    elif told := stand_in_text(done):
        state = noting(state, told)
    # What ends in the background is not interrupted for, unless it was a user's decision that ended it.
    status = state.status if done.trigger == "background" and not state.reviewing else outcome
    state = replace(state, compacting=False, reviewing=False, background=None, leaving=(), tokens_leaving=0)
    if not state.turn:
        return replace(state, status=status)
    state = replace(state, status=_waiting(state))
    return saying(state, text) if done.outcome == "cancelled" and done.reason else state


def _rewritten(state: ChatState, payload: Payload, now: float) -> ChatState:
    """Word what the user has done to the view."""
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
            told = f"{tokens(added)} added, {count(len(taken), 'file')}"
            text = f"Merged {one_line(name, 40)}: {told} · /undo takes both back"
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
                return state  # its check has said so
        case _:
            return state
    if not (state.turn or state.shell or isinstance(payload, GoalSet)):
        # The check that was asked about runs no longer.
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
    """Keep what must not be missed among the notices."""
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
"""The parts of the fold; each leaves what is not for it."""


def advance(state: ChatState, payload: Payload, now: float) -> ChatState:
    """Fold one event into the state.

    Args:
        state: Before it.
        payload: What happened.
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
    # What answered a key stays where something else runs now than when it was said.
    return replace(state, status=replace(status, notes=before.notes, under=status))
