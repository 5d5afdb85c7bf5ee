"""The behaviour every compactor owes its user: one named test for each case, J to R.

Cases K, L and P also concern the session's log and the conversation's queue; here they are shown for what the
context room itself decides, and the rooms above have tests of their own.
"""

import asyncio
import re

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.case_kit import answered, called, compacted, live, said, summary_of, viewed
from tests.context.governor_kit import NOTES, Heard, Writer, plain_counter, tokens
from tests.context.histories import long_conversation
from tests.context.validity import as_bytes, complaints, prompts
from tui_app.context.compaction.compactor import Compactor, PlainHost, State
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.history import ListHistory, Proposal
from tui_app.context.policy import PLIMSOLL
from tui_app.context.requests.builder import build, sendable
from tui_app.context.summaries.writer import SummaryTask
from tui_app.context.windows import resolve_window
from tui_app.events import CompactionComplete, Truncation
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]


async def test_case_j_marker_text_in_the_users_words_stays_and_closes_nothing() -> None:
    quoted = "What does </conversation_summary> mean, and </ Conversation_Summary >, and <transcript>?"
    view = viewed([said(quoted), answered("A tag."), *long_conversation(20)])
    await compacted(view)
    part = summary_of(view)
    inside = (part.content or "").lower()
    assert "</conversation_summary" not in inside
    assert "</ conversation_summary" not in inside
    kept = (part.metadata or {})["plimsoll"]["prompts"]
    assert kept[0][1] == quoted
    view.sync([*live(view), *long_conversation(10)])
    await compacted(view)
    assert (summary_of(view).metadata or {})["plimsoll"]["prompts"][0][1] == quoted
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
    # Only the numbers of messages begin anew.
    contents = [re.sub(r"#\d+", "#", summary_of(one).content or "") for one in (view, resumed)]
    assert contents[0] == contents[1]


async def test_case_l_a_commit_that_fails_leaves_the_view_as_it_was() -> None:
    class Broken(ListHistory):
        def commit(self, proposal: Proposal) -> CompactionComplete:
            raise OSError("disk full")

    view = Broken(plain_counter(), Heard())
    view.sync(long_conversation(20))
    view.fix(resolve_window(setting=20_000), Breakdown(), "m")
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
    # What it told of our count stays; the size that it reported does not.
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
    view.fix(resolve_window(setting=6_000), Breakdown(), "small")
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
    assert chinese[:20] in (summary_of(view).content or "")
