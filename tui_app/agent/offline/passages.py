"""Lines that the tools brought back, ranked by how well they fit the words of a question."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from tui_app.agent.offline.question import term_pattern
from tui_app.agent.offline.turn import Found
from tui_app.agent.tools.text import CUT_MARK

_HIT = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d+): (?P<text>[^\n]*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(?P<line>\d+)\t(?P<text>[^\n]*)$", re.MULTILINE)
_DEFINES = re.compile(
    r"\s*(?:(?:export|pub|async|public|static)\s+)*(?:def|class|func|function|fn|type|#+)\s"
)
_K1, _B = 1.2, 0.75
"""The usual constants of Okapi BM25 (Robertson and Zaragoza, 2009)."""
_DEFINITION_BONUS = 1.3


@dataclass(frozen=True, slots=True, order=True)
class Passage:
    """One line of a file, as it stands there."""

    path: str
    line: int
    text: str
    whole: bool = True
    """False when the tool showed only the start of the line."""


def passages(found: Iterable[Found]) -> list[Passage]:
    """Collect every line that ``grep`` and ``read_file`` showed, each once, in file order."""
    known: dict[tuple[str, int], Passage] = {}
    for passage in chain.from_iterable(map(_lines_of, found)):
        place = (passage.path, passage.line)
        if place not in known or passage.whole:
            known[place] = passage
    return [known[place] for place in sorted(known)]


def ranked(candidates: Sequence[Passage], terms: Sequence[str]) -> list[Passage]:
    """Order the lines that hold a term by BM25 over the candidates, best first; ties keep file order."""
    patterns = [re.compile(term_pattern(term), re.IGNORECASE) for term in terms]
    counts = [[len(pattern.findall(each.text)) for pattern in patterns] for each in candidates]
    lengths = [max(1, len(each.text.split())) for each in candidates]
    average = sum(lengths) / max(1, len(lengths))
    rarity = [_rarity(len(candidates), sum(1 for row in counts if row[at])) for at in range(len(patterns))]
    scores = [
        sum(weight * _weight(count, length, average) for weight, count in zip(rarity, row, strict=True))
        * (_DEFINITION_BONUS if _DEFINES.match(each.text) else 1.0)
        for each, row, length in zip(candidates, counts, lengths, strict=True)
    ]
    order = sorted(range(len(candidates)), key=lambda at: (-scores[at], at))
    return [candidates[at] for at in order if scores[at] > 0.0]


def _rarity(lines: int, holding: int) -> float:
    return math.log(1.0 + (lines - holding + 0.5) / (holding + 0.5))


def _weight(count: int, length: int, average: float) -> float:
    return count * (_K1 + 1.0) / (count + _K1 * (1.0 - _B + _B * length / average))


def _lines_of(found: Found) -> list[Passage]:
    if not found.ok:
        return []
    if found.tool == "read_file":
        path = found.arg("path").removeprefix("./")
        return [_passage(path, match) for match in _NUMBERED.finditer(found.text)]
    if found.tool == "grep":
        return [_passage(match["path"], match) for match in _HIT.finditer(found.text)]
    return []


def _passage(path: str, match: re.Match[str]) -> Passage:
    text = match["text"]
    return Passage(path, int(match["line"]), text.removesuffix(CUT_MARK), not text.endswith(CUT_MARK))
