"""Finding the sentences of a summary that ascribe a wish, a decision or an approval to the user."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from tui_app.context.checking.claim_cues import (
    ACTIVE,
    AIM,
    ANY_APPROVAL,
    ANY_REQUEST,
    ASCRIBING,
    FOREIGN,
    NAMES_USER,
    REFUSAL,
)
from tui_app.context.checking.consent_cues import spares_asking
from tui_app.context.fact_extractors.labels import QUOTED_REQUEST, USERS_LABELS
from tui_app.context.fact_extractors.talk import ANSWERED

_HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s|\*\*(?=[^*]{2,80}\*\*:?\s*$)|\d{1,2}[.)]\s+(?=[^\W\d_a-z][^.!?`\"]{2,60}:$))"
)
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_BULLET = re.compile(r"^\s*(?:[-*+•–]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]*_]{0,3}\s+(?=[^\s\d(a-z])|(?<=[。！？])")
_CODE = re.compile(r"`[^`\n]{1,400}`")
"""What is quoted in code marks speaks of its own users."""
_AROUND_LABEL = "#*:_ \t"
_LABEL_WITHIN = 60
"""Characters in which the label of a quoted request begins, whatever marks stand around it."""
_ENDED = re.compile(r"[.!?…:。！？：][\"'”’)\]*_]{0,3}\s*$")
_WRAPS = 40
"""Characters from which on a line may have been wrapped; below, lines are a list without bullets."""
_MIDDLE = re.compile(r"[ \t]*[^\W\d_A-Z]")
"""How a line begins that goes on with a sentence: a small letter, or one of a script that knows no others."""
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|z\.B|bzw|d\.h|p\.ex|Nr|No|approx)\.$")


ClaimKind = Literal["said", "allowed", "meant", "answered"]
"""Whether the user is said to have asked for or decided something, to have allowed it, to aim at it, or
to have given an answer, word for word."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that says something about what the user said."""

    text: str
    end: int
    """Offset in the summary behind the sentence, where a mark belongs."""
    kind: ClaimKind
    core: str
    """The sentence from where it names the user: what stands before often tells only the occasion."""
    named: bool = False
    """Whether it speaks about the user, rather than to repeat what they wrote."""


@dataclass(slots=True)
class _Place:
    """Where in a summary the reading stands."""

    ascribes: ClaimKind | None = None
    """What everything under the present heading is of the user's, if anything."""
    fenced: bool = False
    lead_indent: int | None = None
    """Indent of a line such as ``The user asked for:``, as long as its list goes on."""

    def leads(self, line: str) -> bool:
        """Whether a line belongs to a list that such a line began."""
        if self.lead_indent is None:
            return False
        if not _BULLET.match(line) or _indent(line) <= self.lead_indent:
            self.lead_indent = None
        return self.lead_indent is not None


def find_claims(summary: str) -> Iterator[Claim]:
    """Find what a summary ascribes to the user.

    Args:
        summary: Notes in Markdown.

    Yields:
        In order: sentences that name the user beside a verb of asking, deciding or allowing, in the languages
        known here, and all sentences under a heading or in a list that is about the user's wishes.
    """
    place = _Place()
    offset = 0
    for line in _unwrapped(summary.splitlines(keepends=True)):
        yield from _claims_of(line.rstrip(), offset, place)
        offset += len(line)


def _unwrapped(lines: Iterable[str]) -> Iterator[str]:
    """Lines with those they go on in, as long as they were: a wrapped sentence is one claim."""
    parts: list[str] = []
    for line in lines:
        if parts and _goes_on(parts[-1], line):
            parts[-1] = parts[-1].rstrip().ljust(len(parts[-1]))
        elif parts:
            yield "".join(parts)
            parts.clear()
        parts.append(line)
    if parts:
        yield "".join(parts)


def _goes_on(line: str, following: str) -> bool:
    if len(line) < _WRAPS or _HEADING.match(line) or _FENCE.match(line):
        return False
    return not _ENDED.search(line) and _MIDDLE.match(following) is not None


def _claims_of(line: str, offset: int, place: _Place) -> Iterator[Claim]:
    if _FENCE.match(line):
        place.fenced = not place.fenced
        return
    if place.fenced or not line.strip():
        return
    if _HEADING.match(line):
        place.ascribes, place.lead_indent = _ascribed_under(line), None
        return
    ascribed: ClaimKind | None = "said" if place.leads(line) else place.ascribes
    bullet = _BULLET.match(line)
    begin = bullet.end() if bullet else 0
    if ANSWERED in line:
        yield Claim(line[begin:], offset + len(line), "answered", line[begin:])
        return
    if quoted := QUOTED_REQUEST.search(line, begin, begin + _LABEL_WITHIN):
        ascribed, begin = "said", quoted.end()
    for start, end in _sentences(line, begin):
        text = line[start:end]
        told = _CODE.sub(_blank, text)
        asks = _asks(told)
        approves = _approves(told) or ((asks or bool(ascribed)) and spares_asking(text))
        if kind := "allowed" if approves else "said" if asks else ascribed:
            active = ACTIVE.search(told)
            core = text[active.start() :] if active else text
            yield Claim(text, offset + end, kind, core, named=bool(NAMES_USER.search(told)))
    if line.endswith((":", "：")) and _asks(line):
        place.lead_indent = _indent(line) if bullet else -1


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _sentences(line: str, start: int) -> Iterator[tuple[int, int]]:
    for match in _END.finditer(line, start):
        if not _ABBREVIATION.search(line[start : match.start()]):
            end = match.start() + len(match[0].rstrip())
            yield start, end
            start = match.end()
    if line[start:].strip():
        yield start, len(line)


def _ascribed_under(heading: str) -> ClaimKind | None:
    if heading.strip(_AROUND_LABEL).casefold() in USERS_LABELS or ASCRIBING.search(heading):
        return "said"
    return "meant" if AIM.search(heading) else None


def _approves(text: str) -> bool:
    text = REFUSAL.sub(_blank, text)
    return bool(ANY_APPROVAL.search(text)) or any(
        user.search(text) and allows.search(text) for user, _, allows in FOREIGN
    )


def _asks(text: str) -> bool:
    return bool(ANY_REQUEST.search(text)) or any(
        user.search(text) and asks.search(text) for user, asks, _ in FOREIGN
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
