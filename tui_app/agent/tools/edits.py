"""Replacing a piece of a text: exactly, or where only white space differs and there is just one such place.

Nothing is ever guessed beyond white space: a piece that is not there is refused with the nearest place.
"""

import itertools
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
_GAP = re.compile(r"[ \t]*\r?\n[ \t]*|[ \t]+")
"""White space that may differ. A text in which each gap is one character is compared as text: a pattern of
rows with such gaps between them can be tried in more ways than there is time for."""
_WORD = re.compile(r"\w")
_Change = tuple[int, int, str]
"""From where to where, and what comes there."""


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
    ends = ["\n"] * text.count("\n")
    if "\r\n" in text and not ("\r\n" in old and old in text):
        # The model reads lines, not their ends: each keeps its own, a new one gets that of its place.
        ends = re.findall(r"\r?\n", text)
        text, old, new = (each.replace("\r\n", "\n") for each in (text, old, new))
    if old == new:
        raise ToolProblem("old_text and new_text are the same; nothing would change.")
    count = text.count(old)
    if count == 1 or (count and every):
        return Edited(_put(text, ends, _exactly(text, old, new)), count, "exact")
    if count:
        raise ToolProblem(
            f"old_text stands {count} times, at lines {_lines_of(text, old)}; "
            "give more lines around the one that is meant, or set every."
        )
    if every:
        raise ToolProblem(f"old_text is not in the file.{nearest(text, old)}")
    return Edited(_put(text, ends, [_loosely(text, old, new)]), 1, "white space")


def _exactly(text: str, old: str, new: str) -> list[_Change]:
    changes: list[_Change] = []
    at = text.find(old)
    while at >= 0:
        changes.append((at, at + len(old), new))
        at = text.find(old, at + len(old))
    return changes


def _put(text: str, ends: Sequence[str], changes: Sequence[_Change]) -> str:
    """Carry changes out in a text, and give its lines their ends back."""
    texts: list[str] = []
    new_ends: list[str] = []
    at = line = 0
    for start, end, piece in changes:
        before, old = text[at:start], text[start:end]
        begin = line + before.count("\n")
        new_ends += ends[line:begin]
        line = begin + old.count("\n")
        usual = ends[min(begin, len(ends) - 1)] if ends else "\n"
        new_ends += _ends_of(piece.split("\n"), old.split("\n"), ends[begin:line], usual)
        texts += (before, piece)
        at = end
    rows = ("".join(texts) + text[at:]).split("\n")
    return "".join(row + end for row, end in zip(rows, [*new_ends, *ends[line:], ""], strict=True))


def _ends_of(new: Sequence[str], old: Sequence[str], ends: Sequence[str], usual: str) -> list[str]:
    """The ends of all new lines but the last: lines that stay keep theirs, others get those of the old."""
    same = zip(reversed(new), reversed(old), strict=False)
    tail = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], same))
    if not ends:
        return [usual] * (len(new) - 1)
    head = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(new, old, strict=False)))
    shift = len(old) - len(new)
    return [
        ends[at + shift]
        if at >= max(len(new) - tail, head) and at + shift >= 0
        else ends[min(at, len(ends) - 1)]
        for at in range(len(new) - 1)
    ]


def _loosely(text: str, old: str, new: str) -> _Change:
    rows = [" ".join(line.split()) for line in old.strip("\r\n").splitlines()]
    folded = _GAP.sub(lambda gap: "\n" if "\n" in gap.group() else " ", text)
    found = _places(folded, rows)
    if len(found) > 1:
        lines = ", ".join(str(_line_at(folded, at)) for at in found[:_PLACES])
        raise ToolProblem(
            f"old_text is not in the file; apart from white space it stands at lines {lines}. "
            "Give it exactly as it is, with more lines around it."
        )
    if not found:
        raise ToolProblem(f"old_text is not in the file.{nearest(text, old)}")
    start = _unfolded(text, found[0])
    end = _unfolded(text, found[0] + len("\n".join(rows)))
    if not rows[0]:
        start = text.rfind("\n", 0, start) + 1
    begin, piece = _fitted(text, start, end, old, new)
    return begin, end, piece


def _places(folded: str, rows: Sequence[str]) -> list[int]:
    """Up to six places of a folded text at which these rows stand, those that overlap included."""
    if not any(rows):
        return []
    piece = "\n".join(rows)
    found: list[int] = []
    at = -1
    while len(found) <= _PLACES and (at := folded.find(piece, at + 1)) >= 0:
        before, after = folded[at - 1 : at] if at else "", folded[at + len(piece) : at + len(piece) + 1]
        if _parted(before, rows[0][:1]) and _parted(after, rows[-1][-1:]):
            found.append(at)
    return found


def _parted(outer: str, edge: str) -> bool:
    """Whether a piece may begin or end here: not inside a word, and an empty row only as an empty line."""
    if not edge:
        return outer in ("", "\n")
    return not (_WORD.match(outer) and _WORD.match(edge))


def _unfolded(text: str, at: int) -> int:
    """Where a place of a folded text is in the text itself."""
    dropped = 0
    for gap in _GAP.finditer(text):
        if gap.start() - dropped >= at:
            break
        dropped += len(gap.group()) - 1
    return at + dropped


def _fitted(text: str, start: int, end: int, old: str, new: str) -> tuple[int, str]:
    """Where the replaced piece begins, and the new one with the depth that the place has.

    Raises:
        ToolProblem: if its lines are not all shifted alike, so that their depth would be a guess.
    """
    begin = text.rfind("\n", 0, start) + 1
    there = text[begin:start]
    given = _indent(old.lstrip("\r\n"))
    new = new.removeprefix("\n") if old.startswith("\n") else new
    if old.endswith("\n") and new.endswith("\n"):
        new = new[:-1].removesuffix("\r")
    if there.strip():
        # The middle of a line: there is no depth to keep.
        if "\n" in text[start:end]:
            raise ToolProblem(f"old_text begins inside line {_line_at(text, begin)}; give whole lines.")
        return start, new.strip(" \t")
    olds = old.strip("\r\n").splitlines()
    theirs = text[begin:end].split("\n")
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
    known = set(wanted)
    equal = {line: number for number, line in reversed(list(enumerate(lines))) if line in known}
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
