"""Finding words in texts: smart case, slices, parts, excerpts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.session.views.entries import Body, Entry
from tui_app.ui.transcript import search as finding
from tui_app.ui.transcript.search import batches, excerpt_of, hits_in, pattern_of, places_in

TOOL = Entry(seq=4, kind="tool", time=0.0, title="grep tide · 3 hits", result_seq=5)


def pattern(words: str) -> re.Pattern[str]:
    found = pattern_of(words)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("words", "text", "count"),
    [
        ("tide", "Tide tide TIDE", 3),
        ("Tide", "Tide tide TIDE", 1),
        ("a.b", "a.b axb", 1),
        ("high tide", "high\n  tide high tide", 2),
        ("ÄÖ", "äö ÄÖ", 1),
    ],
)
def test_small_letters_mean_any(words: str, text: str, count: int) -> None:
    assert len(list(places_in(text, pattern(words)))) == count


def test_no_words_find_nothing() -> None:
    assert pattern_of("  ") is None


@given(st.text(alphabet="ab ", max_size=400), st.sampled_from(["a", "ab", "aba", "b a"]), st.integers(1, 40))
def test_slices_find_what_one_search_finds(text: str, words: str, size: int) -> None:
    wanted = [match.start() for match in pattern(words).finditer(text)]
    kept = finding._SLICE
    try:
        finding._SLICE = size
        assert list(places_in(text, pattern(words))) == wanted
    finally:
        finding._SLICE = kept


def test_every_part_of_a_tool_is_looked_through() -> None:
    body = Body(text="the tide\nthe tide", args='{"pattern": "tide"}')
    hits = hits_in(TOOL, body, pattern("tide"))
    assert [(hit.part, hit.nth) for hit in hits] == [("title", 0), ("args", 0), ("text", 0), ("text", 1)]


def test_control_sequences_hide_nothing() -> None:
    body = Body(text="the ti\x1b[31mde and ti\x00de")
    assert len(hits_in(TOOL, body, pattern("tide"))) == 3


def test_an_excerpt_holds_the_place() -> None:
    body = Body(text="\n".join(f"line {number}" for number in range(10_000)))
    [hit] = hits_in(TOOL, body, pattern("line 7000"))
    excerpt = excerpt_of(TOOL, body, hit)
    assert excerpt is not None
    assert excerpt.text[excerpt.at :].startswith("line 7000")
    assert excerpt.text.startswith("line ")
    assert excerpt_of(TOOL, Body(text="short"), hit) is None


def test_batches_are_newest_first_and_lose_nothing() -> None:
    entries = [Entry(seq=n, kind="user", time=0.0, title="x", chars=n * 1_000) for n in range(1, 300)]
    cut = list(batches(entries))
    assert [entry for batch in reversed(cut) for entry in batch] == entries
    assert cut[0][-1] is entries[-1]
    assert len(cut) > 3


def test_what_stands_behind_a_megabyte_is_found() -> None:
    text = "x" * 1_000_000
    places = places_in(text + "needle", pattern("needle"))
    assert list(places) == [1_000_000]
