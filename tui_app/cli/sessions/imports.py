"""``plimsoll import``: import conversations of other programs as sessions."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tui_app.cli.core.command import FAILED, OK, Program, WrongUsage
from tui_app.cli.core.failures import each_source
from tui_app.cli.core.output import answer, moment, print_json, print_skipped, say, tell
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import interruptible
from tui_app.conversation.imports.earlier_imports import earlier_imports, imported_as
from tui_app.conversation.imports.import_progress import ImportedAlready, ImportProgress
from tui_app.conversation.imports.imports import ImportReport, import_session
from tui_app.events import Record
from tui_app.records import frozen
from tui_app.refusals import Refusal
from tui_app.session.importers.discovery import find_transcripts
from tui_app.session.importers.formats import FORMATS
from tui_app.session.importers.places import LocalTranscript
from tui_app.session.stores.store import SessionStore
from tui_app.ui.words import text as numbers
from tui_app.ui.words.text import one_line, table_lines

_TITLE_CELLS = 60


CHOICES = ("auto", *FORMATS)


@frozen
class Row:
    """A transcript, and its earlier import if any."""

    found: LocalTranscript
    imported: Record | None

    @property
    def state(self) -> str:
        """Whether it was imported, and has grown since."""
        if self.imported is None:
            return ""
        changed = ", changed since" if self.found.time > self.imported.time else ""
        return f"imported as {self.imported.session}{changed}"

    def to_json(self) -> dict[str, object]:
        found = self.found
        return {
            **{name: getattr(found, name) for name in ("program", "title", "cwd", "time")},
            "path": str(found.path),
            "bytes": found.size,
            "session": self.imported.session if self.imported else None,
            "changed": bool(self.imported and found.time > self.imported.time),
        }


def list_local(rows: Sequence[Row], *, as_json: bool) -> None:
    lines = []
    for number, row in enumerate(rows, 1):
        found = row.found
        title = one_line(found.title, _TITLE_CELLS) or one_line(found.path.name, _TITLE_CELLS)
        size = numbers.file_size(found.size) if found.size else ""
        lines.append((str(number), moment(found.time), found.program, size, title, row.state))
    none = ["No transcripts of other tools were found. To import a file: plimsoll import FILE"]
    answer(
        {"transcripts": [row.to_json() for row in rows]},
        *(table_lines(lines, right=(0, 3)) if lines else none),
        as_json=as_json,
    )


def picked(text: str, count: int) -> list[int]:
    """Read the numbers typed, in the order of the list: single ones and ranges.

    Raises:
        WrongUsage: if something is not a number of the list.
    """
    chosen: set[int] = set()
    for word in text.replace(",", " ").split():
        low, _, high = word.partition("-")
        if not low.isdecimal() or not (high or low).isdecimal():
            raise WrongUsage(f"{word!r} is not a number of the list.")
        first, last = int(low), int(high or low)
        if not 1 <= first <= last <= count:
            raise WrongUsage(f"{word!r} is not in the list: its numbers are 1 to {count}.")
        chosen.update(range(first, last + 1))
    return sorted(chosen)


def execute(program: Program, args: argparse.Namespace) -> int:
    if args.files:
        if args.list:
            raise WrongUsage("--list looks for transcripts itself. Leave out the files, or leave out --list.")
        return _import_all(program, [Path(name) for name in args.files], args)
    # Look for transcripts, newest first; mark those imported before.
    home = Path(program.env.get("HOME", "").strip() or Path.home())
    earlier: dict[str, Record] = {}
    if program.has_sessions:
        with program.sessions() as store:
            earlier = earlier_imports(store)
    found = find_transcripts(program.env, home=home, cwd=program.cwd)
    rows = [Row(each, imported_as(each.path, earlier)) for each in found]
    list_local(rows, as_json=args.json)
    if args.list or args.json or not rows or sys.stdin is None or not sys.stdin.isatty():
        return OK
    tell("Which ones? Numbers such as 1 3 5-7; enter for none:")
    chosen = picked(sys.stdin.readline(), len(rows))
    return _import_all(program, [rows[number - 1].found.path for number in chosen], args)


def _import_all(program: Program, files: Sequence[Path], args: argparse.Namespace) -> int:
    """Import several files; an unreadable one does not stop the others."""

    def stopped(done: int, tried: int) -> str:
        # Nothing of the file being read was imported.
        left = ", ".join(map(str, files[tried:])) or "none"
        return f"Stopped. Imported: {done:,} of {len(files):,}. Not imported: {left}"

    with program.sessions(writing=True) as store:

        def work(source: str) -> int:
            report = _import(program, store, Path(source), args)
            if args.json:
                print_json(report.to_json())
                return OK
            say(
                f"{report.file}: session {report.session} ({report.format}), "
                f"{numbers.count(report.messages, 'message')}, "
                f"{numbers.count(report.tool_calls, 'tool call')}, "
                f"{numbers.count(report.tool_results, 'result')}, "
                f"{numbers.tokens(report.tokens)} tokens"
            )
            print_skipped(report.notes, report.skipped)
            return OK

        _, done = each_source([*map(str, files)], work, stopped)
    return OK if done == len(files) else FAILED


def _import(program: Program, store: SessionStore, path: Path, args: argparse.Namespace) -> ImportReport:
    with interruptible() as go_on, ProgressLine(f"Importing {path}") as line:

        def watch(progress: ImportProgress) -> None:
            go_on()
            if progress.doing == "counting" and progress.total:
                line.update(f"Importing {progress.done * 100 // progress.total}%, {path}")
            else:
                line.update(f"{'Writing' if progress.doing == 'writing' else 'Importing'} {path}")

        how = {"format": args.format, "again": args.again, "watch": watch}
        try:
            return import_session(path, store=store, cwd=program.cwd, now=time.time(), **how)
        except ImportedAlready as found:
            notice = f"{path} is session {found.session} already and has not changed since."
            raise Refusal(f"{notice} To import it again: --again") from None
