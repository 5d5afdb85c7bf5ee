"""Which parts an entry is made of, and how much of a huge one is shown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.widgets.transcript_kit import NOON
from tui_app.session.entries import Body, Entry
from tui_app.ui.text import PLAIN, UNICODE, clean
from tui_app.ui.themes import PLAIN_PALETTE, Tone
from tui_app.ui.transcript.entries import Wording, distance, estimate, pieces
from tui_app.ui.transcript.lines import Painter
from tui_app.ui.transcript.pieces import (
    PIECE_CHARS,
    MarkdownPiece,
    RowPiece,
    clip,
    readable_args,
    text_pieces,
)

WORDING = Wording(glyphs=UNICODE)


def entry(kind, **values) -> Entry:
    return Entry(**{"seq": 1, "kind": kind, "time": NOON, "title": "title", **values})


def texts(row: Entry, body: Body, *, width: int = 60, expanded: bool = False, before: Entry | None = None):
    painter = Painter(PLAIN_PALETTE, UNICODE, width)
    parts = pieces(row, before, body, WORDING, expanded=expanded)
    return [line.text for part in parts for line in part.lines(painter)]


@pytest.mark.parametrize(
    "kind", ["system", "tool", "hook", "truncation", "model", "checkpoint", "clear", "notice"]
)
def test_rows_stand_close_together(kind: str) -> None:
    assert distance(entry(kind), entry("tool")) == 0
    assert distance(entry("user"), entry(kind)) == 1


def test_a_hook_opens_to_what_it_printed() -> None:
    row = entry("hook", title="postTool hook make ended with exit code 2", state="failed")
    folded = texts(row, Body(text=""))
    assert len(folded) == 1
    assert "failed" in folded[0]
    opened = texts(row, Body(text="one\n\x1b[2Jtwo"), expanded=True)
    assert [line.strip() for line in opened[1:]] == ["one", "two"]
    assert "(no output)" in texts(row, Body(text=""), expanded=True)[1]


@pytest.mark.parametrize(
    "row",
    [
        entry("user", chars=5),
        entry("assistant", chars=5),
        entry("tool"),
        entry("compaction"),
        entry("error"),
        entry("model"),
        entry("system"),
        entry("hook"),
        entry("notice"),
        entry("clear"),
        entry("truncation"),
        entry("checkpoint"),
    ],
    ids=lambda row: row.kind,
)
def test_the_estimate_of_a_short_entry_is_near(row: Entry) -> None:
    shown = texts(row, Body(text="short\nhint" if row.kind == "error" else "short"), before=entry("user"))
    assert abs(estimate(row, entry("user"), 60) - len(shown)) <= 1


@pytest.mark.parametrize("state", ["failed", "cancelled", "discarded", "vetoed", "running"])
def test_a_compaction_says_how_it_ended(state) -> None:
    first, second = texts(entry("compaction", state=state, title="no answer"), Body(text=""))
    assert first == f"⊖ Compaction {state} · no answer"
    assert "undoes" not in second


@pytest.mark.parametrize("title", ["", "cancelled"])
def test_a_cancelled_compaction_says_that_nothing_changed(title: str) -> None:
    first, second = texts(entry("compaction", state="cancelled", title=title), Body(text=""))
    assert first == "⊖ Compaction cancelled. Nothing changed."
    assert second == "  enter shows details"


def test_the_reason_of_a_compaction_may_hold_the_word_for_its_end() -> None:
    row = entry("compaction", state="failed", title="the request failed")
    assert texts(row, Body(text=""))[0] == "⊖ Compaction failed · the request failed"


def test_a_long_error_is_said_once() -> None:
    words = "The provider refused the request. " * 12
    title = f"{words[:200]}…"
    shown = texts(entry("error", title=title), Body(text=words))
    assert " ".join(line.strip() for line in shown) == f"✗ {words.strip()}"


def test_further_lines_of_an_error_are_said_behind_the_first() -> None:
    shown = texts(entry("error", title="It broke."), Body(text="It broke.\nTry again."))
    assert shown == ["✗ It broke.", "  Try again."]
    assert texts(entry("error", title="It broke."), Body(text="")) == ["✗ It broke."]


def test_an_interrupted_answer_says_so() -> None:
    assert texts(entry("assistant", state="interrupted", chars=4), Body(text="half"))[-1] == (
        "✗ interrupted: the answer ends here"
    )


def test_a_narrow_row_drops_its_right_part_before_its_title() -> None:
    row = entry("tool", title="run_command pytest", tokens=2_312, state="failed")
    assert texts(row, Body(text=""), width=24) == ["▸ run_command pytest"]


def test_an_open_tool_without_output_says_so() -> None:
    assert texts(entry("tool"), Body(text=" "), expanded=True)[-1] == "    (no output)"
    assert texts(entry("tool", state="running"), Body(text=""), expanded=True)[-1] == "    (still running)"


def test_numbered_lines_stand_below_each_other() -> None:
    shown = texts(entry("tool"), Body(text="9\tnine\n10\t\tten"), expanded=True)
    assert shown[-2:] == ["    9   nine", "    10      ten"]


def test_arguments_are_readable() -> None:
    assert (
        readable_args('{"path": "a.py", "content": "x\\ny", "n": 3}') == "path: a.py\ncontent: \nx\ny\nn: 3"
    )
    assert readable_args("not json") == "not json"
    assert readable_args("[1]") == "[1]"
    assert readable_args("[" * 100_000) == "[" * 100_000


@given(st.text(alphabet="ab\n", max_size=300), st.integers(8, 100), st.one_of(st.none(), st.integers(4, 20)))
def test_clipping_keeps_head_and_tail(text: str, chars: int, lines: int | None) -> None:
    head, note, tail = clip(text, chars, lines)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) <= max(chars, len(text) if not note else chars)
    if lines is not None:
        assert (head + "\n" + tail).count("\n") + (not tail) <= lines + 1
    if not note:
        assert head == text


def test_the_notes_count_what_is_left_out() -> None:
    assert clip("x" * 1_000_000, 60_000, 400)[1] == "940,000 more characters are not shown"
    assert clip("a\n" * 999 + "a", 60_000, 400)[1] == "600 more lines are not shown"
    assert clip("x" * 60_001, 60_000, 400)[1] == "1 more character is not shown"


@given(
    st.text(alphabet="a\n\r\t\x1b[31m\x07", max_size=300),
    st.integers(8, 100),
    st.one_of(st.none(), st.integers(4, 20)),
)
def test_what_is_kept_is_clean_however_much_is_left_out(text: str, chars: int, lines: int | None) -> None:
    head, note, tail = clip(text, chars, lines, wash=clean)
    for kept in (head, tail):
        assert clean(kept) == kept
    assert note or (head, tail) == (clean(text), "")
    assert "-" not in note


def test_lines_of_megabytes_are_not_counted() -> None:
    text = "\x1b[31mred\x1b[0m\n" * 300_000
    head, note, tail = clip(text, 60_000, 400, wash=clean)
    assert (head.count("\n"), tail.count("\n")) == (299, 99)
    assert re.fullmatch(r"3,8\d\d,\d{3} more characters are not shown", note), note


@given(st.lists(st.sampled_from(["a", "\n", "b" * 700, "c\n" * 90]), max_size=30).map("".join))
def test_plain_pieces_hold_the_text_exactly(text: str) -> None:
    parts = list(text_pieces(text, Tone.TEXT))
    assert "".join(part.join + part.text for part in parts) == "\n" + text
    assert all(len(part.text) <= PIECE_CHARS for part in parts)


def test_plain_signs_are_ascii() -> None:
    assert all(sign.isascii() for sign in PLAIN)
    assert all(UNICODE)


@given(st.text(alphabet="ab …", min_size=1, max_size=60), st.integers(8, 60))
def test_a_plain_row_says_with_three_dots_that_it_was_cut(title: str, width: int) -> None:
    (line,) = RowPiece("", title, Tone.TEXT).lines(Painter(PLAIN_PALETTE, PLAIN, width, plain=True))
    spelled = title.replace("…", "...").rstrip()
    assert line.text == spelled or (line.text.endswith("...") and len(line.text) <= width)


def test_plain_answers_keep_the_signs_of_who_wrote_them() -> None:
    painter = Painter(PLAIN_PALETTE, PLAIN, 20, plain=True)
    lines = MarkdownPiece("wait… " * 6).lines(painter)
    assert " ".join(line.text for line in lines).split() == ["wait…"] * 6


@pytest.mark.parametrize(("state", "said"), [("ok", "left behind"), ("failed", "✗ failed · left behind")])
def test_a_tool_that_was_left_behind_says_so_however_it_ended(state: str, said: str) -> None:
    (line,) = texts(entry("tool", state=state, left=True), Body(text=""))
    assert line.endswith(said)
