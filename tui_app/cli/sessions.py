"""``plimsoll sessions``: list, show, fork and delete; the rest in files beside this one."""

import argparse
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, replace

from tui_app.cli.command import Command, Program, add_json
from tui_app.cli.exits import OK, CommandFailed, WrongUsage
from tui_app.cli.hints import for_shell
from tui_app.cli.output import moment, print_json, say, say_table, tell
from tui_app.cli.sessions_keeping import backup, prune, rename
from tui_app.cli.sessions_search import search
from tui_app.session import management as removal
from tui_app.session.entries import Entry
from tui_app.session.event_heads import Head
from tui_app.session.port import SessionInfo, SessionStore
from tui_app.session.rewind_fork import NotAPrompt, fork_session
from tui_app.session.user_view import fold_user_view
from tui_app.session.workspace import SessionFolder
from tui_app.ui import format as numbers
from tui_app.ui.safe_text import one_line

_TITLE_CELLS = 60


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    actions = ("list", "show", "search", "rename", "fork", "delete", "backup", "prune")
    parser.add_argument("action", nargs="?", choices=actions, default="list", help="default: list")
    parser.add_argument(
        "words", metavar="ID | WORDS | FILE", nargs="*",
        help="id of the session, or the beginning of it; what to search for; where a backup goes",
    )  # fmt: skip
    parser.add_argument(
        "--at", type=int, metavar="N",
        help="fork: end in front of prompt number N, as show lists them; default: take everything over",
    )  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="delete without asking")
    parser.add_argument("--dry-run", action="store_true", help="prune: only say what would go")
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Do what the action says."""
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
                raise WrongUsage("prune takes no id: what goes is in the settings, under retention.")
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
    return delete_session(program, words[0], sure=args.yes, as_json=args.json)


def list_sessions(program: Program, *, as_json: bool) -> int:
    """Print all sessions, the one used last first."""
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
        say_table([header, *(_row(info, title) for info, title in rows)], right=(2,))
    return OK


def title_of(store: SessionStore, info: SessionInfo) -> str:
    """The title of a session; one that nobody named goes by its first prompt."""
    return info.title or _first_prompt(store.heads(info.id))


def _first_prompt(heads: Iterable[Head]) -> str:
    return next((head.title for head in heads if head.type == "user.message"), "")


def _row(info: SessionInfo, title: str) -> tuple[str, ...]:
    name = one_line(title, _TITLE_CELLS) or "(nothing said)"
    return (info.id, moment(info.updated), f"{info.messages:,}", name, info.cwd)


def show_session(program: Program, wanted: str, *, as_json: bool) -> int:
    """Print everything that happened in a session, one row each."""
    with program.sessions() as store:
        info = store.info(wanted)
        entries = [_spoken(entry) for entry in fold_user_view(store.heads(info.id)).entries]
        title = title_of(store, info)
    if as_json:
        print_json({**asdict(info), "title": title, "entries": [asdict(entry) for entry in entries]})
        return OK
    say(f"{info.id}  {one_line(title, _TITLE_CELLS)}")
    size = numbers.count(info.messages, "message")
    say(f"{moment(info.created)} to {moment(info.updated)}, {size}, in {info.cwd}")
    if entries:
        say()
        say_table([_entry_row(entry) for entry in entries], right=(0, 4))
    return OK


def _spoken(entry: Entry) -> Entry:
    """The row of an error with its advice worded for a shell."""
    return replace(entry, title=for_shell(entry.title)) if entry.kind == "error" else entry


def _entry_row(entry: Entry) -> tuple[str, ...]:
    tokens = numbers.tokens(entry.tokens) if entry.tokens else ""
    state = "" if entry.state == "ok" else f" ({entry.state})"
    return (f"#{entry.seq}", moment(entry.time), entry.kind, f"{one_line(entry.title, 90)}{state}", tokens)


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
        say(f"Forked into {forked.session}. To go on there: plimsoll --resume {forked.session}")
    return OK


def delete_session(program: Program, wanted: str, *, sure: bool, as_json: bool) -> int:
    """Delete a session and its folder for good.

    Raises:
        WrongUsage: if nobody can be asked.
        SessionLocked: if it is open somewhere.
        CommandFailed: if its folder could not be deleted with it.
    """
    with program.sessions() as reading:
        info = reading.info(wanted)
        title = title_of(reading, info)
    if not sure and not _confirmed(info, title):
        if as_json:
            print_json({"session": info.id, "deleted": False})
        else:
            tell("Kept.")
        return OK
    folder = SessionFolder(program.paths.sessions_dir / info.id)
    removal.delete_session(program.database, program.paths.sessions_dir, info.id)
    if folder.path.exists():
        raise CommandFailed(f"The session is deleted, but its folder is not: {folder.path}")
    if as_json:
        print_json({"session": info.id, "deleted": True})
    else:
        say(f"Deleted {info.id}.")
    return OK


def _confirmed(info: SessionInfo, title: str) -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise WrongUsage("Deleting cannot be undone. Without a terminal to ask in, say --yes.")
    name = one_line(title, _TITLE_CELLS) or info.id
    size = numbers.count(info.messages, "message")
    tell(f'Delete session "{name}"? {size}, cannot be undone. Type y to delete:')
    return sys.stdin.readline().strip().lower() in ("y", "yes")


COMMAND = Command(
    name="sessions",
    usage="[ACTION]",
    summary="List, search, rename, fork, copy or delete sessions.",
    configure=configure,
    execute=execute,
)
