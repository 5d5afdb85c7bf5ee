"""Files of a branch: comparison with the files here, for a merge that can be undone."""

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
"""git's modes for files, executable files and missing files."""
_LARGEST = 64_000_000
"""Bytes; three versions of a file have to fit among the kept files."""


@frozen(kw_only=True)
class FilesOfBranch:
    """What a merge does to files."""

    files: tuple[MergedFile, ...] = ()
    contents: tuple[bytes, ...] = ()
    diffs: tuple[str, ...] = ()
    """Of each merged file, in order."""
    note: str = ""
    """Why no files are merged."""


def files_of_branch(
    branch: Path, here: Workspace, env: Mapping[str, str], earlier: Mapping[str, bytes | None]
) -> FilesOfBranch:
    """Compare the changes of a branch with the files here. Blocks, and changes nothing.

    Args:
        branch: The folder the branch works in.
        here: The folder of the parent session.
        env: The part of our environment that git may see.
        earlier: Contents of the branch's files at an earlier merge.
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
        # A file merged before and since back in its first state counts as changed.
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
    """Merge one file.

    Args:
        git: Runs in the folder of the branch.
        here: The folder of the parent session.
        base: Content when the branch began, or at the last merge.
        change: The change made by the branch.

    Returns:
        The row for the plan, None if nothing changes; the contents to keep; the diff.
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
    """Contents of the branch's files at earlier merges, if they were kept; None for removed files."""
    found = ((file, kept.get(file.theirs) if file.theirs else None) for file in merged if not file.left)
    return {file.path: data for file, data in found if data is not None or not file.theirs}
