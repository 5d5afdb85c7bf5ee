"""One line of a text, for a title: of a text that is a whole file no more is read than is shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.importing.claude_records import Script
from tui_app.events import UserMessage
from tui_app.session.event_heads import head_of
from tui_app.session.importers import import_file
from tui_app.session.importers.reader import given_title, one_line, title_of
from tui_app.session.importers.source import ImportedEvent
from tui_app.session.user_view import UserView

LONG = [" " * 1_024, " " * 1_023, "\x00" * 2_047]
BLANKS = st.sampled_from([" ", "  ", "\t", "\x00", "\x1b", "\u200b", "\xa0", *LONG])
BREAKS = st.sampled_from(["\n", "\r\n", "\u2028", "\x0b"])
WORDS = st.text("abé😀漢", min_size=1, max_size=12) | st.sampled_from(["x" * 59, "x" * 60, "y" * 1_024])
TEXTS = st.lists(BLANKS | BREAKS | WORDS, max_size=12).map("".join)


def read_as_a_whole(text: str, limit: int) -> str:
    printable = ("".join(c if c.isprintable() else " " for c in line) for line in text.splitlines())
    line = next((clean for line in printable if (clean := " ".join(line.split()))), "")
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


@given(TEXTS, st.integers(2, 130))
def test_the_beginning_is_that_of_the_whole(text: str, limit: int) -> None:
    assert one_line(text, limit) == read_as_a_whole(text, limit)


def test_of_a_line_that_is_a_file_only_the_beginning_is_read() -> None:
    looked_at = 0

    class Counted(str):
        """Counts the characters that are taken out of it."""

        def splitlines(self, keepends: bool = False) -> list[str]:
            return [self]

        def __iter__(self) -> Iterator[str]:
            nonlocal looked_at
            looked_at += len(self)
            return super().__iter__()

        def __getitem__(self, key: object) -> str:
            nonlocal looked_at
            piece = str.__getitem__(self, key)  # type: ignore[index]
            looked_at += len(piece)
            return piece

    assert one_line(Counted("low water " * 100_000)) == f"{'low water ' * 5}low water…"
    assert looked_at < 10_000


def test_a_title_holds_nothing_of_a_terminal_sequence() -> None:
    assert (
        one_line("\x1b[31mred \x1b[0mand \x1b]8;;https://example.org\x07a link\x1b]8;;\x07")
        == "red and a link"
    )


ISSUE = "<uploaded_files>\n/work\n</uploaded_files>\nConsider this:\n\n<issue_description>\nThe till\nbreaks."


@pytest.mark.parametrize(
    ("prompts", "title"),
    [
        (["/mode", "Read the till in full."], "Read the till in full."),
        (["<command-name>/review</command-name>", "Mend it."], "Mend it."),
        (["/review the till and mend it", "Later."], "/review the till and mend it"),
        (["/init"], "/init"),
        (["[Request interrupted by user for tool use]", "1", "Why?"], "Why?"),
        (["/home/ann/till.py is broken: mend it, please"], "/home/ann/till.py is broken: mend it, please"),
        ([ISSUE, "Error: no such command."], "The till"),
        (["We solve the following issue.\nISSUE:\nThe till\nbreaks."], "The till"),
        (
            ["Implement the following plan:\n\n# Count twice\n\nThen"],
            "Implement the following plan: Count twice",
        ),
        (["[Request interrupted by user]"], ""),
    ],
)
def test_a_title_is_what_the_person_wanted_first(prompts: list[str], title: str) -> None:
    said = [ImportedEvent(data=UserMessage(text=text), message=None, time=0.0) for text in prompts]
    assert title_of(said) == title


def test_a_title_that_only_says_when_is_none() -> None:
    assert given_title("New session - 2026-07-21T15:12:05.312Z") == ""
    assert given_title("New session - the till") == "New session - the till"


def test_an_interruption_is_shown_as_one_and_still_read_by_the_model(tmp_path: Path) -> None:
    script = Script()
    script.user("Mend it.")
    script.user([{"type": "text", "text": "[Request interrupted by user]"}])
    script.user("Stop that.")
    imported = import_file(script.write(tmp_path))
    assert sum(event.message is not None for event in imported.events) == 3
    view = UserView()
    for seq, event in enumerate(imported.events, 2):
        view.apply(head_of(seq, 0.0, event.data))
    assert [(entry.kind, entry.title) for entry in view.entries] == [
        ("user", "Mend it."),
        ("notice", "Interrupted by the person"),
        ("user", "Stop that."),
    ]
