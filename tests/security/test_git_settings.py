"""The program itself runs git in a repository whose settings name programs: none of them is executed."""

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tui_app.system.git import Git, GitFailed
from tui_app.system.worktrees import Worktrees

QUESTIONS: dict[str, Callable[[Git], object]] = {
    "status": Git.status,
    "is_dirty": Git.is_dirty,
    "committed": lambda git: git.committed("a.txt"),
    "missing": lambda git: git.committed("missing.txt"),
    "staged_diff": Git.staged_diff,
    "part": lambda git: git.staged_diff(["a.txt"]),
    "staged_files": Git.staged_files,
}
PROGRAMS = (
    "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy",
    "core.alternateRefsCommand", "diff.external", "diff.ink.command", "diff.ink.textconv", "filter.ink.clean",
    "filter.ink.smudge", "filter.ink.process", "merge.ink.driver", "interactive.diffFilter", "pager.status",
    "pager.diff", "pager.cat-file", "gpg.program", "uploadpack.packObjectsHook", "credential.helper",
)  # fmt: skip
SETTINGS = {
    "log.showSignature": "true", "diff.submodule": "diff", "status.submoduleSummary": "true",
    "submodule.recurse": "true", "diff.ignoreSubmodules": "none", "remote.origin.promisor": "true",
    "extensions.partialClone": "origin",
}  # fmt: skip


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def spied_on(folder: Path, spy: Path) -> None:
    """Configure a program wherever git would run one."""
    for name in PROGRAMS:
        git(folder, "config", name, f"touch {spy}-{name}; cat")
    for name, value in SETTINGS.items():
        git(folder, "config", name, value)
    git(folder, "config", "remote.origin.url", f"ext::touch {spy}-url")


HOOKED = """#!/bin/sh
# git of 2026: hooks are settings, too. Those that only read have none.
case " $* " in *" config "*|*" rev-parse "*) exec {git} "$@" ;; esac
{git} config --get-regexp '^hook[.].*[.]command$' | while read -r name command; do
    [ "$({git} config --type=bool "${{name%.command}}.enabled")" = false ] || sh -c "$command"
done
exec {git} "$@"
"""


def configured_hooks(folder: Path, repository: Path, spy: Path) -> dict[str, str]:
    """The environment of a git that runs the hooks in a repository's settings."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "git").write_text(HOOKED.format(git=shutil.which("git")))
    (programs / "git").chmod(0o755)
    for event in ("reference-transaction", "post-checkout", "post-index-change"):
        git(repository, "config", f"hook.on-{event}.event", event)
        git(repository, "config", f"hook.on-{event}.command", f"touch '{spy}'")
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a submodule, and changes in both."""
    library, work = tmp_path / "library", tmp_path / "work"
    for folder in (library, work):
        folder.mkdir()
        git(folder, "init", "-q")
        (folder / ".gitattributes").write_text("*.txt diff=ink filter=ink merge=ink\n")
        for name in ("a.txt", "missing.txt"):
            (folder / name).write_text(f"{folder.name} {name}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "first")
    git(work, "submodule", "--quiet", "add", str(library), "lib")
    git(work, "commit", "-qm", "library")
    (work / "lib/a.txt").write_text("two\n")
    git(work / "lib", "commit", "-qam", "second")
    (work / "a.txt").write_text("two\n")
    git(work, "add", "lib", "a.txt")
    for folder in (work, work / "lib"):
        (folder / "a.txt").write_text("three\n")
    return work


def lose_a_file(repository: Path) -> None:
    """Remove an object that git could fetch from elsewhere."""
    blob = git(repository, "rev-parse", "HEAD:missing.txt")
    lost = repository / ".git/objects" / blob[:2] / blob[2:]
    lost.chmod(0o600)
    lost.unlink()


@pytest.mark.parametrize("question", QUESTIONS)
def test_git_runs_nothing_that_settings_of_a_repository_or_its_submodule_name(
    repository: Path, tmp_path: Path, question: str
) -> None:
    lose_a_file(repository)
    for folder in (repository, repository / "lib"):
        spied_on(folder, tmp_path / f"ran-{folder.name}")
    with suppress(GitFailed):
        QUESTIONS[question](Git(repository, dict(os.environ)))
    assert not list(tmp_path.rglob("ran-*"))


def trees(asked: Git) -> Worktrees:
    return Worktrees.around(asked.folder, asked.env)


CHANGES: dict[str, Callable[[Git], object]] = {
    "snapshot": Git.snapshot,
    "again": lambda git: (git.snapshot(), git.snapshot()),
    "content": lambda git: git.content(git.snapshot(), "a.txt"),
    "made": lambda git: trees(git).enter("new"),
    "listed": lambda git: (trees(git).enter("new"), trees(git).all()),
    "removed": lambda git: trees(git).branch_off("new", git.snapshot(), ()),
    "base": lambda git: trees(git).keep_base(trees(git).enter("new")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_of_theirs_runs_where_worktrees_are_made_and_files_kept(
    repository: Path, tmp_path: Path, change: str
) -> None:
    """The submodule's filters have names that the repository does not know; its index is new."""
    lib = repository / "lib"
    for folder in (repository, lib):
        spied_on(folder, tmp_path / f"ran-{folder.name}")
    for name in ("clean", "smudge", "process"):
        git(lib, "config", f"filter.other.{name}", git(lib, "config", f"filter.ink.{name}"))
    (lib / ".gitattributes").write_text("*.txt filter=other\n")
    env = configured_hooks(tmp_path, repository, tmp_path / "ran-hook")
    CHANGES[change](Git(repository, env))
    assert not list(tmp_path.rglob("ran-*"))


def test_what_a_submodule_has_checked_out_is_kept_with_the_files(repository: Path) -> None:
    asked = Git(repository, dict(os.environ))
    git(repository / "lib", "commit", "-qam", "third")
    (repository / "docs").mkdir()
    for folder in (repository, repository / "docs"):
        kept = Git(folder, dict(os.environ)).snapshot()
        assert asked.ask("rev-parse", f"{kept}:lib").decode().strip() == git(
            repository / "lib", "rev-parse", "HEAD"
        )
        assert asked.ask("show", f"{kept}:a.txt") == b"three\n"


def test_the_files_of_a_repository_are_those_of_its_folder(repository: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "diary.txt").write_text("mine\n")
    git(repository, "config", "core.worktree", str(home))
    asked = Git(repository, dict(os.environ))
    assert "a.txt" in {each.path for each in asked.status()}
    assert asked.is_dirty()
    made = trees(asked).branch_off("new", asked.snapshot(), ())
    assert {each.name for each in made.iterdir()} == {each.name for each in repository.iterdir()}
    assert not list(made.rglob("diary.txt"))


def test_git_still_tells_of_a_submodule(repository: Path) -> None:
    asked = Git(repository, dict(os.environ))
    assert "+Subproject commit" in asked.staged_diff()
    assert sorted(asked.staged_files()) == ["a.txt", "lib"]
