"""``plimsoll sessions`` (list, show, search, rename, fork, delete, back up, prune), ``stats``, ``diff``."""

import argparse
import shlex
import sqlite3
import time
from dataclasses import asdict, replace
from pathlib import Path

from tui_app.cli.core.command import FAILED, OK, CommandFailed, Program, WrongUsage, confirmed
from tui_app.cli.core.failures import for_shell
from tui_app.cli.core.output import answer, moment, print_json, print_table, say, tell
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import run_until_signal
from tui_app.cli.sessions.background import standings
from tui_app.conversation.requests.open_request import Opening
from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.session import management as removal
from tui_app.session.background import where_open
from tui_app.session.backup import back_up
from tui_app.session.lock import SessionLocked
from tui_app.session.management import (
    DueSession,
    Limits,
    delete_session,
    due_sessions,
    rename_session,
    sizes_of,
)
from tui_app.session.preview import StatsReader
from tui_app.session.rewind_fork import NotAPrompt, fork_session
from tui_app.session.search import as_json, search_sessions
from tui_app.session.stores.database import log_exists
from tui_app.session.stores.store import SessionDeleted, SessionInfo, SessionNotFound, SessionStore
from tui_app.session.views.user_view import fold_user_view
from tui_app.session.workspace import SessionFolder
from tui_app.settings.spec import SessionServer
from tui_app.ui.words import text as numbers
from tui_app.ui.words.session_report import sections
from tui_app.ui.words.text import clean, count, one_line, table_lines

_TITLE_CELLS, _LONG_TITLE_CELLS = 50, 60
_UNASKED = "Deleting cannot be undone. Without a terminal to ask in, say --yes."
_NO_LIMIT = "Everything is kept: no limit is set. For example: plimsoll config set retention.days 90"


def rename(program: Program, args: argparse.Namespace) -> None:
    with program.sessions(writing=program.has_sessions) as store:
        session = store.info(args.words[0]).id
        now = rename_session(store, session, " ".join(args.words[1:]))
    line = f"{session} is called: {one_line(now, _TITLE_CELLS)}" if now else f"{session} has no title now."
    answer({"session": session, "title": now}, line, as_json=args.json)


def backup(program: Program, args: argparse.Namespace) -> None:
    """Copy this machine's sessions file while it is in use. A server's sessions need its own tools.

    Raises:
        CommandFailed: if there is nothing to copy, or the copy cannot be made.
    """
    [target], database, file = args.words, program.database, program.paths.database
    server = database if isinstance(database, SessionServer) else None
    if not log_exists(file):
        if server is None:
            raise CommandFailed("There are no sessions yet: nothing to copy.")
        raise CommandFailed(
            f"The sessions are kept on {server.shown}, and there is nothing to copy on this machine."
            f" PostgreSQL's own tool copies them:\n  {_dump(server, target)}"
        )
    path = program.cwd / from_home(target)
    try:
        made = back_up(file, path)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror or error}.") from error
    row = {"path": str(made.path), "sessions": made.sessions, "bytes": made.bytes}
    more = {"server": server.shown, "server_backup": _dump(server, target)} if server else {}
    copied = f"{numbers.count(made.sessions, 'session')}, {made.bytes / 1_000_000:.1f} MB"
    answer({**row, **more}, f"Copied {copied}, to {made.path}", as_json=args.json)
    if server and not args.json:
        tell(
            f"That is the sessions file of this machine. The sessions on {server.shown} are not"
            f" in it; PostgreSQL's own tool copies them:\n  {_dump(server, target)}"
        )


def _dump(server: SessionServer, target: str) -> str:
    """Return the command that copies our schema on a server. It asks for the password, or reads ~/.pgpass."""
    path = Path(target)
    file = path.with_suffix(".dump") if path.name else path / "plimsoll.dump"
    words = ("pg_dump", "--schema=plimsoll", "--format=custom", f"--file={file}", server.shown)
    return shlex.join(words)


@frozen
class Pruned:
    """Sessions over a limit, deleted or kept."""

    gone: tuple[DueSession, ...]
    open: tuple[DueSession, ...]
    """Open now, or used since they were examined: they are kept."""


def prune(program: Program, args: argparse.Namespace) -> int:
    """Delete the sessions over the limits in the settings, after listing them and asking.

    Raises:
        CommandFailed: if no limit is set, except for a dry run.
        WrongUsage: if the user cannot be asked.
    """
    limits = Limits(**program.settings().retention)
    if not limits.any:
        if not args.dry_run:
            raise CommandFailed(_NO_LIMIT)
        if not args.json:
            say(_NO_LIMIT)
            return OK
    found = over_limits(program, limits)
    if args.dry_run or not found.gone:
        _report(found, done=False, json=args.json)
        return OK
    if not args.yes:
        _report(found, done=False, json=False)
        database = program.database
        whose = f" of everyone who uses {database.shown}" if isinstance(database, SessionServer) else ""
        what = f"Delete {numbers.count(len(found.gone), 'session')}{whose}?"
        if not confirmed(f"{what} It cannot be undone. Type y to delete:", _UNASKED):
            if args.json:
                _report(Pruned((), found.open), done=True, json=True)
            else:
                tell("Kept.")
            return OK
    done = _delete(program, found)
    _report(done, done=True, json=args.json)
    return OK if len(done.gone) == len(found.gone) else FAILED


def over_limits(program: Program, limits: Limits) -> Pruned:
    """Return the sessions to delete, and those that are kept only because they are open."""
    if not program.has_sessions:
        return Pruned((), ())
    paths = program.paths
    with program.sessions() as store:
        sizes = sizes_of(store, paths.sessions_dir) if limits.max_bytes else {}
        found = due_sessions(store.sessions(), limits, now=time.time(), sizes=sizes)
        parts: tuple[list[DueSession], list[DueSession]] = ([], [])
        for each in found:
            parts[bool(where_open(store, paths.sessions_dir, each.info.id))].append(each)
    return Pruned(*map(tuple, parts))


def _delete(program: Program, found: Pruned) -> Pruned:
    paths, deleted, kept = program.paths, list[DueSession](), list(found.open)
    for each in found.gone:
        info = each.info
        try:
            delete_session(program.database, paths.sessions_dir, info.id, last_used=info.updated)
            deleted.append(each)
        except SessionLocked:
            kept.append(each)
        except (SessionDeleted, SessionNotFound):
            deleted.append(each)  # deleted by another process
        except (OSError, sqlite3.Error) as error:
            tell(f"{info.id} could not be deleted: {error}")
            if isinstance(program.database, SessionServer):
                break  # each of the others would wait for the same server
    return Pruned(tuple(deleted), tuple(kept))


def _report(found: Pruned, *, done: bool, json: bool) -> None:
    rows = []
    for each in found.gone:
        title = one_line(each.info.title, _TITLE_CELLS) or "(untitled)"
        rows.append((each.info.id, moment(each.info.updated), title, each.reason))
    total, still_open = len(found.gone), len(found.open)
    over = "is over the limits" if total == 1 else "are over the limits"
    these = "is" if still_open == 1 else "are"
    line = f"{still_open:,} more {these} open or just came into use, and kept."
    listed = [{"session": each.info.id, "reason": each.reason} for each in found.gone]
    answer(
        {"deleted": done, "sessions": listed, "open": [each.info.id for each in found.open]},
        *table_lines(rows),
        f"{numbers.count(total, 'session')} {'deleted' if done else over}.",
        *([line] if still_open else []),
        as_json=json,
    )


MOST = 50
"""Maximum number of results printed."""
_WHO = {
    "user.message": "user",
    "assistant.message": "assistant",
    "tool.call": "call",
    "tool.result": "tool",
    "session.compaction_complete": "summary",
}


def search(program: Program, args: argparse.Namespace) -> int:
    """Print the messages that match the query, best match first. No match is a failure, as with grep.

    Raises:
        WrongUsage: if no word is given.
    """
    words = " ".join(args.words)
    if not any(character.isalnum() for character in words):
        raise WrongUsage('Search for what? plimsoll sessions search harbour, or "two words", or harb*')
    with ProgressLine("Searching the sessions"):
        found = search_sessions(program.database, words, limit=MOST) if program.has_sessions else []
    if args.json:
        print_json({"query": words, "results": [as_json(each) for each in found]})
    elif found:
        for each in found:
            title = one_line(each.title, _LONG_TITLE_CELLS) or "(untitled)"
            say(f"{each.session} #{each.seq}  {moment(each.time)}  {_WHO.get(each.type, each.type)}  {title}")
            say(f"    {one_line(each.snippet, 240)}")
    else:
        tell("No results.")
    return OK if found else FAILED


def list_sessions(program: Program, args: argparse.Namespace) -> None:
    rows: list[tuple[SessionInfo, str]] = []
    if program.has_sessions:
        with program.sessions() as store:
            rows = [(info, title_of(store, info)) for info in store.sessions()]
    left = standings(program)
    if args.json:
        states = {id: each.to_json() for id, each in left.items()}
        found = [{**asdict(info), "title": title, "background": states.get(info.id)} for info, title in rows]
        print_json({"sessions": found})
    elif not rows:
        tell("There are no sessions yet. Start one with: plimsoll")
    else:
        header = ("ID", "LAST USED", "MESSAGES", "TITLE", "FOLDER")
        listed = []
        for info, title in rows:
            label = one_line(title, _LONG_TITLE_CELLS) or "(nothing said)"
            label += f" · {one_line(left[info.id].in_words, _LONG_TITLE_CELLS)}" if info.id in left else ""
            listed.append((info.id, moment(info.updated), f"{info.messages:,}", label, info.cwd))
        print_table([header, *listed], right=(2,))


def title_of(store: SessionStore, info: SessionInfo) -> str:
    if info.title:
        return info.title
    return next((head.title for head in store.heads(info.id) if head.type == "user.message"), "")


def show_session(program: Program, args: argparse.Namespace) -> None:
    """Print everything that happened in a session, one row each."""
    with program.sessions() as store:
        info = store.info(args.words[0])
        # The hint of an error is reworded for the command line.
        entries = [
            replace(entry, title=for_shell(entry.title)) if entry.kind == "error" else entry
            for entry in fold_user_view(store.heads(info.id)).entries
        ]
        title = title_of(store, info)
    # An imported conversation is older than its session.
    dates = f"{moment(min([info.created, *(each.time for each in entries)]))} to {moment(info.updated)}"
    rows = []
    for entry in entries:
        tokens = numbers.tokens(entry.tokens) if entry.tokens else ""
        what = one_line(entry.title, 90) + ("" if entry.state == "ok" else f" ({entry.state})")
        rows.append((f"#{entry.seq}", moment(entry.time), entry.kind, what, tokens))
    answer(
        {**asdict(info), "title": title, "entries": [asdict(entry) for entry in entries]},
        f"{info.id}  {one_line(title, _LONG_TITLE_CELLS)}",
        f"{dates}, {numbers.count(info.messages, 'message')}, in {info.cwd}",
        *(("", *table_lines(rows, right=(0, 4))) if rows else ()),
        as_json=args.json,
    )


def fork(program: Program, args: argparse.Namespace) -> None:
    """Create a session that begins like another one, and print its id.

    Raises:
        WrongUsage: if the number is not that of a prompt.
    """
    session = program.session(args.words[0]).id
    try:
        with program.sessions(writing=True) as store:
            forked = fork_session(store, program.paths.sessions_dir, session, at=args.at, now=time.time())
    except NotAPrompt as error:
        raise WrongUsage(f"{error} To see the numbers: plimsoll sessions show {args.words[0]}") from error
    answer(
        {"session": forked.session, "prompt": forked.prompt},
        f"Forked into {forked.session}. Continue there: plimsoll --resume {forked.session}",
        as_json=args.json,
    )


def delete(program: Program, args: argparse.Namespace) -> None:
    """Delete a session and its folder for good.

    Raises:
        WrongUsage: if the user cannot be asked.
        SessionLocked: if it is open.
        CommandFailed: if its folder could not be deleted with it.
    """
    with program.sessions() as reading:
        info = reading.info(args.words[0])
        title = title_of(reading, info)
    size, name = numbers.count(info.messages, "message"), one_line(title, _LONG_TITLE_CELLS) or info.id
    question = f'Delete session "{name}"? {size}, cannot be undone. Type y to delete:'
    if not args.yes and not confirmed(question, _UNASKED):
        answer({"session": info.id, "deleted": False}, "Kept.", as_json=args.json)
        return
    folder = SessionFolder.named(program.paths.sessions_dir, info.id)
    removal.delete_session(program.database, program.paths.sessions_dir, info.id)
    if folder.path.exists():
        raise CommandFailed(f"The session is deleted, but its folder is not: {folder.path}")
    answer({"session": info.id, "deleted": True}, f"Deleted {info.id}.", as_json=args.json)


def print_stats(program: Program, args: argparse.Namespace) -> None:
    """Print the statistics of a session; the session is only read."""
    with program.sessions() as store:
        if args.id is None and not (sessions := store.sessions()):
            raise CommandFailed("There are no sessions yet. Start one with: plimsoll")
        session = (store.info(args.id) if args.id is not None else sessions[0]).id
    stats = StatsReader(program.database, session).read()
    lines = [session]
    for section in sections(stats):
        lines += ["", section.title, *(f"  {line}" for line in section.lines)]
    answer({"session": session, **stats.to_json()}, *lines, as_json=args.json)


def show_changes(program: Program, args: argparse.Namespace) -> int:
    """Print the diffs of a session's files, in its folder."""
    info = program.session(args.id)
    folder = Path(info.cwd)
    if not folder.is_dir():
        raise CommandFailed(f"The folder of this session, {info.cwd}, is no longer on this machine.")
    opening = program.opening(program.settings(), args, info.id)
    opening = replace(opening, cwd=folder, model=args.model or info.model)
    if args.message:
        return run_until_signal(_propose(opening, as_json=args.json))
    from tui_app.conversation.files.session_changes import session_changes

    with program.sessions() as store:
        changes = session_changes(opening, store)
    if args.json:
        files = [file.to_json() for file in changes.files]
        print_json({"session": opening.session, "files": files, "more": changes.more, "git": changes.problem})
        return OK
    for file in changes.files:
        say(clean(file.diff, keep_tabs=True) if file.diff else f"{clean(file.path)}: {file.note}")
    if changes.problem:
        tell(changes.problem)
    if changes.more:
        tell(f"{count(changes.more, 'more file')} not shown.")
    if not changes.files:
        tell("Nothing has changed.")
    return OK


async def _propose(opening: Opening, *, as_json: bool) -> int:
    from tui_app.conversation.files.commit_proposal import propose_message

    proposal = await propose_message(opening)
    answer({"session": opening.session, **proposal.to_json()}, proposal.text, as_json=as_json)
    if proposal.reason and not as_json:
        tell(f"Written without a model: {proposal.reason}.")
    return OK
