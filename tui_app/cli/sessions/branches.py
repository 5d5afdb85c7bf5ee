"""``plimsoll branch``, ``merge`` and ``tree``: try something in a branch, and merge its outcome."""

import argparse
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tui_app.cli.core.command import OK, CommandFailed, Program, WrongUsage
from tui_app.cli.core.opened_session import carry_out, notices_in, opened_session
from tui_app.cli.core.output import answer, print_json, say, tell
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import run_until_signal
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.work import Merge, Restate
from tui_app.events import BranchMerged, FilesRestored
from tui_app.session.background import check_unasked, where_open
from tui_app.session.branches import Forks, branches_of, forks_in, parent_of
from tui_app.session.lock import SessionLocked
from tui_app.session.rewind_fork import NotAPrompt
from tui_app.session.stores.database import open_store
from tui_app.session.stores.store import SessionStore
from tui_app.ui.words.text import clean, clock, count, one_line

_SHOWN_FIELDS = ("branch", "name", "turns", "performed_by", "model", "claims_marked", "cost_usd")
NOTHING_MERGED = "Nothing to undo: the last thing that happened in this session is no merge."
_NO_BRANCH = "Which branch? plimsoll merge {0} BRANCH. To see them: plimsoll tree {0}"


def begin_branch(program: Program, args: argparse.Namespace) -> int:
    """Create a branch of a session.

    Raises:
        Refusal: if the name is taken.
        WrongUsage: if the number is not that of a prompt.
    """
    from tui_app.conversation.branches.new_branch import make_branch

    opening = _opening(program, args)
    try:
        made = make_branch(opening, args.name, at=args.at, now=time.time())
    except NotAPrompt as error:
        raise WrongUsage(f"{error} To see the numbers: plimsoll sessions show {args.id}") from None
    session, fields = made.fork.session, asdict(made)
    if made.note and not args.json:
        tell(one_line(made.note, 400))
    answer(
        {"from": opening.session, **fields.pop("fork"), **fields, "folder": str(made.folder)},
        f"Branch {one_line(made.name, 80)} is session {session}, in {made.folder}",
        f"Continue there: plimsoll --resume {session}",
        f"Bring its outcome back: plimsoll merge {opening.session} {session}",
        as_json=args.json,
    )
    return OK


def merge(program: Program, args: argparse.Namespace) -> int:
    """Merge a branch into its session, or undo the last merge.

    Raises:
        WrongUsage: if no branch is named, or one is named with ``--undo``.
    """
    if args.undo and args.branch:
        raise WrongUsage("--undo takes back the last merge and needs no name of a branch.")
    if not args.branch and not args.undo:
        raise WrongUsage(_NO_BRANCH.format(args.id))
    opening = _opening(program, args)
    if args.undo:
        return run_until_signal(_undo(opening, args))
    return run_until_signal(_merge(opening, args))


def _opening(program: Program, args: argparse.Namespace) -> Opening:
    info = program.session(args.id)
    if not Path(info.cwd).is_dir():
        raise CommandFailed(f"The folder of this session is gone: {info.cwd}. Nothing changed.")
    settings = program.settings(window=getattr(args, "window", None))
    args.model = getattr(args, "model", "")
    return replace(program.opening(settings, args, info.id), cwd=Path(info.cwd), passing=True)


async def _merge(opening: Opening, args: argparse.Namespace) -> int:
    from tui_app.conversation.branches.branches import plan_merge

    if not args.dry_run:
        _check_free(opening)
    with ProgressLine("Writing the brief"):
        plan = await plan_merge(opening, args.branch, extract=args.extract)
    work = plan.work(with_files=not args.no_files)
    if not args.json:
        say(clean("\n\n".join(filter(None, (plan.brief.text, *plan.files.diffs))), keep_tabs=True))
    merged, skipped = (0, ()) if args.dry_run else await _apply(opening, work)
    event, rows = work.event, list[dict[str, str]]()
    for file in work.event.files:
        why = file.left or ("it has changed meanwhile" if file.path in skipped else "")
        rows.append({"path": file.path, "verb": "left alone" if why else file.verb, "left": why})
    if args.json:
        print_json(
            {
                "session": opening.session,
                "merged": merged or None,
                "files": rows,
                "brief": plan.brief.text,
                "reason": plan.brief.reason,
                "tokens": plan.count(event.text),
                "diff": "\n".join(plan.files.diffs),
                "note": plan.files.note,
                **{name: getattr(event, name) for name in _SHOWN_FIELDS},
            }
        )
        return OK
    for row in rows:
        say(f"{row['verb']}  {one_line(row['path'], 400)}  {row['left']}".rstrip())
    for note in (plan.files.note, plan.brief.reason and f"No model wrote notes: {plan.brief.reason}."):
        if note:
            tell(one_line(note, 400))
    if merged:
        say(f"Merged as #{merged}. To take it back: plimsoll merge {opening.session} --undo")
    else:
        tell("Nothing was merged.")
    return OK


def _check_free(opening: Opening) -> None:
    """Refuse a session that cannot be written, before paying for a brief."""
    with closing(open_store(opening.database, read_only=True)) as store:
        check_unasked(store, opening.session)
        if who := where_open(store, opening.paths.sessions_dir, opening.session):
            raise SessionLocked(who)


async def _apply(opening: Opening, work: Merge) -> tuple[int, tuple[str, ...]]:
    """Merge; return the log number of the merge, and the files that have changed since they were compared."""
    async with opened_session(opening) as opened:
        await opened.prepare()
        records = await carry_out(opened, work)
    merged = next((record.seq for record in records if isinstance(record.data, BranchMerged)), 0)
    if not merged:
        raise CommandFailed(" ".join(notices_in(records)) or "Nothing was merged.")
    skipped = (each.data.skipped for each in records if isinstance(each.data, FilesRestored))
    return merged, next(skipped, ())


async def _undo(opening: Opening, args: argparse.Namespace) -> int:
    async with opened_session(opening) as opened:
        history = opened.conversation.history
        await opened.prepare()
        cut = next(iter(history.view.reversible), 0)
        record = opened.store.record(history.session, cut) if cut else None
        if record is None or not isinstance(record.data, BranchMerged):
            raise CommandFailed(NOTHING_MERGED)
        await carry_out(opened, Restate(undo=True))
        last = opened.store.last_of(history.session, FilesRestored.TYPE)
    merge, done = record.data, last.data if last is not None and last.seq > cut else None
    files = done if isinstance(done, FilesRestored) and done.undo else FilesRestored(to=cut)
    restored = [file.path for file in files.files]
    undone = {"undone": cut, "branch": merge.branch, "name": merge.name, "files": restored}
    answer(
        {"session": opening.session, **undone, "left": files.skipped},
        f"Undone: the merge of {one_line(merge.name, 80)}, with {count(len(restored), 'file')}",
        *(f"left alone  {one_line(path, 400)}  others changed it since" for path in files.skipped),
        as_json=args.json,
    )
    return OK


def show_tree(program: Program, args: argparse.Namespace) -> int:
    """Print a session's tree of branches, from the session they all come from."""
    with program.sessions() as store:
        here = root = store.info(args.id).id
        known, forks = {info.id for info in store.sessions()}, forks_in(store)
        while (above := parent_of(store, root)) in known:
            known.remove(root)
            root = above
        tree = _tree(store, root, forks)
    answer({"session": here, "tree": tree}, *_lines(tree, here), as_json=args.json)
    return OK


def _tree(store: SessionStore, session: str, forks: Forks) -> dict[str, Any]:
    below = [
        {
            **_tree(store, each.info.id, forks),
            "at": each.at,
            "state": each.state,
            "merged": each.merged or None,
            "folder": each.info.cwd,
            "prompts": [asdict(one) for one in each.prompts],
        }
        for each in branches_of(store, session, forks)
    ]
    return {"id": session, "name": store.info(session).title, "branches": below}


def _lines(tree: dict[str, Any], here: str, depth: int = 0) -> Iterator[str]:
    state = f"  {tree['state']}, left at #{tree['at']}" if depth else ""
    mark = "  (this session)" if tree["id"] == here else ""
    sign = f"{'  ' * depth}{'↳ ' if depth else ''}"
    yield f"{sign}{one_line(tree['name'], 60) or '(untitled)'}  {tree['id']}{state}{mark}"
    for prompt in tree.get("prompts", ()):
        label = f"{one_line(prompt['title'], 60)}  {clock(prompt['time'])}"
        yield f"{'  ' * (depth + 1)}● #{prompt['seq']} {label}"
    for branch in tree["branches"]:
        yield from _lines(branch, here, depth + 1)
