"""Approval of tool calls: by rule, by mode, or by asking the user, one question at a time.

Only :meth:`Approvals.decide` can allow a call, and only the front end that shows the questions calls it. No
output of a model or a tool reaches it.
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
    """One call's place in the order of questions."""

    call: str
    has_arrived: bool = False
    """Whether the tool has worked out what to ask."""
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the user is asked about this call."""


@dataclass(slots=True)
class CallsAhead:
    """Keeps tool calls in the order of the answer while they wait for approval.

    Tools may take different times to work out what they would do. A call that began earlier must never wait
    for a later one, or neither would be asked about. Not thread-safe: use it on one event loop.
    """

    report: Callable[[Payload], object]
    """Publishes an event."""
    watched: bool = False
    """Whether a user is there to see it. If not, no call waits."""
    moved: Callable[[], None] = lambda: None
    """Called when the number of waiting calls may have changed."""
    _held: dict[str, None] = field(default_factory=dict)
    _places: list[Place] = field(default_factory=list)
    """The first one is asked about as soon as its tool knows what to ask."""

    @property
    def waiting(self) -> int:
        return sum(place.has_arrived and not place.turn.is_set() for place in self._places)

    @property
    def arrived(self) -> set[str]:
        """Calls the user is being asked about, or will be."""
        return {place.call for place in self._places if place.has_arrived}

    def restart(self) -> None:
        """Forget the calls of the previous run."""
        if self._held:
            self._held.clear()
            self._tell()

    def require_approval(self, call: str) -> None:
        """Record that a call must not run before it is allowed."""
        if self.watched and call and call not in self._held:
            self._held[call] = None
            self._tell()

    def needs_approval(self, call: str) -> bool:
        """Return whether a call still has to be allowed."""
        return call in self._held

    def allow(self, call: str) -> None:
        if call in self._held:
            del self._held[call]
            self._tell()

    @contextmanager
    def reserve(self, call: str) -> Iterator[None]:
        """Keep a place for a call that needs approval while its tool works."""
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
        """Wait until it is the call's turn to be asked about: in its reserved place, else last.

        Args:
            call: Id of the call; may be empty.
            first: Whether its tool will ask something else later. Its reserved place is then kept.
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
    """The user's answer to a question, or that the user could not be asked."""

    answer: Literal["once", "always", "no", "nobody", "mode"]
    """``mode``: the session's mode changed meanwhile, and decides the call now."""
    pattern: str = ""
    """With ``always``: the rule to add for this session, ``TOOL PATTERN``."""
    reason: str = ""
    """With ``no`` and ``nobody``: why. The model reads it."""


@dataclass(slots=True)
class Approvals:
    """The approvals of one conversation. Not thread-safe: use it on one event loop.

    Allowing a call once covers only that call. Rules added with "always" are lost with this object, so a
    resumed session asks again.
    """

    report: Callable[[Payload], object]
    """Logs and publishes an event."""
    rules: tuple[ApprovalRule, ...] = ()
    """Rules from the settings and the command line."""
    folder: Folder = ANYWHERE
    """Where commands run."""
    read_only: bool = False
    mode: Mode = "ask"
    attended: bool = False
    """Whether a user sees the questions and can answer."""
    is_left: bool = False
    """Whether the process that takes over the session will ask open questions again."""
    yes: bool = False
    """``--yes``: without a user, allow what would be asked, except what may be denied or reaches out."""
    session_rules: tuple[ApprovalRule, ...] = ()
    """Rules the user added with "always"."""
    guards: Mapping[int, GuardSet] = field(default_factory=dict)
    """The user's guards, by log number. They stop a call whatever allows it."""
    traced: Callable[[Action], Action] = lambda action: action
    """Finds where the target of a call first appeared, and marks it if the user never wrote it."""
    repeated: Callable[[str], str] = lambda _call: ""
    """Says, by call id, which earlier call this one repeats; empty for none."""
    _answers: OpenQuestions[Decision] = field(default_factory=OpenQuestions)
    ahead: CallsAhead = field(init=False)
    """The calls that have not been allowed yet."""
    _asked: Action | None = None
    """What the user is asked about now; one action at a time."""
    _shown: ApprovalRequested | None = None
    _count: int = 0

    def __post_init__(self) -> None:
        self.ahead = CallsAhead(self.report, self.attended, self._recount)

    async def __call__(self, action: Action) -> str:
        why = await self.refusal(action)
        return NOT_DONE.format(why) if why else ""

    async def refusal(self, action: Action) -> str:
        """Wait for a decision. Returns why the action must not run, or an empty string."""
        # A tool may look at a file before it changes it: permission to look does not allow the change.
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
                never = f"{_origin_text(action)}, and the user never wrote it; no rule covers that"
                why = never if action.reaches else "no rule allows it"
            return f"{why}, and there is no user to ask"
        self.ahead.require_approval(action.call)
        async with self.ahead.turn(action.call, first=action.looks):
            # The answer to the previous question may have added a rule for this one.
            verdict = self.judged(action)
            if verdict.ruling != "ask":
                return self._ruled(action, verdict)
            return await self._ask(action, verdict)

    def _recount(self) -> None:
        """Update the number of waiting calls in the question on screen."""
        if self._shown is not None and self._shown.waiting != self.ahead.waiting:
            self._shown = replace(self._shown, waiting=self.ahead.waiting)
            self.report(self._shown)

    def decide(self, id: str, decision: Decision) -> bool:
        """Answer a question.

        Returns:
            Whether it was open; each question is answered once.
        """
        return self._answers.answer(id, decision)

    def change_mode(self, mode: Mode) -> None:
        """Change the mode. A question on screen that the new mode decides is closed."""
        self.mode = mode
        if self._asked is not None and self._shown is not None and self.judged(self._asked).ruling != "ask":
            self.decide(self._shown.id, Decision("mode"))

    def forget(self, rule: ApprovalRule) -> None:
        """Remove a rule added with "always"."""
        self.session_rules = tuple(each for each in self.session_rules if each != rule)

    def replace_rules(self, rules: Sequence[ApprovalRule]) -> None:
        """Replace the rules from the settings; those of the command line stay."""
        kept = tuple(rule for rule in self.rules if rule.source in ("command line", "built in"))
        self.rules = (*rules, *kept)

    def judged(self, action: Action) -> Verdict:
        for seq, guard in self.guards.items():
            if (found := breaks(guard, action, self.folder)) != "no":
                # If it only may break the guard, the user decides.
                is_sure = found == "surely"
                why = f"it breaks a guard of the user, {guard.words}"
                return Verdict("deny" if is_sure else "ask", why, firm=not is_sure, guard=seq)
        rules = (*self.rules, *self.session_rules)
        return judge(action, rules, read_only=self.read_only, mode=self.mode, folder=self.folder)

    def _ruled(self, action: Action, verdict: Verdict, id: str = "") -> str:
        by: DecidedBy = "guard" if verdict.guard else "rule" if verdict.rule else "mode"
        rule, why = (verdict.because, "") if verdict.rule else ("", verdict.because)
        if verdict.ruling == "allow":
            # Reading needs no rule, so there was no decision to record.
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
            origin=_origin_text(action) if action.reaches else "",
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
        """Log a decision before acting on it."""
        call = action.call
        self.report(like(ApprovalDecided, action, id=id, tool_call_id=call, decision=decision, by=by, **what))


def _origin_text(action: Action) -> str:
    return f"{action.traced} first stood in {action.origin}"


def session_rule(action: Action, text: str, folder: Folder = ANYWHERE) -> ApprovalRule | None:
    """The rule that "always" adds; None if the text is no rule, or does not fit this action."""
    try:
        rule = parse_rule("allow", text, "session")
    except Refused:
        return None
    return rule if not action.guarded and fits(rule, action, folder) else None


def asked_action(asked: ApprovalRequested) -> Action:
    """The action of a question, with the parts that rules look at."""
    return Action(tool=asked.tool, kind=asked.kind, subject=asked.subject)
