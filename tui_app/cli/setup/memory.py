"""``plimsoll memory``: show and change memory entries, and read sessions for new ones."""

import argparse
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from tui_app.cli.core.command import FAILED, OK, CommandFailed, Program, WrongUsage, confirmed
from tui_app.cli.core.output import answer, moment, print_json, say, tell
from tui_app.cli.core.signals import run_until_signal
from tui_app.conversation.memory.boards import boards_in
from tui_app.conversation.requests.open_request import Opening
from tui_app.memory.board import Added, ContextBoard
from tui_app.memory.entries import PERSON, Draft, Entry, NotRemembered
from tui_app.references import log_number
from tui_app.session.lock import SessionLocked
from tui_app.session.stores.store import SessionInfo, SessionStore
from tui_app.settings.spec import MemorySettings
from tui_app.ui.words.text import one_line, table_lines

_TEXT_CELLS = 90
_WEIGHT = 5.0
"""Weight of the user's own entries: it ranks them above all that are found."""


def list_entries(program: Program, args: argparse.Namespace) -> None:
    store = boards_in(program.database)
    scope, entries = store.scope(program.folder(args.folder)), list[Entry]()
    if program.has_sessions:
        if args.all or args.pruned:
            entries = [
                each for each in store.entries(None if args.all else scope) if args.pruned or each.is_current
            ]
        else:
            entries = ContextBoard(store, scope).entries()
    rows = [("NO", "KIND", "MADE", "BY", "SOURCE", "BRANCH", "TEXT")]
    for entry in entries:
        suffix = f" (off: {entry.reason})" if entry.pruned else ""
        by = "you" if entry.made_by == PERSON else one_line(entry.made_by, 24)
        branch = one_line(entry.branch, 24) or "all"
        text = one_line(entry.text, _TEXT_CELLS) + suffix
        rows.append((str(entry.id), entry.kind, moment(entry.time), by, entry.source, branch, text))
    if not entries and not args.json:
        tell(f"Nothing is remembered about {scope.label} yet. To add something: plimsoll memory add TEXT")
        return
    board = {"repository": scope.repository, "branch": scope.branch}
    answer(
        {"board": board, "entries": [asdict(entry) for entry in entries]},
        "All boards" if args.all else f"Board of {scope.label}",
        *table_lines(rows, right=(0,)),
        as_json=args.json,
    )


@contextmanager
def _board(program: Program, args: argparse.Namespace) -> Iterator[ContextBoard]:
    """Yield a board to change. Changes are written to the logs of the sessions they came from."""
    from tui_app.conversation.memory.board_log import BoardLog

    boards = boards_in(program.database)
    scope = boards.scope(program.folder(args.folder))
    most = MemorySettings(**program.settings().memory).max_entries
    program.paths.ensure()
    try:
        yield ContextBoard(boards, scope, most)
    except NotRemembered as refusal:
        raise CommandFailed(f"Not done: {refusal}.") from refusal
    with program.sessions(writing=True) as store:
        BoardLog(boards, store).write_pending()


def add_entry(program: Program, args: argparse.Namespace) -> None:
    text = " ".join(args.words)
    with _board(program, args) as board:
        draft = Draft(text=text, kind=args.kind, weight=_WEIGHT, everywhere=args.everywhere)
        done = board.add(draft)
    _show(done, as_json=args.json)


def edit_entry(program: Program, args: argparse.Namespace) -> None:
    with _board(program, args) as board:
        done = board.edit(_number(args.words[0]), " ".join(args.words[1:]))
    _show(done, as_json=args.json)


def _number(word: str) -> int:
    if (number := log_number(word)) is None:
        raise WrongUsage(f"{one_line(word, 40)} is not an entry number. plimsoll memory lists them.")
    return number


def _show(done: Added, *, as_json: bool) -> None:
    entry = done.entry
    answer(
        {"entry": asdict(entry), "new": done.new, "pruned": list(done.pruned)},
        f"Added as entry {entry.id}." if done.new else f"Entry {entry.id} already says this.",
        as_json=as_json,
    )


def forget_entry(program: Program, args: argparse.Namespace) -> None:
    number = _number(args.words[0])
    with _board(program, args) as board:
        entry = board.entry(number)
        question = f'Forget "{one_line(entry.text, _TEXT_CELLS)}"? Type y to forget:'
        sure = args.yes or confirmed(question, "Without a terminal to ask in, say --yes.")
        if sure:
            entry = board.prune(number, PERSON)
    line = f"Entry {number} was forgotten." if sure else "Kept."
    answer({"entry": asdict(entry), "forgotten": sure}, line, as_json=args.json)


def run_reading(program: Program, args: argparse.Namespace) -> int:
    settings = program.settings()
    if not MemorySettings(**settings.memory).enabled:
        raise CommandFailed(
            "Memory is switched off. To switch it on: plimsoll config set memory.enabled true"
        )
    opening = program.opening(settings, args)
    with program.sessions(writing=True) as store:
        session = store.info(args.words[0]) if args.words else None
        try:
            return run_until_signal(read_for_boards(opening, store, session, as_json=args.json))
        except sqlite3.Error as error:
            raise CommandFailed(f"The sessions cannot be read: {error}") from error


async def read_for_boards(
    opening: Opening, store: SessionStore, session: SessionInfo | None, *, as_json: bool
) -> int:
    """Read one session, or all waiting ones.

    Args:
        opening: Settings and folders.
        store: The store of the sessions.
        session: The session; None for all waiting ones.
        as_json: Print JSON.

    Raises:
        CommandFailed: if another program is reading, or the session is open.
    """
    # Imported here: loading the agent side takes a second.
    from tui_app.conversation.due_sessions import Reading, read_sessions, waiting
    from tui_app.conversation.memory.memory import RUNNING, outcome_text

    readings: list[Reading] = []
    try:
        sessions = [session] if session is not None else waiting(store, opening)
        async for reading in read_sessions(opening, store, sessions):
            readings.append(reading)
            if as_json:
                continue
            if reading.held:
                tell(f"{reading.session}: open in {reading.held}, read when it ends")
            elif reading.elsewhere:
                where = f"its folder {reading.elsewhere} is on another machine; read it there"
                tell(f"{reading.session}: {where}")
            else:
                done = reading.done
                news = outcome_text(done) if done else "nothing new since it was last read"
                say(f"{reading.session}: {news}")
    except SessionLocked as locked:
        raise CommandFailed(f"{RUNNING} It is done in {locked}.") from locked
    if as_json:
        rows = []
        for each in readings:
            done_json = asdict(each.done) if each.done is not None else None
            place = {"session": each.session, "held": each.held, "elsewhere": each.elsewhere}
            rows.append({**place, "consolidated": done_json})
        print_json({"sessions": rows})
    elif not readings:
        tell("No session is waiting to be read. To read one anyway: plimsoll memory run ID")
    if session is not None and readings and readings[0].held:
        raise CommandFailed(f"Session {session.id} is open in {readings[0].held}: it is read when it ends.")
    return FAILED if session is not None and readings and readings[0].elsewhere else OK
