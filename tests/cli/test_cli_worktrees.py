"""Sessions in their own git worktrees: listed, resumed, merged, and removed when nothing is lost."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.system.worktrees import NoWorktree, Worktrees, is_in_worktree
from tui_app.ui.launch import Launch

OFFLINE = ("--model", "offline:extractive", "--json")


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(("git", *names, *words), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "A")
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "A")
    git(project, "config", "user.email", "a@example.org")
    git(project, "add", ".")
    git(project, "commit", "-qm", "Begin")
    return project


def test_a_session_works_apart_is_listed_resumed_merged_and_removed(
    plimsoll: Plimsoll, repository: Path
) -> None:
    start = plimsoll("run", "low water?", "--worktree", "quay", *OFFLINE).lines[0]
    place = repository.with_name("project.worktrees") / "quay"
    assert Path(start["data"]["cwd"]) == place
    assert (place / "tides.txt").is_file()
    assert git(repository, "status", "--porcelain") == "", "the repository sees nothing of it"
    session = start["session"]
    (place / "new.txt").write_text("sea\n")
    listed = plimsoll("run", "list files", "--session", session, *OFFLINE[:2])
    assert (listed.code, "new.txt" in listed.out) == (0, True), "it goes on where it was"
    [row] = plimsoll("worktrees", "list", "--json").json["worktrees"]
    assert row == {
        "name": "quay", "path": str(place), "branch": "plimsoll/quay", "commits": 0,
        "uncommitted": ["new.txt"], "sessions": [session],
    }  # fmt: skip
    assert plimsoll("worktrees", "remove", "quay").err == "new.txt is not committed. quay was kept.\n"
    assert "not committed: commit first" in plimsoll("worktrees", "merge", "quay", "--yes").err
    git(place, "add", ".")
    git(place, "commit", "-qm", "Add the sea")
    refused = plimsoll("worktrees", "remove", "quay")
    assert refused.code == 1
    assert refused.err.startswith("1 commit is nowhere else: quay was kept.")
    assert plimsoll("worktrees", "merge", "quay").code == 2, "nobody can be asked"
    merged = plimsoll("worktrees", "merge", "quay", "--yes")
    assert (merged.code, "+sea" in merged.out) == (0, True)
    assert (repository / "new.txt").read_text() == "sea\n"
    assert plimsoll("worktrees", "remove", "quay", "--json").json == {"name": "quay", "removed": True}
    assert not place.parent.exists()
    assert git(repository, "branch", "--list", "plimsoll/*") == ""
    assert "No session of" in plimsoll("worktrees").out
    assert not is_in_worktree(place)


def test_what_does_not_fit_changes_nothing(plimsoll: Plimsoll, repository: Path) -> None:
    plimsoll("run", "low water?", "--worktree", "quay", *OFFLINE)
    place = repository.with_name("project.worktrees") / "quay"
    for folder in (place, repository):
        (folder / "tides.txt").write_text(f"{folder.name}\n")
        git(folder, "commit", "-qam", "Change")
    before = git(repository, "rev-parse", "HEAD")
    failed = plimsoll("worktrees", "merge", "quay", "--yes")
    assert (failed.code, git(repository, "rev-parse", "HEAD")) == (1, before)
    assert "It does not merge, and nothing has changed." in failed.err
    assert git(repository, "status", "--porcelain") == ""
    assert (repository / "tides.txt").read_text() == "project\n"


def test_names_are_made_kept_and_refused(repository: Path) -> None:
    trees = Worktrees.around(repository, {"PATH": "/usr/bin:/bin"})
    assert [trees.enter("").name for _ in range(2)] == ["w1", "w2"]
    assert trees.enter("w1") == trees.home / "w1"
    for wrong in ("../up", "-x", "a..b", "a.lock", "a b", "."):
        with pytest.raises(NoWorktree):
            trees.enter(wrong)
    git(trees.home / "w2", "switch", "-q", "--detach")
    git(trees.home / "w2", "commit", "-q", "--allow-empty", "-m", "On no branch")
    lost = trees.named("w2")
    assert (lost.branch, lost.commits) == ("", 1)
    with pytest.raises(NoWorktree):
        trees.remove(lost)
    # Merging brings exactly what removing refuses to lose.
    assert trees.merge(lost).endswith("On no branch")
    trees.remove(trees.named("w2"))
    inner = Worktrees.around(trees.home / "w1", trees.env)
    assert inner == trees, "one inside a worktree is made beside the same repository"


def test_two_lines_of_commits_are_not_merged_as_one(plimsoll: Plimsoll, repository: Path) -> None:
    place = Worktrees.around(repository, {"PATH": "/usr/bin:/bin"}).enter("quay")
    for branch in ("plimsoll/quay", "HEAD~"):
        git(place, "switch", "-q", *(["--detach"] if branch == "HEAD~" else []), branch)
        git(place, "commit", "-q", "--allow-empty", "-m", f"On {branch}")
    for action in ("remove", "merge"):
        refused = plimsoll("worktrees", action, "quay", *(("--yes",) if action == "merge" else ()))
        assert refused.code == 1
    assert "its branch plimsoll/quay part. Bring them together there first." in refused.err
    git(place, "merge", "-q", "--no-edit", "plimsoll/quay")
    assert plimsoll("worktrees", "merge", "quay", "--yes").code == 0
    assert plimsoll("worktrees", "remove", "quay").code == 0


def test_where_there_is_no_repository_it_is_said(plimsoll: Plimsoll, project: Path) -> None:
    result = plimsoll("run", "x", "--worktree", *OFFLINE)
    assert result.code == 1
    assert f"{project} is in no git repository" in result.err
    session = plimsoll("run", "low water?", *OFFLINE).lines[0]["session"]
    assert "--worktree is for new sessions" in plimsoll("run", "x", "--session", session, "--worktree").err


def test_the_screen_begins_and_resumes_there(
    plimsoll: Plimsoll, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def show(launch: Launch) -> int:
        opened.append(launch.cwd)
        return 0

    monkeypatch.setattr("tui_app.cli.program.need_screen", lambda *_: None)
    monkeypatch.setattr("tui_app.ui.run.run_app", show)
    place = repository.with_name("project.worktrees") / "pier"
    session = plimsoll("run", "low water?", "--worktree", "pier", *OFFLINE).lines[0]["session"]
    for args in (("--worktree", "pier"), ("--resume", session), (".",), ("--continue",)):
        assert plimsoll(*args).code == 0
    assert opened == [place, place, repository, place]
    assert plimsoll("--resume", session, "--worktree", "x").code == 2


def test_a_merge_runs_no_hook_of_a_repository_that_is_not_trusted(
    plimsoll: Plimsoll, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plimsoll("run", "low water?", "--worktree", "quay", *OFFLINE)
    place = repository.with_name("project.worktrees") / "quay"
    git(place, "commit", "-qm", "Nothing", "--allow-empty")
    hook, ran = repository / ".git/hooks/post-merge", repository.with_name("ran")
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    monkeypatch.setenv("PLIMSOLL_TRUST", "")
    refused = plimsoll("worktrees", "merge", "quay", "--yes")
    assert (refused.code, f"plimsoll trust {repository}" in refused.err) == (1, True)
    assert not ran.exists()
    assert plimsoll("trust", str(repository)).code == 0
    assert plimsoll("worktrees", "merge", "quay", "--yes").code == 0
    assert ran.exists()


def test_a_merge_of_the_users_own_is_left_alone(plimsoll: Plimsoll, repository: Path) -> None:
    plimsoll("run", "low water?", "--worktree", "quay", *OFFLINE)
    place = repository.with_name("project.worktrees") / "quay"
    (place / "new.txt").write_text("sea\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Add the sea")
    git(repository, "checkout", "-qb", "other")
    (repository / "own.txt").write_text("mine\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Mine")
    git(repository, "checkout", "-q", "main")
    git(repository, "merge", "--no-ff", "--no-commit", "-q", "other")
    refused = plimsoll("worktrees", "merge", "quay", "--yes")
    assert (refused.code, "in the middle of a merge" in refused.err) == (1, True)
    assert (repository / ".git/MERGE_HEAD").is_file()
    assert (repository / "own.txt").read_text() == "mine\n"


def test_what_git_ignores_is_not_lost(plimsoll: Plimsoll, repository: Path) -> None:
    (repository / ".gitignore").write_text(".env\nbuild/\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "Ignore")
    plimsoll("run", "low water?", "--worktree", "quay", *OFFLINE)
    place = repository.with_name("project.worktrees") / "quay"
    (place / "build").mkdir()
    (place / "build/x.o").write_text("x")
    (place / ".env").write_text("TOKEN=1\n")
    refused = plimsoll("worktrees", "remove", "quay")
    assert (refused.code, "git ignores .env" in refused.err) == (1, True)
    (place / ".env").unlink()
    assert plimsoll("worktrees", "remove", "quay").code == 0


def test_a_folder_that_is_gone_is_told(plimsoll: Plimsoll, repository: Path) -> None:
    plimsoll("run", "low water?", "--worktree", "quay", *OFFLINE)
    shutil.rmtree(repository.with_name("project.worktrees") / "quay")
    told = plimsoll("worktrees", "remove", "quay").err
    assert "is gone" in told
    assert "plimsoll --worktree quay" in told
