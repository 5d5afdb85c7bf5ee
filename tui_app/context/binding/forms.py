"""Forms at the end of statements: message numbers and marks; without heavy imports."""

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
"""Beginning of a line with a prompt, word for word."""
_MOST_IN_RANGE = 30
_STOPS = (".", "。", "!", "?", "…")


def bare_text(text: str) -> str:
    """Return a statement without the sources and marks at its end."""
    while True:
        text = text.rstrip(" \t")
        for pattern in (MARK, SOURCES):
            found = next(reversed(list(pattern.finditer(text))), None)
            if found is not None and text[found.end() :].strip(" .。*_") == "":
                head, tail = text[: found.start()].rstrip(" \t"), text[found.end() :].strip(" \t")
                text = head + (tail.lstrip(".。") if head.endswith(_STOPS) else tail)
                break
        else:
            return text


def form_of(line: str) -> tuple[str, str]:
    """Split a line of notes into the text and the form at its end without brackets; empty for none."""
    bare = bare_text(line)
    form = line.rstrip()[len(bare) :].strip() if line.startswith(bare.rstrip(" .。")) else ""
    return (bare, form[1:-1]) if form.startswith("(") and form.endswith(")") else (line, "")


def message_numbers(form: str) -> Iterator[int]:
    """Yield the messages that a form names, expanding ranges."""
    for match in _HANDLE.finditer(form.partition(": ")[0]):
        first, last = int(match[1]), int(match[2] or match[1])
        yield from range(first, min(last, first + _MOST_IN_RANGE) + 1) if last >= first else (first,)


def numbers_only(notes: str) -> str:
    """Keep the sources of lines in notes, and drop states and marks, which are written again."""
    notes = SOURCES.sub(lambda form: f"({form[2]})", notes)
    # A form after a table's row goes into its last cell.
    notes = re.sub(rf"(?m)(?<=\S)[ \t]*\|[ \t]*(\(#[^()\n]*\)|{MARK.pattern})[ \t]*$", r" \1 |", notes)
    anywhere = "|".join(map(re.escape, MARKS))
    return re.sub(rf"(?m) (?:{anywhere}|{MARK.pattern}(?=[ \t]*$))", "", notes)


def with_session(text: str, session: str, above: int = 0) -> str:
    """Prefix log numbers above one in a brief with the session they belong to."""

    def named(numbers: str) -> str:
        return re.sub(r"#(\d+)", lambda one: f"{session}{one[0]}" if int(one[1]) > above else one[0], numbers)

    def line_of(line: str) -> str:
        if found := _PROMPT.match(line):
            return f"{named(found[0])}{line[found.end() :]}"
        return SOURCES.sub(lambda form: form[0].replace(form[2], named(form[2]), 1), line)

    return "\n".join(map(line_of, text.splitlines()))
