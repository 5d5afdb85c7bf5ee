"""Nothing that a terminal acts on gets through."""

import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui_app.ui.dialogs.pins import PinRow, pin_line
from tui_app.ui.text import clean, cut_cells, one_line, padded, without_drawing

NASTY = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x9b\x9d\x90\x00\x07\x08\t\r\n\x7f\x85[]m;0?\\\u202e\u2066\u2028\ud800\ufeff"),
    )
)


def acts_on_terminal(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") and character != "\n"


@given(NASTY)
def test_cleaned_text_holds_no_control_character(text: str) -> None:
    cleaned = clean(text)
    assert not [character for character in cleaned if acts_on_terminal(character)]
    assert not set(cleaned) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
    cleaned.encode("utf-8")


@given(NASTY)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(NASTY)
def test_without_newlines_there_are_none(text: str) -> None:
    assert "\n" not in clean(text, keep_newlines=False)


@given(NASTY, st.integers(0, 60))
def test_one_line_fits_its_width(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert cell_len(line) <= limit
    assert "\n" not in line
    assert "  " not in line


SKINS = "".join(map(chr, range(0x1F3FB, 0x1F400)))


@given(
    st.text(
        alphabet=st.characters(categories=("L", "N", "P", "S"), exclude_characters="\u200b" + SKINS),
        max_size=80,
    )
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil.example\x07link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;ZXZpbA==\x07after", "after"),
        ("\x1bPq#0;2;0;0;0\x1b\\image", "image"),
        ("\x9b2Jgone", "gone"),
        ("\x1b(0lqk", "lqk"),
        ("a\tb\x00c", "a    bc"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("access\u202enimda", "access\ufffdnimda"),
        ("half \ud83d pair", "half \ufffd pair"),
    ],
)
def test_sequences_go_as_a_whole(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_one_line_folds_and_cuts_by_cells() -> None:
    assert one_line("  a \n\n b\tc ", 20) == "a b c"
    assert one_line("日本語テキスト", 9) == "日本語テ…"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("x" * 1_000_000, 5) == "xxxx…"
    assert one_line("abc", 0) == ""


def test_cut_says_that_more_was_left_out() -> None:
    assert cut_cells("abc", 10, force=True) == "abc…"
    assert cut_cells("abc", 10) == "abc"


def test_drawing_becomes_ascii_of_the_same_length() -> None:
    art = "├── a ╔═╗ │ ⠋ ━━"
    plain = without_drawing(art)
    assert plain.isascii()
    assert len(plain) == len(art)


@pytest.mark.parametrize("text", ["What was cut…", "What was cut….", "What was cut … ", "What was cut …."])
def test_what_is_cut_twice_has_one_ellipsis(text: str) -> None:
    once = one_line(text + " and more of it", 14)
    for cut in (once, cut_cells(once, 14, force=True), cut_cells(text, 13), cut_cells(text, 40, force=True)):
        assert cut == "What was cut…"
    assert cut_cells("1. 2. 3. 4.", 9) == "1. 2. 3.…", "dots of its own are kept"


@pytest.mark.parametrize("sign", ["👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "❤️", "각", "漢", "é"])
def test_columns_stay_whatever_stands_in_them(sign: str) -> None:
    for limit in range(4, 12):
        assert cell_len(padded(one_line(sign * 3, limit), 12)) == 12
    row = PinRow(seq=7, title=sign * 3, tokens=9, in_view=True)
    assert pin_line(row, 20).cell_length == pin_line(replace(row, seq=1_234, title="x" * 90), 20).cell_length
