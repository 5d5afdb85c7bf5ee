"""What git says of a folder: its program is asked, and nothing of the repository's own is run.

Hooks, monitors, pagers, programs that compare files or check signatures, and the filters of a repository's
own configuration are switched off, nothing is fetched, its files are those of its folder, and a repository
that lies among the files of another one is none. A commit is the user's own: there the repository's
configuration counts.
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
    # git would run in a submodule, where nothing of this counts.
    "-c", "diff.submodule=short", "-c", "status.submoduleSummary=false", "-c", "submodule.recurse=false",
)  # fmt: skip
_OWN_WAY = ("--no-pager",)
"""The user's own commits: hooks would inherit whatever else is switched off."""
_FROM_INPUT = ("--pathspec-from-file=-", "--pathspec-file-nul")
_ADD = ("--literal-pathspecs", "add", "-A", *_FROM_INPUT)
"""A file may have a name that stands for others, such as ``*`` or ``:(top)``."""
_ELSEWHERE = "core.worktree"
_NAMED = (
    "config", "-z", "--includes", "--show-scope", "--name-only", "--get-regexp",
    rf"^(filter|hook)\..*\.|^{_ELSEWHERE}$",
)  # fmt: skip
"""What no setting switches off for all names, and where a repository says that its files are."""
_OWN = frozenset({"local", "worktree"})
"""Where the configuration of a repository itself stands."""
_STATUS = ("status", "--porcelain=v1", "--ignore-submodules")
_TIMEOUT_S = 20.0
_SUBMODULE = b"160000 "
"""How git begins the row of a submodule."""
NO_FILE = "000000"
"""How git writes that there is no file."""


class GitFailed(Exception):
    """git refused or is not there; the text is what it said."""


class FileStatus(NamedTuple):
    """A file that differs from the last commit."""

    path: str
    """Relative to the folder."""
    is_staged: bool
    is_new: bool
    """Whether the last commit does not have it."""


class TreeChange(NamedTuple):
    """A file in which two trees differ."""

    path: str
    """Relative to the folder, which it may lie outside of."""
    old: str
    """What it was, as git writes it: ``100644``; ``NO_FILE`` where there was none."""
    new: str


@frozen
class Git:
    """Asks git about one folder; blocking."""

    folder: Path
    env: Mapping[str, str] = field(repr=False)
    """What git may see of our environment."""

    def ask(
        self,
        *words: str,
        data: bytes | None = None,
        own: bool = False,
        timeout_s: float | None = _TIMEOUT_S,
        index: Path | None = None,
    ) -> bytes:
        """Run git and return what it prints.

        Args:
            words: What follows ``git``.
            data: What it reads.
            own: Whether hooks and filters of the repository run, as they do for the user's own commits.
            timeout_s: Seconds that it may take; the user's own commits take what they take.
            index: File to use in the place of the checkout's own index.

        Raises:
            GitFailed: if it is not there, refuses, or takes too long.
        """
        env = {} if own else self._without_own_settings()
        env |= {"GIT_INDEX_FILE": str(index)} if index is not None else {}
        off = _OWN_WAY if own else _OFF
        return self._run((*off, *words), env, data or b"", None if own else timeout_s)

    def _without_own_settings(self) -> dict[str, str]:
        """What makes git ignore what the repository itself names; an empty value is none, or no."""
        try:
            told = self._run((*_OFF, *_NAMED), {}, b"", _TIMEOUT_S).decode("utf-8", "surrogateescape")
        except GitFailed:  # it names nothing
            told = ""
        rows = told.split("\0")
        named = {name for scope, name in zip(rows[::2], rows[1::2], strict=False) if scope in _OWN}
        env = {"GIT_NO_LAZY_FETCH": "1"}
        if _ELSEWHERE in named:
            env["GIT_WORK_TREE"] = str(repository_root(self.folder))
            named.remove(_ELSEWHERE)
        off = {f"{name.rpartition('.')[0]}.enabled" if name.startswith("hook.") else name for name in named}
        for number, name in enumerate(off):
            # Not on the command line: a name may have an equals sign in it.
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
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
            raise GitFailed(said or f"git ended with {done.returncode}.")
        return done.stdout

    def check_out(self, *words: str) -> bytes:
        """Run what writes or removes files of a checkout, which takes as long as there are files.

        Raises:
            GitFailed: if it is no repository, or git refuses.
        """
        return self.ask(*words, timeout_s=None)

    def snapshot(self) -> str:
        """Keep the files of the checkout, those not committed included, as a tree; nothing changes there.

        Raises:
            GitFailed: if it is no repository, or git refuses.
        """
        own = self.folder / self.ask("rev-parse", "--git-path", "index").decode(
            "utf-8", "surrogateescape"
        ).strip("\n")
        with TemporaryDirectory() as scratch:
            index = Path(scratch) / "index"
            if (self.folder / own).exists():
                # With its time: git looks again at files that are as young as their index.
                shutil.copy2(self.folder / own, index)
            # Of submodules their commit alone: git would run in them, with their settings, to see changes.
            listed = self.ask("ls-files", "--stage", "-z", ":/", index=index).split(b"\0")
            inner = [row.partition(b"\t")[2] for row in listed if row.startswith(_SUBMODULE)]
            wanted = b"\0".join([b":/", *(b":(exclude,literal)" + path for path in inner)])
            self.ask("add", "-A", *_FROM_INPUT, data=wanted, timeout_s=None, index=index)
            self.ask(
                "update-index", "--add", "--remove", "-z", "--stdin", data=b"\0".join(inner), index=index
            )
            return self.ask("write-tree", index=index).decode().strip()

    def changes(self, old: str, new: str) -> Sequence[TreeChange]:
        """The files in which two trees differ; those outside the folder begin with ``../``.

        Raises:
            GitFailed: if one of them is not there.
        """
        told = self.ask("diff-tree", "-r", "-z", "--no-renames", old, new)
        prefix = self.ask("rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").strip("\n")
        fields = told.decode("utf-8", "surrogateescape").split("\0")
        pairs = zip(fields[::2], fields[1::2], strict=False)
        return [
            TreeChange(os.path.relpath(f"/{path}", f"/{prefix}"), row[1:7], row[8:14]) for row, path in pairs
        ]

    def content(self, tree: str, path: str) -> bytes | None:
        """What a file of a tree holds in a checkout; None where the tree does not have it."""
        try:
            return self.ask("cat-file", "--filters", f"{tree}:./{path}")
        except GitFailed:
            return None

    def merged(self, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
        """Both changes of a text in one; None where they meet, or it is no text."""
        with TemporaryDirectory() as scratch:
            files = [Path(scratch) / name for name in ("ours", "base", "theirs")]
            for file, data in zip(files, (ours, base, theirs), strict=True):
                file.write_bytes(data)
            try:
                return self.ask("merge-file", "-p", "--quiet", *map(str, files))
            except GitFailed:
                return None

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

    def staged_diff(self, without: Sequence[str] = ()) -> str:
        """What a commit would take, as one diff; empty for nothing.

        Args:
            without: Names of files, as staged ones are named, that are left out.

        Raises:
            GitFailed: if it is no repository, or git does not answer.
        """
        words = ("diff", "--cached", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
        left_out = [f":(top,exclude,literal){name}" for name in without]
        places = ("--", ":(top)", *left_out) if left_out else ()
        return self.ask(*words, *places).decode("utf-8", "replace")

    def staged_files(self) -> Sequence[str]:
        """The files that a commit would change, relative to the repository's root.

        Raises:
            GitFailed: if it is no repository, or git does not answer.
        """
        told = self.ask("diff", "--cached", "--name-only", "--no-renames", "-z")
        return [name for name in told.decode("utf-8", "surrogateescape").split("\0") if name]

    def commit(self, message: str, paths: Sequence[str] = ()) -> str:
        """Commit what is staged, or all of some files; returns its short number and first line.

        The repository's hooks run, as for every commit of the user's.

        Raises:
            GitFailed: if git refuses; nothing was committed then.
        """
        if paths:
            listed = "\0".join(paths).encode("utf-8", "surrogateescape")
            self.ask(*_ADD, data=listed, own=True)
        self.ask("commit", "--quiet", "--file=-", data=message.encode(), own=True)
        return self.ask("log", "-1", "--format=%h %s").decode("utf-8", "replace").strip()
