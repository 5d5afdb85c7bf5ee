"""The files of a branch: what a merge does to each of those here, and doing it so that it can be undone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tui_app.agent.tools.diffs import diff_of_bytes
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.conversation.files.file_snapshots import read_with_mode
from tui_app.events import MergedFile
from tui_app.records import frozen
from tui_app.session.kept_files import KeptFiles, checksum
from tui_app.system.git import NO_FILE, Git, GitFailed, TreeChange
from tui_app.system.worktrees import NoWorktree, Worktrees, is_in_worktree

_PLAIN = ("100644", "100755", NO_FILE)
"""What git calls files, executable ones, and none at all."""
_LARGEST = 64_000_000
"""Bytes; three versions of one have to fit among the kept files."""


@frozen(kw_only=True)
class FilesOfBranch:
    """What a merge does to files."""

    files: tuple[MergedFile, ...] = ()
    contents: tuple[bytes, ...] = ()
    diffs: tuple[str, ...] = ()
    """Of each that is taken over, in their order."""
    note: str = ""
    """Why no files are taken over."""


def files_of_branch(
    branch: Path, here: Workspace, env: Mapping[str, str], earlier: Mapping[str, bytes | None]
) -> FilesOfBranch:
    """Compare what a branch has changed with the files here; blocks, and changes nothing.

    Args:
        branch: The folder that it works in.
        here: The folder of the session that it left.
        env: What git may see of our environment.
        earlier: What files of the branch held when they were merged before.
    """
    if branch.resolve() == here.root:
        return FilesOfBranch(note="Both work in the same folder: its files are as the branch left them.")
    if not is_in_worktree(branch):
        return FilesOfBranch(note=f"Its folder is gone, so its files are not taken over: {branch}")
    try:
        trees, git = Worktrees.around(branch, env), Git(branch, env)
        top = next(each for each in (branch, *branch.parents) if each.parent == trees.home)
        base, now = trees.base(top), git.snapshot()
        if not base:
            return FilesOfBranch(note=f"What files began as in {branch} is not known: none is taken over.")
        changes = {each.path: each for each in git.changes(base, now)}
        # What was merged, and is as it was at first again, has changed since then.
        again = (TreeChange(path, *_PLAIN[:2]) for path in sorted(earlier) if path not in changes)
        changed = []
        for each in (*changes.values(), *again):
            path = each.path
            began = earlier[path] if path in earlier else git.content(base, path)
            changed.append(_merged(git, here, began, each))
    except (NoWorktree, GitFailed, StopIteration) as failed:
        return FilesOfBranch(note=f"git says nothing of the files in {branch}: {failed}")
    return FilesOfBranch(
        files=tuple(each for each, _, _ in changed if each is not None),
        contents=tuple(data for _, contents, _ in changed for data in contents if data is not None),
        diffs=tuple(diff for _, _, diff in changed if diff),
    )


def _merged(
    git: Git, here: Workspace, base: bytes | None, change: TreeChange
) -> tuple[MergedFile | None, Sequence[bytes | None], str]:
    """What becomes of a file, the bytes that takes, and its diff; None where it is as it was.

    Args:
        git: Asks about the folder of the branch.
        here: The folder of the session that it left.
        base: What the file held when the branch began, or was merged last.
        change: What the branch has made of it.
    """
    path, file = change.path, MergedFile(path=change.path)
    if path.startswith("../"):
        return replace(file, left="it is outside the folder of this session"), (), ""
    if change.old not in _PLAIN or change.new not in _PLAIN:
        return replace(file, left="it is a link or a repository"), (), ""
    try:
        ours, mode = read_with_mode(here, path, _LARGEST)
        theirs, their_mode = read_with_mode(Workspace(git.folder), path, _LARGEST)
    except (ToolProblem, OSError) as error:
        return replace(file, left=f"it cannot be taken over: {error}"), (), ""
    made = checksum(theirs)
    file = replace(file, before=checksum(ours), after=made, theirs=made, mode=mode or their_mode)
    if theirs == base and NO_FILE not in (change.old, change.new) and mode != their_mode:
        return replace(file, left="only its rights have changed"), (), ""
    if theirs in (base, ours):
        return None, (), ""
    after = theirs
    if ours != base:
        if ours is None or theirs is None or base is None:
            return replace(file, left="it was changed here too"), (), ""
        if (after := git.merged(ours, base, theirs)) is None:
            return replace(file, left="it was changed here too, in the same lines"), (), ""
    diff, sizes = diff_of_bytes(ours, after, path)
    return replace(file, after=checksum(after)), (ours, after, theirs), diff or f"{path}: not text, {sizes}"


def earlier_contents(kept: KeptFiles, merged: Sequence[MergedFile]) -> dict[str, bytes | None]:
    """What files of a branch held when they were merged, as far as that was kept; None for removed ones."""
    found = ((file, kept.get(file.theirs) if file.theirs else None) for file in merged if not file.left)
    return {file.path: data for file, data in found if data is not None or not file.theirs}
