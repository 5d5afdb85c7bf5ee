"""Behaviour that every compaction guarantees to the user, one named test per case."""

import asyncio
import re

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.facts_kit import answered, called, compacted, live, returned, said, summary_of, viewed
from tests.context.governor_kit import NOTES, Heard, Provider, Writer, plain_counter, rig, tokens
from tests.context.histories import as_bytes, as_items, complaints, long_conversation, prompts
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, PlainHost, State
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.history import ListHistory, Proposal
from tui_app.context.policy import PLIMSOLL
from tui_app.context.requests.builder import build, sendable
from tui_app.context.summaries.prompt import SummaryTask
from tui_app.context.views.cuts import safe_cuts
from tui_app.context.windows.window_limits import ContextTooLarge
from tui_app.context.windows.windows import resolve_window
from tui_app.events import CompactionComplete, CompactionStart, Truncation
from tui_app.usage import Breakdown, ContextUsage, ContextWindow, Overhead

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]


# Cases A to I.


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
    assert (complete.outcome, complete.reason) == ("failed", "the model gave no answer")
    assert as_bytes(live(view)) == before


async def test_case_c_a_summary_that_is_not_smaller_is_rejected() -> None:
    view = viewed(long_conversation(20), window=200_000)
    before = as_bytes(live(view))
    complete = await compacted(
        view, Writer(lambda _task: NOTES + " ".join(f"word{number}" for number in range(12_000)))
    )
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
    read = "\n".join(f"- src/file_{number}.py was read." for number in range(6))
    writer = Writer(lambda task: f"{NOTES}\nRound {len(writer.tasks)}.\n{read}")
    for round_ in range(1, 6):
        assert (await compacted(view, writer)).outcome == "success"
        text = summary_of(view).content or ""
        assert text.count("## Intent") == 1
        assert text.count("## The user's words") == 1
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


# Cases J to R.


async def test_case_j_marker_text_in_the_users_words_stays_and_closes_nothing() -> None:
    quoted = "What does </conversation_summary> mean, and </ Conversation_Summary >, and <transcript>?"
    view = viewed([said(quoted), answered("A tag."), *long_conversation(20)])
    await compacted(view)
    part = summary_of(view)
    inside = (part.content or "").lower()
    assert "</conversation_summary" not in inside
    assert "</ conversation_summary" not in inside
    assert "what does <\\/conversation_summary> mean" in inside
    view.sync([*live(view), *long_conversation(10)])
    await compacted(view)
    again = (summary_of(view).content or "").lower()
    assert again.count("what does <\\/conversation_summary> mean") == 1
    later = viewed([*long_conversation(20), said(quoted)])
    await compacted(later)
    assert prompts(live(later))[-1] == quoted


async def test_case_k_a_compacted_view_read_back_is_the_same_view() -> None:
    view = viewed(long_conversation(20))
    await compacted(view)
    stored = ModelMessagesTypeAdapter.validate_json(as_bytes(live(view)))
    resumed = viewed(stored)
    assert as_bytes(sendable(live(resumed))) == as_bytes(sendable(live(view)))
    for one in (view, resumed):
        one.sync([*live(one), *long_conversation(10)])
        await compacted(one)
    # Only the message numbers start again.
    contents = [re.sub(r"#\d+", "#", summary_of(one).content or "") for one in (view, resumed)]
    assert contents[0] == contents[1]


async def test_case_l_a_commit_that_fails_leaves_the_view_as_it_was() -> None:
    class Broken(ListHistory):
        def commit(self, proposal: Proposal) -> CompactionComplete:
            raise OSError("disk full")

    view = Broken(plain_counter(), Heard())
    view.sync(long_conversation(20))
    view.set_overhead(Overhead(resolve_window(setting=20_000)), "m")
    before = as_bytes(live(view))
    assert (await compacted(view)).outcome == "failed"
    assert as_bytes(live(view)) == before


async def test_case_m_a_report_from_before_a_compaction_is_not_trusted() -> None:
    view = viewed([])
    history = long_conversation(20)
    view.sync(history[:79])
    history[79] = ModelResponse(parts=history[79].parts, usage=_usage(19_000))  # type: ignore[arg-type]
    view.sync(history)
    assert view.usage().total == 19_000
    await compacted(view)
    # What the provider's report revealed about our count still applies; the reported size does not.
    assert sum(tokens(item) for item in view.items()) <= view.usage().total < 9_000
    assert not view.usage().exact
    view.sync(live(view))
    assert view.usage().total < 9_000


def _usage(tokens: int) -> object:
    from pydantic_ai.usage import RequestUsage

    return RequestUsage(input_tokens=tokens)


async def test_case_n_a_smaller_window_is_compacted_into() -> None:
    view = viewed(long_conversation(20), window=100_000)
    assert PLIMSOLL.pressure(view.usage()) == "none"
    view.set_overhead(Overhead(resolve_window(setting=6_000)), "small")
    assert PLIMSOLL.pressure(view.usage()) == "blocking"
    compactor = Compactor(view, PLIMSOLL, PlainHost((Writer(),)))
    compactor.start("model_switch")
    complete = await compactor.finish()
    assert complete is not None
    assert complete.outcome == "success"
    assert view.usage().total <= view.usage().window.effective


@pytest.mark.parametrize(
    ("total", "messages", "pressure"),
    [
        (0, 9, "none"),
        (799, 9, "none"),
        (800, 9, "background"),
        (800, 3, "none"),
        (949, 9, "background"),
        (950, 9, "blocking"),
        (950, 1, "blocking"),
        (5_000, 9, "blocking"),
    ],
)
async def test_case_o_triggers_at_their_exact_marks(total: int, messages: int, pressure: str) -> None:
    window = ContextWindow(limit=1_000, source="setting")
    usage = ContextUsage(parts=Breakdown(user=total), window=window, messages=messages)
    assert PLIMSOLL.pressure(usage) == pressure


async def test_case_o_an_unknown_window_and_one_of_zero() -> None:
    assert resolve_window(setting=0, model=None).limit == 128_000
    nothing = ContextUsage(
        parts=Breakdown(user=5), window=ContextWindow(limit=0, source="setting"), messages=1
    )
    assert nothing.utilization == 5
    assert PLIMSOLL.pressure(nothing) == "blocking"


async def test_case_p_what_arrives_during_a_compaction_comes_after_it() -> None:
    view = viewed(long_conversation(20))
    writer = Writer(gate=asyncio.Event())
    compactor = Compactor(view, PLIMSOLL, PlainHost((writer,)))
    compactor.start("background")
    await writer.started.wait()
    view.sync([*live(view), said("Queued.")])
    assert compactor.state is State.RUNNING
    assert writer.gate is not None
    writer.gate.set()
    await compactor.finish()
    assert prompts(live(view))[-1] == "Queued."
    assert not any("Queued." in str(item.message) for task in writer.tasks for item in task.items)


async def test_case_q_media_is_counted_by_kind_kept_in_the_tail_and_named_in_the_transcript() -> None:
    picture = BinaryContent(b"\x89PNG" + b"x" * 300_000, media_type="image/png")
    shown = ModelRequest(parts=[UserPromptPart(["Look at this.", picture])])
    view = viewed([shown, answered("A cat."), *long_conversation(30), shown, answered("Again.")])
    assert view.usage().parts.attachments == 2_400
    seen: list[str] = []

    def note(task: SummaryTask) -> str:
        from tui_app.context.summaries.prompt import transcript_lines

        seen.extend(transcript_lines(task.items))
        return NOTES

    complete = await compacted(view, Writer(note))
    assert complete.outcome == "success"
    assert "[BinaryContent]" in "\n".join(seen)
    assert view.usage().parts.attachments == 1_200
    assert any(message is shown for message in live(view))


async def test_case_q_a_request_with_media_is_cut_too() -> None:
    picture = BinaryContent(b"\x89PNG" + b"x" * 300, media_type="image/png")
    messages = [said("Shots?"), called("a"), ModelRequest(parts=[ToolReturnPart("shot", [picture] * 4, "a")])]
    out = build(viewed(messages, window=2_000), messages, PLIMSOLL)
    assert isinstance(out.truncation, Truncation)
    assert complaints(out.messages) == []


async def test_case_r_other_scripts_are_counted_by_what_they_cost() -> None:
    counter = TextCounter("o200k_base")
    counter.load()
    chinese = "上下文窗口已经满了，请先压缩对话。" * 20
    assert counter.count(chinese) > len(chinese) // 2
    estimated = TextCounter("o200k_base").count(chinese)
    assert counter.count(chinese) / 2 < estimated < counter.count(chinese) * 2
    view = viewed([said(chinese), answered("好。" * 400), *long_conversation(10)], window=8_000)
    assert (await compacted(view)).outcome == "success"
    assert chinese[:17] in (summary_of(view).content or "")
