"""A person looks at a summary before it is applied, and may write it anew."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Protocol

from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest

from tui_app.context.compaction.guards import Veto, refuse_gain
from tui_app.context.compaction.proposal import Writing
from tui_app.context.compaction.replacement import (
    FACTS_HEADING,
    Earlier,
    Words,
    earlier_part,
    escaped,
    said_section,
)
from tui_app.context.history import Proposal
from tui_app.context.message_marks import OWN
from tui_app.context.policy import Policy
from tui_app.context.summaries.writer import Summariser
from tui_app.events import CompactionComplete

DECLINED = "the summary was not accepted"
EMPTY = "the summary is empty"


@dataclass(frozen=True, slots=True)
class Refocus:
    """The summary is to be written once more, with something else to keep above all."""

    focus: str


class Reviewer(Protocol):
    """Whoever decides on a summary. May take any time, and is cancelled with the job."""

    async def __call__(self, proposal: Proposal, problem: str = "") -> str | Refocus | None:
        """Look at a summary.

        Args:
            proposal: What would be applied.
            problem: Why it cannot be applied as it was edited; empty the first time.

        Returns:
            The summary as it is to be, the same or edited; a focus to have another one written; None to
            discard it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Declined:
    """Nobody wants the summary; nothing changes."""

    complete: CompactionComplete
    """How the job ends."""


async def carry_out(
    ask: Callable[[], Awaitable[str | Veto]],
    writing: Callable[[str], Writing],
    writers: Sequence[Summariser],
    policy: Policy,
    reviewer: Reviewer | None,
    written: asyncio.Event,
) -> Proposal | Veto | Declined | str:
    """What a job does: ask who may be against it, have a summary written, ask whoever decides on that.

    Args:
        ask: Asks whoever may add to the job, or be against it.
        writing: Turns the job's plan into a proposal, with what was added.
        writers: Whoever may write the summary, best first.
        policy: Says how much a compaction has to free.
        reviewer: Decides; None applies the summary as it is.
        written: Set once nobody but the reviewer has anything to do.
    """
    said = await ask()
    if isinstance(said, Veto):
        return said
    started, work = monotonic(), writing(said)
    result = await work.run(writers)
    # One that frees too little is refused whatever is said of it.
    if reviewer is None or isinstance(result, str) or refuse_gain(result.complete, policy):
        return result
    # The time a person takes to decide is not the compaction's.
    took = round(monotonic() - started, 3)
    return await _Review(writers, policy, reviewer, written).decided(_priced(result, work, took), work)


def _priced(proposal: Proposal, work: Writing, seconds: float) -> Proposal:
    """Add what a summary took so far."""
    cost = work.ledger.total.cost_usd if work.ledger.requests else 0.0
    return replace(proposal, complete=replace(proposal.complete, duration_s=seconds, cost_usd=cost))


@dataclass(frozen=True, slots=True)
class _Review:
    """One summary under review."""

    writers: Sequence[Summariser]
    policy: Policy
    reviewer: Reviewer
    written: asyncio.Event

    async def decided(self, proposal: Proposal, writing: Writing) -> Proposal | Declined:
        """Have a proposal looked at until it is accepted or declined.

        An edited summary is checked as one a model has written: ascriptions, facts, size. One that cannot be
        applied goes back to the person with the reason, so that nothing they wrote is lost.
        """
        written, problem = proposal, ""
        while True:
            self.written.set()
            answer = await self.reviewer(proposal, problem)
            if answer is None:
                return Declined(_declined(writing.blank, proposal.complete))
            if isinstance(answer, Refocus):
                again = _focused(writing, answer.focus)
                outcome = await self._anew(again, proposal.complete.duration_s)
                if isinstance(outcome, Proposal):
                    writing, written, proposal, problem = again, outcome, outcome, ""
                else:
                    problem = f"with that focus none was written: {outcome}"
                continue
            if answer == written.complete.summary:
                return written
            outcome = await self._edited(writing, written, answer)
            if isinstance(outcome, Proposal):
                return outcome
            problem = outcome
            proposal = replace(proposal, complete=replace(proposal.complete, summary=answer))

    async def _edited(self, writing: Writing, written: Proposal, text: str) -> Proposal | str:
        if not text.strip():
            return EMPTY
        outcome = await writing.rewritten(written, text)
        return outcome if isinstance(outcome, str) else refuse_gain(outcome.complete, self.policy) or outcome

    async def _anew(self, writing: Writing, took: float) -> Proposal | str:
        self.written.clear()
        started = monotonic()
        outcome = await writing.run(self.writers)
        if isinstance(outcome, str):
            return outcome
        seconds = round(took + monotonic() - started, 3)
        return refuse_gain(outcome.complete, self.policy) or _priced(outcome, writing, seconds)


def _focused(writing: Writing, focus: str) -> Writing:
    return replace(
        writing, plan=replace(writing.plan, focus=focus), blank=replace(writing.blank, focus=focus)
    )


def _declined(blank: CompactionComplete, written: CompactionComplete) -> CompactionComplete:
    """What is known of a summary that is not applied: who wrote it, and how long that took."""
    return replace(
        blank,
        outcome="discarded",
        reason=DECLINED,
        performed_by=written.performed_by,
        model=written.model,
        duration_s=written.duration_s,
    )


# Other words for a summary that stands already; what code has put beside them stays.
#
# The parts of a replacement are kept in its metadata, so they are found again in its text: the notes, what
# the person said, facts. Everything else in it, such as the plan and the way back, is left as it is.


@dataclass(frozen=True, slots=True, kw_only=True)
class Reworded:
    """A replacement with other words."""

    message: ModelRequest
    text: str
    """All that the model reads of it."""


def parts_of(message: ModelMessage) -> Earlier | None:
    """What a summary of ours, or a readable one of another program, consists of; None for any other."""
    part = _part(message)
    return earlier_part(part) if part is not None else None


def reworded(message: ModelMessage, summary: str, facts: str) -> Reworded:
    """Give a summary other notes and facts.

    What the person said and the old notes quoted is said beside the new ones where those do not.

    Args:
        message: The replacement as it is.
        summary: The new notes.
        facts: The lines below them, as they are to be.

    Raises:
        ValueError: if it is no summary that can be read here.
    """
    part, earlier = _part(message), parts_of(message)
    if part is None or earlier is None or not isinstance(message, ModelRequest):
        raise ValueError("This is no summary that can be read.")
    before, frame, behind = _taken_apart(part.content or "", earlier)
    sections = [said_section(_words(earlier), summary), f"{FACTS_HEADING}\n{facts}" if facts else ""]
    beside = "".join(f"\n\n{escaped(section)}" for section in sections if section)
    text = f"{before}{escaped(summary.strip())}{frame}{beside}{behind}"
    metadata = dict(part.metadata or {})
    metadata[OWN] = {**(metadata.get(OWN) or {}), "summary": summary, "facts": facts}
    new = replace(part, content=text, metadata=metadata)
    return Reworded(message=replace(message, parts=[new]), text=text)


def _taken_apart(content: str, earlier: Earlier) -> tuple[str, str, str]:
    """What stands in front of the notes, what belongs to their frame behind them, and the rest."""
    notes = escaped(earlier.summary.strip())
    place = content.find(notes) if notes else -1
    before, rest = content[:place], content[place + len(notes) :]
    if place < 0:
        # A marker says only how many messages are gone: notes stand in front of it.
        before, rest = "", f"\n\n{content}"
    found: int | None = None
    beside = [said_section(_words(earlier), earlier.summary)]
    beside.append(f"{FACTS_HEADING}\n{earlier.facts.strip()}" if earlier.facts.strip() else "")
    for section in filter(None, map(escaped, beside)):
        at = rest.find(f"\n\n{section}")
        if at >= 0:
            found = at if found is None else min(found, at)
            rest = rest[:at] + rest[at + len(section) + 2 :]
    return before, rest[: found or 0], rest[found or 0 :]


def _words(earlier: Earlier) -> Words:
    return Words(prompts=earlier.prompts, omitted=earlier.omitted)


def _part(message: ModelMessage) -> CompactionPart | None:
    if not isinstance(message, ModelRequest):
        return None
    parts = [part for part in message.parts if isinstance(part, CompactionPart) and part.content is not None]
    return parts[0] if len(parts) == len(message.parts) == 1 else None
