"""What the user said, made ready for comparing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tui_app.context.checking.consent import Leave, Refusal, agrees, leaves_of, refusals_of, stated
from tui_app.context.checking.consent_cues import INSTEAD, PRESERVES, WARNING, places
from tui_app.context.checking.wording import (
    Wording,
    affirmed,
    assents,
    chooses,
    deeds,
    denies,
    flat,
    negates,
    numbers,
    sentences_of,
    wording,
)

_WORD = re.compile(r"\w+")
ONE = 0.5
"""Share of a claim's words that one message must hold."""
_LONG = 80
"""Words from which on a message holds some words of anything."""
_OF_LONG = 0.6
"""Share of a claim's words that a long message must hold."""
_SHORT = 8
"""Words of an answer that makes sense only with what it answers."""
_ANSWER = 400
"""Characters at the beginning of a message that an answer is looked for in."""
_QUESTION = 1_500
"""Characters at the end of the assistant's message that an answer may refer to."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """Something the user said."""

    text: str
    before: str = ""
    """What the assistant had said just before."""


@dataclass(frozen=True, slots=True)
class Source:
    """An utterance made ready for comparing."""

    own: frozenset[str]
    affirmed: frozenset[str]
    """Its words without those of clauses that say no."""
    denied: frozenset[str]
    """Words of its sentences that say no, and of the question it says no to."""
    answered: frozenset[str]
    """Words of what it answers, where it is an answer."""
    question: frozenset[str]
    """Words of what the assistant had said just before."""
    begins: str
    """Its beginning, word by word."""
    flat: str
    sentences: frozenset[str]
    """Its sentences, one by one, flat; a question ends with its mark."""
    deeds: Mapping[str, Wording]
    numbers: frozenset[str]
    spoken: Mapping[str, Wording]
    """Deeds that it speaks of at all, in questions and warnings too."""
    places: frozenset[str]
    leaves: tuple[Leave, ...]
    refusals: tuple[Refusal, ...]
    chosen: frozenset[str]
    """Words that it prefers to others."""
    rejected: frozenset[str]
    needed: float
    """Share of a claim's words that it must hold: a long message holds some words of anything."""


def source_of(said: Utterance) -> Source:
    """Make an utterance ready for comparing."""
    length = len(said.text.split())
    answers = assents(said.text) or (length <= _SHORT and not denies(said.text))
    before = said.before[-_QUESTION:] if answers else ""
    whole = agrees(said.text)
    done = deeds(stated(said.text), answered=before if whole else "")
    if whole or chooses(said.text):
        done = {**deeds(before), **done}
    chosen, rejected = preferred(said.text)
    refuses = length <= _SHORT and denies(said.text)
    return Source(
        own=wording(said.text).every,
        affirmed=wording(affirmed(said.text)).every,
        denied=_denied(said.text) | (wording(said.before[-_QUESTION:]).every if refuses else frozenset()),
        answered=wording(before).every,
        question=wording(said.before[-_QUESTION:]).every,
        begins=spaced(said.text[:_ANSWER]),
        flat=flat(said.text),
        sentences=frozenset(flat_sentences(said.text)),
        deeds=done,
        numbers=numbers(f"{said.text}\n{before}"),
        spoken=deeds(said.text, answered=before),
        places=places(f"{said.text}\n{before}"),
        leaves=leaves_of(said.text, said.before[-_QUESTION:]),
        refusals=refusals_of(said.text),
        chosen=chosen,
        rejected=rejected,
        needed=ONE if length <= _LONG else _OF_LONG,
    )


def _denied(text: str) -> frozenset[str]:
    return wording(
        "\n".join(
            sentence
            for sentence in sentences_of(text)
            if negates(sentence) or PRESERVES.search(sentence) or WARNING.search(sentence)
        )
    ).every


def flat_sentences(text: str) -> list[str]:
    """The sentences of a text for finding them again whole; a question is not found as a statement."""
    return [
        flat(sentence) + ("?" if sentence.rstrip("\"')*_` ").endswith(("?", "？")) else "")
        for sentence in sentences_of(text)
    ]


def preferred(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """What a text prefers and to what: the words that stand only before, only behind "instead of"."""
    chosen: set[str] = set()
    rejected: set[str] = set()
    for sentence in sentences_of(text):
        if (match := INSTEAD.search(sentence)) is None:
            continue
        left, right = sentence[: match.start()], sentence[match.end() :]
        if wording(left).empty:
            right, _, left = right.partition(",")
        chosen |= wording(left).every
        rejected |= wording(right).every
    return frozenset(chosen - rejected), frozenset(rejected - chosen)


def spaced(text: str) -> str:
    """The words of a text, each with one space behind it."""
    return "".join(f"{word} " for word in _WORD.findall(text.casefold()))
