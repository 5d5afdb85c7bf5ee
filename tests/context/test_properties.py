"""Properties of every possible history."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)

from tests.context.histories import as_bytes, as_items, asked, complaints, messages, prompts, system_prompts
from tests.examples import examples
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, PlainHost
from tui_app.context.compaction.replacement import key_ranges
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.expenses import Ledger
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import ListHistory
from tui_app.context.policy import PLIMSOLL
from tui_app.context.requests.builder import Outgoing, build, repair, sendable
from tui_app.context.summaries.prompt import SummaryTask
from tui_app.context.summaries.writer import Progress, Summary
from tui_app.context.truncator import truncate
from tui_app.context.views.cuts import choose_boundary, safe_cuts, sections, split_at
from tui_app.context.views.view import Item, to_messages
from tui_app.context.windows.window_limits import ContextTooLarge
from tui_app.context.windows.windows import resolve_window
from tui_app.usage import Breakdown, ContextWindow, Overhead

MANY = settings(max_examples=examples(400))
WINDOWS = st.sampled_from([256, 512, 1_024, 2_048, 8_192, 128_000])


def viewed(history: Sequence[ModelMessage], window: int, system: int = 0) -> ListHistory:
    view = ListHistory(TokenCounter(TextCounter("o200k_base")))
    view.sync(history)
    view.set_overhead(Overhead(resolve_window(setting=window), Breakdown(system=system)), "m")
    return view


def counted(history: Sequence[ModelMessage]) -> int:
    counter = TokenCounter(TextCounter("o200k_base"))
    return sum(counter.message(message).total for message in history)


def build_or_refuse(view: ListHistory, history: Sequence[ModelMessage]) -> Outgoing | ContextTooLarge:
    try:
        return build(view, history, PLIMSOLL)
    except ContextTooLarge as error:
        return error


@MANY
@given(messages())
def test_repair_makes_any_history_valid_once_and_for_all(history: list[ModelMessage]) -> None:
    once = repair(history)
    assert not once or complaints(once, ends_with_request=False) == []
    assert all(a is b for a, b in zip(once, repair(once), strict=True))
    said = [text for text in prompts(history) if text.strip() and text != "[]"]
    assert [text for text in prompts(once) if text in said] == said
    assert complaints(sendable(history)) == [] or (len(history) == 1 and not history[0].parts)


@MANY
@given(asked(), WINDOWS, st.sampled_from([0, 0, 100]))
def test_whatever_leaves_is_valid_and_fits_or_is_a_stated_error(
    history: list[ModelMessage], window: int, system: int
) -> None:
    view = viewed(history, window, system)
    limit = view.usage().window.effective
    out = build_or_refuse(view, history)
    if isinstance(out, ContextTooLarge):
        assert out.requested > out.limit == window
        return
    assert complaints(out.messages) == []
    assert counted(out.messages) + system <= limit
    assert sum(text == prompts(history)[-1] for text in prompts(out.messages)) == 1
    assert set(system_prompts(out.messages)) == {text for text in system_prompts(history) if text.strip()}


@MANY
@given(asked())
def test_below_the_limit_a_valid_history_goes_out_byte_for_byte(history: list[ModelMessage]) -> None:
    valid = sendable(history)
    view = viewed(valid, 10_000_000)
    out = build(view, valid, PLIMSOLL)
    assert out.truncation is None
    assert as_bytes(out.messages) == as_bytes(valid)
    assert all(a is b for a, b in zip(out.messages, valid, strict=True))


@MANY
@given(asked(), st.integers(0, 3_000), st.sets(st.integers(1, 20)))
def test_truncating_keeps_order_pins_to_the_last_and_the_latest_prompt(
    history: list[ModelMessage], budget: int, pins: set[int]
) -> None:
    counter = TokenCounter(TextCounter("o200k_base"))
    items = as_items(sendable(history))
    cut = truncate(items, budget, lambda message: counter.message(message).total, frozenset(pins))
    keys = [item.key for item in cut.items]
    assert keys == sorted(keys)
    assert cut.fits == (cut.tokens <= budget)
    assert cut.tokens == sum(counter.message(item.message).total for item in cut.items)
    assert keys[-1] == items[-1].key
    assert complaints(sendable([item.message for item in cut.items])) == []


@MANY
@given(messages(), st.integers(0, 2_000))
def test_no_boundary_parts_a_call_from_its_result(history: list[ModelMessage], budget: int) -> None:
    items = as_items(repair(history))
    if not items:
        return
    boundary = choose_boundary(items, budget, lambda item: counted([item.message]))
    assert 0 <= boundary < len(items)
    assert safe_cuts(items)[boundary]
    old, recent = items[:boundary], items[boundary:]
    # In a repaired history, the next message answers a call, so ids need not be matched here.
    assert not (old and calls(old[-1]))
    assert not answers(recent[0]) or boundary == 0


def calls(item: Item) -> list[str]:
    parts = item.message.parts if isinstance(item.message, ModelResponse) else []
    return [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]


def answers(item: Item) -> list[str]:
    return [part.tool_call_id for part in item.message.parts if isinstance(part, ToolReturnPart)]


@MANY
@given(asked(), st.integers(1, 2_000), st.sets(st.integers(1, 30), max_size=4))
def test_a_split_loses_and_doubles_nothing(history: list[ModelMessage], budget: int, pins: set[int]) -> None:
    items = as_items(history)
    boundary = choose_boundary(items, budget, lambda item: counted([item.message]))
    split = split_at(items, boundary, frozenset(pins))
    parts = sorted(item.key for item in (*split.head, *split.old, *split.recent))
    assert parts == [item.key for item in items]
    kept = {item.key for item in (*split.head, *split.recent)}
    assert [key for key in pins if key <= len(items) and not summary(items[key - 1])] == [
        key for key in pins if key in kept and not summary(items[key - 1])
    ]


def summary(item: Item) -> bool:
    return any(part.part_kind == "compaction" for part in item.message.parts)


@MANY
@given(st.permutations(range(1, 20)), st.sets(st.integers(1, 19)))
def test_ranges_cover_what_leaves_and_nothing_that_stays(order: list[int], left: set[int]) -> None:
    items = [Item(key, ModelResponse(parts=[])) for key in order]
    ranges = key_ranges(items, frozenset(left))
    covered = {key for low, high in ranges for key in range(low, high + 1)}
    assert covered & set(order) == left


@MANY
@given(messages())
def test_sections_hold_the_same_parts_and_join_again(history: list[ModelMessage]) -> None:
    for message in history:
        parts = sections(message)
        assert [id(part) for one in parts for part in one.parts] == [id(part) for part in message.parts]
        whole = message if len(parts) > 1 else None
        items = [Item(place, part, whole=whole) for place, part in enumerate(parts)]
        assert to_messages(items)[0] is message or not message.parts


@MANY
@given(asked(), st.lists(st.integers(1, 14), max_size=4))
def test_the_tally_equals_a_full_count(history: list[ModelMessage], steps: list[int]) -> None:
    view = viewed([], 128_000)
    for step in sorted(steps):
        view.sync(history[:step])
    view.sync(history)
    assert view.usage().total == counted(history)
    view.sync(history[:3])
    assert view.usage().total == counted(history[:3])


@dataclass
class Parrot:
    """A summariser that repeats a fixed text."""

    text: str
    model_name: str = "parrot"

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        progress(1, 1, 0)
        return Summary(text=self.text)


@settings(max_examples=examples(250))
@given(
    asked(max_size=20), st.sampled_from([512, 1_024, 2_048, 8_192]), st.sampled_from(["manual", "overflow"])
)
def test_compaction_keeps_what_must_stay(history: list[ModelMessage], window: int, trigger: str) -> None:
    view = viewed(history, window)
    before = [item.message for item in view.items()]
    compactor = Compactor(view, PLIMSOLL, PlainHost((Parrot("Notes."),)))

    async def compact() -> str:
        try:
            compactor.start("manual" if trigger == "manual" else "overflow")
        except CompactionRefused as refusal:
            return str(refusal)
        complete = await compactor.finish()
        assert complete is not None
        assert complete.outcome == "success" or complete.reason
        if complete.outcome == "success":
            assert complete.tokens_after < complete.tokens_before
        return complete.outcome

    outcome = asyncio.run(compact())
    after = [item.message for item in view.items()]
    assert system_prompts(after) == system_prompts(before)
    assert prompts(after).count(prompts(before)[-1]) == 1
    assert after[-1] is before[-1]
    assert complaints(sendable(to_messages(view.items()))) == []
    if outcome != "success":
        assert all(a is b for a, b in zip(before, after, strict=True))


@settings(max_examples=examples(100))
@given(asked())
def test_a_stored_history_gives_the_same_bytes_every_time(history: list[ModelMessage]) -> None:
    stored = as_bytes(ModelMessagesTypeAdapter.validate_json(as_bytes(history)))
    first, second = (ModelMessagesTypeAdapter.validate_json(stored) for _ in range(2))
    assert as_bytes(sendable(first)) == as_bytes(sendable(second))
    assert complaints(sendable(first)) == []


@given(st.integers(1, 200_000), st.integers(0, 250_000))
def test_pressure_is_exact_at_its_marks(limit: int, total: int) -> None:
    window = ContextWindow(limit=limit, source="setting")
    view = viewed([], 1)
    view.set_overhead(Overhead(window, Breakdown(user=total)), "m")
    pressure = PLIMSOLL.pressure(view.usage())
    if total == 0:
        assert pressure == "none"
    elif total >= int(limit * 0.95):
        assert pressure == "blocking"
    else:
        assert pressure == "none"  # No messages, so nothing worth a background compaction.
