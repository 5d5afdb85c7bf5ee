"""What rows say that a rewind has left behind, and the row of the rewind once that was undone."""

from datetime import UTC

import pytest

from tests.ui.widgets.transcript_kit import NOON
from tui_app.session.entries import Body, Entry
from tui_app.ui.text import UNICODE
from tui_app.ui.themes import PLAIN_PALETTE
from tui_app.ui.timeline import timeline_row
from tui_app.ui.transcript.entries import Wording, pieces
from tui_app.ui.transcript.lines import Painter


def entry(kind, **values) -> Entry:
    return Entry(**{"seq": 1, "kind": kind, "time": NOON, "title": "title", **values})


def said(row: Entry) -> str:
    painter = Painter(PLAIN_PALETTE, UNICODE, 80)
    parts = pieces(row, None, Body(text=""), Wording(glyphs=UNICODE), expanded=False)
    return " ".join(line.text for part in parts for line in part.lines(painter))


def listed(row: Entry) -> str:
    found = timeline_row(row, 0, Wording(glyphs=UNICODE, tz=UTC))
    return f"{found.text}  {found.right}"


@pytest.mark.parametrize("state", ["failed", "denied", "interrupted"])
def test_a_call_that_went_wrong_says_both_once_it_is_left_behind(state) -> None:
    row = entry("tool", state=state, left=True)
    for words in (said(row), listed(row)):
        assert f"✗ {state} · left behind" in words


def test_an_error_says_that_it_was_left_behind() -> None:
    assert "left behind" in said(entry("error", state="failed", left=True))
    assert "left behind 12:00" in listed(entry("error", state="failed", left=True))
    assert "left behind" not in said(entry("error", state="failed"))


@pytest.mark.parametrize("title", ['Rewound to before "hello"', ""])
def test_a_rewind_that_was_taken_back_says_so(title: str) -> None:
    row = entry("clear", title=title, state="undone")
    assert said(row).endswith("· taken back")
    assert "taken back" not in said(entry("clear", title=title))
    assert listed(row).endswith("undone 12:00")
