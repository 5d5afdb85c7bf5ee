"""The height index against the obvious slow way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.ui.transcript.layout import HeightIndex

HEIGHTS = st.lists(st.integers(0, 5), max_size=40)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 9)),
        st.tuples(st.just("set"), st.integers(0, 9)),
        st.tuples(st.just("pop"), st.just(0)),
    ),
    max_size=30,
)


def slow_find(heights: list[int], line: int) -> tuple[int, int]:
    if not sum(heights):
        return len(heights), 0
    left = min(max(line, 0), sum(heights) - 1)
    for index, height in enumerate(heights):
        if left < height:
            return index, left
        left -= height
    raise AssertionError


@given(HEIGHTS, CHANGES, st.integers(-3, 260), st.integers(0, 1_000))
def test_agrees_with_plain_sums(heights: list[int], changes: list, line: int, pick: int) -> None:
    index = HeightIndex(heights)
    expected = list(heights)
    for step, (change, value) in enumerate(changes):
        if change == "append":
            index.append(value)
            expected.append(value)
        elif change == "pop" and expected:
            assert index.pop() == expected.pop()
        elif change == "set" and expected:
            place = (pick + step) % len(expected)
            assert index.set(place, value) == value - expected[place]
            expected[place] = value
    assert index.total == sum(expected)
    assert len(index) == len(expected)
    assert [index[i] for i in range(len(expected))] == expected
    assert [index.top(i) for i in range(len(expected) + 1)] == [
        sum(expected[:i]) for i in range(len(expected) + 1)
    ]
    assert index.find(line) == slow_find(expected, line)


def test_pop_of_nothing_is_an_error() -> None:
    with pytest.raises(IndexError):
        HeightIndex().pop()
