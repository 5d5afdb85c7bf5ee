"""Tool calls that need approval: judged by rules and the mode, else asked about one after the other.

Only :meth:`Approvals.decide` lets a call go ahead, and only whoever shows the questions calls it. Nothing a
model or a tool says leads there.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic_ai import DeferredToolRequests, DeferredToolResults, RunContext, ToolDenied
from pydantic_ai.capabilities import AbstractCapability, WrapOutputProcessHandler, WrapToolExecuteHandler
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry, ToolFailed
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.output import OutputContext
from pydantic_ai.tools import ToolDefinition

from tui_app.agent.approvals.command_line import ANYWHERE, Folder
from tui_app.agent.approvals.guards import breaks
from tui_app.agent.approvals.rules import (
    PERHAPS,
    Action,
    Gate,
    Verdict,
    fits,
    judge,
    proposed_pattern,
    proposed_prefix,
)
from tui_app.context.history import ignore
from tui_app.context.message_marks import mode_text, mode_told
from tui_app.context.user_text import NOT_DONE, SAID_NO
from tui_app.conversation.answers import OpenQuestions
from tui_app.conversation.hooks import ChangedArguments
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import (
    ApprovalDecided,
    ApprovalDecision,
    ApprovalRequested,
    ApprovalsAhead,
    DecidedBy,
    GuardSet,
    ModeChange,
    ModeTold,
    Payload,
    QuestionAsked,
    QuestionClosed,
)
from tui_app.modes import Mode
from tui_app.providers import SEARCHING
from tui_app.records import frozen, like
from tui_app.settings.rules import Refused
from tui_app.settings.tables import ApprovalRule, parse_rule
from tui_app.tool_specs import FILE_LOOKERS, PLAN

# Calls of one answer that nobody has allowed yet, and which of them is asked about next.


@dataclass(eq=False, slots=True)
class Place:
    """One place in the line of questions."""

    call: str
    turn: asyncio.Future[None] | None = None
    """Done when it is asked about; None while its tool works out what to ask."""


@dataclass(slots=True)
class CallsAhead:
    """Keeps the order in which tools begin, which is that of the answer.

    It does not matter how long each takes to say what it would do. A tool that began earlier must never wait
    for one that began later: neither would be asked about. Belongs to one event loop.
    """

    report: Callable[[Payload], object]
    """Shows an event."""
    watched: bool = False
    """Whether a user is there to see it; otherwise nothing waits."""
    moved: Callable[[], None] = lambda: None
    """Is called when the number of those that wait may have changed."""
    _held: dict[str, None] = field(default_factory=dict)
    _places: list[Place] = field(default_factory=list)
    _asked: Place | None = None

    @property
    def waiting(self) -> int:
        """How many know what to ask, and are not asked about yet."""
        return sum(place.turn is not None and place is not self._asked for place in self._places)

    @property
    def arrived(self) -> set[str]:
        """Calls that are asked about, or wait to be."""
        return {place.call for place in self._places if place.turn is not None}

    def restart(self) -> None:
        """Forget the calls of the run before."""
        if self._held:
            self._held.clear()
            self._tell()

    def hold(self, call: str) -> None:
        """Note that a call must not run before it was allowed."""
        if self.watched and call and call not in self._held:
            self._held[call] = None
            self._tell()

    def holds(self, call: str) -> bool:
        """Whether a call still has to be allowed."""
        return call in self._held

    def let(self, call: str) -> None:
        if call in self._held:
            del self._held[call]
            self._tell()

    @contextmanager
    def begun(self, call: str) -> Iterator[None]:
        """Keep a place for a call that has to be allowed while its tool works."""
        if call not in self._held:
            yield
            return
        place = Place(call)
        self._places.append(place)
        try:
            yield
        finally:
            self._leave(place)

    @asynccontextmanager
    async def turn(self, call: str, *, first: bool = False) -> AsyncIterator[None]:
        """Wait in the place that was kept for a call, or the last one, until it is asked about.

        Args:
            call: Id of the call; may be empty.
            first: Whether its tool will ask something else later: its own place is kept.
        """
        kept = self._kept(call)
        place = Place(call) if first or kept is None else kept
        if place is not kept:
            self._places.insert(len(self._places) if kept is None else self._places.index(kept), place)
        place.turn = asyncio.get_running_loop().create_future()
        self._next()
        try:
            await place.turn
            yield
        finally:
            self._leave(place)

    def judged(self, call: str) -> None:
        if (kept := self._kept(call)) is not None:
            self._leave(kept)

    def _leave(self, place: Place) -> None:
        """Give a place up; the one behind it may be next."""
        if place is self._asked:
            self._asked = None
        if place in self._places:
            self._places.remove(place)
        self._next()

    def _kept(self, call: str) -> Place | None:
        return next((each for each in self._places if call and each.call == call and each.turn is None), None)

    def _next(self) -> None:
        place = self._places[0] if self._places and self._asked is None else None
        if place is not None and place.turn is not None:
            self._asked = place
            if not place.turn.done():
                place.turn.set_result(None)
        self.moved()

    def _tell(self) -> None:
        self.report(ApprovalsAhead(call_ids=tuple(self._held)))


_REASON_CHARS = 2_000


@frozen
class Decision:
    """The answer to a question: the user's answer, or that nobody could be asked."""

    answer: Literal["once", "always", "no", "nobody", "mode"]
    """``mode`` where the session's mode has answered meanwhile."""
    pattern: str = ""
    """With ``always``: the rule to add for this session, ``TOOL PATTERN``."""
    reason: str = ""
    """With ``no`` and ``nobody``: why; the model reads it."""


@dataclass(slots=True)
class Approvals:
    """The gate of one conversation. Belongs to one event loop.

    What was allowed once is allowed for that very call; what was allowed from now on ends with this object,
    so a resumed session asks again.
    """

    report: Callable[[Payload], object]
    """Writes an event down and shows it."""
    rules: tuple[ApprovalRule, ...] = ()
    """Of the settings and the command line."""
    folder: Folder = ANYWHERE
    """Where commands run."""
    read_only: bool = False
    mode: Mode = "ask"
    attended: bool = False
    """Whether a user sees the questions and can answer."""
    is_left: bool = False
    """Whether what is asked will be asked again by the process that goes on."""
    yes: bool = False
    """Whether everything that asks goes ahead where nobody is there, but what a rule may deny."""
    session_rules: tuple[ApprovalRule, ...] = ()
    """Rules that the user has added with "always"."""
    guards: Mapping[int, GuardSet] = field(default_factory=dict)
    """Rules of the user that stop a call whatever allows it."""
    traced: Callable[[Action], Action] = lambda action: action
    """Finds out where what a call acts on first stood, and guards it if the user never wrote it."""
    repeated: Callable[[str], str] = lambda _call: ""
    """What a call does that was done before, by its id; empty for nothing."""
    _asked: dict[str, Action] = field(default_factory=dict)
    _answers: OpenQuestions[Decision] = field(default_factory=OpenQuestions)
    ahead: CallsAhead = field(init=False)
    """The calls that have not been allowed yet."""
    _shown: ApprovalRequested | None = None
    _count: int = 0

    def __post_init__(self) -> None:
        self.ahead = CallsAhead(self.report, self.attended, self._recount)

    async def __call__(self, action: Action) -> str:
        why = await self.refusal(action)
        return NOT_DONE.format(why) if why else ""

    async def refusal(self, action: Action) -> str:
        """Wait for a decision; why the action must not be done, without what the model is to do then."""
        # A tool that changes a file may look at it first: that it may look lets it change nothing.
        only_looks = action.looks and self.ahead.holds(action.call)
        declined = await self._answer(action)
        if not only_looks:
            self.ahead.judged(action.call)
            if not declined:
                self.ahead.let(action.call)
        return declined

    async def _answer(self, action: Action) -> str:
        verdict = self.judged(action)
        if verdict.ruling != "deny" and not action.looks:
            action = self.traced(action)
            verdict = self.judged(action)
        if verdict.ruling != "ask":
            return self._ruled(action, verdict)
        if not self.attended:
            if action.reaches:
                self._note(action, "denied", "unattended", reason=verdict.because)
                told = f"{_first_stood(action)}, and the user never wrote it"
                return f"{told}; no rule covers that, and there is no user to ask"
            if verdict.firm:
                self._note(action, "denied", "rule", scope="rule", rule=verdict.rule, reason=PERHAPS)
                why = verdict.rule or verdict.because
                return f'the rule "{why}" may forbid it, and there is no user to ask'
            if self.yes:
                self._note(action, "allowed", "unattended", reason="--yes")
                return ""
            self._note(action, "denied", "unattended", reason=verdict.because)
            return "no rule allows it, and there is no user to ask"
        self.ahead.hold(action.call)
        async with self.ahead.turn(action.call, first=action.looks):
            # What was said of the call before this one may be a rule for this one.
            verdict = self.judged(action)
            if verdict.ruling != "ask":
                return self._ruled(action, verdict)
            return await self._ask(action, verdict)

    def _recount(self) -> None:
        """Let the question that is shown say how many wait behind it."""
        if self._shown is not None and self._shown.waiting != self.ahead.waiting:
            self._shown = replace(self._shown, waiting=self.ahead.waiting)
            self.report(self._shown)

    def decide(self, id: str, decision: Decision) -> bool:
        """Answer a question.

        Returns:
            Whether it was waiting for that; every question is answered once.
        """
        return self._answers.answer(id, decision)

    def change_mode(self, mode: Mode) -> None:
        """Go on in another mode; what is asked about and needs no answer in it any more is decided."""
        self.mode = mode
        for id, action in list(self._asked.items()):
            if self.judged(action).ruling != "ask":
                self.decide(id, Decision("mode"))

    def forget(self, rule: ApprovalRule) -> None:
        """Take back what was allowed from now on."""
        self.session_rules = tuple(each for each in self.session_rules if each != rule)

    def replace_rules(self, rules: Sequence[ApprovalRule]) -> None:
        """Put other rules of the settings into force; those of the command line stay."""
        kept = tuple(rule for rule in self.rules if rule.source in ("command line", "built in"))
        self.rules = (*rules, *kept)

    def judged(self, action: Action) -> Verdict:
        for seq, guard in self.guards.items():
            if (found := breaks(guard, action, self.folder)) != "no":
                # What only may break it is for the user to say.
                is_sure = found == "surely"
                why = f"it breaks a guard of the user, {guard.words}"
                return Verdict("deny" if is_sure else "ask", why, firm=not is_sure, guard=seq)
        rules = (*self.rules, *self.session_rules)
        return judge(action, rules, read_only=self.read_only, mode=self.mode, folder=self.folder)

    def _ruled(self, action: Action, verdict: Verdict, id: str = "") -> str:
        by: DecidedBy = "guard" if verdict.guard else "rule" if verdict.rule else "mode"
        rule, why = (verdict.because, "") if verdict.rule else ("", verdict.because)
        if verdict.ruling == "allow":
            # What only looks would have gone ahead without any rule: nothing was decided.
            if not action.looks:
                self._note(action, "allowed", by, id=id, scope="rule", rule=rule, reason=why)
            return ""
        rule = self.guards[verdict.guard].words if verdict.guard else rule
        self._note(action, "denied", by, id=id, scope="rule", rule=rule, reason=why, guard=verdict.guard)
        return why or f'the rule "{rule}" forbids it'

    async def _ask(self, action: Action, verdict: Verdict) -> str:
        self._count += 1
        id = f"{action.call or action.tool}.{self._count}"
        self._asked[id] = action
        pattern = "" if verdict.rule or verdict.guard else proposed_pattern(action, self.folder)
        shown = self._shown = like(
            ApprovalRequested,
            action,
            id=id,
            tool_call_id=action.call,
            pattern=pattern,
            prefix=proposed_prefix(action, self.folder) if pattern else "",
            because=verdict.because,
            origin=_first_stood(action) if action.reaches else "",
            origin_seq=action.origin_key,
            repeats=self.repeated(action.call),
            waiting=self.ahead.waiting,
        )
        try:
            decision = await self._answers.ask(id, lambda: self.report(shown))
        except asyncio.CancelledError:
            if not self.is_left:
                self._note(action, "cancelled", "person", id=id)
            raise
        finally:
            self._shown = None
            del self._asked[id]
        if decision.answer == "mode":
            return self._ruled(action, self.judged(action), id)
        reason = decision.reason.strip()[:_REASON_CHARS]
        if decision.answer == "nobody":
            self._note(action, "denied", "unattended", id=id, reason=reason)
            return f"the user could not be asked: {reason}"
        if decision.answer == "no":
            self._note(action, "denied", "person", id=id, reason=reason)
            return f"{SAID_NO}, because: {reason}" if reason else SAID_NO
        is_rule = decision.answer == "always" and bool(pattern)
        rule = session_rule(action, decision.pattern, self.folder) if is_rule else None
        if rule is None:
            self._note(action, "allowed", "person", id=id)
        else:
            self._note(action, "allowed", "person", id=id, scope="always", rule=rule.text)
            self.session_rules = (*(each for each in self.session_rules if each != rule), rule)
        return ""

    def _note(
        self, action: Action, decision: ApprovalDecision, by: DecidedBy, *, id: str = "", **what: Any
    ) -> None:
        """Write a decision down, before anything comes of it."""
        call = action.call
        self.report(like(ApprovalDecided, action, id=id, tool_call_id=call, decision=decision, by=by, **what))


def _first_stood(action: Action) -> str:
    return f"{action.traced} first stood in {action.origin}"


def session_rule(action: Action, text: str, folder: Folder = ANYWHERE) -> ApprovalRule | None:
    """The rule that "always" adds; None where it is none, or not about this action."""
    try:
        rule = parse_rule("allow", text, "session")
    except Refused:
        return None
    return rule if not action.guarded and fits(rule, action, folder) else None


def asked_action(asked: ApprovalRequested) -> Action:
    """The action that a question is about, as far as rules look at it."""
    return Action(tool=asked.tool, kind=asked.kind, subject=asked.subject)


def command_line_rules(patterns: Sequence[str]) -> tuple[ApprovalRule, ...]:
    """Rules given for one run. Raises ``Refused``."""
    return tuple(parse_rule("allow", text, "command line") for text in patterns)


# Questions of the model to the user: in the same line as approvals, answered by whoever shows them.

ANSWERED = "The user answers: {}"
NO_ANSWER = (
    "The user gave no answer. Go on with what is most sensible and say what you assumed, or leave out what "
    "needs the answer."
)
NOBODY = (
    "There is no user to answer. Go on with what is most sensible and say what you assumed, or leave out "
    "what needs the answer."
)
LATER = (
    "The question is shown to the user, who answers with the next prompt. End your turn now: do nothing that "
    "needs the answer."
)
_ANSWER_CHARS = 10_000


@dataclass(slots=True)
class Questions:
    """The questions of one conversation. Belongs to one event loop."""

    report: Callable[[Payload], object]
    """Shows a question."""
    ahead: CallsAhead
    """The line in which approvals wait too: one thing is asked at a time."""
    attended: bool = False
    """Whether a user sees the questions and can answer."""
    repeated: Callable[[str], str] = lambda _call: ""
    """What a call asks that was answered before, by its id; empty for nothing."""
    _answers: OpenQuestions[str] = field(default_factory=OpenQuestions)
    _count: int = 0

    async def ask(self, question: str, choices: Sequence[str], call: str) -> str:
        """Wait for the answer; what the model reads of it."""
        self._count += 1
        id = f"{call}.question.{self._count}"
        asked = QuestionAsked(
            id=id,
            tool_call_id=call,
            question=question,
            choices=tuple(choices),
            attended=self.attended,
            repeats=self.repeated(call),
        )
        if not self.attended:
            self.report(asked)
            return NOBODY
        async with self.ahead.turn(call):
            try:
                return await self._answers.ask(id, lambda: self.report(asked))
            finally:
                self.report(QuestionClosed(id=id))

    def reply(self, id: str, text: str) -> bool:
        """Answer a question; an empty text is no answer.

        Returns:
            Whether it was waiting for that; every question is answered once.
        """
        answer = text.strip()[:_ANSWER_CHARS]
        return self._answers.answer(id, ANSWERED.format(answer) if answer else NO_ANSWER)

    def postpone(self, id: str) -> bool:
        """Let the next prompt answer a question, where nothing else can; whether it was waiting for that."""
        return self._answers.answer(id, LATER)


@frozen
class AgentQuestions:
    """Questions of a sub-agent, put in its name."""

    questions: Questions
    agent: str

    async def ask(self, question: str, choices: Sequence[str], call: str) -> str:
        told = await self.questions.ask(f"{self.agent} asks: {question}", choices, call)
        if told != NOBODY:
            return told
        return "There is no user to answer. End with the question: whoever has sent you reads it."


# Asking before tools run that do not ask for themselves: of servers, of others' agents, a few of ours.

_DESCRIBING = frozenset({"tool-search", "capability-load"})
"""Kinds of tools with which pydantic-ai itself shows a model more tools: those are asked about in turn."""
_NO_RESULT = (
    "Not done: the result of {} would have to come from outside of this program, and nothing can bring it "
    "here. Go on without it, or tell the user."
)


@dataclass(eq=False)
class ToolGate(AbstractCapability[Any]):
    """Lets only known tools run without a word, and of those what no rule asks about or denies.

    What pydantic-ai would have approved by the user passes the same gate, once.
    """

    gate: Gate
    """Decides about the others."""
    known: Collection[str] = ()
    """Names of the tools that ask for themselves, with what they would do or look at."""
    free: Collection[str] = ()
    """Names of those that only look, or keep notes: they go ahead unless a rule sets it."""
    ahead: CallsAhead = field(default_factory=lambda: CallsAhead(ignore))
    """Is told which calls have to be allowed, in the order of the answer."""
    _let_through: set[Action] = field(default_factory=set, init=False)
    """Calls that may go ahead, and whose tool wants to hear that once more."""

    async def for_run(self, ctx: RunContext[Any]) -> "ToolGate":
        """No yes outlives its turn."""
        self.ahead.restart()
        return replace(self)

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Note what has to be allowed before any of it begins; whatever has a result is over."""
        match event:
            case FunctionToolCallEvent(part=call, args_valid=True):
                looks = call.tool_name in FILE_LOOKERS and call.tool_name in self.known
                if not looks and call.tool_name not in self.free:
                    self.ahead.hold(call.tool_call_id)
            case FunctionToolResultEvent(part=part):
                self.ahead.let(part.tool_call_id)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Ask, and run the tool with the very arguments that were asked about."""
        if tool_def.tool_kind in _DESCRIBING:
            self.ahead.let(call.tool_call_id)
            return await handler(args)
        with self.ahead.begun(call.tool_call_id):
            if call.tool_name in self.known:
                return await handler(args)
            asked = replace(call, args=args.said) if isinstance(args, ChangedArguments) else call
            action = replace(_action(asked), looks=call.tool_name in self.free)
            if action in self._let_through and ctx.tool_call_approved:
                self._let_through.discard(action)
                self.ahead.judged(call.tool_call_id)
                self.ahead.let(call.tool_call_id)
            elif declined := await self.gate(action):
                return ToolDenied(declined)
            try:
                return await handler(args)
            except ApprovalRequired:
                # It comes back, approved by ``handle_deferred_tool_calls``, and is not asked about again.
                self._let_through.add(action)
                raise

    async def wrap_output_process(
        self,
        ctx: RunContext[Any],
        *,
        output_context: OutputContext,
        output: Any,
        handler: WrapOutputProcessHandler,
    ) -> Any:
        """Ask before a function runs that a model calls to give its answer.

        Raises:
            ModelRetry: if it must not run; the model reads why, and may answer in another way.
        """
        call = output_context.tool_call
        if call is not None and output_context.has_function and (declined := await self.gate(_action(call))):
            raise ModelRetry(declined)
        return await handler(output)

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults:
        """Leave what wants approval to the gate, which is asked before it is executed too."""
        calls: dict[str, Any] = {
            call.tool_call_id: ToolFailed(_NO_RESULT.format(call.tool_name)) for call in requests.calls
        }
        return requests.build_results(approve_all=True, calls=calls)


def _action(call: ToolCallPart) -> Action:
    return Action(tool=call.tool_name, kind="other", subject=call.args_as_json_str(), call=call.tool_call_id)


# The mode of a conversation: changing it, telling the model, and turning a plan into work.

ACCEPTED = "The plan is accepted. Carry it out now, step by step, and keep the todo list up to date."
"""The prompt that turns a plan into work."""
NOT_PLANNING = "There is no plan to accept: the session is in {} mode. /mode plan asks the model for one."


@dataclass(slots=True)
class ModeSwitch:
    """Changes the mode of one conversation at once, also in the middle of a turn; the log remembers it."""

    history: SessionHistory
    approvals: Approvals

    @property
    def current(self) -> Mode:
        return self.approvals.mode

    def change(self, mode: Mode) -> None:
        if mode == (old := self.current):
            self.history.refuse(f"The mode is already {mode}.")
            return
        self.history.report(ModeChange(old=old, new=mode))
        self.approvals.change_mode(mode)

    def accept(self, mode: Mode) -> str:
        """Leave plan mode for another one, if there is a plan.

        Returns:
            The prompt that begins the work; empty where there is nothing to accept, which is reported.
        """
        folder = self.history.archive.folder
        if self.current != "plan":
            self.history.refuse(NOT_PLANNING.format(self.current))
        elif not folder.read_note(folder.plan_file).strip():
            self.history.refuse(
                f"There is no plan yet: the model has not kept one with its tool {PLAN.name}. Ask it for one."
            )
        else:
            self.change(mode)
            return ACCEPTED
        return ""

    async def tell_mode(self, request: ModelRequestContext) -> None:
        """Tell the model of the mode, in one line behind the newest message, where it knows of another one.

        What it knows is read off the view, so it is told again once a compaction has taken the line along.
        """
        # The built-in search takes whatever is last for what it is asked.
        if request.model.system in SEARCHING:
            return
        known = (told for item in reversed(self.history.items()) if (told := mode_told(item.message)))
        if self.current != next(known, "ask"):
            self.history.tell_model(ModeTold(text=mode_text(self.current), mode=self.current))
