"""Line positions: heights become known while a user scrolls; visible lines must not jump."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.widgets.transcript_kit import NOON, Library
from tui_app.session.views.entries import Body, Entry
from tui_app.ui.colours.palette import PLAIN_PALETTE, Tone
from tui_app.ui.transcript import layout as pages
from tui_app.ui.transcript.entries import Wording
from tui_app.ui.transcript.layout import HeightIndex, Layout, LineCache, Viewport
from tui_app.ui.transcript.lines import Painter
from tui_app.ui.transcript.pieces import TextPiece
from tui_app.ui.words.glyphs import UNICODE

# The height index against a simple slow implementation.


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


# Heights become known while the user scrolls; visible lines must not jump.


WORDING = Wording(glyphs=UNICODE)
BODIES = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant", "tool", "compaction"]),
        st.lists(st.sampled_from(["word", "\n", "\n\n", "longer words here", "```\n"]), max_size=30).map(
            " ".join
        ),
        st.integers(0, 400),
    ),
    max_size=25,
)


def layout_of(bodies: list[tuple], width: int = 30) -> Layout:
    library = Library()
    entries = []
    for seq, (kind, text, chars) in enumerate(bodies, start=1):
        library.bodies[seq] = Body(text=text)
        entries.append(Entry(seq=seq, kind=kind, time=NOON, title=f"entry {seq}", chars=chars))
    layout = Layout(library, Painter(PLAIN_PALETTE, UNICODE, width), WORDING)
    layout.set_entries(entries)
    return layout


def all_lines(layout: Layout) -> list[str]:
    """Every line, painted without a viewport."""
    return [
        line.text
        for slot in range(len(layout))
        for piece in range(len(layout.block(slot).pieces))
        for line in layout.lines(slot, piece)
    ]


def window(layout: Layout, viewport: Viewport) -> list[str]:
    y = viewport.settle()
    found = [layout.line(layout.spot_at(line)) for line in range(y, min(y + viewport.rows, layout.total))]
    return [line.text for line in found if line is not None]


@given(BODIES, st.integers(1, 12), st.lists(st.integers(-15, 15), max_size=25))
def test_scrolling_moves_by_exactly_as_many_lines(bodies: list[tuple], rows: int, moves: list[int]) -> None:
    expected = all_lines(layout_of(bodies))
    layout = layout_of(bodies)
    viewport = Viewport(layout)
    viewport.rows = rows
    top = max(0, len(expected) - rows)
    assert window(layout, viewport) == expected[top : top + rows]
    for move in moves:
        viewport.scroll(move)
        top = min(max(0, top + move), max(0, len(expected) - rows))
        assert window(layout, viewport) == expected[top : top + rows]
        assert viewport.following == (top + rows >= len(expected))


@given(BODIES, st.integers(1, 12), st.data())
def test_what_changes_below_or_above_does_not_move_the_window(
    bodies: list[tuple], rows: int, data: st.DataObject
) -> None:
    layout = layout_of(bodies)
    viewport = Viewport(layout)
    viewport.rows = rows
    window(layout, viewport)
    viewport.scroll(-data.draw(st.integers(0, 60)))
    before = window(layout, viewport)
    if viewport.following:
        return
    layout.append(Entry(seq=999, kind="user", time=NOON, title="new", chars=3))
    assert window(layout, viewport) == before
    above = viewport.top.slot
    if above:
        layout.expanded.add(layout.entries[above - 1].seq)
        layout.stale(above - 1)
        layout.block(above - 1)
        assert window(layout, viewport) == before


@given(BODIES, st.integers(1, 12), st.lists(st.integers(5, 80), min_size=1, max_size=5))
def test_another_width_keeps_the_entry_at_the_top(bodies: list[tuple], rows: int, widths: list[int]) -> None:
    layout = layout_of(bodies)
    viewport = Viewport(layout)
    viewport.rows = rows
    viewport.settle()
    viewport.scroll(-20)
    for width in widths:
        slot, following = layout.spot_at(viewport.settle()).slot, viewport.following
        mark = viewport.mark()
        layout.repaint(Painter(PLAIN_PALETTE, UNICODE, width), WORDING)
        viewport.restore(mark)
        y = viewport.settle()
        if not following and y + rows < layout.total:
            assert layout.spot_at(y).slot == slot


def test_the_cache_is_bounded_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MAX_LINES", 20)
    cache = LineCache()
    painter = Painter(PLAIN_PALETTE, UNICODE, 20)
    first = TextPiece("one", Tone.TEXT)
    kept = cache.lines(first, painter)
    assert cache.lines(TextPiece("one", Tone.TEXT), painter) is kept
    for number in range(100):
        cache.lines(TextPiece(f"{number}\n2\n3", Tone.TEXT), painter)
        assert cache.size <= 20
    assert first not in cache
