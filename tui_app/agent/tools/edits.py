"""Replacing a piece of a text: exactly, or where only white space differs and there is just one such place.

Nothing is ever guessed beyond white space: a piece that is not there is refused with the nearest place.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from tui_app.agent.tools.workspace import ToolProblem

_NEAREST_LINES = 20_000
"""Lines of a file in which the nearest place is looked for."""
_SHOWN_LINES = 6
_SHOWN_CHARS = 200
_PLACES = 5
"""Line numbers named where a piece stands more than once."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A text with a piece replaced."""

    text: str
    count: int
    how: Literal["exact", "white space"]


def replace_piece(text: str, old: str, new: str, *, every: bool = False) -> Edited:
    """Replace a piece of a text.

    Args:
        text: The text.
        old: The piece, which must stand in it just once.
        new: What takes its place.
        every: Replace it everywhere; then only exact matches count.

    Raises:
        ToolProblem: if it is not there, or more than once, or nothing would change.
    """
    if not old:
        raise ToolProblem("old_text is empty; give the text to replace, or use write_file.")
    if "\r\n" in text and "\r\n" not in old:
        # The model reads lines, not their ends: what it writes gets those of the file.
        old, new = old.replace("\n", "\r\n"), re.sub(r"\r?\n", "\r\n", new)
    if old == new:
        raise ToolProblem("old_text and new_text are the same; nothing would change.")
    count = text.count(old)
    if count == 1 or (count and every):
        return Edited(text.replace(old, new), count, "exact")
    if count:
        raise ToolProblem(
            f"old_text stands {count} times, at lines {_lines_of(text, old)}; "
            "give more lines around the one that is meant, or set every."
        )
    if every:
        raise ToolProblem(f"old_text is not in the file.{nearest(text, old)}")
    return _replace_loosely(text, old, new)


def _replace_loosely(text: str, old: str, new: str) -> Edited:
    pattern = _loose_pattern(old)
    matches = list(_overlapping(pattern, text)) if pattern is not None else []
    if len(matches) > 1:
        lines = ", ".join(str(_line_at(text, match.start())) for match in matches[:_PLACES])
        raise ToolProblem(
            f"old_text is not in the file; apart from white space it stands at lines {lines}. "
            "Give it exactly as it is, with more lines around it."
        )
    if not matches:
        raise ToolProblem(f"old_text is not in the file.{nearest(text, old)}")
    start, piece = _fitted(text, matches[0], old, new)
    return Edited(text[:start] + piece + text[matches[0].end() :], 1, "white space")


def _loose_pattern(old: str) -> re.Pattern[str] | None:
    """The same words on the same lines, whatever white space is between them."""
    lines = old.strip("\r\n").splitlines()
    if not any(line.strip() for line in lines):
        return None
    rows = [r"[ \t]+".join(map(re.escape, line.split())) for line in lines]
    body = r"[ \t]*\r?\n[ \t]*".join(rows)
    # A word must not begin in the middle of another one.
    before = r"(?<!\w)" if re.match(r"\s*\w", old) else ""
    after = r"(?!\w)" if re.search(r"\w\s*$", old) else ""
    return re.compile(f"{before}{body}{after}")


def _overlapping(pattern: re.Pattern[str], text: str) -> "list[re.Match[str]]":
    """Up to six matches, those that overlap included."""
    found: list[re.Match[str]] = []
    at = 0
    while len(found) <= _PLACES and (match := pattern.search(text, at)) is not None:
        found.append(match)
        at = match.start() + 1
    return found


def _fitted(text: str, match: "re.Match[str]", old: str, new: str) -> tuple[int, str]:
    """Where the replaced piece begins, and the new one with the depth that the place has.

    Raises:
        ToolProblem: if its lines are not all shifted alike, so that their depth would be a guess.
    """
    begin = text.rfind("\n", 0, match.start()) + 1
    there = text[begin : match.start()]
    given = _indent(old.lstrip("\r\n"))
    new = new.removeprefix("\n") if old.startswith("\n") else new
    if old.endswith("\n") and new.endswith("\n"):
        new = new[:-1].removesuffix("\r")
    if there.strip():
        # The middle of a line: there is no depth to keep.
        if "\n" in match.group():
            raise ToolProblem(f"old_text begins inside line {_line_at(text, begin)}; give whole lines.")
        return match.start(), new.strip(" \t")
    olds = old.strip("\r\n").splitlines()
    theirs = text[begin : match.end()].splitlines()
    for one, other in zip(olds, theirs, strict=True):
        if one.strip() and _indent(other) != _shifted(_indent(one), given, there):
            raise ToolProblem(
                f"Near line {_line_at(text, begin)} the lines are indented otherwise than in old_text; "
                "give them exactly as they are."
            )
    return begin, "\n".join(_deeper(line, given, there) for line in new.split("\n"))


def _shifted(indent: str, given: str, there: str) -> str | None:
    return there + indent[len(given) :] if indent.startswith(given) else None


def _deeper(line: str, given: str, there: str) -> str:
    if not line.strip():
        return line
    indent = _shifted(_indent(line), given, there)
    if indent is None:
        raise ToolProblem("new_text is indented less than old_text; give old_text exactly as it is.")
    return indent + line.lstrip(" \t")


def nearest(text: str, old: str) -> str:
    """The place that is most like a piece, as a sentence with its lines; empty where none is."""
    lines = text.splitlines()[:_NEAREST_LINES]
    wanted = [_folded(line) for line in old.splitlines() if line.strip()]
    if not lines or not wanted:
        return ""
    at = _likeliest([_folded(line) for line in lines], wanted)
    if at is None:
        return ""
    shown = lines[at : at + min(_SHOWN_LINES, max(1, len(wanted)))]
    quoted = "\n".join(f"{at + number}\t{line[:_SHOWN_CHARS]}" for number, line in enumerate(shown, 1))
    return f" The nearest place is line {at + 1}:\n{quoted}"


def _likeliest(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where most of the wanted lines stand as they are, else where the longest one nearly does."""
    telling = max(wanted, key=len)
    place = wanted.index(telling)
    equal = {line: number for number, line in reversed(list(enumerate(lines))) if line in set(wanted)}
    if equal:
        best = max(equal, key=len)
        if len(best) > 3:
            return max(0, equal[best] - wanted.index(best))
    best_at, best_ratio = None, 0.6
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(telling[:_SHOWN_CHARS])
    for number, line in enumerate(lines):
        matcher.set_seq1(line[:_SHOWN_CHARS])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            if ratio > best_ratio:
                best_at, best_ratio = number, ratio
    return None if best_at is None else max(0, best_at - place)


def _folded(line: str) -> str:
    return " ".join(line.split())


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _lines_of(text: str, piece: str) -> str:
    numbers: list[str] = []
    at = -1
    while len(numbers) < _PLACES and (at := text.find(piece, at + 1)) >= 0:
        numbers.append(str(_line_at(text, at)))
    return ", ".join(numbers)
