"""Nothing is written outside the workspace, whatever a path contains and whatever changes meanwhile."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tui_app.agent.tools.edits import carry_out, plan_edit, plan_write
from tui_app.agent.tools.files import glob, grep, ls, read_file
from tui_app.agent.tools.workspace import OutsideWorkspace, ToolProblem, Workspace


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    root, outside = tmp_path / "workspace", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("theirs")
    (root / "link").symlink_to(outside)
    (root / "file-link").symlink_to(outside / "secret")
    (root / "own").mkdir()
    (root / "config").mkdir()
    (root / "inner").mkdir()
    return Workspace(root, extra=(tmp_path / "outside",), closed=(root / "config",))


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret",
        "own/../../outside/secret",
        "link/secret",
        "link/new",
        "file-link",
        "/etc/passwd",
        "/proc/self/mem",
        "/dev/null",
        "/sys/x",
        "outside/secret",
        "config/config.toml",
        "own/../config/config.toml",
        "~/x/../../../../../../../../etc/x",
        "a\0b",
        "x" * 5_000,
    ],
)
def test_escapes_are_refused(ws: Workspace, tmp_path: Path, path: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    if path.startswith("~"):
        # No shell expands it: it is a folder of that name, and resolves outside the workspace.
        with pytest.raises(ToolProblem):
            plan_write(ws, path, "x")
    else:
        with pytest.raises(ToolProblem):
            carry_out(plan_write(ws, path, "x"))
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "outside/secret").read_text() == "theirs"


def test_kernel_files_are_no_files_even_in_the_root_folder(tmp_path: Path) -> None:
    for path in ("/proc/self/mem", "/dev/null", "/sys/kernel/x"):
        with pytest.raises(OutsideWorkspace):
            Workspace(Path("/")).writable(path)


def swap_parent(root: Path) -> None:
    (root / "inner").rmdir()
    (root / "inner").symlink_to(root.parent / "outside")


def swap_file(root: Path) -> None:
    (root / "inner/new").symlink_to(root.parent / "outside/secret")


def swap_to_pipe(root: Path) -> None:
    os.mkfifo(root / "inner/new")


@pytest.mark.parametrize("swap", [swap_parent, swap_file, swap_to_pipe])
def test_a_link_put_there_after_the_plan_is_not_followed(
    ws: Workspace, tmp_path: Path, swap: Callable[[Path], None]
) -> None:
    change = plan_write(ws, "inner/new", "ours")
    swap(ws.root)
    with pytest.raises(ToolProblem):
        carry_out(change)
    assert (tmp_path / "outside/secret").read_text() == "theirs"
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["secret"]


def test_a_hard_link_is_replaced_and_what_it_stood_for_stays(ws: Workspace, tmp_path: Path) -> None:
    os.link(tmp_path / "outside/secret", ws.root / "hard")
    carry_out(plan_edit(ws, "hard", "theirs", "ours"))
    assert (ws.root / "hard").read_text() == "ours"
    assert (tmp_path / "outside/secret").read_text() == "theirs"


@pytest.fixture
def home(tmp_path: Path) -> Workspace:
    """A home folder that contains the program's own, opened as a workspace."""
    data = tmp_path / "home/.local/share/plimsoll"
    session = data / "sessions/one"
    for path in (
        data / "sessions.db",
        session / "tool_outputs/grep.txt",
        session / "plan.md",
        data / "skills/a.md",
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("needle")
    (tmp_path / "home/notes.txt").write_text("needle")
    (tmp_path / "home/link").symlink_to(data)
    return Workspace(tmp_path / "home", (session / "tool_outputs", data / "skills"), (data,))


OWN = ".local/share/plimsoll"


@pytest.mark.parametrize(
    "path",
    [
        OWN,
        f"{OWN}/sessions.db",
        f"{OWN}/sessions/one/plan.md",
        "link/sessions.db",
        f"{OWN}/skills/../sessions.db",
    ],
)
def test_the_programs_own_folders_are_not_read(home: Workspace, path: str) -> None:
    for tool in (
        read_file,
        ls,
        lambda ws, path: grep(ws, "needle", path),
        lambda ws, path: glob(ws, f"{path}/*"),
    ):
        with pytest.raises(ToolProblem):
            tool(home, path)


def test_the_programs_own_folders_are_not_come_across(home: Workspace) -> None:
    assert grep(home, "needle") == "notes.txt:1: needle"
    assert "plimsoll" not in glob(home, "**/*") + ls(home, ".local/share")


def test_what_a_session_offers_of_them_is_read(home: Workspace) -> None:
    assert read_file(home, "tool_outputs/grep.txt") == "1\tneedle"
    assert read_file(home, f"{OWN}/sessions/one/tool_outputs/grep.txt") == "1\tneedle"
    assert "needle" in grep(home, "needle", "tool_outputs")
    assert read_file(home, f"{OWN}/skills/a.md") == "1\tneedle"


def test_whoever_opens_such_a_folder_wants_it_read(home: Workspace) -> None:
    opened = Workspace(home.root / OWN, closed=(home.root / OWN,))
    assert read_file(opened, "sessions/one/plan.md") == "1\tneedle"
    with pytest.raises(OutsideWorkspace):
        opened.writable("sessions/one/plan.md")
