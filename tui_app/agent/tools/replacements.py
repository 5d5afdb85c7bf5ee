"""Replacement of a piece of text: exact, or with different white space if there is only one such place.

Nothing is guessed beyond white space: a missing piece is refused, with the most similar place.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Literal

from tui_app.agent.tools.workspace import ToolProblem
from tui_app.records import frozen
from tui_app.tool_specs import WRITE_FILE

_NEAREST_LINES = 20_000
"""Lines of a file searched for the most similar place."""
_SHOWN_LINES = 6
_SHOWN_CHARS = 200
_PLACES = 5
"""Line numbers named where a piece is there more than once."""
_END, _CRLF, _NOTHING = re.compile(r"(?:(?<!\r)\r+)?\n"), re.compile(r"\r\n"), re.compile(r"(?!)")
"""A line that was converted to Windows line ends twice ends in two returns and a line feed."""
_GAP = re.compile(rf"[ \t]*{_END.pattern}[ \t]*|[ \t]+")
"""White space that may differ.

Texts are compared after each gap is reduced to one character: a regular expression with such gaps between its
rows could take exponential time.
"""
_WORD = re.compile(r"\w")


@frozen
class Edited:
    """A text with a piece replaced."""

    text: str
    count: int
    how: Literal["exact", "white space"]


def replace_piece(text: str, old: str, new: str, *, every: bool = False) -> Edited:
    """Replace a piece of a text.

    Args:
        text: The text.
        old: The piece, which must occur exactly once.
        new: Its replacement.
        every: Replace all occurrences; then only exact matches count.

    Raises:
        ToolProblem: if it is missing, occurs more than once, or nothing would change.
    """
    if not old:
        raise ToolProblem(f"old_text is empty; give the text to replace, or use {WRITE_FILE.name}.")
    # The model sees no line ends: each line keeps its own, a new one gets that of its place.
    is_mended = "\r\n" in text and not ("\r\n" in old and old in text)
    if is_mended:
        old, new = (each.replace("\r\n", "\n") for each in (old, new))
    if old == new:
        raise ToolProblem("old_text and new_text are the same; nothing would change.")

    plain = text.replace("\r\n", "\n") if is_mended else text
    count = plain.count(old)
    if count > 1 and not every:
        places = itertools.islice(re.finditer(f"(?={re.escape(old)})", plain), _PLACES)
        lines = ", ".join(str(_line_at(plain, found.start())) for found in places)
        raise ToolProblem(
            f"old_text occurs {count} times, at lines {lines}; "
            "give more lines around the one you mean, or set every."
        )
    if every and not count:
        raise ToolProblem(f"old_text is not in the file.{nearest(text, old)}")
    if count:
        spans = [found.span() for found in re.finditer(re.escape(old), plain)]
        edges = _unfolded(text, itertools.chain.from_iterable(spans), _CRLF if is_mended else _NOTHING)
        changes = [(start, end, new) for start, end in zip(edges, edges, strict=True)]
    else:
        changes = [_loosely(text, old, new)]
    texts, at = list[str](), 0
    for start, end, piece in changes:
        put = like_lines(piece, text[start:end], _end_at(text, start)) if is_mended else piece
        texts += (text[at:start], put)
        at = end
    return Edited("".join([*texts, text[at:]]), len(changes), "exact" if count else "white space")


def like_lines(new: str, old: str, usual: str) -> str:
    """A piece with the line ends of the old one: unchanged lines keep theirs, others get those of the old.

    Args:
        new: The piece, with Unix line ends.
        old: The piece it replaces.
        usual: The surrounding line end, used if the old piece has none.
    """
    ends, rows, olds = _END.findall(old) or [usual], _END.split(new), _END.split(old)
    kept = max(len(rows) - same_at_start(reversed(rows), reversed(olds)), same_at_start(rows, olds))
    shift = len(olds) - len(rows)
    places = (at + shift if at >= kept and at + shift >= 0 else at for at in range(len(rows) - 1))
    own = (ends[min(at, len(ends) - 1)] for at in places)
    return "".join(row + end for row, end in zip(rows, [*own, ""], strict=True))


def _end_at(text: str, place: int) -> str:
    """The line end at a place, or the last one before it."""
    found = _END.search(text, place) or _END.search(text, max(0, text.rfind("\n") - 1))
    return found[0] if found else "\n"


def same_at_start(one: Iterable[str], other: Iterable[str]) -> int:
    """Number of equal lines at the start."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _loosely(text: str, old: str, new: str) -> tuple[int, int, str]:
    """Start and end of the place that a piece has apart from white space, and what comes there."""
    rows = [_folded(line) for line in old.strip("\r\n").split("\n")]
    folded = _GAP.sub(lambda gap: "\n" if "\n" in gap.group() else " ", text)
    found = _places(folded, rows)
    if len(found) > 1:
        lines = ", ".join(str(_line_at(folded, at)) for at in found[:_PLACES])
        raise ToolProblem(
            f"old_text is not in the file; apart from white space it occurs at lines {lines}. "
            "Give it exactly as it is, with more lines around it."
        )
    if not found:
        raise ToolProblem(f"old_text is not in the file.{nearest(text, old)}")
    start, end = _unfolded(text, (found[0], found[0] + len("\n".join(rows))), _GAP)
    if not rows[0]:
        start = text.rfind("\n", 0, start) + 1
    begin, piece = _fitted(text, start, end, old, new)
    return begin, end, piece


def _places(folded: str, rows: Sequence[str]) -> list[int]:
    """Up to six places of a folded text at which these rows are, those that overlap included."""
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
    """Whether a piece may begin or end here: not within a word, and an empty row only as an empty line."""
    if not edge:
        return outer in ("", "\n")
    return not (_WORD.match(outer) and _WORD.match(edge))


def _unfolded(text: str, places: Iterable[int], gaps: re.Pattern[str]) -> Iterator[int]:
    """Convert places in a folded text to places in the original; places must be in order."""
    found, dropped = gaps.finditer(text), 0
    gap = next(found, None)
    for at in places:
        while gap is not None and gap.start() - dropped < at:
            dropped += len(gap.group()) - 1
            gap = next(found, None)
        yield at + dropped


def _fitted(text: str, start: int, end: int, old: str, new: str) -> tuple[int, str]:
    """The start of the replaced piece, and the new one with the indentation of the place.

    Raises:
        ToolProblem: if its lines are not all shifted alike, so that their indentation would be a guess.
    """
    begin = text.rfind("\n", 0, start) + 1
    there = text[begin:start]
    given = _indent(old.lstrip("\r\n"))
    new = new.removeprefix("\n") if old.startswith("\n") else new
    if old.endswith("\n") and new.endswith("\n"):
        new = new[:-1].removesuffix("\r")
    if there.strip():
        # The middle of a line: there is no indentation to keep.
        if "\n" in text[start:end]:
            raise ToolProblem(f"old_text begins inside line {_line_at(text, begin)}; give whole lines.")
        return start, new.strip(" \t")
    olds = old.strip("\r\n").split("\n")
    theirs = text[begin:end].split("\n")
    for one, other in zip(olds, theirs, strict=True):
        if one.strip() and _indent(other) != _shifted(_indent(one), given, there):
            raise ToolProblem(
                f"Near line {_line_at(text, begin)} the lines are indented differently from old_text; "
                "give them exactly as they are."
            )
    lines = new.split("\n")
    for at, line in enumerate(lines):
        if line.strip():
            indent = _shifted(_indent(line), given, there)
            if indent is None:
                raise ToolProblem("new_text is indented less than old_text; give old_text exactly as it is.")
            lines[at] = indent + line.lstrip(" \t")
    return begin, "\n".join(lines)


def _shifted(indent: str, given: str, there: str) -> str | None:
    return there + indent[len(given) :] if indent.startswith(given) else None


def nearest(text: str, old: str) -> str:
    """The place most similar to a piece, as a sentence with its lines; empty if there is none."""
    lines = text.replace("\r\n", "\n").split("\n")[:_NEAREST_LINES]
    targets = [_folded(line) for line in old.split("\n") if line.strip()]
    if not lines or not targets:
        return ""
    at = _likeliest([_folded(line) for line in lines], targets)
    if at is None:
        return ""
    shown = lines[at : at + min(_SHOWN_LINES, max(1, len(targets)))]
    quoted = "\n".join(f"{at + number}\t{line[:_SHOWN_CHARS]}" for number, line in enumerate(shown, 1))
    return f" The nearest place is line {at + 1}:\n{quoted}"


def _likeliest(lines: Sequence[str], targets: Sequence[str]) -> int | None:
    """Where most of the wanted lines are as given, else where the longest one nearly is."""
    telling = max(targets, key=len)
    place = targets.index(telling)
    known = set(targets)
    equal = {line: number for number, line in reversed(list(enumerate(lines))) if line in known}
    if equal:
        best = max(equal, key=len)
        if len(best) > 3:
            return max(0, equal[best] - targets.index(best))
    shown = [line[:_SHOWN_CHARS] for line in lines]
    close = get_close_matches(telling[:_SHOWN_CHARS], dict.fromkeys(shown), n=1)
    return max(0, shown.index(close[0]) - place) if close else None


def _folded(line: str) -> str:
    return " ".join(re.split(r"[ \t\r]+", line.strip(" \t\r")))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
