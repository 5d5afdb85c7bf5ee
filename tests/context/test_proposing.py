"""From summary to proposal, and the summariser that needs no model."""

from dataclasses import replace

import pytest

from tests.context.facts_kit import characters, shell
from tests.context.governor_kit import plain_counter, tokens
from tests.context.histories import as_items, long_conversation
from tui_app.context.compaction.plan import Plan, plan_compaction
from tui_app.context.compaction.proposal import default_title, propose, summary_task
from tui_app.context.compaction.replacement import WAY_BACK
from tui_app.context.counting.prices import Ledger
from tui_app.context.history import ListHistory, OriginalView, Proposal
from tui_app.context.policy import PLIMSOLL
from tui_app.context.summaries.prompt import message_text, prompts_of
from tui_app.context.summaries.writer import ExtractiveSummariser, Summary, SummaryFailed, SummaryTask
from tui_app.context.windows import resolve_window
from tui_app.events import CompactionComplete
from tui_app.usage import Breakdown

BLANK = CompactionComplete(job="j", outcome="failed", trigger="manual", model="asked")


def view_and_plan(turns: int = 20, window: int = 20_000) -> tuple[ListHistory, Plan]:
    view = ListHistory(plain_counter())
    view.sync(long_conversation(turns))
    view.fix(resolve_window(setting=window), Breakdown(system=100), "m")
    plan = plan_compaction(view.items(), view.usage(), tokens, PLIMSOLL, trigger="manual")
    assert isinstance(plan, Plan)
    return view, replace(plan, focus="files")


async def proposed(summary: Summary, way_back: str = WAY_BACK) -> tuple[ListHistory, Plan, Proposal]:
    view, plan = view_and_plan()
    return (
        view,
        plan,
        await propose(view, plan, OriginalView(items=tuple(view.items())), summary, BLANK, way_back=way_back),
    )


async def test_the_numbers_of_a_proposal_add_up() -> None:
    view, plan, proposal = await proposed(Summary(text="Notes.", title="T"))
    done = proposal.complete
    assert (done.outcome, done.title, done.model) == ("success", "T", "asked")
    assert done.tokens_after == plan.floor + plain_counter().message(proposal.message).total
    assert done.tokens_removed == plan.tokens_before - done.tokens_after
    assert done.messages_removed == len(proposal.left) - 1
    assert done.removed == ((1, max(proposal.left)),)
    assert done.tokens == {"summary": plain_counter().message(proposal.message).total}
    assert 0 <= (done.retention or 0) <= 1
    assert len(view.items()) == 80, "nothing is applied"


async def test_facts_are_recoverable_only_where_there_is_a_way_back() -> None:
    view, plan = view_and_plan(turns=60, window=10_000)
    states = []
    for way_back in (WAY_BACK, ""):
        proposal = await propose(
            view,
            plan,
            OriginalView(items=tuple(view.items())),
            Summary(text="Notes."),
            BLANK,
            way_back=way_back,
        )
        states.append({fact.state for fact in proposal.complete.facts})
    assert states == [{"kept", "recoverable"}, {"kept", "lost"}]


def test_the_task_of_a_plan() -> None:
    view, plan = view_and_plan()
    whole = OriginalView(items=tuple(view.items()))
    task = summary_task(plan, whole)
    assert (task.items, task.whole) == (plan.split.old, whole)
    assert (task.focus, task.previous, task.budget_tokens) == ("files", "", plan.summary_budget)
    assert default_title(plan).startswith("prompt ")
    assert Breakdown(user=3).nonzero() == {"user": 3}


async def test_facts_take_the_room_that_the_persons_words_leave() -> None:
    view = ListHistory(plain_counter())
    work = [message for number in range(200) for message in shell(f"make part{number:03}")]
    work += long_conversation(20)
    view.sync(work)
    view.fix(resolve_window(setting=20_000), Breakdown(system=100), "m")
    plan = plan_compaction(view.items(), view.usage(), tokens, PLIMSOLL, trigger="manual")
    assert isinstance(plan, Plan)
    said = "\n".join(text for _, text in prompts_of(plan.split.old))
    whole = OriginalView(items=tuple(view.items()))
    sizes = []
    for notes in (f"Notes.\n{said}", "Notes."):
        proposal = await propose(view, plan, whole, Summary(text=notes), BLANK, way_back="")
        text = message_text(proposal.message)
        sizes.append(len(text.partition("## Also worth keeping")[2]))
    assert sizes[0] > sizes[1], "what stands in the notes is not said again, and facts take its room"
    assert sizes[1] <= 3 * (plan.facts_budget + plan.prompts_budget)


async def test_extraction_needs_no_model() -> None:
    seen: list[tuple[int, int, int]] = []
    task = SummaryTask(items=tuple(as_items(long_conversation(5))), budget_tokens=400)
    summary = await ExtractiveSummariser(characters).summarise(
        task, lambda *step: seen.append(step), Ledger()
    )
    assert summary.performed_by == "heuristic"
    assert characters(summary.text) <= 400
    assert "src/file_" in summary.text
    assert len(seen) == 2


async def test_a_marker_never_wipes_an_earlier_summary_out() -> None:
    items = tuple(as_items(long_conversation(5)))
    task = SummaryTask(items=items, budget_tokens=1, previous="## Intent\n- Build a shop. (#1)")
    with pytest.raises(SummaryFailed, match="no room"):
        await ExtractiveSummariser(characters).summarise(task, lambda *_step: None, Ledger())


async def test_the_last_resort_is_a_marker() -> None:
    task = SummaryTask(items=tuple(as_items(long_conversation(5))), budget_tokens=1)
    summary = await ExtractiveSummariser(characters).summarise(task, lambda *_step: None, Ledger())
    assert summary.performed_by == "marker"
    assert "20 earlier messages were removed" in summary.text


async def test_a_policy_without_facts_gets_none() -> None:
    view, plan = view_and_plan()
    whole = OriginalView(items=tuple(view.items()))
    bare = replace(plan, facts_budget=0)
    for made, stands in ((plan, True), (bare, False)):
        proposal = await propose(view, made, whole, Summary(text="Notes."), BLANK, way_back="")
        assert ("## Also worth keeping" in message_text(proposal.message)) is stands
