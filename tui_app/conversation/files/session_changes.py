"""Changes of a session in its folder, from its log and from git."""

from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Literal

from tui_app.agent.tools.diffs import counts_of, diff_of_bytes
from tui_app.agent.tools.edits import MAX_BYTES
from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_regular
from tui_app.conversation.files.file_snapshots import file_steps, merge_steps
from tui_app.conversation.requests.open_request import Opening
from tui_app.records import frozen, picked
from tui_app.session.kept_files import KeptFiles
from tui_app.session.stores.store import SessionStore
from tui_app.session.workspace import SessionFolder
from tui_app.system.git import Git, GitFailed

ChangedBy = Literal["session", "git"]
"""Whether the session's tools changed a file, or only git lists it as different from the last commit."""
FileState = Literal["new", "changed", "deleted"]
UNTRUSTED = "git is not used: the folder is not trusted."
_MOST_FILES = 300
"""Maximum files read of git's list; a tree that was never committed may have any number."""


@frozen(kw_only=True)
class ChangedFile:
    """One changed file."""

    path: str
    """Relative to the folder."""
    by: ChangedBy
    state: FileState
    is_staged: bool = False
    diff: str = ""
    """From its content before the session, or in the last commit, to now; empty if ``note`` says why."""
    note: str = ""

    @property
    def counts(self) -> str:
        """``+3 -1``; empty without a diff."""
        return counts_of(self.diff) if self.diff else ""

    def to_json(self) -> dict[str, object]:
        added, _, removed = self.counts.partition(" ")
        return {
            **picked(self, "path by state note diff"),
            "staged": self.is_staged,
            "added": int(added or 0),
            "removed": -int(removed or 0),
        }


@frozen(kw_only=True)
class SessionChanges:
    """All changed files, the session's own first."""

    files: list[ChangedFile] = field(default_factory=list)
    problem: str = ""
    """Why git could not be used; otherwise empty."""
    more: int = 0
    """Number of files of git's list that were not read."""

    @property
    def own(self) -> Sequence[ChangedFile]:
        return [file for file in self.files if file.by == "session"]


def session_changes(opening: Opening, store: SessionStore | None) -> SessionChanges:
    """Find what changed. Blocks on the disk and on git.

    Args:
        opening: Which session, and its folder.
        store: The log; None if nothing was said yet.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    workspace = opening.workspace()
    kept = KeptFiles(SessionFolder(opening.paths.sessions_dir / opening.session).kept_files)
    found: dict[str, ChangedFile] = {}
    if store is not None and opening.session:
        for step in merge_steps(file_steps(store, opening.session)):
            path, before = step.path, step.before
            now, problem = _read(workspace, path)
            old = kept.get(before) if before else None
            if before and old is None:
                problem = "Its earlier content is no longer kept."
            if (file := _compared(path, old, now, "session", problem, bool(before))) is not None:
                found[path] = file
    if not opening.trusted:
        return SessionChanges(files=list(found.values()), problem=UNTRUSTED)
    git = Git(opening.cwd, opening.outward_env())
    try:
        listed = git.status()
    except GitFailed as error:
        lacking = "not a git repository" in str(error)
        problem = "The folder is not in a git repository." if lacking else f"git: {error}"
        return SessionChanges(files=list(found.values()), problem=problem)
    others: list[ChangedFile] = []
    for each in listed[:_MOST_FILES]:
        if (known := found.get(each.path)) is not None:
            found[each.path] = replace(known, is_staged=each.is_staged)
            continue
        now, problem = _read(workspace, each.path)
        old = None if each.is_new else git.committed(each.path)
        file = _compared(each.path, old, now, "git", problem, not each.is_new)
        others += [replace(file, is_staged=each.is_staged)] if file is not None else []
    return SessionChanges(files=[*found.values(), *others], more=max(0, len(listed) - _MOST_FILES))


def _compared(
    path: str, old: bytes | None, now: bytes | None, by: ChangedBy, problem: str, existed: bool
) -> ChangedFile | None:
    """A file with its diff; None if it is unchanged."""
    state: FileState = "new" if not existed else "deleted" if now is None and not problem else "changed"
    if problem:
        return ChangedFile(path=path, by=by, state=state, note=problem)
    if old == now:
        return None
    diff, sizes = diff_of_bytes(old, now, path)
    return ChangedFile(path=path, by=by, state=state, diff=diff, note=sizes and f"Not text: {sizes}.")


def _read(workspace: Workspace, path: str) -> tuple[bytes | None, str]:
    """Content of a file, or why it is unknown."""
    try:
        real: Path = workspace.resolve(path)
        if not real.exists():
            return None, ""
        with open_regular(real) as file:
            data = file.read(MAX_BYTES + 1)
    except (ToolProblem, OSError):
        return None, "It cannot be read."
    return (None, f"Larger than {MAX_BYTES:,} bytes.") if len(data) > MAX_BYTES else (data, "")
