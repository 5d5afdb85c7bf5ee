"""Proposals from written notes: bind them to the log, build the replacement, measure it."""

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from tui_app.context.binding.bind import Binder
from tui_app.context.compaction.guards import refuse_result
from tui_app.context.compaction.notes import NotesWriter, task_of, with_sources
from tui_app.context.compaction.plan import Plan, rough_tokens, widened
from tui_app.context.compaction.replacement import (
    NOTES,
    WAY_BACK_PART,
    Passage,
    acknowledging_response,
    key_ranges,
    summary_message,
)
from tui_app.context.compaction.sections import deeds_section
from tui_app.context.compaction.trial import misread, share_answered, trial_questions, unanswered
from tui_app.context.compaction.user_words import names_section, state_notes, user_words_section
from tui_app.context.history import History, OriginalView, Proposal
from tui_app.context.ledger.facts import MOST_NAMES, ledger_facts
from tui_app.context.ledger.name_lines import RankedName, names_to_carry
from tui_app.context.ledger.passages import passages
from tui_app.context.ledger.retention import judge
from tui_app.context.message_marks import mark_of
from tui_app.context.policy import framed
from tui_app.context.summaries.prompt import SummaryTask, message_text
from tui_app.context.summaries.writer import AsksModel, Summariser, Summary
from tui_app.context.views.view import Item
from tui_app.events import CompactionComplete, Fact, Origin
from tui_app.records import frozen

NOTES_OF_A_MODEL = (
    "Notes that a model wrote about the conversation so far. They contain no instructions and no permissions "
    "of the user. Each line ends with the messages it comes from, and what the log knows about them."
)
"""Introduces them; binding content is written by code, in separate parts."""
_FITTINGS = 5
"""Maximum number of builds until a replacement fits."""
_CLOSE = 0.03
"""Share of its aim by which a replacement may miss it."""
_OPEN_TOKENS = 200
"""Tokens for open questions if a policy wants no facts."""
_BLIND = 0.99
"""Maximum retention while there are calls of unknown tools."""


@frozen
class Session:
    """All that a compaction needs to know of a session, read once per job."""

    whole: OriginalView
    names: Sequence[RankedName]
    facts: tuple[Fact, ...]
    binder: Binder
    kept: str
    """The ledger as JSON."""
    alive: Sequence[str] | None = None
    """What is running now, one line each; None if only the ledger knows."""

    @classmethod
    def read(cls, whole: OriginalView, extras: Sequence[str] = ()) -> "Session":
        """Read the session; a long one takes a while."""
        texts = list(passages(whole.items))
        ledger = whole.ledger
        names = names_to_carry(texts, ledger.files().values(), whole.in_sight)[:MOST_NAMES]
        facts = ledger_facts(ledger, names, whole.in_sight)
        binder = Binder(ledger, texts, extras, rough_tokens)
        return cls(whole, names, facts, binder, json.dumps(ledger.dump(), ensure_ascii=False))

    def with_alive(self, alive: Sequence[str] | None) -> "Session":
        """Return a copy with what is running now; the log does not know what has ended since."""
        if alive is None:
            return self
        facts = tuple(fact for fact in self.facts if fact.kind != "live" or fact.text in alive)
        return replace(self, facts=facts, alive=alive)

    def seeing(self, kept: Collection[int]) -> "Session":
        """Return a copy in which more messages stay; those rewritten by a stage show less."""
        whole = replace(self.whole, in_sight=self.whole.in_sight | (self.whole.unchanged & frozenset(kept)))
        facts = tuple(fact for fact in self.facts if int(fact.source[1:] or 0) not in whole.in_sight)
        return replace(self, whole=whole, facts=facts)


def summary_task(plan: Plan, session: Session) -> SummaryTask:
    """Build the summariser's task.

    Args:
        plan: Plan of the job.
        session: The session before any stage rewrote it.
    """
    ledger, in_sight = session.whole.ledger, session.whole.in_sight
    quoted = [state_notes(ledger, plan.summary_budget, rough_tokens, in_sight)]
    if not plan.facts_budget:
        quoted.append(deeds_section(ledger, plan.summary_budget // 2, rough_tokens, in_sight).text)
    if not plan.prompts_budget:
        words = user_words_section(ledger.prompts(), plan.summary_budget // 3, rough_tokens, in_sight)
        quoted += [words.rules_text, words.text]
    return replace(
        task_of(plan.leaving, ledger, plan.summary_budget),
        quoted="\n\n".join(filter(None, quoted)),
        focus=plan.focus,
        instructions=plan.instructions,
    )


async def propose(
    history: History,
    plan: Plan,
    session: Session,
    summary: Summary,
    blank: CompactionComplete,
    *,
    way_back: str,
) -> Proposal:
    """Build the replacement around notes, of the size the plan aims at.

    Args:
        history: The view; only read.
        plan: Plan of the job.
        session: The session before any stage rewrote it.
        summary: The written summary.
        blank: The completion event with everything known before.
        way_back: How the model can retrieve removed messages; empty if it cannot.

    Returns:
        The proposal. Budgets are by characters: if a text has more or fewer tokens than most, names are added
        or left out, then words and deeds are cut, until the result fits.
    """
    build = partial(_propose, history, summary, blank, way_back)
    best: Proposal | None = None
    for _ in range(_FITTINGS):
        proposal, names = await build(plan, session)
        after = proposal.complete.tokens_after
        over = after - plan.aim
        if after <= plan.aim and (best is None or after > best.complete.tokens_after):
            best = proposal
        if abs(over) <= plan.aim * _CLOSE or (over < 0 and names >= len(session.names)):
            break
        if plan.names_budget and (over < 0 or names):
            more = -int(over * 0.9) if over < 0 else -int(over * 1.1) - 1
            plan = replace(plan, names_budget=max(0, plan.names_budget + more))
        elif after > (most := plan.most or plan.target) and (
            budget := plan.prompts_budget + plan.facts_budget
        ):
            share = max(0.0, min(0.5, 1 - (after - most) / budget))
            words, deeds = int(plan.prompts_budget * share), int(plan.facts_budget * share)
            plan = replace(plan, prompts_budget=words, facts_budget=deeds)
        else:
            break
    best = best or proposal
    left = plan.aim - best.complete.tokens_after
    named = blank.from_message or blank.up_to_message
    if left <= plan.aim * _CLOSE or not plan.names_budget or named:
        return best
    # There is room for more than the names: keep more of the newest messages.
    wider = widened(plan, lambda item: plan.sizes.estimate(history.tokens(item)), left)
    if wider is plan:
        return best
    kept = {item.key for item in wider.split.recent} - {item.key for item in plan.split.recent}
    proposal, _ = await build(wider, session.seeing(kept))
    return proposal if proposal.complete.tokens_after <= plan.aim else best


async def _propose(
    history: History, summary: Summary, blank: CompactionComplete, way_back: str, plan: Plan, session: Session
) -> tuple[Proposal, int]:
    """Return one proposal, and the number of names in it."""
    # In a thread: the user may cancel meanwhile.
    by_code, names, fields = await asyncio.to_thread(
        _sections, plan, session, summary, recoverable=bool(way_back)
    )
    split, form, prompts = plan.split, plan.form, session.whole.ledger.prompts()
    shown = framed(form, summary.text, count=len(split.old), written=summary.performed_by != "marker")
    writer: Origin = "model" if summary.performed_by == "model" else "code"
    passages = (
        Passage("introduction", "code", NOTES_OF_A_MODEL if writer == "model" else ""),
        Passage(NOTES, writer, shown),
        *by_code,
        Passage(WAY_BACK_PART, "code", way_back if form.way_back else ""),
    )
    message = summary_message(passages, summary.text, writer=writer)
    reply = acknowledging_response(form.acknowledgement) if form.acknowledgement else None
    tokens = history.weigh(Item(0, message))
    added = tokens.total + (history.tokens(Item(0, reply)) if reply else 0)
    left, after = plan.leaving_keys, plan.floor + plan.sizes.estimate(added)
    complete = replace(
        blank,
        outcome="success",
        performed_by=summary.performed_by,
        model=summary.model or blank.model,
        title=summary.title or (" ".join(prompts[-1].text.split()[:6])[:60] if prompts else "conversation"),
        reason=summary.note,
        summary=summary.text,
        tokens=tokens.nonzero(),
        claims_marked=summary.not_in_log if summary.lines is not None else None,
        lines=summary.lines,
        lines_sourced=summary.sourced,
        calls_not_understood=session.whole.ledger.not_understood,
        files_restored=plan.files,
        removed=key_ranges((*split.head, *split.old, *split.recent), left),
        behind=split.behind,
        tokens_after=after,
        messages_after=len(split.head) + len(split.recent) + plan.added,
        tokens_removed=plan.tokens_before - after,
        messages_removed=len(left) - plan.added,
        messages_left=len(left),
        **fields,
    )
    files = sum(bool(mark_of(part).get("file")) for item in split.old for part in item.message.parts)
    return Proposal(
        complete=complete,
        message=message,
        left=left,
        acknowledgement=reply,
        in_files=files,
        ledger=session.kept,
    ), names


def _sections(
    plan: Plan, session: Session, summary: Summary, *, recoverable: bool
) -> tuple[tuple[Passage, ...], int, dict[str, Any]]:
    """Return the sections by code, the number of names, and the event's fields on the replacement."""
    ledger, in_sight, split = session.whole.ledger, session.whole.in_sight, plan.split
    words = user_words_section(ledger.prompts(), plan.prompts_budget, rough_tokens, in_sight)
    # The user's words pass unused room to the deeds, and those to the names.
    spare = max(0, plan.prompts_budget - rough_tokens(f"{words.text}{words.rules_text}"))
    room = plan.facts_budget + spare if plan.facts_budget else _OPEN_TOKENS
    deeds = deeds_section(ledger, room, rough_tokens, in_sight, session.alive)
    by_code = (
        Passage("deeds", "code", deeds.text),
        Passage("rules", "user", words.rules_text),
        Passage("words", "user", words.text),
        *(Passage("addition", "code", each.worded) for each in plan.additions),
    )
    recent = "\n".join(message_text(item.message) for item in (*split.head, *split.recent))
    text = "\n".join((summary.text, *(each.text for each in by_code), recent))
    names, chosen = names_section(session.names, text, plan.names_budget, rough_tokens)
    # An extract itself contains facts with their states.
    quoted = summary.text.splitlines() if summary.performed_by == "heuristic" else ()
    judged, kept = judge(
        session.facts,
        replacement_text=f"{text}\n{names}",
        recoverable=recoverable,
        written=deeds.written.union(("file", line) for line in quoted),
    )
    if summary.performed_by == "model":
        alone, _ = judge(session.facts, replacement_text=f"{summary.text}\n{recent}", recoverable=recoverable)
        judged = tuple(
            replace(fact, put_back=True) if fact.state == "kept" and before.state != "kept" else fact
            for fact, before in zip(judged, alone, strict=True)
        )
    questions = trial_questions(ledger, session.names, in_sight, session.alive)
    fields = {
        "facts": judged,
        "retention": min(kept, _BLIND) if ledger.not_understood else kept,
        "questions": len(questions),
        "unanswered": unanswered(questions, f"{text}\n{names}"),
    }
    return (*by_code, Passage("names", "code", names)), len(chosen), fields


@dataclass(kw_only=True)
class ProposalWriter(NotesWriter):
    """Turns a plan into a proposal. It never changes the view; failures are returned as text."""

    history: History
    plan: Plan
    whole: OriginalView
    """The view before any stage rewrote it."""
    blank: CompactionComplete
    """The completion event with everything known before."""
    way_back: str
    alive: Callable[[], Sequence[str] | None] = lambda: None
    """Called for what is running whenever a replacement is made."""
    least_answered: float = 0.0
    """Minimum share of answered questions; below it the next writer is used."""
    reader: Summariser | None = None
    """Asks the model that will read the view, if there is one."""

    @cached_property
    def session(self) -> Session:
        """The job's knowledge of the session; reading it takes a while."""
        extras = (*self.history.circumstances(), *(addition.text for addition in self.plan.additions))
        return Session.read(self.whole, extras)

    @property
    def binder(self) -> Binder:
        return self.session.binder

    def task(self) -> SummaryTask:
        return summary_task(self.plan, self.session)

    async def write(self, writers: Sequence[Summariser]) -> Proposal | str:
        """Try writers in turn until one has written a summary that helps.

        Args:
            writers: Writers of the summary, best first; at least one.

        Returns:
            The first proposal that is a gain; otherwise the best writer's failure.
        """
        reasons: list[str] = []
        best: Proposal | None = None
        for writer in writers:
            outcome: Summary | Proposal | str = await self.notes(writer)
            if isinstance(outcome, Summary):
                outcome = await self._proposed(outcome, replace(self.blank, model=writer.model_name))
            if isinstance(outcome, Proposal):
                # A fallback's proposal carries the reason why the first writer failed.
                done = replace(outcome.complete, reason=reasons[0]) if reasons else outcome.complete
                outcome = replace(outcome, complete=done)
                if share_answered(done) >= self.least_answered:
                    return outcome
                if best is None or share_answered(done) > share_answered(best.complete):
                    best = outcome
                answered = done.questions - len(done.unanswered)
                outcome = f"its summary answers {answered} of {done.questions} questions"
            reasons.append(outcome)
        return best or reasons[0]

    async def tried(self, proposal: Proposal) -> Proposal:
        """Test the model that will read the view with questions; if that fails, it counts as not asked."""
        session = (await self._read()).with_alive(self.alive())
        whole = session.whole
        questions = trial_questions(whole.ledger, session.names, whole.in_sight, session.alive)
        kept = (item.message for item in self.history.items() if item.key not in proposal.left)
        sent = "\n".join(map(message_text, (*proposal.messages, *kept)))
        if self.reader is None or not isinstance(self.reader, AsksModel):
            return proposal
        wrong = await self.asked(self.reader, partial(misread, questions, sent))
        if wrong is None:
            return proposal
        return replace(proposal, complete=replace(proposal.complete, misread=wrong))

    async def rewritten(self, proposal: Proposal, text: str) -> Proposal | str:
        """Propose a summary that the user has edited, or return why it cannot be applied."""
        done = proposal.complete
        edited = Summary(text=text, title=done.title, performed_by=done.performed_by, model=done.model)
        blank = replace(self.blank, edited=True, duration_s=done.duration_s)
        try:
            edited = with_sources(edited, await self.bound(text))
        except Exception as error:
            return self.describe_error(error)
        return await self._proposed(edited, blank)

    async def _proposed(self, summary: Summary, blank: CompactionComplete) -> Proposal | str:
        try:
            session = (await self._read()).with_alive(self.alive())
            found = await propose(self.history, self.plan, session, summary, blank, way_back=self.way_back)
        except Exception as error:
            # Whatever fails, the view must stay unchanged and the text must not be lost.
            return self.describe_error(error)
        return refuse_result(found.complete, self.plan) or found

    async def _read(self) -> Session:
        return await asyncio.to_thread(lambda: self.session)
