"""Calls of tools that wait for a person: judged by rules, else asked about one after the other.

Only :meth:`Approvals.decide` lets a call go ahead, and only whoever shows the questions calls it. Nothing a
model or a tool says leads there.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from tui_app.agent.approvals.action import Action
from tui_app.agent.approvals.policy import PERHAPS, Verdict, fits, judge, proposed_pattern
from tui_app.conversation.calls_ahead import CallsAhead
from tui_app.events import (
    ApprovalDecided,
    ApprovalDecision,
    ApprovalRequested,
    ApprovalScope,
    DecidedBy,
    Payload,
)
from tui_app.settings.approvals import ApprovalRule, parse_rule
from tui_app.settings.rules import Refused

_NOT_DONE = "Not done: {}. Do not try the same in another way; go on without it, or ask the user."
_NO = "the user said no"
_NOBODY = "nobody is there to approve it, and no rule allows it"
_PERHAPS_DENIED = 'the rule "{}" may forbid it, and nobody is there to say'
_NOT_ASKED = "nobody could be asked about it: {}"
_REASON_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Decision:
    """What comes of a question: a person's answer, or that nobody could be asked."""

    answer: Literal["once", "always", "no", "nobody"]
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
    read_only: bool = False
    attended: bool = False
    """Whether somebody sees the questions and can answer."""
    yes: bool = False
    """Whether everything that asks goes ahead where nobody is there, but what a rule may deny."""
    session_rules: tuple[ApprovalRule, ...] = ()
    """What a person has allowed from now on."""
    _asked: "dict[str, tuple[Action, asyncio.Future[Decision]]]" = field(default_factory=dict)
    ahead: CallsAhead = field(init=False)
    """The calls that have not been allowed yet."""
    _shown: ApprovalRequested | None = None
    _count: int = 0

    def __post_init__(self) -> None:
        self.ahead = CallsAhead(self.report, self.attended)

    async def __call__(self, action: Action) -> str:
        """Wait for a decision; see ``Gate``."""
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
        if verdict.ruling != "ask":
            return self._ruled(action, verdict)
        if not self.attended:
            return self._unattended(action, verdict)
        self.ahead.hold(action.call)
        place = self.ahead.arrive(action.call, first=action.looks)
        try:
            self._recount()
            if place.turn is not None:
                await place.turn
            # What was said of the call before this one may be a rule for this one.
            verdict = self.judged(action)
            if verdict.ruling != "ask":
                return self._ruled(action, verdict)
            return await self._ask(action, verdict)
        finally:
            self.ahead.leave(place)
            self._recount()

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
        action, answer = self._asked.get(id, (None, None))
        if action is None or answer is None or answer.done():
            return False
        answer.set_result(decision)
        return True

    def forget(self, rule: ApprovalRule) -> None:
        """Take back what was allowed from now on."""
        self.session_rules = tuple(each for each in self.session_rules if each != rule)

    def use(self, rules: Sequence[ApprovalRule]) -> None:
        """Put other rules of the settings into force; those of the command line stay."""
        kept = tuple(rule for rule in self.rules if rule.source == "command line")
        self.rules = (*rules, *kept)

    def judged(self, action: Action) -> Verdict:
        """What the rules say as things are; see ``Judge``."""
        return judge(action, (*self.rules, *self.session_rules), read_only=self.read_only)

    def _ruled(self, action: Action, verdict: Verdict) -> str:
        by: DecidedBy = "rule" if verdict.rule else "mode"
        rule, why = (verdict.because, "") if verdict.rule else ("", verdict.because)
        if verdict.ruling == "allow":
            if action.looks:
                # Nothing was decided: it would have gone ahead without any rule.
                return ""
            self._note(action, "allowed", by, scope="rule", rule=rule)
            return ""
        self._note(action, "denied", by, scope="rule", rule=rule, reason=why)
        return _NOT_DONE.format(why or f'the rule "{rule}" forbids it')

    def _unattended(self, action: Action, verdict: Verdict) -> str:
        if verdict.firm:
            self._note(action, "denied", "rule", scope="rule", rule=verdict.rule, reason=PERHAPS)
            return _NOT_DONE.format(_PERHAPS_DENIED.format(verdict.rule))
        if self.yes:
            self._note(action, "allowed", "unattended", reason="--yes")
            return ""
        self._note(action, "denied", "unattended", reason=verdict.because)
        return _NOT_DONE.format(_NOBODY)

    async def _ask(self, action: Action, verdict: Verdict) -> str:
        self._count += 1
        id = f"{action.call or action.tool}.{self._count}"
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._asked[id] = (action, answer)
        pattern = "" if verdict.rule else proposed_pattern(action)
        self._shown = _question(id, action, pattern, verdict.because, self.ahead.waiting)
        self.report(self._shown)
        try:
            decision = await answer
        except asyncio.CancelledError:
            self._note(action, "cancelled", "person", id=id)
            raise
        finally:
            self._shown = None
            del self._asked[id]
        return self._decided(id, action, decision, pattern)

    def _decided(self, id: str, action: Action, decision: Decision, pattern: str) -> str:
        reason = decision.reason.strip()[:_REASON_CHARS]
        if decision.answer == "nobody":
            self._note(action, "denied", "unattended", id=id, reason=reason)
            return _NOT_DONE.format(_NOT_ASKED.format(reason))
        if decision.answer == "no":
            self._note(action, "denied", "person", id=id, reason=reason)
            return _NOT_DONE.format(f"{_NO}, because: {reason}" if reason else _NO)
        rule = session_rule(action, decision.pattern) if decision.answer == "always" and pattern else None
        if rule is None:
            self._note(action, "allowed", "person", id=id)
        else:
            self._note(action, "allowed", "person", id=id, scope="always", rule=rule.text)
            self.session_rules = (*(each for each in self.session_rules if each != rule), rule)
        return ""

    def _note(
        self,
        action: Action,
        decision: ApprovalDecision,
        by: DecidedBy,
        *,
        id: str = "",
        scope: ApprovalScope = "once",
        rule: str = "",
        reason: str = "",
    ) -> None:
        """Write a decision down, before anything comes of it."""
        self.report(
            ApprovalDecided(
                id=id,
                tool_call_id=action.call,
                tool=action.tool,
                subject=action.subject,
                decision=decision,
                by=by,
                scope=scope,
                rule=rule,
                reason=reason,
            )
        )


def session_rule(action: Action, text: str) -> ApprovalRule | None:
    """The rule that "always" adds; None where it is none, or not about this action."""
    try:
        rule = parse_rule("allow", text, "session")
    except Refused:
        return None
    return rule if not action.guarded and fits(rule, action) else None


def asked_action(asked: ApprovalRequested) -> Action:
    """The action that a question is about, as far as rules look at it."""
    return Action(tool=asked.tool, kind=asked.kind, subject=asked.subject)


def command_line_rules(patterns: Sequence[str]) -> tuple[ApprovalRule, ...]:
    """Rules given for one run. Raises ``Refused``."""
    return tuple(parse_rule("allow", text, "command line") for text in patterns)


def _question(id: str, action: Action, pattern: str, because: str, waiting: int) -> ApprovalRequested:
    return ApprovalRequested(
        id=id,
        tool_call_id=action.call,
        tool=action.tool,
        kind=action.kind,
        subject=action.subject,
        detail=action.detail,
        note=action.note,
        pattern=pattern,
        because=because,
        waiting=waiting,
    )
