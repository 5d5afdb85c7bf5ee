"""Nothing is written outside the workspace, whatever a path says and whatever happens meanwhile."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tui_app.agent.tools.file_changes import carry_out, plan_edit, plan_write
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
        # No shell reads it: it is a folder of that name, and leads nowhere but up and out.
        with pytest.raises(ToolProblem):
            plan_write(ws, path, "x")
    else:
        with pytest.raises(ToolProblem):
            carry_out(ws, plan_write(ws, path, "x"))
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
        carry_out(ws, change)
    assert (tmp_path / "outside/secret").read_text() == "theirs"
    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["secret"]


def test_a_hard_link_is_replaced_and_what_it_stood_for_stays(ws: Workspace, tmp_path: Path) -> None:
    os.link(tmp_path / "outside/secret", ws.root / "hard")
    carry_out(ws, plan_edit(ws, "hard", "theirs", "ours"))
    assert (ws.root / "hard").read_text() == "ours"
    assert (tmp_path / "outside/secret").read_text() == "theirs"
