"""``plimsoll sessions rename``, ``backup`` and ``prune``."""

import shlex
import sqlite3
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tui_app.cli.command import Program
from tui_app.cli.exits import FAILED, OK, CommandFailed, WrongUsage
from tui_app.cli.output import moment, print_json, say, say_table, tell
from tui_app.paths import from_home
from tui_app.session.backup import Backup, BackupRefused, back_up
from tui_app.session.location import Server
from tui_app.session.lock import SessionLocked
from tui_app.session.management import Due, Limits, delete_session, due, rename_session, sizes_of
from tui_app.session.port import SessionDeleted, SessionNotFound
from tui_app.session.stores import has_begun
from tui_app.session.workspace import SessionFolder
from tui_app.ui import format as numbers
from tui_app.ui.safe_text import one_line

_TITLE_CELLS = 50
_NO_LIMIT = "Everything is kept: no limit is set. For example: plimsoll config set retention.days 90"


def rename(program: Program, wanted: str, title: str, *, json: bool) -> int:
    """Give a session another title; an empty one lets it go by its first prompt again."""
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
    server = database if isinstance(database, Server) else None
    if not has_begun(file):
        raise CommandFailed(_nothing_here(server, target))
    made = _copied(file, program.cwd / from_home(target))
    if json:
        row = {"path": str(made.path), "sessions": made.sessions, "bytes": made.bytes}
        more = {"server": server.shown, "server_backup": _dump(server, target)} if server else {}
        print_json({**row, **more})
        return OK
    copied = f"{numbers.count(made.sessions, 'session')}, {made.bytes / 1_000_000:.1f} MB"
    say(f"Copied {copied}, to {made.path}")
    if server:
        tell(
            f"Those are what the sessions file of this machine holds. The sessions on {server.shown} are not"
            f" in it; PostgreSQL's own tool copies them:\n  {_dump(server, target)}"
        )
    return OK


def _nothing_here(server: Server | None, target: str) -> str:
    if server is None:
        return "There are no sessions yet: nothing to copy."
    return (
        f"The sessions are kept on {server.shown}, and there is nothing to copy on this machine."
        f" PostgreSQL's own tool copies them:\n  {_dump(server, target)}"
    )


def _dump(server: Server, target: str) -> str:
    """The line that copies what is ours on a server; it asks for the password, or finds it in ~/.pgpass."""
    path = Path(target)
    file = path.with_suffix(".dump") if path.name else path / "plimsoll.dump"
    words = ("pg_dump", "--schema=plimsoll", "--format=custom", f"--file={file}", server.shown)
    return shlex.join(words)


def _copied(file: Path, path: Path) -> Backup:
    try:
        return back_up(file, path)
    except BackupRefused as refused:
        raise CommandFailed(str(refused)) from refused
    except OSError as error:
        raise CommandFailed(f"{path} cannot be written: {error.strerror or error}.") from error


@dataclass(frozen=True, slots=True)
class Pruned:
    """What became of the sessions over a limit."""

    gone: tuple[Due, ...]
    open: tuple[Due, ...]
    """Written by somebody at the moment, or used since they were looked at: they are kept."""


def prune(program: Program, *, dry_run: bool, sure: bool, json: bool) -> int:
    """Delete the sessions over the limits of the settings, after saying which and asking.

    Raises:
        CommandFailed: if no limit is set, and more is wanted than to know what would go.
        WrongUsage: if nobody can be asked.
    """
    limits = Limits.of(program.settings().retention)
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
        if not _confirmed(program, len(found.gone)):
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
        folders = [SessionFolder(paths.sessions_dir / each.info.id) for each in found]
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
            gone.append(each)  # somebody else was faster
        except (OSError, sqlite3.Error) as error:
            tell(f"{info.id} could not be deleted: {error}")
            if isinstance(program.database, Server):
                break  # each of the others would wait for the same server
    return Pruned(tuple(gone), tuple(kept))


def _confirmed(program: Program, count: int) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise WrongUsage("Deleting cannot be undone. Without a terminal to ask in, say --yes.")
    database = program.database
    whose = f" of everybody who uses {database.shown}" if isinstance(database, Server) else ""
    tell(f"Delete {numbers.count(count, 'session')}{whose}? It cannot be undone. Type y to delete:")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _report(found: Pruned, *, done: bool, json: bool) -> None:
    if json:
        rows = [{"session": each.info.id, "reason": each.reason} for each in found.gone]
        print_json({"deleted": done, "sessions": rows, "open": [each.info.id for each in found.open]})
        return
    if found.gone:
        say_table([_row(each) for each in found.gone])
    gone, still_open = len(found.gone), len(found.open)
    over = "is over the limits" if gone == 1 else "are over the limits"
    say(f"{numbers.count(gone, 'session')} {'deleted' if done else over}.")
    if still_open:
        these = "is" if still_open == 1 else "are"
        say(f"{still_open:,} more {these} open or came into use just now, and kept.")


def _row(each: Due) -> tuple[str, ...]:
    title = one_line(each.info.title, _TITLE_CELLS) or "(untitled)"
    return (each.info.id, moment(each.info.updated), title, each.reason)
