"""Paths are checked after they are resolved, so nothing leads out of the workspace."""

import os
from pathlib import Path

import pytest

from tui_app.agent.tools.commands import Stop
from tui_app.agent.tools.edits import carry_out, plan_edit
from tui_app.agent.tools.files import Walk, glob, grep, ls, read_file
from tui_app.agent.tools.workspace import OutsideWorkspace, ToolProblem, Workspace, open_regular
from tui_app.system.descriptors import open_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("a = 1\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    (tmp_path / "project-of-another").mkdir()
    return root


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../secret.txt",
        "src/../../secret.txt",
        "/etc/passwd",
        "../project-of-another",
        "/proc/self/environ",
        "/dev/zero",
        "src/../../../../../../../../etc/passwd",
    ],
)
def test_a_path_that_leads_out_is_refused(root: Path, path: str) -> None:
    with pytest.raises(OutsideWorkspace, match="outside the workspace"):
        Workspace(root).resolve(path)


def test_a_link_that_leads_out_is_refused(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "secret.txt")
    (root / "up").symlink_to(root.parent)
    for path in ("out", "up/secret.txt", "up"):
        with pytest.raises(OutsideWorkspace):
            Workspace(root).resolve(path)


def test_a_link_that_stays_inside_is_followed(root: Path) -> None:
    (root / "alias.py").symlink_to(root / "src" / "a.py")
    assert Workspace(root).resolve("alias.py") == (root / "src" / "a.py").resolve()


def test_links_in_a_circle_are_a_stated_problem(root: Path) -> None:
    (root / "one").symlink_to(root / "two")
    (root / "two").symlink_to(root / "one")
    with pytest.raises(ToolProblem):
        Workspace(root).file("one")


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000])
def test_an_impossible_path_is_a_stated_problem(root: Path, path: str) -> None:
    with pytest.raises(ToolProblem):
        Workspace(root).file(path)


def test_the_kernel_trees_stay_closed_when_the_root_is_everything() -> None:
    workspace = Workspace(Path("/"))
    for path in ("/proc/self/mem", "proc/self/environ", "/dev/null", "/sys/kernel"):
        with pytest.raises(OutsideWorkspace):
            workspace.resolve(path)


def test_a_pipe_is_refused_without_waiting_for_a_writer(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolProblem, match="not a regular file"):
        Workspace(root).file("pipe")
    with pytest.raises(ToolProblem, match="not a regular file"):
        open_regular(root / "pipe")


def test_a_link_put_in_place_of_a_resolved_file_is_not_followed(root: Path) -> None:
    real = Workspace(root).file("src/a.py")
    real.unlink()
    real.symlink_to(root.parent / "secret.txt")
    with pytest.raises(ToolProblem):
        open_regular(real)


def test_relative_absolute_and_dotted_paths_name_the_same_file(root: Path) -> None:
    workspace = Workspace(root)
    expected = (root / "src" / "a.py").resolve()
    for path in ("src/a.py", "./src/a.py", "src/../src/a.py", str(expected)):
        assert workspace.resolve(path) == expected
    assert workspace.display(expected) == "src/a.py"


def test_the_sessions_folders_are_reached_by_path_and_by_name(root: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "session" / "tool_outputs"
    outputs.mkdir(parents=True)
    (outputs / "grep_1.txt").write_text("hit\n")
    workspace = Workspace(root, extra=[outputs])
    for path in (str(outputs / "grep_1.txt"), "tool_outputs/grep_1.txt"):
        assert workspace.file(path) == (outputs / "grep_1.txt").resolve()
    assert workspace.display(workspace.file("tool_outputs/grep_1.txt")) == "tool_outputs/grep_1.txt"
    with pytest.raises(OutsideWorkspace):
        workspace.resolve("tool_outputs/../notes.txt")


def test_an_entry_of_the_root_goes_before_a_session_folder_of_that_name(root: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "session" / "tool_outputs"
    outputs.mkdir(parents=True)
    (outputs / "x.txt").write_text("session\n")
    (root / "tool_outputs").mkdir()
    (root / "tool_outputs" / "x.txt").write_text("root\n")
    workspace = Workspace(root, extra=[outputs])
    assert workspace.resolve("tool_outputs/x.txt") == (root / "tool_outputs" / "x.txt").resolve()
    assert workspace.display(outputs / "x.txt") == (outputs / "x.txt").as_posix()
    assert workspace.resolve("tool_outputs/new.txt") == (root / "tool_outputs" / "new.txt").resolve()


def test_what_only_the_session_has_is_found_beside_an_entry_of_the_root(root: Path, tmp_path: Path) -> None:
    outputs = tmp_path / "session" / "tool_outputs"
    outputs.mkdir(parents=True)
    (outputs / "x.txt").write_text("session\n")
    (root / "tool_outputs").mkdir()
    workspace = Workspace(root, extra=[outputs])
    assert workspace.resolve("tool_outputs/x.txt") == (outputs / "x.txt").resolve()
    assert workspace.display(outputs / "x.txt") == "tool_outputs/x.txt"
    with pytest.raises(OutsideWorkspace):
        workspace.writable("tool_outputs/x.txt")


def test_a_missing_file_and_a_folder_are_told_apart(root: Path) -> None:
    workspace = Workspace(root)
    with pytest.raises(ToolProblem, match="There is no file"):
        workspace.file("nowhere.py")
    with pytest.raises(ToolProblem, match="is a folder"):
        workspace.file("src")
    with pytest.raises(ToolProblem, match="is not a folder"):
        workspace.folder("src/a.py")


def test_a_folder_that_became_a_link_since_leads_nowhere(root: Path) -> None:
    real = Workspace(root).file("src/a.py")
    outside = root.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "a.py").write_text("secret\n")
    walk = Walk(root, Stop())
    (root / "src" / "deep").mkdir()
    (root / "first.txt").write_text("x\n")
    files = walk.files()
    assert next(files) == root / "first.txt"
    (root / "src").rename(root / "gone")
    (root / "src").symlink_to(outside)
    assert list(files) == [], "a folder that was seen before is not followed either"
    with pytest.raises(ToolProblem, match="cannot be read"):
        open_regular(real)
    with pytest.raises(NotADirectoryError), open_folder(root / "src" / "deep"):
        pass


def test_a_name_that_is_no_text_is_shown_with_one_sign_and_opened_by_it(root: Path) -> None:
    odd = os.fsdecode(b"caf\xe9.txt")
    (root / odd).write_text("needle\n")
    ws = Workspace(root)
    name = "caf\ufffd.txt"
    assert ls(ws).splitlines() == ["src/", f"{name}  7 bytes"]
    assert glob(ws, "*.txt") == name
    assert grep(ws, "needle") == f"{name}:1: needle"
    assert read_file(ws, name) == "1\tneedle"
    change = plan_edit(ws, name, "needle", "thread")
    carry_out(change)
    assert (change.shown, (root / odd).read_text()) == (name, "thread\n")
    folder = root / os.fsdecode(b"\xfc\xe4")
    folder.mkdir()
    (folder / "in").write_text("x\n")
    assert read_file(ws, "\ufffd\ufffd/in") == "1\tx"
    (root / os.fsdecode(b"caf\xe8.txt")).write_text("other\n")
    with pytest.raises(ToolProblem, match="2 names there look like"):
        read_file(ws, name)
    (root / name).write_text("itself\n")
    assert read_file(ws, name) == "1\titself"


def test_a_folder_that_was_added_is_read_and_written_by_its_absolute_path(root: Path, tmp_path: Path) -> None:
    more, own = tmp_path / "more", tmp_path / "more/own"
    own.mkdir(parents=True)
    (more / "a.txt").write_text("a")
    (more / "out").symlink_to(tmp_path)
    ws = Workspace(root, closed=[own], added=[more])
    assert ws.file(f"{more}/a.txt") == more / "a.txt"
    assert ws.display(more / "a.txt") == f"{more}/a.txt"
    assert ws.writable(f"{more}/new/b.txt") == more / "new/b.txt"
    for path in (f"{more}/out/c.txt", f"{tmp_path}/c.txt", f"{own}/config.toml"):
        with pytest.raises(OutsideWorkspace):
            ws.writable(path)
    with pytest.raises(OutsideWorkspace):
        ws.file(f"{own}/config.toml")
    with pytest.raises(OutsideWorkspace):
        Workspace(root).file(f"{more}/a.txt")
