"""How the work went, in the speakers' own sentences: what requests led to, and where things stand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tui_app.context.fact_extractors.cues import asks, looks_ahead
from tui_app.context.fact_extractors.language import (
    clip,
    looks_pasted,
    one_line,
    paragraphs,
    sentences,
    unmarked,
)
from tui_app.context.fact_extractors.reading import Reading, Said

STATE_LIMIT = 700
_ASKED_LIMIT = 110
_ANSWER_LIMIT = 320
_STEP_LIMIT = 300
_MILESTONE_LIMIT = 240
_MAX_MILESTONES = 40

_ANNOUNCES = (":", "：")
"""Ends of sentences that only say what follows."""
_DONE = re.compile(
    r"(?i)\b(?:done|fixed|added|created|implemented|updated|removed|renamed|moved|merged|committed|pushed"
    r"|completed|finished|resolved|(?<!being )pass(?:es|ed)?"
    r"|works|working now|verified|refactored|replaced|behoben|erledigt|fertig|corrigé|terminé|hecho"
    r"|terminado)\b|完成|已|通过"
)


@dataclass(frozen=True, slots=True)
class Told:
    """One line of the story."""

    text: str
    key: int
    index: int


def turns(reading: Reading, quoted: str = "", key: int = 0) -> Iterator[Told]:
    """Yield for every request but the newest what it led to: its first words and the answer's first words.

    Args:
        reading: The history.
        quoted: What the request of ``key`` is called; it is quoted elsewhere and not said again.
        key: Log number of that request.

    Yields:
        Lines ``asked (#key) → answered``, oldest first.
    """
    spoken = iter(reading.spoken)
    ahead = next(spoken, None)
    for number, said in enumerate(reading.typed):
        end = reading.typed[number + 1].index if number + 1 < len(reading.typed) else reading.length
        last: Said | None = None
        while ahead is not None and ahead.index < end:
            last = ahead if ahead.index > said.index else last
            ahead = next(spoken, None)
        answer = opening(last.text, _ANSWER_LIMIT) if last is not None else ""
        if last is not None and number + 1 < len(reading.typed) and not answer.endswith(_ANNOUNCES):
            asked = quoted if quoted and said.key == key else clip(one_line(said.text), _ASKED_LIMIT)
            yield Told(f"{asked} (#{said.key}) → {answer}", last.key, last.index)


def milestones(reading: Reading) -> Iterator[Told]:
    """Yield sentences in which the assistant says that something is finished, newest first."""
    given = 0
    for said in reversed(reading.spoken):
        for sentence in sentences(said.text):
            finished = _DONE.search(sentence) and not looks_ahead(sentence) and not asks(sentence)
            finished = finished and not sentence.endswith(_ANNOUNCES)
            if finished and 16 <= len(sentence) <= _MILESTONE_LIMIT and not looks_pasted(sentence):
                yield Told(unmarked(sentence), said.key, said.index)
                given += 1
                break
        if given >= _MAX_MILESTONES:
            return


def last_words(reading: Reading) -> Told | None:
    """The opening of the assistant's newest text: where things stand in its own words."""
    if not reading.spoken:
        return None
    said = reading.spoken[-1]
    text = opening(said.text, STATE_LIMIT)
    return Told(text, said.key, said.index) if text else None


def plans(reading: Reading) -> Iterator[Told]:
    """Yield sentences of the newest texts that say what comes next."""
    if reading.spoken and reading.went_on(reading.spoken[-1].index):
        return  # what came of them can be seen
    for said in reading.spoken[-2:]:
        for sentence in sentences(said.text):
            if looks_ahead(sentence) and not asks(sentence) and len(sentence) <= _STEP_LIMIT:
                yield Told(unmarked(sentence), said.key, said.index)


def opening(text: str, limit: int) -> str:
    """The first prose of a text on one line, clipped at a word with a mark."""
    taken: list[str] = []
    length = 0
    for paragraph in paragraphs(text):
        taken.append(paragraph)
        length += len(paragraph) + 1
        if length > limit:
            break
    return clip(unmarked(" ".join(taken)), limit)
