"""The transcripts on this machine as a list, and what a person picks from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_app.cli.command import Program
from tui_app.cli.exits import WrongUsage
from tui_app.cli.output import moment, print_json, say, say_table
from tui_app.conversation.import_watch import EarlierImport, earlier_imports, imported_as
from tui_app.session.importers.discovery import LocalTranscript, find_transcripts
from tui_app.ui import format as numbers
from tui_app.ui.safe_text import one_line

_TITLE_CELLS = 60


@dataclass(frozen=True, slots=True)
class Row:
    """A transcript, and the session it was imported into before."""

    found: LocalTranscript
    imported: EarlierImport | None

    @property
    def state(self) -> str:
        """Whether it was imported, and whether it has grown since."""
        if self.imported is None:
            return ""
        changed = ", changed since" if self.found.time > self.imported.time else ""
        return f"imported as {self.imported.session}{changed}"


def find_local(program: Program) -> list[Row]:
    """Look for transcripts, newest first; mark what was imported before."""
    home = Path(program.env.get("HOME", "").strip() or Path.home())
    earlier: dict[str, EarlierImport] = {}
    if program.has_sessions:
        with program.sessions() as store:
            earlier = earlier_imports(store)
    found = find_transcripts(program.env, home=home, cwd=program.cwd)
    return [Row(each, imported_as(each.path, earlier)) for each in found]


def list_local(rows: Sequence[Row], *, as_json: bool) -> None:
    """Print the list."""
    if as_json:
        print_json({"transcripts": [_json(row) for row in rows]})
    elif not rows:
        say("No transcripts of other programs were found. To import a file: plimsoll import FILE")
    else:
        say_table([_line(number, row) for number, row in enumerate(rows, 1)], right=(0, 3))


def _json(row: Row) -> dict[str, object]:
    found = row.found
    return {
        "path": str(found.path),
        "program": found.program,
        "title": found.title,
        "cwd": found.cwd,
        "time": found.time,
        "bytes": found.size,
        "session": row.imported.session if row.imported else None,
        "changed": bool(row.imported and found.time > row.imported.time),
    }


def _line(number: int, row: Row) -> tuple[str, ...]:
    found = row.found
    title = one_line(found.title, _TITLE_CELLS) or one_line(found.path.name, _TITLE_CELLS)
    size = numbers.file_size(found.size) if found.size else ""
    return (str(number), moment(found.time), found.program, size, title, row.state)


def picked(text: str, count: int) -> list[int]:
    """Numbers that a person typed, in the order of the list: single ones and ranges.

    Raises:
        WrongUsage: if something is no number of the list.
    """
    chosen: set[int] = set()
    for word in text.replace(",", " ").split():
        low, _, high = word.partition("-")
        if not low.isdecimal() or not (high or low).isdecimal():
            raise WrongUsage(f"{word!r} is no number of the list.")
        first, last = int(low), int(high or low)
        if not 1 <= first <= last <= count:
            raise WrongUsage(f"{word!r} is not in the list: its numbers are 1 to {count}.")
        chosen.update(range(first, last + 1))
    return sorted(chosen)
