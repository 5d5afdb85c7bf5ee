"""Output of commands: data to stdout, everything else to stderr, no control sequences."""

import contextlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tui_app.text import count
from tui_app.ui.words.text import clean, clock, table_lines

if TYPE_CHECKING:
    from tui_app.session.importers.formats import SkippedLine
    from tui_app.usage import ContextUsage


_SHOWN = 5
"""Number of skipped lines that are shown; JSON has them all."""


def prepare_streams() -> None:
    """Make printing safe: closed streams discard output, unencodable characters become ``?``."""
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _nowhere() -> TextIO:
    """Return a stream that discards everything, open until the process ends."""
    return Path(os.devnull).open("w", encoding="utf-8")


def flush() -> None:
    """Write buffered output, while a closed pipe can still be noticed."""
    sys.stdout.flush()


def abandon_stdout() -> None:
    """Redirect stdout to nowhere, so that the interpreter does not report an error at exit."""
    with contextlib.suppress(OSError, ValueError), _nowhere() as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def say(text: str = "") -> None:
    print(clean(text))


def tell(text: str) -> None:
    with contextlib.suppress(OSError):
        print(clean(text), file=sys.stderr, flush=True)


def print_json(value: object) -> None:
    """Print a JSON value as one line of ASCII, which is safe for every terminal and encoding."""
    import json

    print(json.dumps(value, ensure_ascii=True, allow_nan=False), flush=True)


def answer(value: object, *lines: str, as_json: bool) -> None:
    """Print the result of a command, as one JSON value or in words."""
    if as_json:
        print_json(value)
    else:
        for line in lines:
            say(line)


def sizes_json(before: "ContextUsage", after: "ContextUsage") -> dict[str, int]:
    """Return the sizes of a view before and after a change, with the JSON names that scripts rely on."""
    return {
        "tokens_before": before.total,
        "tokens_after": after.total,
        "messages_before": before.messages,
        "messages_after": after.messages,
    }


def print_document(text: str) -> None:
    """Print a document as UTF-8, unchanged unless the output is a terminal."""
    if sys.stdout.isatty():
        text = clean(text)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


def print_table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print rows in columns two spaces apart.

    Args:
        rows: Rows of cells, all of the same length.
        right: Indexes of right-aligned columns.
    """
    for line in table_lines(rows, right=right):
        print(line)


def moment(seconds: float) -> str:
    """Format seconds since the epoch as local date, hour and minute; empty if that fails."""
    return clock(seconds, "%Y-%m-%d %H:%M")


def bar(share: float, width: int, *, ascii_only: bool = False) -> str:
    """Draw a share as a bar; anything above zero shows at least one mark.

    Args:
        share: From 0 to 1; more is cut.
        width: Cells of a full bar.
        ascii_only: Draw it with ``#``.
    """
    filled = min(width, max(round(share * width), 1 if share > 0 else 0))
    return ("#" if ascii_only else "█") * filled


def speaks_unicode() -> bool:
    """Return whether stdout can show more than ASCII."""
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


def print_skipped(notes: Sequence[str], skipped: "Sequence[SkippedLine]") -> None:
    """Print what was changed or left out of a file, and the first of its unusable lines."""
    for note in notes:
        say(f"  {note}")
    for each in skipped[:_SHOWN]:
        say(f"  line {each.line}: {each.reason}")
    if len(skipped) > _SHOWN:
        say(f"  and {count(len(skipped) - _SHOWN, 'more line')} that could not be used (--json lists them)")
