"""Small values out of foreign records, whatever type they turn out to have."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tui_app.context.events import UserMessage
from tui_app.session.exports.plain_text import without_sequences
from tui_app.session.importers.result import ImportedEvent
from tui_app.session.importers.source import Json

MAX_TITLE = 60
"""Characters of a title that is taken from the first prompt."""

_COMMAND = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_COMMAND_ARGS = re.compile(r"<command-args>([^<]{1,2000})</command-args>")
_LATEST = 253_402_300_799.0
_MILLISECONDS_FROM = 1e11
_MAX_COUNT = 2**53
_PIECE = 1_024
"""Characters of a line that are cleaned at a time."""


def count(value: Any) -> int:
    """A count of tokens; 0 for everything that is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_COUNT:
        return 0
    return value


def seconds(value: Any, fallback: float) -> float:
    """A time as seconds since the epoch, from ISO 8601 text, seconds or milliseconds; else the fallback."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return fallback
        # A time without a zone is taken as UTC: the reader's own zone would make imports differ by machine.
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return fallback
    number = float(value / 1000 if value > _MILLISECONDS_FROM else value)
    return number if 0 <= number <= _LATEST else fallback


def one_line(text: str, limit: int = MAX_TITLE) -> str:
    """The first line of a text, ``limit`` characters at most, without terminal and control sequences."""
    # Line by line, and of each no more than is shown: one may hold all of a file.
    cleaned = (_beginning(line, limit) for line in text.splitlines())
    line = next(filter(None, cleaned), "")
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _beginning(line: str, limit: int) -> str:
    """A line without what drives a terminal and runs of blanks; it ends once it is longer than the limit."""
    clean = ""
    for at in range(0, len(line), _PIECE):
        piece = "".join(c if c.isprintable() else " " for c in without_sequences(line[at : at + _PIECE]))
        joined = clean + piece
        clean = " ".join(joined.split())
        if len(clean) > limit:
            break
        if clean and joined[-1].isspace():
            clean += " "
    return clean.rstrip()


def title_of(events: Sequence[ImportedEvent]) -> str:
    """A title from the first prompt: what was typed, without the markup of a slash command."""
    texts = [without_markup(event.data.text) for event in events if isinstance(event.data, UserMessage)]
    return one_line(next((text for text in texts if text), ""))


def without_markup(text: str) -> str:
    """A prompt as it was typed: a slash command without its markup; empty for what the program wrote."""
    if name := _COMMAND.search(text):
        args = _COMMAND_ARGS.search(text)
        return f"{name[1]} {args[1] if args else ''}"
    return "" if text.lstrip().startswith("<") else text


def record_text(record: Json, key: str) -> str:
    """A text field; empty when it is missing or no text."""
    value = record.get(key)
    return value if isinstance(value, str) else ""
