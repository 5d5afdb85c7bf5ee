"""``plimsoll sessions`` (list, show, search, rename, fork, delete, back up, prune), ``stats``, ``diff``."""

import argparse
import shlex
import sqlite3
import time
from dataclasses import asdict, replace
from pathlib import Path

from tui_app.cli.command import (
    FAILED,
    OK,
    Command,
    CommandFailed,
    Program,
    WrongUsage,
    add_json,
    add_model,
    add_session,
    confirmed,
    run_until_signal,
)
from tui_app.cli.failures import for_shell
from tui_app.cli.output import ProgressLine, moment, print_json, say, say_table, tell
from tui_app.conversation.open_request import Opening
from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.session import management as removal
from tui_app.session.database import has_begun
from tui_app.session.lock import SessionLocked
from tui_app.session.management import (
    BackupRefused,
    Due,
    Limits,
    back_up,
    delete_session,
    due,
    rename_session,
    sizes_of,
)
from tui_app.session.preview import StatsReader
from tui_app.session.rewind_fork import NotAPrompt, fork_session
from tui_app.session.search import as_json, search_sessions
from tui_app.session.store import SessionDeleted, SessionInfo, SessionNotFound, SessionStore
from tui_app.session.user_view import fold_user_view
from tui_app.session.workspace import SessionFolder
from tui_app.settings.spec import SessionServer
from tui_app.ui import text as numbers
from tui_app.ui.reports import sections
from tui_app.ui.text import clean, count, one_line

_TITLE_CELLS, _LONG_TITLE_CELLS = 50, 60
_UNASKED = "Deleting cannot be undone. Without a terminal to ask in, say --yes."
_NO_LIMIT = "Everything is kept: no limit is set. For example: plimsoll config set retention.days 90"


def rename(program: Program, wanted: str, title: str, *, json: bool) -> int:
    with program.sessions(writing=program.has_sessions) as store:
        info = store.info(wanted)
        now = rename_session(store, info.id, title)
    if json:
        print_json({"session": info.id, "title": now})
    else:
        say(f"{info.id} is called: {one_line(now, _TITLE_CELLS)}" if now else f"{info.id} has no title now.")
    return OK


def backup(program: Program, target: str, *, json: bool) -> int:
    """Copy this machine's sessions file while it is in use; a server's sessions are for its own tools.

    Raises:
        CommandFailed: if there is nothing to copy, or the copy cannot be made.
    """
    database, file = program.database, program.paths.database
    server = database if isinstance(database, SessionServer) else None
    if not has_begun(file):
        if server is None:
            raise CommandFailed("There are no sessions yet: nothing to copy.")
        raise CommandFailed(
            f"The sessions are kept on {server.shown}, and there is nothing to copy on this machine."
            f" PostgreSQL's own tool copies them:\n  {_dump(server, target)}"
        )
    path = program.cwd / from_home(target)
    try:
        made = back_up(file, path)
    except BackupRefused as refused:
        raise CommandFailed(str(refused)) from refused
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror or error}.") from error
    if json:
        row = {"path": str(made.path), "sessions": made.sessions, "bytes": made.bytes}
        more = {"server": server.shown, "server_backup": _dump(server, target)} if server else {}
        print_json({**row, **more})
        return OK
    copied = f"{numbers.count(made.sessions, 'session')}, {made.bytes / 1_000_000:.1f} MB"
    say(f"Copied {copied}, to {made.path}")
    if server:
        tell(
            f"That is the sessions file of this machine. The sessions on {server.shown} are not"
            f" in it; PostgreSQL's own tool copies them:\n  {_dump(server, target)}"
        )
    return OK


def _dump(server: SessionServer, target: str) -> str:
    """The line that copies what is ours on a server; it asks for the password, or finds it in ~/.pgpass."""
    path = Path(target)
    file = path.with_suffix(".dump") if path.name else path / "plimsoll.dump"
    words = ("pg_dump", "--schema=plimsoll", "--format=custom", f"--file={file}", server.shown)
    return shlex.join(words)


@frozen
class Pruned:
    """What became of the sessions over a limit."""

    gone: tuple[Due, ...]
    open: tuple[Due, ...]
    """Open at the moment, or used since they were looked at: they are kept."""


def prune(program: Program, *, dry_run: bool, sure: bool, json: bool) -> int:
    """Delete the sessions over the limits of the settings, after saying which and asking.

    Raises:
        CommandFailed: if no limit is set, and more is wanted than to know what would go.
        WrongUsage: if the user cannot be asked.
    """
    limits = Limits(**program.settings().retention)
    if not limits.any and not dry_run:
        raise CommandFailed(_NO_LIMIT)
    if not limits.any and not json:
        say(_NO_LIMIT)
        return OK
    found = over_limits(program, limits)
    if dry_run or not found.gone:
        _report(found, done=False, json=json)
        return OK
    if not sure:
        _report(found, done=False, json=False)
        database = program.database
        whose = f" of everyone who uses {database.shown}" if isinstance(database, SessionServer) else ""
        what = f"Delete {numbers.count(len(found.gone), 'session')}{whose}?"
        if not confirmed(f"{what} It cannot be undone. Type y to delete:", _UNASKED):
            if json:
                _report(Pruned((), found.open), done=True, json=True)
            else:
                tell("Kept.")
            return OK
    done = _delete(program, found)
    _report(done, done=True, json=json)
    return OK if len(done.gone) == len(found.gone) else FAILED


def over_limits(program: Program, limits: Limits) -> Pruned:
    """What would go, and what would if it were not open."""
    if not program.has_sessions:
        return Pruned((), ())
    paths = program.paths
    with program.sessions() as store:
        sizes = sizes_of(store, paths.sessions_dir) if limits.max_bytes else {}
        found = due(store.sessions(), limits, now=time.time(), sizes=sizes)
        folders = [SessionFolder.named(paths.sessions_dir, each.info.id) for each in found]
        held = [
            bool(store.holder(each.info.id, folder.lock_file))
            for each, folder in zip(found, folders, strict=True)
        ]
    return Pruned(
        tuple(each for each, is_open in zip(found, held, strict=True) if not is_open),
        tuple(each for each, is_open in zip(found, held, strict=True) if is_open),
    )


def _delete(program: Program, found: Pruned) -> Pruned:
    paths, gone, kept = program.paths, list[Due](), list(found.open)
    for each in found.gone:
        info = each.info
        try:
            delete_session(program.database, paths.sessions_dir, info.id, last_used=info.updated)
            gone.append(each)
        except SessionLocked:
            kept.append(each)
        except (SessionDeleted, SessionNotFound):
            gone.append(each)  # deleted by another process
        except (OSError, sqlite3.Error) as error:
            tell(f"{info.id} could not be deleted: {error}")
            if isinstance(program.database, SessionServer):
                break  # each of the others would wait for the same server
    return Pruned(tuple(gone), tuple(kept))


def _report(found: Pruned, *, done: bool, json: bool) -> None:
    if json:
        rows = [{"session": each.info.id, "reason": each.reason} for each in found.gone]
        print_json({"deleted": done, "sessions": rows, "open": [each.info.id for each in found.open]})
        return
    if found.gone:
        say_table(
            [
                (
                    each.info.id,
                    moment(each.info.updated),
                    one_line(each.info.title, _TITLE_CELLS) or "(untitled)",
                    each.reason,
                )
                for each in found.gone
            ]
        )
    gone, still_open = len(found.gone), len(found.open)
    over = "is over the limits" if gone == 1 else "are over the limits"
    say(f"{numbers.count(gone, 'session')} {'deleted' if done else over}.")
    if still_open:
        these = "is" if still_open == 1 else "are"
        say(f"{still_open:,} more {these} open or just came into use, and kept.")


# ``plimsoll sessions search``: what was said in any session, and where.

MOST = 50
"""Hits that are printed."""
_WHO = {
    "user.message": "user",
    "assistant.message": "assistant",
    "tool.call": "call",
    "tool.result": "tool",
    "session.compaction_complete": "summary",
}


def search(program: Program, words: str, *, json: bool) -> int:
    """Print the messages that hold everything wanted, the best fits first; finding none fails, as with grep.

    Raises:
        WrongUsage: if no word is given.
    """
    if not any(character.isalnum() for character in words):
        raise WrongUsage('Search for what? plimsoll sessions search harbour, or "two words", or harb*')
    with ProgressLine("Searching the sessions"):
        found = search_sessions(program.database, words, limit=MOST) if program.has_sessions else []
    if json:
        print_json({"query": words, "results": [as_json(each) for each in found]})
    elif found:
        for each in found:
            title = one_line(each.title, _LONG_TITLE_CELLS) or "(untitled)"
            say(f"{each.session} #{each.seq}  {moment(each.time)}  {_WHO.get(each.type, each.type)}  {title}")
            say(f"    {one_line(each.snippet, 240)}")
    else:
        tell("No results.")
    return OK if found else FAILED


def configure(parser: argparse.ArgumentParser) -> None:
    actions = ("list", "show", "search", "rename", "fork", "delete", "backup", "prune")
    parser.add_argument("action", nargs="?", choices=actions, default="list", help="default: list")
    parser.add_argument(
        "words", metavar="ID | WORDS | FILE", nargs="*",
        help="id of the session, or its beginning; search words; backup file",
    )  # fmt: skip
    parser.add_argument(
        "--at", type=int, metavar="N",
        help="fork: end before prompt number N, as listed by show; default: copy everything",
    )  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="delete without asking")
    parser.add_argument("--dry-run", action="store_true", help="prune: only list what would be deleted")
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    words: list[str] = args.words
    match args.action:
        case "list":
            if words:
                raise WrongUsage("list takes no id. To see one session: plimsoll sessions show ID")
            return list_sessions(program, as_json=args.json)
        case "search":
            return search(program, " ".join(words), json=args.json)
        case "prune":
            if words:
                raise WrongUsage("prune takes no id: the limits are in the settings, under retention.")
            return prune(program, dry_run=args.dry_run, sure=args.yes, json=args.json)
        case "backup":
            if len(words) != 1:
                raise WrongUsage("Where to? plimsoll sessions backup FILE")
            return backup(program, words[0], json=args.json)
        case _:
            return _with_one(program, args, words)


def _with_one(program: Program, args: argparse.Namespace, words: list[str]) -> int:
    """The actions on one session."""
    if not words:
        raise WrongUsage(
            f"Which session? plimsoll sessions {args.action} ID. To see the ids: plimsoll sessions"
        )
    if args.action == "rename":
        if len(words) < 2:
            raise WrongUsage("Which title? plimsoll sessions rename ID TITLE")
        return rename(program, words[0], " ".join(words[1:]), json=args.json)
    if len(words) > 1:
        raise WrongUsage(f"{args.action} takes one id.")
    if args.action == "fork":
        return fork(program, words[0], at=args.at, as_json=args.json)
    if args.action == "show":
        return show_session(program, words[0], as_json=args.json)
    return delete(program, words[0], sure=args.yes, as_json=args.json)


def list_sessions(program: Program, *, as_json: bool) -> int:
    rows: list[tuple[SessionInfo, str]] = []
    if program.has_sessions:
        with program.sessions() as store:
            rows = [(info, title_of(store, info)) for info in store.sessions()]
    if as_json:
        print_json({"sessions": [{**asdict(info), "title": title} for info, title in rows]})
    elif not rows:
        tell("There are no sessions yet. Start one with: plimsoll")
    else:
        header = ("ID", "LAST USED", "MESSAGES", "TITLE", "FOLDER")
        listed = [
            (
                info.id,
                moment(info.updated),
                f"{info.messages:,}",
                one_line(title, _LONG_TITLE_CELLS) or "(nothing said)",
                info.cwd,
            )
            for info, title in rows
        ]
        say_table([header, *listed], right=(2,))
    return OK


def title_of(store: SessionStore, info: SessionInfo) -> str:
    if info.title:
        return info.title
    return next((head.title for head in store.heads(info.id) if head.type == "user.message"), "")


def show_session(program: Program, wanted: str, *, as_json: bool) -> int:
    """Print everything that happened in a session, one row each."""
    with program.sessions() as store:
        info = store.info(wanted)
        # The advice of an error is worded for a shell.
        entries = [
            replace(entry, title=for_shell(entry.title)) if entry.kind == "error" else entry
            for entry in fold_user_view(store.heads(info.id)).entries
        ]
        title = title_of(store, info)
    if as_json:
        print_json({**asdict(info), "title": title, "entries": [asdict(entry) for entry in entries]})
        return OK
    say(f"{info.id}  {one_line(title, _LONG_TITLE_CELLS)}")
    # What was imported began before it was made here.
    dates = f"{moment(min([info.created, *(each.time for each in entries)]))} to {moment(info.updated)}"
    say(f"{dates}, {numbers.count(info.messages, 'message')}, in {info.cwd}")
    if entries:
        say()
        rows = []
        for entry in entries:
            tokens = numbers.tokens(entry.tokens) if entry.tokens else ""
            what = one_line(entry.title, 90) + ("" if entry.state == "ok" else f" ({entry.state})")
            rows.append((f"#{entry.seq}", moment(entry.time), entry.kind, what, tokens))
        say_table(rows, right=(0, 4))
    return OK


def fork(program: Program, wanted: str, *, at: int | None, as_json: bool) -> int:
    """Make a new session that begins as another one did, and print its id.

    Raises:
        WrongUsage: if the number is not that of a prompt.
    """
    with program.sessions() as reading:
        session = reading.info(wanted).id
    try:
        with program.sessions(writing=True) as store:
            forked = fork_session(store, program.paths.sessions_dir, session, at=at, now=time.time())
    except NotAPrompt as error:
        raise WrongUsage(f"{error} To see the numbers: plimsoll sessions show {wanted}") from error
    if as_json:
        print_json({"session": forked.session, "prompt": forked.prompt})
    else:
        say(f"Forked into {forked.session}. Continue there: plimsoll --resume {forked.session}")
    return OK


def delete(program: Program, wanted: str, *, sure: bool, as_json: bool) -> int:
    """Delete a session and its folder for good.

    Raises:
        WrongUsage: if the user cannot be asked.
        SessionLocked: if it is open somewhere.
        CommandFailed: if its folder could not be deleted with it.
    """
    with program.sessions() as reading:
        info = reading.info(wanted)
        title = title_of(reading, info)
    size, name = numbers.count(info.messages, "message"), one_line(title, _LONG_TITLE_CELLS) or info.id
    question = f'Delete session "{name}"? {size}, cannot be undone. Type y to delete:'
    if not sure and not confirmed(question, _UNASKED):
        if as_json:
            print_json({"session": info.id, "deleted": False})
        else:
            tell("Kept.")
        return OK
    folder = SessionFolder.named(program.paths.sessions_dir, info.id)
    removal.delete_session(program.database, program.paths.sessions_dir, info.id)
    if folder.path.exists():
        raise CommandFailed(f"The session is deleted, but its folder is not: {folder.path}")
    if as_json:
        print_json({"session": info.id, "deleted": True})
    else:
        say(f"Deleted {info.id}.")
    return OK


def configure_stats(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="id of the session, or its beginning; default: the last one"
    )
    add_json(parser)


def print_stats(program: Program, args: argparse.Namespace) -> int:
    """Fold the log of a session into figures and print them; the session is only read."""
    with program.sessions() as store:
        if args.id is None and not (sessions := store.sessions()):
            raise CommandFailed("There are no sessions yet. Start one with: plimsoll")
        session = (store.info(args.id) if args.id is not None else sessions[0]).id
    stats = StatsReader(program.database, session).read()
    if args.json:
        print_json({"session": session, **stats.to_json()})
        return OK
    say(f"{session}")
    for section in sections(stats):
        say()
        say(section.title)
        for line in section.lines:
            say(f"  {line}")
    return OK


# What a session changed in its folder, and a commit message for it.


def configure_diff(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument(
        "--message", action="store_true", help="propose a commit message for it; nothing is committed"
    )
    add_model(parser)
    add_json(parser)


def show_changes(program: Program, args: argparse.Namespace) -> int:
    """Print the diffs, in the folder that the session is about."""
    with program.sessions() as store:
        info = store.info(args.id)
    folder = Path(info.cwd)
    if not folder.is_dir():
        raise CommandFailed(f"The folder of this session, {info.cwd}, is no longer on this machine.")
    opening = program.opening(program.settings(), args, info.id)
    opening = replace(opening, cwd=folder, model=args.model or info.model)
    if args.message:
        return run_until_signal(_propose(opening, as_json=args.json))
    from tui_app.conversation.session_changes import session_changes

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
    from tui_app.conversation.session_changes import NoProposal, propose_message

    try:
        proposal = await propose_message(opening)
    except NoProposal as none:
        raise CommandFailed(for_shell(str(none))) from none
    if as_json:
        print_json({"session": opening.session, **proposal.to_json()})
        return OK
    say(proposal.text)
    if proposal.reason:
        tell(f"Written without a model: {proposal.reason}.")
    return OK


COMMANDS = (
    Command(
        name="sessions",
        usage="[ACTION]",
        summary="List, search, rename, fork, copy or delete sessions.",
        configure=configure,
        execute=execute,
        only=(("--at", "fork"), ("--yes", "delete prune"), ("--dry-run", "prune")),
    ),
    Command(
        name="stats",
        usage="[ID]",
        summary="Show what a session did and cost, and what was saved.",
        configure=configure_stats,
        execute=print_stats,
    ),
    Command(
        name="diff",
        usage="ID",
        summary="Show what a session changed in its folder.",
        configure=configure_diff,
        execute=show_changes,
    ),
)
