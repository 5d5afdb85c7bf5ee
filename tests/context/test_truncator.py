"""Truncating a request: what is dropped first, what is never dropped, and properties of every history."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.histories import as_items, asked, complaints, prompts, retry_prompt, system_prompts
from tests.examples import examples
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.requests.builder import sendable
from tui_app.context.truncator import Truncated, truncate
from tui_app.context.views.cuts import sections, units
from tui_app.context.views.view import Item, is_prompt, is_summary, is_system, latest_prompt_index

# Order of truncation.


def weigh(message: ModelMessage) -> int:
    """Count ten tokens per message, but one per character of results and errors."""
    long = [part for part in message.parts if part.part_kind in {"tool-return", "retry-prompt"}]
    files = sum(1_000 for part in long if isinstance(part, ToolReturnPart) for _file in part.files)
    return files + (sum(len(part.model_response_str()) for part in long) if long else 10)  # type: ignore[union-attr]


def said(text: str = "x") -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def called(call_id: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {}, call_id)])


def returned(call_id: str, size: int = 10) -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("read", "r" * size, call_id)])


WORDS = ModelResponse(parts=[TextPart("w")])
VIEW: list[ModelMessage] = [
    ModelRequest(parts=[SystemPromptPart("s")]),  # 1
    ModelRequest(parts=[CompactionPart("c")]),  # 2
    said(),  # 3
    called("a"),  # 4
    returned("a"),  # 5
    WORDS,  # 6
    said(),  # 7: the latest prompt
    called("b"),  # 8
    returned("b"),  # 9
    called("c"),  # 10
    returned("c"),  # 11
]


def keys(budget: int, pinned: frozenset[int] = frozenset()) -> list[int]:
    return [item.key for item in truncate(as_items(VIEW), budget, weigh, pinned).items]


def test_what_goes_in_which_order() -> None:
    assert keys(110) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert keys(109) == [1, 2, 3, 6, 7, 8, 9, 10, 11]
    assert keys(89) == [1, 2, 3, 7, 8, 9, 10, 11]
    assert keys(79) == [1, 2, 7, 8, 9, 10, 11]
    assert keys(69) == [1, 2, 7, 10, 11]
    assert keys(49) == [1, 7, 10, 11]
    assert keys(0) == [1, 7, 10, 11], "system, latest prompt and the newest pair never go"


def test_pins_go_last() -> None:
    assert keys(79, frozenset({4})) == [1, 2, 4, 5, 7, 10, 11]
    assert keys(69, frozenset({4})) == [1, 4, 5, 7, 10, 11]
    assert keys(59, frozenset({4})) == [1, 7, 10, 11]


def test_up_to_the_limit_no_pin_goes_for_the_sake_of_the_margin() -> None:
    def kept(budget: int, limit: int) -> list[int]:
        cut = truncate(as_items(VIEW), budget, weigh, frozenset({4}), limit=limit)
        assert cut.fits is (cut.tokens <= limit)
        return [item.key for item in cut.items]

    assert kept(79, 109) == [1, 2, 4, 5, 7, 10, 11], "what is not pinned goes down to the budget"
    assert kept(50, 60) == [1, 4, 5, 7, 10, 11]
    assert kept(50, 59) == [1, 7, 10, 11]


def pinned_cut(limit: int, *, pin: int = 10, size: int = 5_000) -> Truncated:
    """Truncate a view with a pinned pair first and a long result in the running turn."""
    view = [said(), called("p"), returned("p", pin), said(), called("a"), returned("a", size)]
    return truncate(as_items(view), int(limit * 0.9), weigh, frozenset({3}), limit=limit)


def test_long_results_are_cut_before_any_pin_goes() -> None:
    cut = pinned_cut(700)
    assert [item.key for item in cut.items] == [2, 3, 4, 5, 6]
    assert cut.fits
    assert len(str(cut.items[-1].message.parts[0].content)) < 700


def test_a_pin_that_leaves_no_room_goes_and_the_result_is_cut_no_more_than_needed() -> None:
    cut = pinned_cut(1_000, pin=900)
    assert [item.key for item in cut.items] == [4, 5, 6]
    assert 400 < len(str(cut.items[-1].message.parts[0].content)) <= 900


def test_a_pinned_result_is_never_cut() -> None:
    cut = pinned_cut(1_000, pin=600)
    assert str(cut.items[1].message.parts[0].content) == "r" * 600
    assert cut.fits


def test_a_view_without_any_prompt_keeps_its_newest_message() -> None:
    cut = truncate(as_items([called("a"), returned("a"), called("b"), returned("b")]), 20, weigh)
    assert [item.key for item in cut.items] == [3, 4]
    assert cut.fits


def cut_result(message: ModelRequest, budget: int) -> Truncated:
    return truncate(as_items([said(), called("a"), message]), budget, weigh)


def test_long_results_are_cut_at_the_end_and_say_so() -> None:
    cut = cut_result(returned("a", 5_000), 700)
    part = cut.items[-1].message.parts[0]
    assert isinstance(part, ToolReturnPart)
    assert str(part.content).startswith("rrr")
    assert "cut to fit this request: 5000 characters in all" in str(part.content)
    assert (part.tool_call_id, part.tool_name, part.outcome) == ("a", "read", "success")
    assert cut.fits
    assert cut.tokens <= 700


def test_the_longest_result_is_cut_first() -> None:
    both = ModelRequest(parts=[*returned("a", 4_000).parts, *returned("b", 300).parts])
    calls = ModelResponse(parts=[ToolCallPart("read", {}, "a"), ToolCallPart("read", {}, "b")])
    view = [said(), calls, both]
    cut = truncate(as_items(view), 1_400, weigh)
    assert str(cut.items[-1].message.parts[1].content) == "r" * 300


def test_a_result_is_never_cut_to_nothing() -> None:
    cut = cut_result(returned("a", 5_000), 30)
    assert not cut.fits
    assert 150 <= len(str(cut.items[-1].message.parts[0].content)) <= 200


def test_files_in_results_go_with_a_mark() -> None:
    picture = BinaryContent(b"x", media_type="image/png")
    message = ModelRequest(parts=[ToolReturnPart("shot", ["caption", picture, picture], "a")])
    cut = cut_result(message, 300)
    part = cut.items[-1].message.parts[0]
    assert isinstance(part, ToolReturnPart)
    assert part.files == []
    assert "caption" in str(part.content)
    assert "files left out of this request: 2" in str(part.content)


def test_long_errors_of_tools_are_cut_too() -> None:
    message = ModelRequest(parts=[retry_prompt("e" * 5_000, "read", "a")])

    def flat(message: ModelMessage) -> int:
        return sum(len(str(part.content)) for part in message.parts if hasattr(part, "content"))

    cut = truncate(as_items([said(), called("a"), message]), 1_000, flat)
    part = cut.items[-1].message.parts[0]
    assert isinstance(part, ToolReturnPart)
    assert (part.outcome, part.tool_call_id) == ("retried", "a")
    assert cut.fits


def test_the_view_itself_is_not_changed() -> None:
    message = returned("a", 5_000)
    cut_result(message, 100)
    assert len(str(message.parts[0].content)) == 5_000


# Properties of every truncated history.


MANY = settings(max_examples=examples(150), deadline=None)
BUDGETS = st.integers(0, 3_000)
PINS = st.sets(st.integers(0, 30), max_size=6)
COUNTER = TokenCounter(TextCounter("o200k_base"))


def truncator_properties_weigh(message: ModelMessage) -> int:
    return COUNTER.message(message).total


@dataclass
class Case:
    """A view to truncate, and the units that must stay together."""

    items: list[Item]
    pinned: frozenset[int]

    @property
    def latest(self) -> int:
        index = latest_prompt_index(self.items)
        assert index is not None
        return index

    def cut(self, budget: int, limit: int | None = None) -> Truncated:
        return truncate(self.items, budget, truncator_properties_weigh, self.pinned, limit=limit)

    def dropped(self, cut: Truncated) -> set[int]:
        return {item.key for item in self.items} - {item.key for item in cut.items}

    def droppable(self) -> list[list[Item]]:
        """Units that may be dropped, oldest first."""
        groups = [[self.items[index] for index in unit] for unit in units(self.items)[:-1]]
        kept = self.items[self.latest].key
        return [
            group
            for group in groups
            if not any(is_system(item.message) or item.key == kept for item in group)
        ]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    messages = [part for message in sendable(draw(asked())) for part in sections(message)]
    return Case(as_items(messages), frozenset(draw(PINS)))


def truncator_properties_keys(items: Sequence[Item]) -> set[int]:
    return {item.key for item in items}


@MANY
@given(cases(), BUDGETS, st.integers(0, 500))
def test_what_never_goes_stays(case: Case, budget: int, margin: int) -> None:
    cut = case.cut(budget, budget + margin)
    left = truncator_properties_keys(cut.items)
    assert truncator_properties_keys([item for item in case.items if is_system(item.message)]) <= left
    assert {case.items[case.latest].key, case.items[-1].key} <= left
    by_key = {item.key: item.message for item in case.items}
    for item in cut.items:
        if item.key in case.pinned and item.key != case.items[-1].key and is_prompt(item.message):
            assert item.message is by_key[item.key]


@MANY
@given(cases(), BUDGETS)
def test_units_go_whole(case: Case, budget: int) -> None:
    dropped = case.dropped(case.cut(budget))
    for unit in units(case.items):
        whole = {case.items[index].key for index in unit}
        assert not whole & dropped or whole <= dropped


def rank(case: Case, unit: Sequence[Item]) -> int:
    """The order of dropping, stated independently of the truncator."""
    place = case.items.index(unit[0])
    if any(item.key in case.pinned for item in unit):
        return 4
    if any(is_summary(item.message) for item in unit):
        return 3
    if place > case.latest:
        return 2
    return int(any(is_prompt(item.message) for item in unit))


@MANY
@given(cases(), BUDGETS)
def test_nothing_goes_while_something_less_needed_is_left(case: Case, budget: int) -> None:
    dropped = case.dropped(case.cut(budget))
    order = sorted(case.droppable(), key=lambda unit: rank(case, unit))
    gone = [unit[0].key in dropped for unit in order]
    assert gone == sorted(gone, reverse=True)


@MANY
@given(cases(), BUDGETS)
def test_no_more_goes_than_is_needed(case: Case, budget: int) -> None:
    cut = case.cut(budget)
    dropped = [unit for unit in case.droppable() if unit[0].key in case.dropped(cut)]
    whole = {id(item.message) for item in case.items}
    if not dropped or any(id(item.message) not in whole for item in cut.items):
        return  # Results are cut by halves, which may leave room.
    last = max(dropped, key=lambda unit: (rank(case, unit), case.items.index(unit[0])))
    assert cut.tokens + sum(truncator_properties_weigh(item.message) for item in last) > budget


@MANY
@given(cases(), BUDGETS)
def test_results_are_cut_only_when_everything_else_has_gone(case: Case, budget: int) -> None:
    cut = case.cut(budget)
    whole = {id(item.message) for item in case.items}
    if all(id(item.message) in whole for item in cut.items):
        return
    left = [unit for unit in case.droppable() if unit[0].key in truncator_properties_keys(cut.items)]
    assert all(any(item.key in case.pinned for item in unit) for unit in left)


@MANY
@given(cases(), BUDGETS, st.integers(0, 1_000))
def test_more_room_never_costs_a_message(case: Case, budget: int, more: int) -> None:
    small, large = case.cut(budget), case.cut(budget + more)
    assert case.dropped(large) <= case.dropped(small)
    assert large.fits or not small.fits


@MANY
@given(cases(), BUDGETS)
def test_what_fits_is_cut_no_further(case: Case, budget: int) -> None:
    cut = case.cut(budget)
    if not cut.fits:
        return
    again = truncate(cut.items, budget, truncator_properties_weigh, case.pinned)
    assert [item.message for item in again.items] == [item.message for item in cut.items]
    assert again.tokens == cut.tokens


@MANY
@given(cases())
def test_a_view_that_fits_is_left_alone(case: Case) -> None:
    total = sum(truncator_properties_weigh(item.message) for item in case.items)
    cut = case.cut(total)
    assert all(a is b for a, b in zip(cut.items, case.items, strict=True))
    assert cut.fits


@MANY
@given(cases(), BUDGETS)
def test_what_is_left_can_be_sent(case: Case, budget: int) -> None:
    cut = case.cut(budget)
    assert cut.tokens == sum(truncator_properties_weigh(item.message) for item in cut.items)
    messages = sendable([item.message for item in cut.items])
    assert complaints(messages) == []
    latest = prompts([item.message for item in case.items])[-1]
    assert prompts(messages).count(latest) == 1
    assert system_prompts(messages) == system_prompts([item.message for item in case.items])
