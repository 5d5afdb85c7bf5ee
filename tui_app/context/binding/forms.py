"""Forms at the end of statements: the messages they come from, and marks; without anything heavy to load."""

import re
from collections.abc import Iterator

from tui_app.events import MARKS

_NUMBERS = r"#-?\d{1,9}(?:\s?[–—-]\s?#?\d{1,9})?"
_WORD = r"(?:[^\W\d_]{2,12}\s+)?"
SOURCES = re.compile(
    rf"(?:[(（]|(\[))\s*{_WORD}({_NUMBERS}(?:\s*[,;、，]\s*{_WORD}{_NUMBERS})*)"
    r"(?:: [^()\n]{0,300}?)?\s*(?(1)\]|[)）])"
)
"""A form at the end of a statement, ours or a model's."""
MARK = re.compile(r"\((?:unchecked|not in the log|unconfirmed|doubtful|open|done|in progress)\)")
_HANDLE = re.compile(r"#(-?\d{1,9})(?:\s?[–—-]\s?#?(\d{1,9}))?")
_PROMPT = re.compile(r"- #\d+(?=(?: \(latest\))?: )")
"""How a line begins that holds a prompt, word for word."""
_MOST_IN_RANGE = 30
_STOPS = (".", "。", "!", "?", "…")


def bare_text(text: str) -> str:
    """A statement without the sources and marks at its end."""
    while True:
        text = text.rstrip(" \t")
        for pattern in (MARK, SOURCES):
            found = next(reversed(list(pattern.finditer(text))), None)
            if found is not None and text[found.end() :].strip(" .。*_") == "":
                said, behind = text[: found.start()].rstrip(" \t"), text[found.end() :].strip(" \t")
                text = said + (behind.lstrip(".。") if said.endswith(_STOPS) else behind)
                break
        else:
            return text


def form_of(line: str) -> tuple[str, str]:
    """A line of notes without the form at its end, and that form without brackets; empty for none."""
    bare = bare_text(line)
    form = line.rstrip()[len(bare) :].strip() if line.startswith(bare.rstrip(" .。")) else ""
    return (bare, form[1:-1]) if form.startswith("(") and form.endswith(")") else (line, "")


def message_numbers(form: str) -> Iterator[int]:
    """The messages that a form names; of a range each."""
    for match in _HANDLE.finditer(form.partition(": ")[0]):
        first, last = int(match[1]), int(match[2] or match[1])
        yield from range(first, min(last, first + _MOST_IN_RANGE) + 1) if last >= first else (first,)


def numbers_only(notes: str) -> str:
    """Notes with the sources of their lines, and without states and marks, which are written anew."""
    for mark in MARKS:
        notes = notes.replace(f" {mark}", "")
    notes = SOURCES.sub(lambda form: f"({form[2]})", notes)
    return re.sub(rf" {MARK.pattern}(?=[ \t]*$)", "", notes, flags=re.MULTILINE)


def with_session(text: str, session: str, above: int = 0) -> str:
    """A brief whose log numbers above one bear the name of the session they are of."""

    def named(numbers: str) -> str:
        return re.sub(r"#(\d+)", lambda one: f"{session}{one[0]}" if int(one[1]) > above else one[0], numbers)

    def line_of(line: str) -> str:
        if found := _PROMPT.match(line):
            return f"{named(found[0])}{line[found.end() :]}"
        return SOURCES.sub(lambda form: form[0].replace(form[2], named(form[2]), 1), line)

    return "\n".join(map(line_of, text.splitlines()))
