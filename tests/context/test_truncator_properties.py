"""What holds for every history that is cut to fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from tests.context.histories import as_items, asked
from tests.context.validity import complaints, prompts, system_prompts
from tests.examples import examples
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.overflow.truncator import Truncated, truncate
from tui_app.context.requests.builder import sendable
from tui_app.context.view import Item, is_prompt, is_summary, is_system, latest_prompt_index, sections, units

MANY = settings(max_examples=examples(150), deadline=None)
BUDGETS = st.integers(0, 3_000)
PINS = st.sets(st.integers(0, 30), max_size=6)
COUNTER = TokenCounter(TextCounter("o200k_base"))


def weigh(message: ModelMessage) -> int:
    return COUNTER.message(message).total


@dataclass
class Case:
    """A view as it is cut, and what belongs together in it."""

    items: list[Item]
    pinned: frozenset[int]

    @property
    def latest(self) -> int:
        index = latest_prompt_index(self.items)
        assert index is not None
        return index

    def cut(self, budget: int, limit: int | None = None) -> Truncated:
        return truncate(self.items, budget, weigh, self.pinned, limit=limit)

    def dropped(self, cut: Truncated) -> set[int]:
        return {item.key for item in self.items} - {item.key for item in cut.items}

    def droppable(self) -> list[list[Item]]:
        """Units that may go, oldest first."""
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


def keys(items: Sequence[Item]) -> set[int]:
    return {item.key for item in items}


@MANY
@given(cases(), BUDGETS, st.integers(0, 500))
def test_what_never_goes_stays(case: Case, budget: int, margin: int) -> None:
    cut = case.cut(budget, budget + margin)
    left = keys(cut.items)
    assert keys([item for item in case.items if is_system(item.message)]) <= left
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
    """What goes first, said once more in other words than the truncator's."""
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
        return  # Results are cut by halves, so that may leave room.
    last = max(dropped, key=lambda unit: (rank(case, unit), case.items.index(unit[0])))
    assert cut.tokens + sum(weigh(item.message) for item in last) > budget


@MANY
@given(cases(), BUDGETS)
def test_results_are_cut_only_when_everything_else_has_gone(case: Case, budget: int) -> None:
    cut = case.cut(budget)
    whole = {id(item.message) for item in case.items}
    if all(id(item.message) in whole for item in cut.items):
        return
    left = [unit for unit in case.droppable() if unit[0].key in keys(cut.items)]
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
    again = truncate(cut.items, budget, weigh, case.pinned)
    assert [item.message for item in again.items] == [item.message for item in cut.items]
    assert again.tokens == cut.tokens


@MANY
@given(cases())
def test_a_view_that_fits_is_left_alone(case: Case) -> None:
    total = sum(weigh(item.message) for item in case.items)
    cut = case.cut(total)
    assert all(a is b for a, b in zip(cut.items, case.items, strict=True))
    assert cut.fits


@MANY
@given(cases(), BUDGETS)
def test_what_is_left_can_be_sent(case: Case, budget: int) -> None:
    cut = case.cut(budget)
    assert cut.tokens == sum(weigh(item.message) for item in cut.items)
    messages = sendable([item.message for item in cut.items])
    assert complaints(messages) == []
    latest = prompts([item.message for item in case.items])[-1]
    assert prompts(messages).count(latest) == 1
    assert system_prompts(messages) == system_prompts([item.message for item in case.items])
