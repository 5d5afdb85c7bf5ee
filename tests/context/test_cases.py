"""The behaviour every compactor owes its user: one named test for each case, A to I.

Cases K, L and P also concern the session's log and the conversation's queue; here they are shown for what the
context room itself decides, and the rooms above have tests of their own.
"""

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ToolReturnPart,
)

from tests.context.case_kit import answered, called, compacted, live, returned, said, summary_of, viewed
from tests.context.governor_kit import NOTES, Provider, Writer, plain_counter, rig
from tests.context.histories import as_items, long_conversation
from tests.context.validity import as_bytes, prompts
from tui_app.context.compaction.compactor import CompactionRefused
from tui_app.context.policy import PLIMSOLL
from tui_app.context.requests.builder import build
from tui_app.context.view import safe_cuts
from tui_app.context.window_limits import ContextTooLarge
from tui_app.events import CompactionStart

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]


async def test_case_a_no_boundary_between_a_call_and_its_result() -> None:
    parallel = as_items([said("x"), called("a", "b"), returned("a"), returned("b"), answered("y")])
    assert safe_cuts(parallel) == [True, True, False, False, True, True]
    apart = as_items([called("a"), said("wait"), answered("yes?"), returned("a")])
    assert safe_cuts(apart) == [True, False, False, False, True]
    reused = as_items([called("a"), returned("a"), said("x"), called("a"), returned("a")])
    assert safe_cuts(reused) == [True, False, True, True, False, True]
    interrupted_then_reused = as_items([called("a"), said("stop"), called("a"), returned("a")])
    assert safe_cuts(interrupted_then_reused) == [True, True, True, False, True]
    orphan = as_items([said("x"), returned("z"), answered("y")])
    assert all(safe_cuts(orphan))


@pytest.mark.parametrize("text", ["", "   \n"])
async def test_case_b_an_empty_summary_is_a_failure_and_changes_nothing(text: str) -> None:
    view = viewed(long_conversation(20))
    before = as_bytes(live(view))
    complete = await compacted(view, Writer(lambda _task: text))
    assert (complete.outcome, complete.reason) == ("failed", "the model answered nothing")
    assert as_bytes(live(view)) == before


async def test_case_c_a_summary_that_is_not_smaller_is_rejected() -> None:
    view = viewed(long_conversation(20), window=200_000)
    before = as_bytes(live(view))
    complete = await compacted(view, Writer(lambda _task: "word " * 40_000))
    assert complete.reason == "the summary is not smaller than what it would replace"
    assert as_bytes(live(view)) == before


async def test_case_d_a_summariser_that_fails_is_left_alone_until_the_view_has_grown() -> None:
    made = rig(Provider(8_000))
    made.provider.summary_failures = [RuntimeError("one"), RuntimeError("two")]
    agent = Agent(made.provider, capabilities=[made.governor])
    history: list[ModelMessage] = [said("start"), answered("word " * 5_800)]
    for _ in range(4):
        history = (await agent.run("Go on.", message_history=history)).all_messages()
        await made.compactor.settled()
    assert made.heard.outcomes == ["failed"]
    assert len(made.provider.sent) == 4


async def test_case_e_an_overflow_is_recovered_once() -> None:
    made = rig(Provider(None, real_window=3_000))
    agent = Agent(made.provider, capabilities=[made.governor])
    await agent.run("Go on.", message_history=long_conversation(20, 600))
    assert [event.trigger for event in made.heard.of(CompactionStart)] == ["overflow"]
    assert made.limits.window(made.provider).limit == 3_000


async def test_case_f_no_op_below_the_threshold_force_works_and_nothing_to_cut_says_so() -> None:
    messages = [*long_conversation(5), said("Go on.")]
    view = viewed(messages, window=100_000)
    assert build(view, messages, PLIMSOLL).messages == messages
    assert PLIMSOLL.pressure(view.usage()) == "none"
    assert (await compacted(view)).outcome == "success"
    with pytest.raises(CompactionRefused, match="Nothing to compact"):
        await compacted(viewed([said("hi"), answered("hello")]))


async def test_case_g_five_compactions_do_not_nest_and_keep_what_the_user_said() -> None:
    rule = "Never edit generated.py by hand, always run the generator."
    view = viewed([said(f"Build the parser. {rule}"), answered("Yes."), *long_conversation(12)])
    writer = Writer(lambda task: f"{NOTES}\nRound {len(writer.tasks)}.")
    for round_ in range(1, 6):
        assert (await compacted(view, writer)).outcome == "success"
        text = summary_of(view).content or ""
        assert text.count("## Intent") == 1
        assert text.count("Said by the user, word for word") == 1
        assert f"Round {round_}." in text
        assert f"Round {round_ - 1}." not in text
        assert rule in text
        view.sync([*live(view), *long_conversation(12)])
    assert all(task.previous for task in writer.tasks[1:])
    assert not any(
        isinstance(part, CompactionPart) for item in writer.tasks[-1].items for part in item.message.parts
    )


async def test_case_g_a_rule_outlives_the_prompt_it_was_said_in() -> None:
    rule = "Always write tests first."
    view = viewed([said(rule), answered("Yes."), *long_conversation(40, 1_200)], window=30_000)
    for _ in range(5):
        await compacted(view)
        view.sync([*live(view), *long_conversation(20, 2_000)])
    assert rule in (summary_of(view).content or "")


async def test_case_h_the_kept_tail_is_identical_and_the_latest_prompt_stands_once() -> None:
    messages = [*long_conversation(20), said("The latest."), *[m for i in range(6) for m in step(i)]]
    view = viewed(messages)
    await compacted(view)
    after = live(view)
    assert prompts(after).count("The latest.") == 1
    tail = [message for message in after if any(message is old for old in messages)]
    assert tail == [message for message in messages if any(message is kept for kept in tail)]
    assert tail[-1] is messages[-1]
    assert as_bytes(tail[-3:]) == as_bytes(messages[-3:])


def step(number: int) -> list[ModelMessage]:
    big = ModelRequest(parts=[ToolReturnPart("read", f"{number} " + "line " * 300, f"s{number}")])
    return [called(f"s{number}"), big]


async def test_case_i_giants() -> None:
    giant = ModelRequest(parts=[ToolReturnPart("read", "x" * 400_000, "a")])
    messages: list[ModelMessage] = [said("Read."), called("a"), giant]
    view = viewed(messages, window=2_000)
    out = build(view, messages, PLIMSOLL)
    assert sum(plain_counter().message(message).total for message in out.messages) <= 1_744
    with pytest.raises(ContextTooLarge):
        build(viewed([said("x" * 400_000)], window=2_000), [], PLIMSOLL)
    with pytest.raises(CompactionRefused, match="fewer than two"):
        await compacted(viewed([said("alone")]))
