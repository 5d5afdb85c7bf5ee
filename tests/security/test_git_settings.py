"""git is asked by the program itself about a repository whose settings name programs: none of them runs."""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tui_app.git import Git, GitFailed

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
    """Name a program wherever git would run one."""
    for name in PROGRAMS:
        git(folder, "config", name, f"touch {spy}-{name}; cat")
    for name, value in SETTINGS.items():
        git(folder, "config", name, value)
    git(folder, "config", "remote.origin.url", f"ext::touch {spy}-url")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """One with a submodule, changes in both, and an object that is to be had elsewhere."""
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
    blob = git(work, "rev-parse", "HEAD:missing.txt")
    lost = work / ".git/objects" / blob[:2] / blob[2:]
    lost.chmod(0o600)
    lost.unlink()
    return work


@pytest.mark.parametrize("question", QUESTIONS)
def test_git_runs_nothing_that_settings_of_a_repository_or_its_submodule_name(
    repository: Path, tmp_path: Path, question: str
) -> None:
    for folder in (repository, repository / "lib"):
        spied_on(folder, tmp_path / f"ran-{folder.name}")
    with suppress(GitFailed):
        QUESTIONS[question](Git(repository, dict(os.environ)))
    assert not list(tmp_path.rglob("ran-*"))


def test_git_still_tells_of_a_submodule(repository: Path) -> None:
    asked = Git(repository, dict(os.environ))
    assert "+Subproject commit" in asked.staged_diff()
    assert sorted(asked.staged_files()) == ["a.txt", "lib"]
