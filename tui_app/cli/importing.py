"""``plimsoll import``: conversations of other programs become sessions."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.cli.command import Command, Program, add_json
from tui_app.cli.exits import FAILED, OK, WrongUsage
from tui_app.cli.import_listing import find_local, list_local, picked
from tui_app.cli.interrupting import interruptible
from tui_app.cli.output import print_json, say, tell
from tui_app.cli.progress import ProgressLine
from tui_app.conversation.import_watch import ImportProgress, same_import
from tui_app.plurals import count
from tui_app.session.importers import FORMATS, ImportFormatError, SkippedLine
from tui_app.session.port import SessionStore
from tui_app.ui import format as numbers

if TYPE_CHECKING:
    from tui_app.conversation.imports import ImportReport

_SHOWN = 5
"""Skipped lines a person is shown; JSON has them all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="transcript to import; without any, those of other programs on this machine are offered",
    )
    parser.add_argument(
        "--format", choices=("auto", *FORMATS), default="auto", help="format of the files (default: auto)"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the transcripts of other programs on this machine"
    )
    parser.add_argument(
        "--again", action="store_true", help="import a file that was imported before and has not changed"
    )
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Import the files, or list what there is and import what is chosen of it."""
    if args.files:
        if args.list:
            raise WrongUsage("--list looks for transcripts itself. Leave out the files, or leave out --list.")
        return _import_all(program, [Path(name) for name in args.files], args)
    rows = find_local(program)
    list_local(rows, as_json=args.json)
    if args.list or args.json or not rows or sys.stdin is None or not sys.stdin.isatty():
        return OK
    tell("Which ones? Numbers from the list, such as 1 3 5-7; nothing for none:")
    chosen = picked(sys.stdin.readline(), len(rows))
    return _import_all(program, [rows[number - 1].found.path for number in chosen], args)


def _import_all(program: Program, files: Sequence[Path], args: argparse.Namespace) -> int:
    """Import files one by one; a bad one does not keep the others out."""
    done: list[Path] = []
    refused: list[Path] = []
    with program.sessions(writing=True) as store:
        try:
            for path in files:
                _import_or_say_why(program, store, path, args, done, refused)
        except KeyboardInterrupt:
            tell(_stopped(len(done), files, len(done) + len(refused)))
            raise
    return FAILED if refused else OK


def _import_or_say_why(
    program: Program,
    store: SessionStore,
    path: Path,
    args: argparse.Namespace,
    done: list[Path],
    refused: list[Path],
) -> None:
    """Import a file and add it to what is done; one that cannot be read is named and goes to the others."""
    try:
        report = _import(program, store, path, args)
    except (ImportFormatError, OSError) as error:
        refused.append(path)
        tell(complaint(str(path), error))
        return
    done.append(path)
    if args.json:
        print_json(report.to_json())
    else:
        _show(report)


def _import(program: Program, store: SessionStore, path: Path, args: argparse.Namespace) -> "ImportReport":
    if not args.again and (session := same_import(path, store)):
        raise ImportFormatError(
            f"{path} is session {session} already and has not changed since. To import it once more: --again"
        )
    # Counting needs pydantic-ai, which takes a second to load.
    from tui_app.conversation.imports import import_session

    with interruptible() as go_on, ProgressLine(f"Importing {path}") as line:

        def watch(progress: ImportProgress) -> None:
            go_on()
            line.update(_how_far(path, progress))

        return import_session(
            path, store=store, format=args.format, cwd=program.cwd, now=time.time(), watch=watch
        )


def _how_far(path: Path, progress: ImportProgress) -> str:
    """What the line says of one file: its share once that is known."""
    if progress.doing == "counting" and progress.total:
        return f"Importing {progress.done * 100 // progress.total} %, {path}"
    return f"{'Writing' if progress.doing == 'writing' else 'Importing'} {path}"


def _stopped(done: int, files: Sequence[Path], at: int) -> str:
    """What an interrupted import leaves behind; of the file it was at there is nothing."""
    left = ", ".join(map(str, files[at:])) or "none"
    return f"Stopped. Imported: {done:,} of {len(files):,}. Not imported: {left}"


def complaint(name: str, error: Exception) -> str:
    """Why a file cannot be read, as a sentence that names it."""
    if isinstance(error, OSError):
        return f"{name}: {error.strerror or error}."
    text = str(error)
    return text if name in text else f"{name}: {text}"


def _show(report: "ImportReport") -> None:
    say(
        f"{report.file}: session {report.session} ({report.format}), "
        f"{numbers.count(report.messages, 'message')}, {numbers.count(report.tool_calls, 'tool call')}, "
        f"{numbers.count(report.tool_results, 'result')}, "
        f"{numbers.tokens(report.tokens)} tokens"
    )
    say_left_out(report.notes, report.skipped)


def say_left_out(notes: Sequence[str], skipped: Sequence[SkippedLine]) -> None:
    """Say what of a file was changed or could not be used, the first lines of that one by one."""
    for note in notes:
        say(f"  {note}")
    for each in skipped[:_SHOWN]:
        say(f"  line {each.line}: {each.reason}")
    if len(skipped) > _SHOWN:
        say(f"  and {count(len(skipped) - _SHOWN, 'more line')} that could not be used (--json lists them)")


COMMAND = Command(
    name="import",
    usage="[FILE…]",
    summary="Make sessions of other programs' transcripts.",
    configure=configure,
    execute=execute,
)
