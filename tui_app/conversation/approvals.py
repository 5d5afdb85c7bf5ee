"""Tool calls that need approval: judged by rules and the mode, else asked about one after the other.

Only :meth:`Approvals.decide` lets a call go ahead, and only whoever shows the questions calls it. Nothing a
model or a tool says leads there.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tui_app.agent.approvals.command_line import ANYWHERE, Folder
from tui_app.agent.approvals.guards import breaks
from tui_app.agent.approvals.rules import (
    PERHAPS,
    Action,
    Verdict,
    fits,
    judge,
    proposed_pattern,
    proposed_prefix,
)
from tui_app.context.user_text import NOT_DONE, SAID_NO
from tui_app.conversation.answers import OpenQuestions
from tui_app.events import (
    ApprovalDecided,
    ApprovalDecision,
    ApprovalRequested,
    ApprovalsAhead,
    DecidedBy,
    GuardSet,
    Payload,
)
from tui_app.modes import Mode
from tui_app.records import frozen, like
from tui_app.settings.rules import Refused
from tui_app.settings.tables import ApprovalRule, parse_rule


@dataclass(eq=False, slots=True)
class Place:
    """One place in the line of questions."""

    call: str
    has_arrived: bool = False
    """Whether its tool has worked out what to ask."""
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is asked about."""


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
    """The first one is asked about, as soon as its tool knows what."""

    @property
    def waiting(self) -> int:
        return sum(place.has_arrived and not place.turn.is_set() for place in self._places)

    @property
    def arrived(self) -> set[str]:
        """Calls that are asked about, or wait to be."""
        return {place.call for place in self._places if place.has_arrived}

    def restart(self) -> None:
        """Forget the calls of the run before."""
        if self._held:
            self._held.clear()
            self._tell()

    def require_approval(self, call: str) -> None:
        """Note that a call must not run before it was allowed."""
        if self.watched and call and call not in self._held:
            self._held[call] = None
            self._tell()

    def needs_approval(self, call: str) -> bool:
        """Whether a call still has to be allowed."""
        return call in self._held

    def allow(self, call: str) -> None:
        if call in self._held:
            del self._held[call]
            self._tell()

    @contextmanager
    def reserve(self, call: str) -> Iterator[None]:
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
        place.has_arrived = True
        self._next()
        try:
            await place.turn.wait()
            yield
        finally:
            self._leave(place)

    def judged(self, call: str) -> None:
        if (kept := self._kept(call)) is not None:
            self._leave(kept)

    def _leave(self, place: Place) -> None:
        """Give a place up; the one after it may be next."""
        if place in self._places:
            self._places.remove(place)
        self._next()

    def _kept(self, call: str) -> Place | None:
        kept = (each for each in self._places if call and each.call == call and not each.has_arrived)
        return next(kept, None)

    def _next(self) -> None:
        if self._places and self._places[0].has_arrived:
            self._places[0].turn.set()
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
    _answers: OpenQuestions[Decision] = field(default_factory=OpenQuestions)
    ahead: CallsAhead = field(init=False)
    """The calls that have not been allowed yet."""
    _asked: Action | None = None
    """What the user is asked about; one action at a time."""
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
        only_looks = action.looks and self.ahead.needs_approval(action.call)
        declined = await self._answer(action)
        if not only_looks:
            self.ahead.judged(action.call)
            if not declined:
                self.ahead.allow(action.call)
        return declined

    async def _answer(self, action: Action) -> str:
        verdict = self.judged(action)
        if verdict.ruling != "deny" and not action.looks:
            action = self.traced(action)
            verdict = self.judged(action)
        if verdict.ruling != "ask":
            return self._ruled(action, verdict)
        if not self.attended:
            if verdict.firm and not action.reaches:
                self._note(action, "denied", "rule", scope="rule", rule=verdict.rule, reason=PERHAPS)
                why = f'the rule "{verdict.rule or verdict.because}" may forbid it'
            elif self.yes and not action.reaches:
                self._note(action, "allowed", "unattended", reason="--yes")
                return ""
            else:
                self._note(action, "denied", "unattended", reason=verdict.because)
                never = f"{_first_stood(action)}, and the user never wrote it; no rule covers that"
                why = never if action.reaches else "no rule allows it"
            return f"{why}, and there is no user to ask"
        self.ahead.require_approval(action.call)
        async with self.ahead.turn(action.call, first=action.looks):
            # What was said of the call before this one may be a rule for this one.
            verdict = self.judged(action)
            if verdict.ruling != "ask":
                return self._ruled(action, verdict)
            return await self._ask(action, verdict)

    def _recount(self) -> None:
        """Let the question that is shown say how many wait after it."""
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
        if self._asked is not None and self._shown is not None and self.judged(self._asked).ruling != "ask":
            self.decide(self._shown.id, Decision("mode"))

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
        pattern = "" if verdict.rule or verdict.guard else proposed_pattern(action, self.folder)
        self._asked = action
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
            self._asked = self._shown = None
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
