"""``plimsoll import``: conversations of other programs become sessions."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.cli.command import Command, Program, add_json
from tui_app.cli.exits import FAILED, OK
from tui_app.cli.output import print_json, say, tell
from tui_app.session.importers import FORMATS, ImportFormatError, SkippedLine
from tui_app.session.ports import SessionStore
from tui_app.ui import format as numbers

if TYPE_CHECKING:
    from tui_app.conversation.importing import ImportReport

_SHOWN = 5
"""Skipped lines a person is shown; JSON has them all."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="transcript to import")
    parser.add_argument(
        "--format", choices=("auto", *FORMATS), default="auto", help="format of the files (default: auto)"
    )
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Import the files one by one; a bad one does not keep the others out."""
    code = OK
    with program.sessions(writing=True) as store:
        for name in args.files:
            try:
                report = _import(program, store, Path(name), args.format)
            except (ImportFormatError, OSError) as error:
                tell(complaint(name, error))
                code = FAILED
                continue
            if args.json:
                print_json(report.to_json())
            else:
                _show(report)
    return code


def _import(program: Program, store: SessionStore, path: Path, format: str) -> "ImportReport":
    # Counting needs pydantic-ai, which takes a second to load.
    from tui_app.conversation.importing import import_session

    return import_session(path, store=store, format=format, cwd=program.cwd, now=time.time())


def complaint(name: str, error: Exception) -> str:
    """Why a file cannot be read, as a sentence that names it."""
    if isinstance(error, OSError):
        return f"{name}: {error.strerror or error}."
    text = str(error)
    return text if name in text else f"{name}: {text}"


def _show(report: "ImportReport") -> None:
    say(
        f"{report.file}: session {report.session} ({report.format}), {report.messages:,} messages, "
        f"{report.tool_calls:,} tool calls, {report.tool_results:,} results, "
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
        say(f"  and {len(skipped) - _SHOWN:,} more lines that could not be used (--json lists them)")


COMMAND = Command(
    name="import",
    usage="FILE…",
    summary="Make sessions of other programs' transcripts.",
    configure=configure,
    execute=execute,
)
