"""A text that is asked what it says of names: where each stands, and which words stand by it."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from tui_app.context.compaction.deed_words import command_does, says_deed, says_outcome, tool_does
from tui_app.context.fact_extractors.paths import SHORT, whole_paths

_MARKS = str.maketrans("", "", "`*\"'“”‘’")
_BLANKS = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_BULLET = re.compile(r"[-*+•] |\d{1,3}[.)] ")
_ITEM = re.compile(r"[-*+•|]|\d{1,3}[.)] |\S+$")
"""A line of a list or table, or a bare name on a line of its own."""
_LABEL = re.compile(r"#{1,6} |\*\*[^*]{1,200}\*\*:?$|.{0,200}:\**$")
_STOPS = (". ", "; ", "! ", "? ", "。", "；")
_NEAR = 300
"""Characters on either side of a name that are read: no sentence about it is longer."""
_MOST_PLACES = 100
"""Places of one name that are looked at: bounds the work, and the first are in the summary."""
_CALL = "tool call "
_RUNS = re.compile(r"bash|shell|command|exec|run|terminal")
"""Tools that run commands, by their names."""


def plain(text: str) -> str:
    """A text in small letters without quotes and code marks, on one line."""
    return " ".join(text.translate(_MARKS).casefold().split())


class Told:
    """One text, prepared once for many questions.

    Args:
        text: A summary, or whole messages as text; paths told short are spelt out.
    """

    def __init__(self, text: str) -> None:
        whole = whole_paths(text) if SHORT in text or "/\n" in text else "\n".join(text.splitlines())
        self._raw = whole.split("\n")
        self._text = _BLANKS.sub(" ", whole.translate(_MARKS).casefold())
        self.flat = " ".join(self._text.split())
        """All of it on one line."""

    def names(self, name: str) -> bool:
        """Whether a name stands in the text by itself and not as a part of a longer one."""
        return next(self._places(name), None) is not None

    def says_done(self, name: str, families: tuple[str, ...]) -> bool:
        """Whether the text says by a name what was done to its file.

        Args:
            name: The end of a path, in plain text.
            families: Of words, one of which must be said.
        """
        return any(self._done_at(place, name, families) for place in self._places(name))

    def says_ended(self, command: str, *, failed: bool) -> bool:
        """Whether the text says by a command how it ended."""
        return any(self._ended_at(place, command, failed=failed) for place in self._finds(command))

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self._lines)]

    @cached_property
    def _labels(self) -> list[str]:
        return [plain(label) for label in _labels(self._raw)]

    def _finds(self, needle: str) -> Iterator[int]:
        place = self._text.find(needle) if needle else -1
        for _ in range(_MOST_PLACES):
            if place < 0:
                return
            yield place
            place = self._text.find(needle, place + 1)

    def _places(self, name: str) -> Iterator[int]:
        for place in self._finds(name):
            before = self._text[place - 1 : place]
            after = self._text[place + len(name) : place + len(name) + 1]
            if not (before.isalnum() or before == "-" or after.isalnum() or after == "-"):
                yield place

    def _done_at(self, place: int, name: str, families: tuple[str, ...]) -> bool:
        number = bisect_right(self._starts, place) - 1
        line, column = self._lines[number], place - self._starts[number]
        if line.startswith(_CALL):
            tool, _, before = line[len(_CALL) : column].partition(": ")
            if _RUNS.search(tool):
                return command_does(before[-_NEAR:], families)
            return tool_does(tool, families) and _is_value(self._raw[number], name)
        before, after = _sentence(line, column, name)
        return says_deed(before, after, families) or says_deed(self._labels[number], "", families)

    def _ended_at(self, place: int, command: str, *, failed: bool) -> bool:
        number = bisect_right(self._starts, place) - 1
        line = self._lines[number]
        if line.startswith(_CALL):
            return False
        before, after = _sentence(line, place - self._starts[number], command)
        said = f"{before} {after}"
        return says_outcome(said, failed=failed) or says_outcome(self._labels[number], failed=failed)


def _sentence(line: str, column: int, name: str) -> tuple[str, str]:
    """What stands before and behind a name in its sentence, without the rest of its path."""
    start, end = column, column + len(name)
    while start and not line[start - 1].isspace():
        start -= 1
    before, after = line[max(0, start - _NEAR) : start], line[end : end + _NEAR]
    begins = max(before.rfind(stop) + len(stop) * (stop in before) for stop in _STOPS)
    ends = min(after.find(stop) if stop in after else len(after) for stop in _STOPS)
    return before[max(0, begins) :], after[:ends]


def _is_value(line: str, name: str) -> bool:
    """Whether a name is the end of a whole argument of a call, and not a word of a longer one."""
    folded = line.casefold()
    place = folded.find(f'{name}"')
    while place >= 0:
        value = folded[folded.rfind('"', 0, place) + 1 : place]
        if not value or (value.endswith("/") and " " not in value):
            return True
        place = folded.find(f'{name}"', place + 1)
    return False


def _labels(lines: list[str]) -> Iterator[str]:
    """For every line the heading or label above the list it stands in; empty where there is none."""
    outer = inner = ""
    depth = -1
    for line in lines:
        bare = line.strip()
        indent = len(line) - len(line.lstrip())
        if bare and indent <= depth:
            inner, depth = "", -1
        if _LABEL.match(bare):
            if _BULLET.match(bare):
                inner, depth = bare, indent
            else:
                outer, inner, depth = bare, "", -1
        elif bare and not _ITEM.match(bare):
            outer = inner = ""
        yield inner or outer
