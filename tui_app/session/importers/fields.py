"""Small values out of foreign records, whatever type they turn out to have."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tui_app.events import UserMessage
from tui_app.session.exports.plain_text import without_sequences
from tui_app.session.importers.result import ImportedEvent
from tui_app.session.importers.source import Json
from tui_app.session.interruptions import is_interruption
from tui_app.session.markup import words_of

MAX_TITLE = 60
"""Characters of a title that is taken from the first prompt."""

PLACEHOLDER = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z?")
"""What OpenCode calls a conversation that it has not named yet."""
_NOTES = ("# AGENTS.md", "Caveat:")
"""How texts begin that a program wrote in the person's name."""
_BARE_COMMAND = re.compile(r"\s*/[\w:.-]+(\s+\S+){0,2}\s*")
"""A slash command with hardly a word behind it: it says what was to be run, not what was wanted."""
_ISSUE = re.compile(
    r"<(?:issue|pr)_description>\s*(?P<tagged>.{1,2000})"
    r"|^ISSUE:\s*(?P<plain>.{1,2000})"
    r"|The description is:\s*(?P<challenge>.{1,2000})",
    re.DOTALL | re.MULTILINE,
)
"""Where a harness for benchmarks puts the task, behind its own words about the workspace."""
_LOOKED_AT = 20_000
"""Characters of a prompt in which that is looked for."""
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
    """A title from the first prompt that says what was wanted; where none does, from a slash command."""
    texts = [event.data.text for event in events if isinstance(event.data, UserMessage)]
    commands = (without_markup(text) for text in texts if not is_interruption(text))
    title = _headline(next(filter(None, map(wanted, texts)), "")) or next(filter(None, commands), "")
    return words_of(one_line(title))


def _headline(prompt: str) -> str:
    """A prompt from where it says something: what a first line only announces stands behind it."""
    beginning = prompt[:_LOOKED_AT].lstrip("#").lstrip()
    first, _, rest = beginning.partition("\n")
    told = rest.lstrip("# \r\n")
    return f"{first.strip()} {told}" if first.rstrip().endswith(":") else beginning


def given_title(text: str) -> str:
    """The title that a program gave, as one line; empty for one that only says when it began."""
    return "" if PLACEHOLDER.fullmatch(text.strip()) else one_line(text)


def wanted(prompt: str) -> str:
    """What a person wanted with a prompt; empty for bare commands, marks and what a program wrote."""
    if task := _ISSUE.search(prompt[:_LOOKED_AT]):
        return str(next(filter(None, task.groups())))
    said = without_markup(prompt).strip()
    told = is_interruption(said) or said.startswith(_NOTES) or _BARE_COMMAND.fullmatch(said)
    # A number or a yes by its first letter answers a question that a title does not show.
    return said if not told and any(map(str.isalpha, said)) else ""


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
