"""Questions to git about a folder, without running anything of the repository's own.

Hooks, monitors, pagers, diff programs, signature checks and filters of the repository's configuration are
switched off, and nothing is fetched. The working tree is the folder itself, and a bare repository among the
files of another one is ignored. Commits are the user's own: for them the repository's configuration applies.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tui_app.records import frozen
from tui_app.system.project_files import repository_root
from tui_app.system.trust import search_path

_OFF = (
    "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "core.quotePath=false", "-c", "log.showSignature=false", "-c", "safe.bareRepository=explicit",
    # git would run in a submodule, where these settings do not apply.
    "-c", "diff.submodule=short", "-c", "status.submoduleSummary=false", "-c", "submodule.recurse=false",
)  # fmt: skip
_OWN_WAY = ("--no-pager",)
"""For the user's own commits: hooks would inherit other settings."""
_FROM_INPUT = ("--pathspec-from-file=-", "--pathspec-file-nul")
_ADD = ("--literal-pathspecs", "add", "-A", *_FROM_INPUT)
"""A file name may look like a pattern, for example ``*`` or ``:(top)``."""
_ELSEWHERE = "core.worktree"
_NAMED = (
    "config", "-z", "--includes", "--show-scope", "--name-only", "--get-regexp",
    rf"^(filter|hook)\..*\.|^{_ELSEWHERE}$",
)  # fmt: skip
"""Settings that cannot be switched off for all names at once, and the one that moves the working tree."""
_OWN = frozenset({"local", "worktree"})
"""Scopes of the repository's own configuration."""
_STATUS = ("status", "--porcelain=v1", "--ignore-submodules")
_TIMEOUT_S = 20.0
_SUBMODULE = b"160000 "
"""How git marks a submodule in its list."""
NO_FILE = "000000"
"""Mode that git prints for a missing file."""


class GitFailed(Exception):
    """Raised when git refuses or is missing; the text is its message."""


class FileStatus(NamedTuple):
    """A file that differs from the last commit."""

    path: str
    """Relative to the folder."""
    is_staged: bool
    is_new: bool
    """Whether the last commit does not have it."""


class TreeChange(NamedTuple):
    """A file that differs between two trees."""

    path: str
    """Relative to the folder; it may be outside of it."""
    old: str
    """The previous mode as printed by git: ``100644``, or ``NO_FILE`` if there was no file."""
    new: str


@frozen
class Git:
    """Runs git in one folder; blocking."""

    folder: Path
    env: Mapping[str, str] = field(repr=False)
    """The part of our environment that git may see."""

    def ask(
        self,
        *words: str,
        data: bytes | None = None,
        own: bool = False,
        timeout_s: float | None = _TIMEOUT_S,
        index: Path | None = None,
    ) -> bytes:
        """Run git and return its output.

        Args:
            words: Arguments of git.
            data: Standard input.
            own: Whether the repository's hooks and filters run, as for the user's own commits.
            timeout_s: Timeout in seconds; ignored for the user's own commits.
            index: Index file to use instead of the checkout's own.

        Raises:
            GitFailed: if git is missing, refuses, or takes too long.
        """
        env = {} if own else self._without_own_settings()
        env |= {"GIT_INDEX_FILE": str(index)} if index is not None else {}
        off = _OWN_WAY if own else _OFF
        return self._run((*off, *words), env, data or b"", None if own else timeout_s)

    def _without_own_settings(self) -> dict[str, str]:
        """Return an environment in which git ignores the repository's own programs, by empty values."""
        try:
            output = self._run((*_OFF, *_NAMED), {}, b"", _TIMEOUT_S).decode("utf-8", "surrogateescape")
        except GitFailed:  # there are none
            output = ""
        rows = output.split("\0")
        named = {name for scope, name in zip(rows[::2], rows[1::2], strict=False) if scope in _OWN}
        env = {"GIT_NO_LAZY_FETCH": "1"}
        if _ELSEWHERE in named:
            env["GIT_WORK_TREE"] = str(repository_root(self.folder))
            named.remove(_ELSEWHERE)
        off = {f"{name.rpartition('.')[0]}.enabled" if name.startswith("hook.") else name for name in named}
        for number, name in enumerate(off):
            # Not on the command line, because a name may contain an equals sign.
            env |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": ""}
        return {**env, "GIT_CONFIG_COUNT": f"{len(off)}"}

    def _run(
        self, words: Sequence[str], more: Mapping[str, str], data: bytes, timeout_s: float | None
    ) -> bytes:
        path = search_path(self.env.get("PATH", ""), repository_root(self.folder))
        env = {name: value for name, value in self.env.items() if not name.startswith("GIT_")}
        env |= {"PATH": path, "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "LC_ALL": "C.UTF-8", **more}
        try:
            done = subprocess.run(
                ("git", *words),
                cwd=self.folder,
                env=env,
                input=data,
                capture_output=True,
                check=False,
                timeout=timeout_s,
            )
        except FileNotFoundError:
            raise GitFailed("git is not installed.") from None
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitFailed(f"git did not answer: {type(error).__name__}.") from error
        if done.returncode:
            message = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise GitFailed(message or f"git ended with {done.returncode}.")
        return done.stdout

    def check_out(self, *words: str) -> bytes:
        """Run a command that writes or removes files of a checkout, without a timeout.

        Raises:
            GitFailed: if the folder is in no repository, or git refuses.
        """
        return self.ask(*words, timeout_s=None)

    def snapshot(self) -> str:
        """Store the files of the checkout, including uncommitted ones, as a tree. Nothing changes there.

        Raises:
            GitFailed: if the folder is in no repository, or git refuses.
        """
        own = self.folder / self.ask("rev-parse", "--git-path", "index").decode(
            "utf-8", "surrogateescape"
        ).strip("\n")
        with TemporaryDirectory() as scratch:
            index = Path(scratch) / "index"
            if (self.folder / own).exists():
                # With its time: git re-reads files that are as young as their index.
                shutil.copy2(self.folder / own, index)
            # For submodules only their commit: to see changes, git would run in them, with their settings.
            listed = self.ask("ls-files", "--stage", "-z", ":/", index=index).split(b"\0")
            inner = [row.partition(b"\t")[2] for row in listed if row.startswith(_SUBMODULE)]
            pathspecs = b"\0".join([b":/", *(b":(exclude,literal)" + path for path in inner)])
            self.ask("add", "-A", *_FROM_INPUT, data=pathspecs, timeout_s=None, index=index)
            self.ask(
                "update-index", "--add", "--remove", "-z", "--stdin", data=b"\0".join(inner), index=index
            )
            return self.ask("write-tree", index=index).decode().strip()

    def changes(self, old: str, new: str) -> Sequence[TreeChange]:
        """Return the files that differ between two trees. Those outside of the folder begin with ``../``.

        Raises:
            GitFailed: if one of the trees is missing.
        """
        output = self.ask("diff-tree", "-r", "-z", "--no-renames", old, new)
        prefix = self.ask("rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").strip("\n")
        fields = output.decode("utf-8", "surrogateescape").split("\0")
        pairs = zip(fields[::2], fields[1::2], strict=False)
        return [
            TreeChange(os.path.relpath(f"/{path}", f"/{prefix}"), row[1:7], row[8:14]) for row, path in pairs
        ]

    def content(self, tree: str, path: str) -> bytes | None:
        """Return the content of a tree's file as in a checkout; None if the tree does not have it."""
        try:
            return self.ask("cat-file", "--filters", f"{tree}:./{path}")
        except GitFailed:
            return None

    def merged(self, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
        """Merge two changes of a text; None if they conflict, or it is no text."""
        with TemporaryDirectory() as scratch:
            files = [Path(scratch) / name for name in ("ours", "base", "theirs")]
            for file, data in zip(files, (ours, base, theirs), strict=True):
                file.write_bytes(data)
            try:
                return self.ask("merge-file", "-p", "--quiet", *map(str, files))
            except GitFailed:
                return None

    def status(self) -> Sequence[FileStatus]:
        """Return the files in the folder that differ from the last commit, new ones included.

        Raises:
            GitFailed: if the folder is in no repository, or git does not answer.
        """
        output = self.ask(*_STATUS, "-z", "--untracked-files=all", "--no-renames", ".")
        prefix = self.ask("rev-parse", "--show-prefix").decode("utf-8", "replace").strip("\n")
        rows = [row for row in output.decode("utf-8", "surrogateescape").split("\0") if len(row) > 3]
        return [
            FileStatus(row[3:].removeprefix(prefix), row[0] not in " ?!", row[:2] == "??" or row[0] == "A")
            for row in rows
        ]

    def is_dirty(self) -> bool:
        """Return whether anything in the repository is uncommitted; False if git does not answer."""
        try:
            return bool(self.ask(*_STATUS))
        except GitFailed:
            return False

    def committed(self, path: str) -> bytes | None:
        """Return the content of a file in the last commit; None if it is not there."""
        try:
            return self.ask("cat-file", "blob", f"HEAD:./{path}")
        except GitFailed:
            return None

    def staged_diff(self, without: Sequence[str] = ()) -> str:
        """Return what a commit would include, as one diff; empty if nothing is staged.

        Args:
            without: Names of files to leave out, as in ``staged_files``.

        Raises:
            GitFailed: if the folder is in no repository, or git does not answer.
        """
        words = ("diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
        left_out = [f":(top,exclude,literal){name}" for name in without]
        places = ("--", ":(top)", *left_out) if left_out else ()
        return self.ask(*words, *places).decode("utf-8", "replace")

    def staged_files(self) -> Sequence[str]:
        """Return the files that a commit would change, relative to the repository's root.

        Raises:
            GitFailed: if the folder is in no repository, or git does not answer.
        """
        output = self.ask("diff", "--cached", "--name-only", "--no-renames", "-z")
        return [name for name in output.decode("utf-8", "surrogateescape").split("\0") if name]

    def commit(self, message: str, paths: Sequence[str] = ()) -> str:
        """Commit what is staged, or all changes of some files; return its short hash and first line.

        The repository's hooks run, as for every commit of the user.

        Raises:
            GitFailed: if git refuses; nothing was committed then.
        """
        if paths:
            listed = "\0".join(paths).encode("utf-8", "surrogateescape")
            self.ask(*_ADD, data=listed, own=True)
        self.ask("commit", "--quiet", "--file=-", data=message.encode(), own=True)
        return self.ask("log", "-1", "--format=%h %s").decode("utf-8", "replace").strip()
