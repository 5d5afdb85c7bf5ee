"""Files are changed as planned or not at all, whole, and never through a link."""

import os
from pathlib import Path

import pytest

from tui_app.agent.tools import edits as file_changes
from tui_app.agent.tools.edits import carry_out, plan_edit, plan_write
from tui_app.agent.tools.workspace import ToolProblem, Workspace


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
    carry_out(ws, change)
    assert (ws.root / "a/b/new.txt").read_text() == "one\ntwo\n"


def test_an_edit_keeps_the_rights_of_the_file_and_leaves_nothing_beside_it(ws: Workspace) -> None:
    (ws.root / "notes.md").chmod(0o751)
    change = plan_edit(ws, "notes.md", "sky", "cloud")
    assert "-sky\n+cloud" in change.diff
    carry_out(ws, change)
    assert (ws.root / "notes.md").stat().st_mode & 0o777 == 0o751
    assert [path.name for path in ws.root.iterdir()] == ["notes.md"]


def test_a_file_that_has_changed_since_is_left_alone(ws: Workspace) -> None:
    change = plan_edit(ws, "notes.md", "sky", "cloud")
    (ws.root / "notes.md").write_text("sea\nsky\nmore\n")
    with pytest.raises(ToolProblem, match="changed since"):
        carry_out(ws, change)
    assert (ws.root / "notes.md").read_text() == "sea\nsky\nmore\n"


def test_a_file_that_came_up_since_is_not_overwritten(ws: Workspace) -> None:
    change = plan_write(ws, "new.txt", "mine")
    (ws.root / "new.txt").write_text("theirs")
    with pytest.raises(ToolProblem, match="changed since"):
        carry_out(ws, change)
    assert (ws.root / "new.txt").read_text() == "theirs"


def test_a_full_disk_leaves_the_old_file(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    change = plan_edit(ws, "notes.md", "sky", "cloud")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file_changes.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        carry_out(ws, change)
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
