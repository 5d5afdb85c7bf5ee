"""Beginning a branch: the conversation in a session of its own, the files in a worktree of their own."""

from contextlib import closing, suppress
from pathlib import Path

from tui_app.agent.tools.edits import put_bytes
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.conversation.file_snapshots import file_steps, taken_together
from tui_app.conversation.open_request import Opening
from tui_app.events import RestoredFile
from tui_app.files import repository_root
from tui_app.git import Git, GitFailed
from tui_app.records import frozen
from tui_app.session.background import wait_until
from tui_app.session.branches import BranchRefused, branches_of, parent_of
from tui_app.session.database import open_store
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.rewind_fork import Fork, fork_session, prompt_at
from tui_app.session.workspace import KeptFiles, SessionFolder
from tui_app.text import words_of
from tui_app.trust import answers, remember_trust
from tui_app.worktrees import NoWorktree, Worktrees

_NAME_CHARS = 80
_PATIENCE_S = 60.0
"""Seconds to wait for another branch that is being made: its checkout may be large."""
_NO_GIT = "Files are not kept apart: {}"


@frozen(kw_only=True)
class Branched:
    """A branch that was made."""

    fork: Fork
    name: str
    folder: Path
    note: str = ""
    """Why its files are not kept apart, or which of them could not be made as they were; empty otherwise."""


def make_branch(opening: Opening, name: str, *, at: int | None, now: float) -> Branched:
    """Begin a branch of a session: its conversation in a session, its files in a git worktree of their own.

    Blocks. What a killed process has left of one is made anew.

    Args:
        opening: Which session, and the folder that it works in.
        name: What it is called; empty finds a name.
        at: Log number of the prompt that it leaves before; None takes over all there is.
        now: Seconds since the epoch.

    Raises:
        BranchRefused: if the name is taken, or other branches are being made all the time.
        SessionNotFound, NotAPrompt, OSError, sqlite3.Error: as ``fork_session`` does.
    """
    paths, env = opening.paths, opening.outward_env()
    with _one_by_one(paths.branching_lock), closing(open_store(opening.database)) as store:
        info = store.info(opening.session)
        known = {each.name.casefold() for each in branches_of(store, info.id)}
        numbered = (f"branch {number}" for number in range(1, 10_000))
        name = words_of(name)[:_NAME_CHARS] or next(each for each in numbered if each not in known)
        if name.casefold() in known:
            raise BranchRefused(f"This session has a branch {name} already. Choose another name.")
        if at is not None:
            prompt_at(store, info.id, at)  # before anything is made
        for half in store.sessions():
            if half.events < 2 and half.title == name and parent_of(store, half.id) == info.id:
                store.delete(half.id)
        steps = taken_together(file_steps(store, info.id, at)) if at is not None else []
        kept = KeptFiles(SessionFolder.named(paths.sessions_dir, info.id).kept_files)
        folder, note, trees = opening.cwd.resolve(), "", None
        try:
            trees = Worktrees.around(folder, env)
            used = {Path(each.cwd) for each in store.sessions()}
            top = trees.branch_off(name, Git(folder, env).snapshot(), used)
            root = repository_root(folder) or folder
            folder = top / folder.relative_to(root)
            folder.mkdir(parents=True, exist_ok=True)
            if answers(paths).get(str(root)) is True:
                remember_trust(paths, top, True)
            left = [step.path for step in steps if not _put(Workspace(folder), kept, step)]
            note = f"Not as they were at #{at}: {', '.join(left)}." if left else ""
            trees.keep_base(top)
        except (NoWorktree, GitFailed) as failed:
            folder, note, trees = opening.cwd, _NO_GIT.format(failed), None
        fork = fork_session(store, paths.sessions_dir, info.id, at=at, now=now, title=name, cwd=str(folder))
        if trees is not None:
            trees.occupy(top)
    return Branched(fork=fork, name=name, folder=folder, note=note)


def _one_by_one(file: Path) -> WriterLock:
    """Wait for others that begin a branch, too."""
    taken: list[WriterLock] = []

    def take() -> bool:
        with suppress(SessionLocked):
            taken.append(WriterLock(file))
        return bool(taken)

    if not wait_until(take, _PATIENCE_S):
        raise BranchRefused("Another branch is still being made. Nothing changed. Try again.")
    return taken[0]


def _put(workspace: Workspace, kept: KeptFiles, file: RestoredFile) -> bool:
    """Give a file of a branch what it held at a prompt; whether that is known and could be done."""
    data = kept.get(file.before) if file.before else None
    if Path(file.path).is_absolute() or (file.before and data is None):
        return False
    try:
        real = workspace.writable(file.path)
        now = real.read_bytes() if real.exists() else None
        put_bytes(workspace, real, data, expected=now, mode=file.mode or None, shown=file.path)
    except (ToolProblem, OSError):
        return False
    return True
