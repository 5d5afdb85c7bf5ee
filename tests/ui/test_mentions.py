"""Paths in a prompt: what is one, where it ends, and how it is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.references import Mention, is_writable, mention_at, mentions, written


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("fix @import.py", ("import.py",)),
        ("@a.py, @b.py and @a.py.", ("a.py", "b.py")),
        ("(see @src/a.py)", ("src/a.py",)),
        ('read @"my notes.md" now', ("my notes.md",)),
        ("two\n@lines.txt\n", ("lines.txt",)),
        ("mail me@example.org", ()),
        ("@ alone, and @, too", ()),
        ('@"not closed', ()),
        ("@src/", ("src/",)),
    ],
)
def test_what_a_prompt_names(text: str, paths: tuple[str, ...]) -> None:
    assert mentions(text) == paths


@pytest.mark.parametrize(
    ("line", "column", "found"),
    [
        ("fix @imp", 8, Mention(4, 8, "imp")),
        ("fix @import.py now", 8, Mention(4, 14, "imp")),
        ("fix @import.py now", 18, None),
        ("@", 1, Mention(0, 1, "")),
        ('@"my no', 7, Mention(0, 7, "my no")),
        ('@"my notes/" x', 11, Mention(0, 12, "my notes/")),
        ('@"my notes" ', 12, None),
        ("me@example", 10, None),
    ],
)
def test_where_the_cursor_stands(line: str, column: int, found: Mention | None) -> None:
    assert mention_at(line, column) == found


@given(st.text(min_size=1).filter(is_writable).filter(str.strip))
def test_every_path_that_can_be_written_is_read_again(path: str) -> None:
    assert mentions(f"look at {written(path)} please") == (path,)


def test_hostile_names_are_not_offered() -> None:
    assert not is_writable('a"b')
    assert not is_writable("a\nb")
    assert not is_writable("a\x1b[31mb")
    assert not is_writable("abc\u202etxt")
