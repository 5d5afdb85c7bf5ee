"""One line of a text, for a title: of a text that is a whole file no more is read than is shown."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tui_app.session.importers.fields import one_line

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
