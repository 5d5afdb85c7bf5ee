"""Start of a branch: a session for its conversation, a git worktree for its files."""

from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.conversation.files.file_snapshots import file_steps, merge_steps
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import RestoredFile
from tui_app.records import frozen
from tui_app.refusals import Refusal
from tui_app.session.background import wait_until
from tui_app.session.branches import branches_of, parent_of
from tui_app.session.kept_files import KeptFiles
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.rewind_fork import Fork, fork_session, prompt_at
from tui_app.session.stores.database import open_store
from tui_app.session.stores.store import SessionDeleted, SessionInfo, SessionStore
from tui_app.session.workspace import SessionFolder
from tui_app.system.git import NO_FILE, Git, GitFailed
from tui_app.system.project_files import repository_root
from tui_app.system.worktrees import NoWorktree, Worktrees
from tui_app.text import plain_line

_NAME_CHARS = 80
_PATIENCE_S = 60.0
"""Seconds to wait while another branch is being made: its checkout may be large."""


@frozen(kw_only=True)
class Branched:
    """A new branch."""

    fork: Fork
    name: str
    folder: Path
    note: str = ""
    """Why it has no worktree of its own, or which files could not be restored; else empty."""


def make_branch(opening: Opening, name: str, *, at: int | None, now: float) -> Branched:
    """Start a branch: a session for its conversation, a git worktree for its files.

    Blocks. A branch left incomplete by a killed process is made again.

    Args:
        opening: Which session, and the folder it works in.
        name: Name of the branch; empty for a numbered one.
        at: Log number of the prompt it branches off before; None for the end.
        now: Seconds since the epoch.

    Raises:
        Refusal: if the name is taken, or other branches are being made all the time.
        SessionNotFound, NotAPrompt, OSError, sqlite3.Error: as ``fork_session`` does.
    """
    paths, env = opening.paths, opening.outward_env()
    with _one_by_one(paths.branching_lock), closing(open_store(opening.database)) as store:
        info = store.info(opening.session)
        known = {each.name.casefold() for each in branches_of(store, info.id)}
        numbered = (f"branch {number}" for number in range(1, 10_000))
        name = plain_line(name)[:_NAME_CHARS] or next(each for each in numbered if each not in known)
        if name.casefold() in known:
            raise _name_taken(name)
        if at is not None:
            prompt_at(store, info.id, at)  # before anything is made
        for half in _namesakes(store, info.id, name):
            if half.events < 2:
                store.delete(half.id)
        steps = merge_steps(file_steps(store, info.id, at)) if at is not None else []
        folder, note, trees = opening.cwd.resolve(), "", None
        try:
            trees = Worktrees.around(folder, env)
            used = {Path(each.cwd) for each in store.sessions()}
            root = repository_root(folder)
            past = _Past(KeptFiles(SessionFolder.named(paths.sessions_dir, info.id).kept_files), folder, root)
            # All files come from one tree, so that git can tell a complete worktree from a partial one.
            tree, left = past.tree(Git(root, env), steps)
            top = trees.branch_off(name, tree, used)
            folder = top / folder.relative_to(root)
            folder.mkdir(parents=True, exist_ok=True)
            past.set_rights(folder, steps)
            note = f"Not as they were at #{at}: {', '.join(left)}." if left else ""
            trees.keep_base(top)
        except (NoWorktree, GitFailed) as failed:
            folder, note, trees = opening.cwd, f"Files are not kept apart: {failed}", None
        check, places = partial(_check_name, store, info.id, name), paths.sessions_dir
        cwd = str(folder)
        try:
            fork = fork_session(store, places, info.id, at=at, now=now, title=name, cwd=cwd, check=check)
        except SessionDeleted:
            # Another machine took it for an incomplete one and makes it again.
            raise _name_taken(name) from None
        if trees is not None:
            trees.occupy(top)
    return Branched(fork=fork, name=name, folder=folder, note=note)


def _namesakes(store: SessionStore, session: str, name: str) -> list[SessionInfo]:
    """Branches of a session with this name, incomplete ones included."""
    found = (each for each in store.sessions() if each.title.casefold() == name.casefold())
    return [each for each in found if parent_of(store, each.id) == session]


def _check_name(store: SessionStore, session: str, name: str) -> None:
    """Raise if another machine that shares the sessions has made this branch meanwhile."""
    if _namesakes(store, session, name):
        raise _name_taken(name)


def _name_taken(name: str) -> Refusal:
    return Refusal(f"This session has a branch {name} already. Choose another name.")


def _one_by_one(file: Path) -> WriterLock:
    """Lock the file, waiting for others that make a branch."""
    taken: list[WriterLock] = []

    def take() -> bool:
        with suppress(SessionLocked):
            taken.append(WriterLock(file))
        return bool(taken)

    if not wait_until(take, _PATIENCE_S):
        raise Refusal("Another branch is still being made. Nothing changed. Try again.")
    return taken[0]


@frozen
class _Past:
    """Contents of a session's files at a prompt."""

    kept: KeptFiles
    folder: Path
    root: Path
    """The checkout that contains the folder."""

    def tree(self, git: Git, steps: Sequence[RestoredFile]) -> tuple[str, list[str]]:
        """Write the checkout's files as a git tree, with those of the steps in their old state.

        Returns:
            The tree, and the paths whose old state is unknown.

        Raises:
            GitFailed: if git refuses.
        """
        tree, rows, left = git.snapshot(), list[str](), list[str]()
        for step in steps:
            data = self.kept.get(step.before) if step.before else None
            place = self._place(step.path)
            if place is None or (step.before and data is None):
                left.append(step.path)
                continue
            mode, blob = NO_FILE, "0" * len(tree)
            if data is not None:
                words = ("hash-object", "-w", "--stdin", f"--path={place}")
                blob = git.ask(*words, data=data).decode().strip()
                mode = "100755" if step.mode & 0o100 else "100644"
            rows.append(f"{mode} {blob}\t{place}\0")
        with TemporaryDirectory() as scratch:
            index, data = Path(scratch) / "index", "".join(rows).encode("utf-8", "surrogateescape")
            git.ask("read-tree", tree, index=index)
            git.ask("update-index", "-z", "--index-info", data=data, index=index)
            return git.ask("write-tree", index=index).decode().strip(), left

    def _place(self, path: str) -> str | None:
        """A file's path for git; None if it is not in this checkout, or may not be written."""
        try:
            real = Workspace(self.folder).writable(path)
        except (ToolProblem, OSError):
            return None
        if Path(path).is_absolute() or repository_root(real.parent) != self.root:
            return None
        place = real.relative_to(self.root)
        return None if ".git" in place.parts else place.as_posix()

    def set_rights(self, folder: Path, steps: Sequence[RestoredFile]) -> None:
        """Restore the permissions of a branch's files: git records only the executable bit."""
        for step in steps:
            with suppress(ToolProblem, OSError):
                if step.before and step.mode:
                    Workspace(folder).writable(step.path).chmod(step.mode)
