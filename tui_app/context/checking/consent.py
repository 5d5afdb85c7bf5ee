"""What the user gave leave for: by a whole yes to a question, or by telling somebody to do it.

Being strict costs a mark in the notes; being lax lets a summary invent an approval. So everything that is not
plainly a yes or a directive (questions, warnings, conditions, a yes to a part) gives no leave.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tui_app.context.checking.consent_cues import (
    DOUBT,
    EITHER,
    HALTS,
    LEAVES,
    NODDING,
    OPENING,
    PROPOSAL,
    REVOKES,
    TURNS_DOWN,
    VOCABULARY,
    WANTS,
    WARNING,
    is_question,
    reach,
    spares_asking,
)
from tui_app.context.checking.wording import (
    Wording,
    clauses_of,
    forbids,
    negates,
    numbers,
    sentences_of,
    wording,
)
from tui_app.context.checking.wording_cues import ASSENT, NOD

_SHORT = 3
"""Words under which a question only points to what stands before it ("Shall I?")."""
_REVOKED = 0.5
"""Share of an approval's words that a later no must hold."""
_ADJACENT = 2
"""Texts, the rest of the message and the next one, in which "stop" need not name what it means."""
_FIRST_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NO_VERB = re.compile(
    r"(?i)(?:.+(?:ing|ed|ly)|i|you|he|she|it|we|they|the|an?|this|that|these|those|my|your|our|there|is"
    r"|are|was|were|be|been|has|have|had|would|could|might|may|in|on|at|for|from|with|by|as|of|to|all|no"
    r"|some|any|every|der|die|das|ein|eine|le|la|les|el|los|las|un|une|una)$"
)
"""What no directive begins with."""
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PUNCTUATION = " \t\n,.!;:–—-*_\"'’()"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something the user forbade, warned of, or took back."""

    words: frozenset[str]
    place: int
    """Index of its sentence in the message."""
    withdraws: bool = False
    """Whether it takes back or halts something, which it need not name."""
    turns_down: bool = False
    """Whether it is a no to what stands before it."""

    def ends(self, words: frozenset[str], *, same: bool, adjacent: bool) -> bool:
        """Whether it ends an approval of these words: in the same message, in the next one, or later."""
        if self.withdraws:
            return adjacent or bool(self.words & words)
        if self.turns_down:
            return same
        return bool(words) and Wording(words, frozenset()).held_by(self.words, _REVOKED)


@dataclass(frozen=True, slots=True)
class Leave:
    """Something the user agreed to, or told somebody to do."""

    words: frozenset[str]
    verbs: frozenset[str]
    """Words of which what is allowed must hold one; empty where the user answered yes."""
    numbers: frozenset[str]
    reach: frozenset[str]
    spares: bool
    """Whether it says that nobody need be asked."""
    place: int
    """Index of its sentence in the message."""

    def covers(self, words: frozenset[str], text: str) -> bool:
        """Whether it holds every word of what is said to be allowed, and speaks of the same places."""
        return (
            words <= self.words
            and (not self.verbs or bool(self.verbs & words))
            and numbers(text) <= self.numbers
            and reach(text) <= self.reach
            and self.spares == spares_asking(text)
        )


def leaves_of(text: str, before: str = "") -> tuple[Leave, ...]:
    """What a message gives leave for.

    Args:
        text: What the user said.
        before: What the assistant had said just before.
    """
    found = list(_directives(text))
    proposal = _proposal(before)
    if proposal and agrees(text):
        whole = f"{proposal}\n{text}"
        found.append(_leave(whole, frozenset(), 0, spares=spares_asking(whole)))
    return tuple(found)


def agrees(text: str) -> bool:
    """Whether a message is a whole yes: nothing but agreement, or agreement and a directive behind it."""
    first = next(iter(sentences_of(text.strip())), "")
    if DOUBT.search(first) or negates(first) or WARNING.search(first) or HALTS.match(text):
        return False
    rest, yes, loose = first.strip(_PUNCTUATION), False, False
    while rest:
        word = ASSENT.match(rest) or NOD.match(rest) or (NODDING.match(rest) if rest else None)
        if word is None:
            break
        yes = yes or not NODDING.fullmatch(word[0]) or len(word[0].split()) > 1
        loose = NOD.fullmatch(word[0]) is not None and not word[0].lower().startswith(("ok", "all"))
        behind = rest[word.end() :]
        loose = loose and behind[:1] == " "
        rest = behind.strip(_PUNCTUATION)
    return yes and (not rest or (not loose and _directs(rest)))


def refusals_of(text: str) -> tuple[Refusal, ...]:
    """What a message takes back, forbids or warns of."""
    found: list[Refusal] = []
    for place, sentence in enumerate(sentences_of(text)):
        if is_question(sentence):
            continue
        if REVOKES.search(sentence) or HALTS.match(sentence):
            found.append(Refusal(content(sentence).every, place, withdraws=True))
            continue
        if TURNS_DOWN.match(sentence):
            found.append(Refusal(frozenset(), place, turns_down=True))
        found += [
            Refusal(content(clause).every, place)
            for clause in clauses_of(sentence)
            if (forbids(clause) or WARNING.search(clause)) and not spares_asking(clause)
        ]
    return tuple(found)


def is_revoked(words: frozenset[str], later: Iterable[Sequence[Refusal]]) -> bool:
    """Whether the user took back, in what they said afterwards, what they had agreed to.

    Args:
        words: The words of what was agreed to.
        later: What the rest of the same message, then each message after it takes back.
    """
    return any(
        refusal.ends(words, same=place == 0, adjacent=place < _ADJACENT)
        for place, refusals in enumerate(later)
        for refusal in refusals
    )


def content(text: str) -> Wording:
    """The words of a sentence about an approval that say what is allowed."""
    return wording(VOCABULARY.sub(" ", text))


def stated(text: str) -> str:
    """What a message asks for or states: without its questions, warnings and things only imagined."""
    return "\n".join(
        ", ".join(clause for clause in clauses_of(sentence) if not WARNING.search(clause))
        for sentence in sentences_of(text)
        if not is_question(sentence)
    )


def _proposal(before: str) -> str:
    """What a yes would agree to; a question between two things leaves it open."""
    if not PROPOSAL.search(before):
        return ""
    questions = " ".join(sentence for sentence in sentences_of(before) if sentence.rstrip()[-1:] in "?？")
    asked = questions if len(wording(questions).plain) >= _SHORT else before
    return "" if EITHER.search(asked) else asked


def _directives(text: str) -> Iterator[Leave]:
    for place, sentence in enumerate(sentences_of(text)):
        if is_question(sentence):
            continue
        for clause in clauses_of(sentence):
            spares = spares_asking(clause)
            barred = WARNING.search(clause) or (not spares and (forbids(clause) or negates(clause)))
            freely = spares or _gives_leave(clause)
            verbs = frozenset() if barred or freely else _verbs(clause)
            if not barred and (freely or verbs):
                yield _leave(clause, verbs, place, spares=spares)


def _leave(text: str, verbs: frozenset[str], place: int, *, spares: bool) -> Leave:
    return Leave(content(text).every, verbs, numbers(text), reach(text), spares, place)


def _directs(clause: str) -> bool:
    return _gives_leave(clause) or bool(_verbs(clause))


def _gives_leave(clause: str) -> bool:
    return bool(LEAVES.search(clause) or WANTS.search(clause) or _UNSPACED.search(clause))


def _verbs(clause: str) -> frozenset[str]:
    """The verbs a clause may begin with, if it may be a directive: its first word, and those behind "and"."""
    found: list[str] = []
    for part in re.split(r"(?i)\b(?:and|und|et|y)\b|[&+]", clause):
        word = _FIRST_WORD.match(OPENING.sub("", part).lstrip("\"'`*_( "))
        if word is None or _NO_VERB.match(word[0]):
            if not found:
                break
            continue
        found.append(word[0])
    return wording(" ".join(found)).every
