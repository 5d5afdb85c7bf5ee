"""Cutting: lines, characters and bytes, from one end or from the middle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.tool_results.results import (
    byte_count,
    count_lines,
    cut_bytes,
    cut_chars,
    cut_lines,
    everything,
    shorten,
)

TEXTS = st.text("ab\né漢🙂\ud83d ", max_size=60)


@pytest.mark.parametrize(
    ("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("\n\n", 2), ("a\r\nb\r\n", 2)]
)
def test_counting_lines(text: str, lines: int) -> None:
    assert count_lines(text) == lines


@given(TEXTS, st.integers(1, 12), st.booleans())
def test_whole_lines_stay(text: str, limit: int, both: bool) -> None:
    kept = cut_lines(text, limit, both=both)
    head, tail = kept.pieces(text)
    assert kept.is_whole(text) == (count_lines(text) <= limit)
    if kept.is_whole(text):
        assert (head, tail) == (text, "")
        return
    lines = text.splitlines(keepends=True) if "\r" not in text else []
    back = limit // 2 if both else 0
    assert head == "".join(lines[: limit - back])
    assert tail == "".join(lines[len(lines) - back :])


@given(TEXTS, st.integers(0, 80), st.booleans())
def test_characters(text: str, limit: int, both: bool) -> None:
    kept = cut_chars(text, everything(text, both=both), limit)
    head, tail = kept.pieces(text)
    assert len(head) + len(tail) == min(limit, len(text))
    assert text.startswith(head)
    assert text.endswith(tail)
    assert both or not tail


@given(TEXTS, st.integers(0, 200), st.booleans())
def test_bytes(text: str, limit: int, both: bool) -> None:
    kept = cut_bytes(text, everything(text, both=both), limit)
    head, tail = kept.pieces(text)
    size = byte_count(head) + byte_count(tail)
    assert size <= limit
    assert text.startswith(head)
    assert text.endswith(tail)
    if byte_count(text) > limit:
        assert size > limit - 8, "less than two characters of four bytes are given away"
    else:
        assert (head, tail) == (text, "")


@given(TEXTS, st.integers(1, 12), st.integers(0, 40), st.integers(0, 80), st.booleans())
def test_one_after_the_other(text: str, lines: int, chars: int, size: int, both: bool) -> None:
    kept = cut_bytes(text, cut_chars(text, cut_lines(text, lines, both=both), chars), size)
    head, tail = kept.pieces(text)
    assert count_lines(head) + count_lines(tail) <= lines + 1
    assert len(head) + len(tail) <= chars
    assert byte_count(head) + byte_count(tail) <= size


@given(st.text("ab\n", max_size=400), st.integers(0, 300))
def test_shortened_text_keeps_to_its_limit(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit or short == text
    assert (short == text) == (len(text) <= limit) or not text
