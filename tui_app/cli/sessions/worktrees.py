"""``plimsoll worktrees``: list, merge and remove the worktrees of isolated sessions."""

import argparse
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tui_app.cli.core.command import FAILED, OK, CommandFailed, Program, confirmed
from tui_app.cli.core.output import answer, print_json, say, tell
from tui_app.session.background import where_open
from tui_app.session.stores.store import SessionInfo
from tui_app.system.trust import remember_trust, trust_in
from tui_app.system.worktrees import NoWorktree, Worktree, Worktrees
from tui_app.ui.words.text import clean, count, one_line, table_lines

_UNASKED = "Without a terminal to ask in, say --yes."
_NAMED = 3


@contextmanager
def _around(program: Program, args: argparse.Namespace) -> Iterator[Worktrees]:
    """Yield the repository's worktrees.

    Raises:
        CommandFailed: if there is no such worktree, git refuses, or something would be lost.
    """
    try:
        yield Worktrees.around(program.folder(args.cwd), program.env)
    except NoWorktree as failed:
        raise CommandFailed(one_line(str(failed), 600)) from None


def show(program: Program, args: argparse.Namespace) -> None:
    with _around(program, args) as trees:
        found = [(each, _sessions(program, each)) for each in trees.all()]
    rows = []
    for each, sessions in found:
        branch = one_line(each.branch, 40) or "(no branch)"
        left = f"{len(each.uncommitted)} uncommitted" if each.uncommitted else ""
        ids = " ".join(info.id for info in sessions[:_NAMED])
        rows.append((each.name, branch, count(each.commits, "commit"), left, ids, str(each.path)))
    none = [f"No session of {trees.root} works apart. Start one with: plimsoll --worktree"]
    answer(
        {"repository": str(trees.root), "worktrees": [_row(*each) for each in found]},
        *(table_lines(rows) if rows else none),
        as_json=args.json,
    )


def _row(worktree: Worktree, sessions: list[SessionInfo]) -> dict[str, Any]:
    return {
        "name": worktree.name,
        "path": str(worktree.path),
        "branch": worktree.branch,
        "commits": worktree.commits,
        "uncommitted": list(worktree.uncommitted),
        "sessions": [info.id for info in sessions],
    }


def _sessions(program: Program, worktree: Worktree) -> list[SessionInfo]:
    """Return the sessions that work there, most recently used first."""
    if not program.has_sessions:
        return []
    with program.sessions() as store:
        return [info for info in store.sessions() if Path(info.cwd).is_relative_to(worktree.path)]


def merge(program: Program, args: argparse.Namespace) -> int:
    """Show what a merge would bring, ask, and merge it into the repository's checkout."""
    with _around(program, args) as trees:
        worktree = trees.named(args.name)
        diff = trees.diff(worktree)
        if diff and trust_in(program.paths, program.env, trees.root) is not True:
            root = shlex.quote(str(trees.root))
            raise NoWorktree(f"A merge runs hooks of the repository. Trust it first: plimsoll trust {root}")
        if not args.json:
            say(clean(diff, keep_tabs=True) if diff else "Nothing to merge: it has no changes of its own.")
        question = f"Merge {worktree.name} into {trees.root}? Type y to merge:"
        if diff and not args.yes and not confirmed(question, _UNASKED):
            tell("Nothing was merged.")
            return FAILED
        merged = trees.merge(worktree) if diff else ""
    if args.json:
        print_json({"name": worktree.name, "diff": diff, "merged": merged})
    elif merged:
        tell(f"Merged: {one_line(merged, 200)}. To take it back: git reset --merge ORIG_HEAD")
    return OK


def remove(program: Program, args: argparse.Namespace) -> None:
    with _around(program, args) as trees:
        worktree = trees.named(args.name)
        sessions = _sessions(program, worktree)
        if sessions:
            with program.sessions() as store:
                for info in sessions:
                    if holder := where_open(store, program.paths.sessions_dir, info.id):
                        raise NoWorktree(f"Session {info.id} is open in {holder}: {worktree.name} was kept.")
        trees.check_removal(worktree)
        if program.paths.trust_file.exists():
            remember_trust(program.paths, worktree.path, None)
        trees.remove(worktree)
    line = f"Removed {worktree.name} and its branch, and kept {count(len(sessions), 'session')}."
    answer({"name": worktree.name, "removed": True}, line, as_json=args.json)
