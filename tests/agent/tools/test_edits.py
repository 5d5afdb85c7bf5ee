"""Editing files: an exact match or nothing, atomically, and never through a link."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui_app.agent.tools import edits as file_changes
from tui_app.agent.tools.diffs import counts_of, diff_of
from tui_app.agent.tools.edits import carry_out, plan_edit, plan_write
from tui_app.agent.tools.replacements import replace_piece
from tui_app.agent.tools.workspace import ToolProblem, Workspace

# Replacing text: an exact match, or one that differs in white space only, and never a guess.


CODE = "def sea():\n    depth = 3\n    return depth\n\n\ndef sky():\n    return 'high'\n"
WORDS = st.text("abcxyz()=:+'", min_size=1, max_size=8)
LINES = st.lists(st.lists(WORDS, max_size=4), min_size=1, max_size=12)


def written(lines: list[list[str]], depths: list[int], gap: str = " ") -> str:
    return "".join(
        f"{'    ' * depth if words else ''}{gap.join(words)}\n"
        for words, depth in zip(lines, depths, strict=True)
    )


def test_an_exact_piece_is_replaced_once() -> None:
    edited = replace_piece(CODE, "depth = 3", "depth = 4")
    assert edited.text == CODE.replace("depth = 3", "depth = 4")
    assert (edited.count, edited.how) == (1, "exact")


def test_what_stands_twice_is_refused_with_its_lines_unless_every_one_is_meant() -> None:
    with pytest.raises(ToolProblem, match="occurs 2 times, at lines 3, 7"):
        replace_piece(CODE, "    return ", "    yield ")
    assert replace_piece(CODE, "    return ", "    yield ", every=True).count == 2


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("depth", "depth")])
def test_nothing_to_replace_and_nothing_to_change_are_refused(old: str, new: str) -> None:
    with pytest.raises(ToolProblem):
        replace_piece(CODE, old, new)


def test_other_white_space_is_forgiven_and_the_depth_of_the_place_is_kept() -> None:
    edited = replace_piece(CODE, "depth  =  3\nreturn depth\n", "depth = 4\nif depth:\n    return depth\n")
    assert edited.how == "white space"
    assert edited.text == CODE.replace(
        "    depth = 3\n    return depth\n", "    depth = 4\n    if depth:\n        return depth\n"
    )


def test_other_words_are_never_forgiven_and_the_nearest_place_is_named() -> None:
    with pytest.raises(ToolProblem, match=r"nearest place is line 2:\n2\t    depth = 3"):
        replace_piece(CODE, "depth = 33\n", "depth = 4\n")


def test_a_word_is_not_met_inside_another_one() -> None:
    with pytest.raises(ToolProblem):
        replace_piece("xdepth  = 3\n", "depth = 3", "depth = 4")


def test_two_places_that_differ_only_in_white_space_are_both_refused() -> None:
    with pytest.raises(ToolProblem, match="apart from white space it occurs at lines 1, 2"):
        replace_piece("a  b\na   b\n", "a b", "c")


def test_blank_lines_full_of_spaces_cost_no_more_than_other_lines() -> None:
    text = "a\n" + f"{' ' * 100}\n" * 50 + "c\n"
    with pytest.raises(ToolProblem, match="not in the file"):
        replace_piece(text, "a\n" + "\n" * 50 + "b\n", "x")
    assert replace_piece(text, "a\n" + "\n" * 50 + "c\n", "x\n").text == "x\n"


def test_a_long_piece_that_nearly_stands_everywhere_is_looked_for_once() -> None:
    for line in ("a\n", "a\r\n"):
        with pytest.raises(ToolProblem, match="not in the file"):
            replace_piece(line * 100_000, "a\n" * 10_000 + "b", "x")
    with pytest.raises(ToolProblem, match="not in the file"):
        replace_piece(" " * 1_000_000 + "b", " \n \na", "x")


@pytest.mark.parametrize(
    ("text", "old", "left"),
    [
        ("x(\n\nfoo", "x(\n  ", "NEW\nfoo"),
        ("x\n \n  foo b", "\t\n  foo  b", None),
        ("x\n \nfoo b", "\t\nfoo  b", None),
        ("x(\n\nfoo", "x(\n  \n  foo", None),
        ("x\n\t\nfoo b\n", "  \n  foo  b", None),
        ("x.\n\t\nfoo b\n", "\t\n\tfoo  b", None),
        ("x.\n\t\nfoo b\n", "\n\nfoo  b", "x.\n\t\nNEW\n"),
        ("x\nfoo b\n", "  \n  foo  b", None),
        ("a.\n    bar\n", "a.\n\t", None),
        ("\x0cfoo  bar\n", "foo bar", None),
    ],
)
def test_blank_lines_at_the_edges_stand_for_blank_lines(text: str, old: str, left: str | None) -> None:
    if left is None:
        with pytest.raises(ToolProblem):
            replace_piece(text, old, "NEW")
    else:
        assert replace_piece(text, old, "NEW").text == left


def test_lines_that_are_not_shifted_alike_are_refused() -> None:
    with pytest.raises(ToolProblem, match="indented differently"):
        replace_piece("if a:\n\tb\n\t\tc\n", "if a:\n    b\n    c\n", "if a:\n    d\n")


@pytest.mark.parametrize(
    ("text", "old", "new", "left"),
    [
        ("head\r\none\ntwo\nend\n", "one\ntwo\n", "1\n2\n", "head\r\n1\n2\nend\n"),
        ("head\r\nb\nc\r\nd\n", "b\nc", "B\nC", "head\r\nB\nC\r\nd\n"),
        ("head\r\nb\nc\r\nd\n", "head\nb\nc\n", "head\nnew\nb\nc\n", "head\r\nnew\nb\nc\r\nd\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nc\n", "a\r\nc\r\n"),
        ("a\r\nb\nc\n", "a", "a\nnew", "a\r\nnew\r\nb\nc\n"),
        ("a\r\nb\nc", "c", "c\nd", "a\r\nb\nc\nd"),
        ("a\r\nb\n", "a\r\nb", "x\r\ny", "x\r\ny\n"),
        ("a\r\nb\n", "a\r\nb", "x\ny", "x\ny\n"),
        ("a\nb\nc\r\n", "a\r\nb", "x\r\ny", "x\ny\nc\r\n"),
        ("h\r\nif a:\n\tx\r\n\ty\n", "if a:\n  x\n", "if b:\n  x\n", None),
        ("h\r\nkey:   value\nz", "key: value", "key: other", "h\r\nkey: other\nz"),
        ("h\r\n  a\n  b\r\nz\n", "a\nb\n", "c\nd\n", "h\r\n  c\n  d\r\nz\n"),
        # Line ends that were converted for Windows more than once.
        ("h\r\r\na\r\r\nb\r\r\nz\r\r\n", "a\nb\n", "c\nb\n", "h\r\r\nc\r\r\nb\r\r\nz\r\r\n"),
        ("h\r\n  a\r\r\r\n  b\r\r\r\n", "  a\n  b", "  c", "h\r\n  c\r\r\r\n"),
    ],
)
def test_each_line_keeps_its_own_end(text: str, old: str, new: str, left: str | None) -> None:
    if left is None:
        with pytest.raises(ToolProblem):
            replace_piece(text, old, new)
    else:
        assert replace_piece(text, old, new).text == left


def test_every_place_keeps_its_ends() -> None:
    text = "head\r\none\ntwo\nX\none\r\ntwo\r\n"
    edited = replace_piece(text, "one\ntwo\n", "1\n2\n", every=True)
    assert (edited.text, edited.count) == ("head\r\n1\n2\nX\n1\r\n2\r\n", 2)


@given(
    st.lists(st.tuples(st.text("abc", max_size=3), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=8),
    st.data(),
)
def test_no_line_outside_the_piece_changes(lines: list[tuple[str, str]], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    marked = [(f"{number}{line}", end) for number, (line, end) in enumerate(lines)]
    new = data.draw(st.lists(st.text("xyz", max_size=3), max_size=4))
    whole = ["".join(each) for each in marked]
    piece = "".join(f"{line}\n" for line, _ in marked[first : last + 1])
    left = replace_piece("".join(whole), piece, "".join(f"{line}\n" for line in new)).text
    before, after = "".join(whole[:first]), "".join(whole[last + 1 :])
    assert left.startswith(before)
    assert left.endswith(after)
    assert left[len(before) : len(left) - len(after)].replace("\r\n", "\n") == "".join(
        f"{line}\n" for line in new
    )


def test_line_ends_of_the_file_stay() -> None:
    assert replace_piece("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\nz\n").text == "x\r\ny\r\nz\r\nc\r\n"


@given(before=st.text(max_size=60), piece=st.text(min_size=1, max_size=20), after=st.text(max_size=60))
def test_an_exact_match_changes_nothing_else(before: str, piece: str, after: str) -> None:
    text = before + piece + after
    assume(text.count(piece) == 1 and "\r" not in text)
    edited = replace_piece(text, piece, piece + "!")
    assert edited.text == before + piece + "!" + after


@given(lines=LINES, data=st.data())
def test_a_piece_written_with_other_white_space_changes_just_that_piece(
    lines: list[list[str]], data: st.DataObject
) -> None:
    lines = [*lines, ["unique", "mark"], ["second", "line"]]
    depths = data.draw(st.lists(st.integers(0, 3), min_size=len(lines), max_size=len(lines)))
    depths[-1] = max(depths[-1], depths[-2])
    text = written(lines, depths)
    shift = data.draw(st.integers(0, depths[-2]))
    old = written(lines[-2:], [depths[-2] - shift, depths[-1] - shift], gap="   ")
    new = f"{'    ' * (depths[-2] - shift)}other\n"
    assume(old not in text)
    edited = replace_piece(text, old, new)
    assert edited.text == written(lines[:-2], depths[:-2]) + f"{'    ' * depths[-2]}other\n"


@given(text=st.text("ab \n\t", max_size=80), old=st.text("ab \n\t", min_size=1, max_size=12))
def test_only_white_space_is_ever_forgiven(text: str, old: str) -> None:
    try:
        edited = replace_piece(text, old, "Z")
    except ToolProblem:
        return
    squeezed = re.sub(r"\s+", "", text)
    left = re.sub(r"\s+", "", edited.text)
    wanted = re.sub(r"\s+", "", old)
    assert left in {
        squeezed[:at] + "Z" + squeezed[at + len(wanted) :]
        for at in range(len(squeezed) + 1)
        if squeezed.startswith(wanted, at)
    }


# Files are changed as planned or not at all, atomically, and never through a link.


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "notes.md").write_text("sea\nsky\n")
    return Workspace(root)


def test_a_new_file_in_new_folders(ws: Workspace) -> None:
    change = plan_write(ws, "a/b/new.txt", "one\ntwo\n")
    assert (change.note, change.before) == ("new file", None)
    assert not (ws.root / "a").exists(), "planning changes nothing"
    carry_out(change)
    assert (ws.root / "a/b/new.txt").read_text() == "one\ntwo\n"


def test_an_edit_keeps_the_rights_of_the_file_and_leaves_nothing_beside_it(ws: Workspace) -> None:
    (ws.root / "notes.md").chmod(0o751)
    change = plan_edit(ws, "notes.md", "sky", "cloud")
    assert "-sky\n+cloud" in change.diff
    carry_out(change)
    assert (ws.root / "notes.md").stat().st_mode & 0o777 == 0o751
    assert [path.name for path in ws.root.iterdir()] == ["notes.md"]


def test_a_file_that_has_changed_since_is_left_alone(ws: Workspace) -> None:
    change = plan_edit(ws, "notes.md", "sky", "cloud")
    (ws.root / "notes.md").write_text("sea\nsky\nmore\n")
    with pytest.raises(ToolProblem, match="changed since"):
        carry_out(change)
    assert (ws.root / "notes.md").read_text() == "sea\nsky\nmore\n"


def test_a_file_that_came_up_since_is_not_overwritten(ws: Workspace) -> None:
    change = plan_write(ws, "new.txt", "mine")
    (ws.root / "new.txt").write_text("theirs")
    with pytest.raises(ToolProblem, match="changed since"):
        carry_out(change)
    assert (ws.root / "new.txt").read_text() == "theirs"


def test_a_full_disk_leaves_the_old_file(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    change = plan_edit(ws, "notes.md", "sky", "cloud")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file_changes.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        carry_out(change)
    assert (ws.root / "notes.md").read_text() == "sea\nsky\n"
    assert os.listdir(ws.root) == ["notes.md"]  # noqa: PTH208


def test_what_is_no_text_is_overwritten_at_most(ws: Workspace) -> None:
    (ws.root / "picture").write_bytes(b"\x89PNG\0\xff")
    with pytest.raises(ToolProblem, match="not UTF-8"):
        plan_edit(ws, "picture", "P", "Q")
    assert "binary file of 6 bytes" in plan_write(ws, "picture", "text").note


@pytest.mark.parametrize("path", ["", " ", ".", "folder/", "..", "a/../.."])
def test_what_names_no_file_is_refused(ws: Workspace, path: str) -> None:
    (ws.root / "folder").mkdir()
    with pytest.raises(ToolProblem):
        plan_write(ws, path, "x")


# The approval must show everything that changes.

END = "\\ No newline at end of file"


@pytest.mark.parametrize(
    ("before", "after", "rows"),
    [
        ("a\fb\n", "a\nb\n", ["-a\fb", "+a", "+b"]),
        ("a\u2028b\x85c", "a\u2028b\x85d", ["-a\u2028b\x85c", END, "+a\u2028b\x85d", END]),
        ("a\n", "a", ["[only line ends at the end of the file change]", "-a", "+a", END]),
        ("a\r\nb\r\n", "a\nb\n", ["[only line ends change: CRLF to LF]", "-a\r", "-b\r", "+a", "+b"]),
        (None, "z", ["+z", "\\ No newline at end of file"]),
        (None, "a\r\nb", ["[lines end in CRLF]", "+a", "+b", "\\ No newline at end of file"]),
        ("a\r\n", "b", ["-a\r", "+b", "\\ No newline at end of file"]),
        ("a\r\nb\r\n", "a\r\nc\r\n", ["[lines end in CRLF]", " a", "-b", "+c"]),
        ("\ufeffa\n", "a\n", ["[the byte order mark at the start goes]", "-\ufeffa", "+a"]),
        ("a b\n", "a\tb\n", ["[only white space changes]", "-a b", "+a\tb"]),
        (None, "", ["[an empty file]"]),
        ("a\n", "", ["[nothing is left in the file]", "-a"]),
        ("-- a\n++ b\n", "x\n", ["--- a", "-++ b", "+x"]),
    ],
)
def test_a_diff_says_all_that_changes(before: str | None, after: str, rows: list[str]) -> None:
    shown = diff_of(before, after, "a.sh").split("\n")
    assert [row for row in shown[2:] if not row.startswith("@@")] == rows


def test_a_deleted_file_is_not_shown_as_an_empty_one() -> None:
    assert diff_of("a\n", None, "a.sh").split("\n") == ["--- a/a.sh", "+++ /dev/null", "@@ -1 +0,0 @@", "-a"]


def test_a_diff_leaves_nothing_out_and_its_numbers_are_those_of_the_file() -> None:
    new = diff_of(None, "line\n" * 9_000, "x").split("\n")
    assert new[2:4] == ["@@ -0,0 +1,9000 @@", "+line"]
    assert len(new) == 9_003
    body = [f"{number}\n" for number in range(9_000)]
    late = "".join([*body[:8_000], "new\n", *body[8_001:]])
    rows = diff_of("".join(body), late, "x").split("\n")[2:]
    assert rows == [
        "@@ -7998,7 +7998,7 @@",
        " 7997",
        " 7998",
        " 7999",
        "-8000",
        "+new",
        " 8001",
        " 8002",
        " 8003",
    ]
    all_new = diff_of("a\n" * 5_000, "b\n" * 5_000, "x")
    assert counts_of(all_new) == "+5000 -5000"
    assert all_new.split("\n")[2] == "@@ -1,5000 +1,5000 @@"


def test_a_name_cannot_write_rows_of_a_diff() -> None:
    assert diff_of(None, "a\n", "x\n+++ b\n@@ y").split("\n")[:2] == [
        "--- /dev/null",
        r"+++ b/x\n+++ b\n@@ y",
    ]


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"one\r\ntwo\r\n", "one\nTWO\n", b"one\r\nTWO\r\n"),
        (b"one\r\ntwo\r\n", "zero\none\ntwo", b"zero\r\none\r\ntwo"),
        (b"one\r\ntwo\nthree\r\n", "one\ntwo\n2\nthree\n", b"one\r\ntwo\n2\r\nthree\r\n"),
        (b"one\ntwo\n", "one\nTWO\n", b"one\nTWO\n"),
        (b"one\r\n", "one\rTWO\n", b"one\rTWO\n"),
        (b"\xef\xbb\xbfone\r\n", "two\n", b"\xef\xbb\xbftwo\r\n"),
        (b"\xef\xbb\xbfone\n", "\ufefftwo\n", b"\xef\xbb\xbftwo\n"),
        (b"one\r\n", "", b""),
        (b"", "one\n", b"one\n"),
    ],
)
def test_a_file_that_is_written_anew_keeps_its_line_ends(
    tmp_path: Path, before: bytes, content: str, after: bytes
) -> None:
    (tmp_path / "a.txt").write_bytes(before)
    assert plan_write(Workspace(tmp_path), "a.txt", content).after == after
