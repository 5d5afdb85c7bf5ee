"""What git says of a folder: its program is asked, and nothing of the repository's own is run.

Hooks, monitors, pagers and programs that compare files are switched off. Filters of a repository's own
configuration are not: ask only where the user trusts the folder.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tui_app.files import repository_root
from tui_app.trust import search_path

_OFF = (
    "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "core.quotePath=false",
)  # fmt: skip
_STATUS = ("status", "--porcelain=v1", "--ignore-submodules")
_TIMEOUT_S = 20.0


class GitFailed(Exception):
    """git refused or is not there; the text is what it said."""


class FileStatus(NamedTuple):
    """A file that differs from the last commit."""

    path: str
    """Relative to the folder."""
    is_staged: bool
    is_new: bool
    """Whether the last commit does not have it."""


@dataclass(frozen=True, slots=True)
class Git:
    """Asks git about one folder; blocking."""

    folder: Path
    env: Mapping[str, str] = field(repr=False)
    """What git may see of our environment."""

    def ask(self, *words: str, data: bytes | None = None, hooks: bool = False) -> bytes:
        """Run git and return what it prints.

        Args:
            words: What follows ``git``.
            data: What it reads.
            hooks: Whether the repository's hooks run, as they do for the user's own commits.

        Raises:
            GitFailed: if it is not there, refuses, or takes too long.
        """
        path = search_path(self.env.get("PATH", ""), repository_root(self.folder))
        env = {name: value for name, value in self.env.items() if not name.startswith("GIT_")}
        env |= {"PATH": path, "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "LC_ALL": "C.UTF-8"}
        off = ("--no-pager",) if hooks else _OFF
        try:
            done = subprocess.run(
                ("git", *off, *words),
                cwd=self.folder,
                env=env,
                input=data if data is not None else b"",
                capture_output=True,
                check=False,
                timeout=None if hooks else _TIMEOUT_S,
            )
        except FileNotFoundError:
            raise GitFailed("git is not installed.") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitFailed(f"git did not answer: {type(error).__name__}.") from error
        if done.returncode:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise GitFailed(said or f"git ended with {done.returncode}.")
        return done.stdout

    def status(self) -> Sequence[FileStatus]:
        """The files under the folder that differ from the last commit, new ones included.

        Raises:
            GitFailed: if it is no repository, or git does not answer.
        """
        told = self.ask(*_STATUS, "-z", "--untracked-files=all", "--no-renames", ".")
        prefix = self.ask("rev-parse", "--show-prefix").decode("utf-8", "replace").strip("\n")
        rows = [row for row in told.decode("utf-8", "surrogateescape").split("\0") if len(row) > 3]
        return [
            FileStatus(row[3:].removeprefix(prefix), row[0] not in " ?!", row[:2] == "??" or row[0] == "A")
            for row in rows
        ]

    def is_dirty(self) -> bool:
        """Whether anything in the repository differs from the last commit; False where git does not say."""
        try:
            return bool(self.ask(*_STATUS))
        except GitFailed:
            return False

    def committed(self, path: str) -> bytes | None:
        """What the last commit holds of a file; None where it does not have it."""
        try:
            return self.ask("cat-file", "blob", f"HEAD:./{path}")
        except GitFailed:
            return None

    def staged_diff(self) -> str:
        """What a commit would take, as one diff; empty for nothing.

        Raises:
            GitFailed: if it is no repository, or git does not answer.
        """
        words = ("diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
        return self.ask(*words).decode("utf-8", "replace")

    def staged_files(self) -> Sequence[str]:
        """The files that a commit would change, relative to the repository's root.

        Raises:
            GitFailed: if it is no repository, or git does not answer.
        """
        told = self.ask("diff", "--cached", "--name-only", "--no-renames", "-z")
        return [name for name in told.decode("utf-8", "replace").split("\0") if name]

    def commit(self, message: str, paths: Sequence[str] = ()) -> str:
        """Commit what is staged, or all of some files; returns its short number and first line.

        The repository's hooks run, as for every commit of the user's.

        Raises:
            GitFailed: if git refuses; nothing was committed then.
        """
        if paths:
            listed = "\0".join(paths).encode("utf-8", "surrogateescape")
            self.ask("add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul", data=listed)
        self.ask("commit", "--quiet", "--file=-", data=message.encode(), hooks=True)
        return self.ask("log", "-1", "--format=%h %s").decode("utf-8", "replace").strip()
