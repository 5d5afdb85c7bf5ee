"""One compaction's work: writers in turn, what they cost, how long they may take, and what is checked."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.context.case_kit import answered, said, viewed
from tests.context.governor_kit import NOTES, tokens
from tests.context.histories import long_conversation
from tui_app.context.compaction.plan import Plan, plan_compaction
from tui_app.context.compaction.proposal import ProposalWriter
from tui_app.context.counting.prices import Ledger, Spent
from tui_app.context.facts.observations import UNCONFIRMED
from tui_app.context.history import OriginalView, Proposal
from tui_app.context.policy import PLIMSOLL
from tui_app.context.summaries.writer import (
    ExtractiveSummariser,
    Progress,
    Summary,
    SummaryFailed,
    SummaryTask,
)
from tui_app.events import CompactionComplete

pytestmark = pytest.mark.asyncio
PAID = Spent(input_tokens=100, output_tokens=10, cost_usd=0.25)


@dataclass
class Paid:
    """A writer that does as it is told, at a price."""

    does: Callable[[Progress], str]
    model_name: str = "paid"
    performed_by: str = "model"

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        ledger.book(PAID, answered=True)
        text = self.does(progress)
        await asyncio.sleep(0)
        return Summary(text=text, performed_by=self.performed_by)


def fail(_progress: Progress) -> str:
    raise SummaryFailed("the model answered nothing")


def break_(_progress: Progress) -> str:
    raise KeyError("no such model")


def good(_progress: Progress) -> str:
    return NOTES


def writing(timeout_s: float = 100.0) -> ProposalWriter:
    first = [said("Never push to main."), answered("Understood.")]
    view = viewed([*first, *long_conversation(20)], window=8_000)
    plan = plan_compaction(view.items(), view.usage(), tokens, PLIMSOLL, trigger="blocking")
    assert isinstance(plan, Plan)
    return ProposalWriter(
        history=view,
        plan=plan,
        whole=OriginalView(items=tuple(view.items())),
        blank=CompactionComplete(
            job="j", outcome="failed", trigger="blocking", tokens_before=plan.tokens_before
        ),
        timeout_s=timeout_s,
        describe=lambda error: f"described {type(error).__name__}",
        way_back="",
        progress=lambda *_step: None,
        ledger=Ledger(),
    )


async def test_all_attempts_are_paid_for() -> None:
    made = writing()
    outcome = await made.write([Paid(fail), Paid(lambda _: "word " * 90_000), Paid(good)])
    assert isinstance(outcome, Proposal)
    assert made.ledger.spent == Spent(input_tokens=300, output_tokens=30, cost_usd=0.75)


async def test_a_failure_says_why_the_best_writer_failed_and_all_are_paid_for() -> None:
    made = writing()
    assert await made.write([Paid(break_), Paid(fail), Paid(lambda _: " ")]) == "described KeyError"
    assert made.ledger.spent == Spent(input_tokens=300, output_tokens=30, cost_usd=0.75)
    assert await writing().write([Paid(fail)]) == "the model answered nothing"


async def test_each_part_has_the_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    clock, ahead = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: clock() + ahead)

    @dataclass
    class Slow(Paid):
        renews: bool = True

        async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
            nonlocal ahead
            for part in range(1, 5):
                progress(part if self.renews else 1, 4, 0)
                ahead += 90
                await asyncio.sleep(0)
            return Summary(text=NOTES)

    assert isinstance(await writing().write([Slow(good)]), Proposal)
    outcome = await writing().write([Slow(good, renews=False)])
    assert outcome == "the model did not finish within 100 s"


async def test_the_last_resort_never_runs_out_of_time() -> None:
    outcome = await writing(timeout_s=0.0).write([Paid(good), ExtractiveSummariser(len)])
    assert isinstance(outcome, Proposal)
    assert outcome.complete.performed_by == "heuristic"


async def test_what_the_user_said_before_what_is_kept_and_in_it_counts() -> None:
    """Also what stays in the view supports a claim."""
    made = writing()
    latest = said("Please rename the harbour module.")
    whole = OriginalView(items=(*made.whole.items, replace(made.whole.items[-1], message=latest)))
    made = replace(made, whole=whole)
    claims = (
        "- The user wants nothing pushed to main.\n- The user asked to rename the harbour module.\n"
        "- The user asked to delete the harbour module."
    )
    outcome = await made.write([Paid(lambda _: claims)])
    assert isinstance(outcome, Proposal)
    assert outcome.complete.summary == f"{claims} {UNCONFIRMED}"


async def test_an_extraction_is_not_marked() -> None:
    quoted = "- The user approved everything."
    outcome = await writing().write([Paid(lambda _: quoted, performed_by="heuristic")])
    assert isinstance(outcome, Proposal)
    assert outcome.complete.summary == quoted
