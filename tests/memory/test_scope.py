"""The board of a folder, determined from git's files alone."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tui_app.memory.scope import DETACHED, Scope, remote_of, scope_of, shared, shared_name

GIT = shutil.which("git")


def repository(folder: Path, head: str = "ref: refs/heads/main\n") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/HEAD").write_text(head)
    return folder


def test_a_folder_inside_of_a_repository_has_its_board(tmp_path: Path) -> None:
    root = repository(tmp_path / "ferry")
    (root / "src/deep").mkdir(parents=True)
    scope = scope_of(root / "src/deep")
    assert (scope.repository, scope.branch) == (str(root), "main")
    assert scope.label == "ferry, branch main"


def test_a_branch_name_may_hold_slashes(tmp_path: Path) -> None:
    assert scope_of(repository(tmp_path / "r", "ref: refs/heads/feat/tides\n")).branch == "feat/tides"


def test_without_a_repository_the_folder_has_a_board_of_its_own(tmp_path: Path) -> None:
    scope = scope_of(tmp_path)
    assert (scope.repository, scope.branch) == (str(tmp_path), "")
    assert scope.label.endswith("(no repository)")


def test_a_folder_named_git_that_is_no_repository_is_passed_over(tmp_path: Path) -> None:
    root = repository(tmp_path / "outer")
    (root / "inner/.git").mkdir(parents=True)
    assert scope_of(root / "inner").repository == str(root)


def test_a_detached_head_is_no_branch(tmp_path: Path) -> None:
    scope = scope_of(repository(tmp_path / "r", "1f2e3d4c5b6a79880123456789abcdef01234567\n"))
    assert scope.branch == DETACHED
    assert "no branch" in scope.label


def test_in_the_middle_of_a_rebase_the_branch_is_the_one_being_rebased(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", "1f2e3d4c5b6a79880123456789abcdef01234567\n")
    (root / ".git/rebase-merge").mkdir()
    (root / ".git/rebase-merge/head-name").write_text("refs/heads/tides\n")
    assert scope_of(root).branch == "tides"


def worktree(root: Path, folder: Path, *, back: Path | None = None) -> Path:
    own = root / ".git/worktrees/wt"
    own.mkdir(parents=True)
    folder.mkdir()
    (own / "HEAD").write_text("ref: refs/heads/tides\n")
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{back or folder / '.git'}\n")
    (folder / ".git").write_text(f"gitdir: {own}\n")
    return folder


def test_a_worktree_shares_the_repository_and_has_its_own_branch(tmp_path: Path) -> None:
    root = repository(tmp_path / "ferry")
    scope = scope_of(worktree(root, tmp_path / "wt"))
    assert (scope.repository, scope.branch) == (str(root), "tides")


def test_a_folder_cannot_claim_to_be_a_worktree_of_somebody_elses_repository(tmp_path: Path) -> None:
    root = repository(tmp_path / "secret")
    worktree(root, tmp_path / "real")
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_text(f"gitdir: {root}/.git/worktrees/wt\n")
    assert scope_of(stranger).repository == str(stranger)
    (stranger / ".git").write_text(f"gitdir: {root}/.git\n")
    assert scope_of(stranger).repository == str(stranger)
    (stranger / ".git").unlink()
    (stranger / ".git").symlink_to(root / ".git")
    assert scope_of(stranger).repository == str(stranger)


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    root = repository(tmp_path / "ferry")
    inside = root / ".git/modules/lib"
    inside.mkdir(parents=True)
    (inside / "HEAD").write_text("ref: refs/heads/stable\n")
    (root / "lib").mkdir()
    (root / "lib/.git").write_text("gitdir: ../.git/modules/lib\n")
    scope = scope_of(root / "lib")
    assert (scope.repository, scope.branch) == (str(root / "lib"), "stable")


@pytest.mark.parametrize("how", ["file", "link", "linked HEAD"])
def test_a_folder_that_another_repository_does_not_know_only_claims_to_be_its(
    tmp_path: Path, how: str
) -> None:
    root, stranger = repository(tmp_path / "secret"), tmp_path / "stranger"
    (stranger / ".git").mkdir(parents=True)
    if how == "linked HEAD":
        (stranger / ".git/HEAD").symlink_to(root / ".git/HEAD")
    else:
        (stranger / ".git").rmdir()
        if how == "file":
            (stranger / ".git").write_text(f"gitdir: {root}/.git\n")
        else:
            (stranger / ".git").symlink_to(root / ".git")
    assert scope_of(stranger).is_claimed
    assert not scope_of(root).is_claimed
    assert not scope_of(worktree(root, tmp_path / "wt")).is_claimed


def renamed(root: Path, old: str, new: str) -> None:
    log = root / ".git/logs/refs/heads" / new
    log.parent.mkdir(parents=True, exist_ok=True)
    said = f"Branch: renamed refs/heads/{old} to refs/heads/{new}"
    log.write_text(f"{'0' * 40} {'0' * 40} Ada <a@b> 1767268800 +0000\t{said}\n")
    (root / ".git/HEAD").write_text(f"ref: refs/heads/{new}\n")


def test_a_renamed_branch_keeps_its_board(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    renamed(root, "tides", "low-water")
    assert scope_of(root).branches == ("low-water", "tides")


@pytest.mark.parametrize("packed", [True, False])
def test_a_name_that_is_a_branch_again_is_not_taken_from_it(tmp_path: Path, *, packed: bool) -> None:
    root = repository(tmp_path / "r")
    renamed(root, "tides", "low-water")
    if packed:
        (root / ".git/packed-refs").write_text(f"{'1' * 40} refs/heads/tides\n")
    else:
        (root / ".git/refs/heads").mkdir(parents=True)
        (root / ".git/refs/heads/tides").write_text("1" * 40)
    assert scope_of(root).branches == ("low-water",)


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"gitdir:", b"gitdir: /nowhere/at/all", b"gitdir: " + b"x" * 200_000, b"hello"],
)
def test_a_damaged_git_file_is_no_repository(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert scope_of(tmp_path).branch == ""


@pytest.mark.parametrize(
    "head", ["", "ref:", "ref: refs/heads/.invalid", "ref: refs/heads/../../../etc", "\0"]
)
def test_a_damaged_head_never_fails(tmp_path: Path, head: str) -> None:
    scope = scope_of(repository(tmp_path / "r", head))
    assert scope.repository == str(tmp_path / "r")
    assert scope.branch


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_what_git_itself_writes_is_understood(tmp_path: Path) -> None:
    root = tmp_path / "real"

    def git(*words: str, at: Path = root) -> None:
        assert GIT is not None
        own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null"]
        subprocess.run([GIT, *own, *words], cwd=at, check=True, capture_output=True)

    root.mkdir()
    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    git("checkout", "-q", "-b", "tides")
    git("branch", "-m", "low-water")
    assert scope_of(root).branches == ("low-water", "tides")
    git("worktree", "add", "-q", str(tmp_path / "wt"), "main")
    scope = scope_of(tmp_path / "wt")
    assert (scope.repository, scope.branch) == (str(root), "main")
    git("checkout", "-q", "--detach")
    assert scope_of(root).branch == DETACHED


ORIGIN = '[remote "origin"]\n\turl = git@forge.example:ada/ferry.git\n'


def test_between_machines_a_repository_goes_by_where_it_was_cloned_from(tmp_path: Path) -> None:
    root = repository(tmp_path / "ferry")
    (root / ".git/config").write_text(ORIGIN)
    scope = shared(scope_of(worktree(root, tmp_path / "wt")), "desk")
    assert (scope.repository, scope.branch) == ("forge.example/ada/ferry", "tides")
    assert (scope.folder, scope.label) == (str(root), "ferry, branch tides")


def test_what_came_from_nowhere_belongs_to_its_machine(tmp_path: Path) -> None:
    scope = shared(scope_of(repository(tmp_path / "ferry")), "desk")
    assert scope.repository == f"desk:{tmp_path / 'ferry'}"
    assert scope.label == "ferry, branch main"
    assert shared(Scope(repository="/x"), "desk") != shared(Scope(repository="/x"), "laptop")


def test_a_folder_cannot_borrow_where_another_repository_came_from(tmp_path: Path) -> None:
    root = repository(tmp_path / "secret")
    (root / ".git/config").write_text(ORIGIN)
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / ".git").write_text(f"gitdir: {root}/.git\n")
    assert scope_of(stranger).remote == ""


def test_a_submodule_that_its_git_folder_knows_has_a_name_of_its_own(tmp_path: Path) -> None:
    root = repository(tmp_path / "ferry")
    inside, sub = root / ".git/modules/tides", root / "lib/tides"
    inside.mkdir(parents=True)
    sub.mkdir(parents=True)
    (inside / "HEAD").write_text("ref: refs/heads/main\n")
    (inside / "config").write_text(f"[core]\n\tworktree = ../../../lib/tides\n{ORIGIN}")
    (sub / ".git").write_text("gitdir: ../../.git/modules/tides\n")
    assert (scope_of(sub).repository, scope_of(sub).remote) == (str(sub), "forge.example/ada/ferry")


# The identity of a repository on every machine.


@pytest.mark.parametrize(
    "address",
    [
        "git@forge.example:ada/ferry.git",
        "forge.example:ada/ferry",
        "https://forge.example/ada/ferry.git",
        "https://ada:ghp_abcdefghijklmnopqrstuvwxyz0123456789@Forge.Example/ada/ferry/",
        "https://forge.example:443/ada/ferry",
        "ssh://git@forge.example:2222/ada/ferry.git",
        "git://forge.example/ada/ferry?x=1#y",
    ],
)
def test_every_way_to_write_it_is_one_name_without_who_fetches_it(address: str) -> None:
    assert shared_name(address) == "forge.example/ada/ferry"


@pytest.mark.parametrize(
    "address",
    [
        "", "/srv/git/ferry.git", "../ferry", "file:///srv/git/ferry.git", "C:\\git\\ferry", "C:/git/ferry",
        "https://localhost:3000/ada/ferry", "git@127.0.0.1:ada/ferry", "https://forge.example/",
        "https://forge.example:x/ada", "https://[::1]/ada/ferry", "https://forge.example/a\x1b[31m",
        "x" * 900, "https://forge.example/" + "x" * 900,
    ],
)  # fmt: skip
def test_what_no_other_machine_can_know_is_no_name(address: str) -> None:
    assert shared_name(address) == ""


def test_another_port_of_the_web_is_another_place() -> None:
    assert shared_name("http://forge.example:3000/ada/ferry") == "forge.example:3000/ada/ferry"


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ('[remote "origin"]\n\turl = git@forge.example:ada/ferry.git\n', "forge.example/ada/ferry"),
        ('[Remote "origin"] URL="https://forge.example/ada/ferry" \n', "forge.example/ada/ferry"),
        ('[remote "up"]\nurl = git@a.example:x/y ; of old\n', "a.example/x/y"),
        ('[remote "up"]\nurl = git@a.example:x/y\n[remote "me"]\nurl = git@b.example:x/y\n', ""),
        (
            '[remote "up"]\nurl = git@a.example:x/y\n[remote "origin"]\nurl = git@b.example:x/y\n',
            "b.example/x/y",
        ),
        ("[core]\n\tbare = false\n", ""),
        ("url = git@a.example:x/y\n[remote]\n\x00garbage \ufffd[[", ""),
        ("", ""),
    ],
)
def test_it_is_origin_or_the_only_one(config: str, name: str) -> None:
    assert remote_of(config) == name
