"""What a sentence says in single words, so that two wordings of the same thing can be compared."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from tui_app.context.provenance.lexicon import (
    ANY_DEED,
    ASSENT,
    ATTRIBUTION,
    CHOICE,
    CLAUSE,
    DENIAL,
    DOUBT,
    EITHER,
    FORBIDS,
    HALTS,
    LEAVES,
    NEGATED_BEHIND,
    NEGATION,
    NOD,
    NODDING,
    OPENING,
    PROPOSAL,
    REVOKES,
    STOP,
    TURNS_DOWN,
    VOCABULARY,
    WANTS,
    WARNING,
    is_question,
    reach,
    spares_asking,
    speaks_of_deeds,
)

_ASIDE = re.compile(r"`[^`\n]{1,200}`|\([^()\n]{1,300}\)")
_NAME = re.compile(r"\d|[a-z][A-Z]|[\w)][./\\_:=@#]+[\w(]")
_LONGEST_WORD = 100
"""Characters; what is longer is pasted data."""
_LONGEST = 60_000
"""Characters of a text that are looked at."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Scripts without spaces between words, or with endings grown into them: compared by pairs of characters."""
_ENDING = re.compile(r"(?<=..)(?:ings?|ed|es|s|ly|en|er|ern|e)$")
_STEM = 5
_QUOTATION = re.compile(
    r"(?:\b(?:said|says|asked|asks|wrote|stated|replied|answered|requested|quote|words|message|feedback"
    r"|request|question|instruction)\b[\w ,]{0,24}[:,]?\s*\**|^\W*(?:the )?user\W{0,4}:\s*"
    r"|^[\s*]*)[\"“„«](?P<text>[^\"“”„«»\n]{12,})[\"”“»]",
    re.IGNORECASE,
)
_NOT_FLAT = re.compile(r"[^\w]+")
_START = re.compile(r"^[\W_]*")
_NODDING = 5
_NUMBER = re.compile(r"(?<![\w.,])\d{1,6}(?![\w.,]*\w)")
_POINTING = re.compile(
    r"(?i)\W*(?:it|that|this|them|those|these|everything|one|both|alles|das|es|sie|ça|tout|eso|todo|tutto"
    r"|isso)?\W*$|\W*(?:it|that|this|them|those|these|both|das|es|sie)\b"
)
"""Words behind a deed that point to what is named elsewhere, or none at all."""
_SENTENCE = re.compile(r"[.!?]\s|[\n。！？]")
_ENDED = re.compile(r"(?<=[.!?])\s+|\n|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a text that carry its meaning, without endings."""

    plain: frozenset[str]
    names: frozenset[str]
    """Words of paths, numbers, code and asides."""

    @property
    def every(self) -> frozenset[str]:
        """All of them."""
        return self.plain | self.names

    @property
    def empty(self) -> bool:
        """Whether the text says nothing that could be compared."""
        return not self.plain and not self.names

    def held_by(self, other: frozenset[str], share: float) -> bool:
        """Whether another text holds at least a share of these words (0 to 1); of one or two words, more.

        Names count only where the other text holds them, unless there is nothing else.
        """
        named = len((self.names - self.plain) & other)
        count = len(self.plain) + named if self.plain else len(self.names)
        found = len(self.plain & other) + named
        return found > share * count or (found == share * count and count != 2)


def wording(text: str) -> Wording:
    """Take a text apart into the words that carry its meaning; of a very long one, its beginning."""
    text = text[:_LONGEST]
    plain: list[str] = []
    names = _ASIDE.findall(text)
    for word in _ASIDE.sub(" ", text).split():
        if len(word) <= _LONGEST_WORD:
            (names if _NAME.search(word) else plain).append(word)
    return Wording(_stems(plain), _stems(names))


def flat(text: str) -> str:
    """A text in small letters without punctuation and white space, for finding quotations."""
    return _NOT_FLAT.sub("", text.casefold())


def quotes(text: str) -> list[str]:
    """What a sentence quotes of somebody, word for word; other words in quotation marks are left out."""
    return [match["text"] for match in _QUOTATION.finditer(text)]


def unquoted(text: str) -> str:
    """A sentence without what it quotes of somebody."""
    return _QUOTATION.sub(" ", text)


def assents(text: str) -> bool:
    """Whether a message begins with a yes."""
    begins = _START.sub("", text[:200])
    if denies(text):
        return False
    if nod := NOD.match(begins):
        rest = _START.sub("", begins[nod.end() :])
        return len(text.split()) <= _NODDING or bool(ASSENT.match(rest))
    return bool(ASSENT.match(begins))


def denies(text: str) -> bool:
    """Whether a message begins with a no."""
    return bool(DENIAL.match(_START.sub("", text[:200])))


def chooses(text: str) -> bool:
    """Whether a message does no more than to pick one of the things it was offered."""
    return bool(CHOICE.fullmatch(text.strip()))


def numbers(text: str) -> frozenset[str]:
    """The numbers that stand by themselves in a text, without its asides."""
    return frozenset(_NUMBER.findall(_ASIDE.sub(" ", text)))


def affirmed(text: str) -> str:
    """What a text says without its clauses that forbid something."""
    clauses = (clause for sentence in _SENTENCE.split(text[:_LONGEST]) for clause in CLAUSE.split(sentence))
    return "\n".join(clause for clause in clauses if not FORBIDS.match(clause))


def sentences_of(text: str) -> list[str]:
    """The sentences of a text with what ends them; of a very long one, of its beginning."""
    return [sentence for sentence in _ENDED.split(text[:_LONGEST]) if sentence.strip()]


def clauses_of(sentence: str) -> list[str]:
    """The clauses of a sentence."""
    return [clause for clause in CLAUSE.split(sentence) if clause.strip()]


def forbids(clause: str) -> bool:
    """Whether a clause begins as one that forbids."""
    return bool(FORBIDS.match(clause))


def negates(text: str) -> bool:
    """Whether a text says that something is not to be."""
    return bool(NEGATION.search(text))


def deeds(text: str, *, narrowly: bool = False, answered: str = "") -> dict[str, Wording]:
    """Deeds that cannot be taken back and that a text speaks of otherwise than to forbid them.

    Args:
        text: What was said.
        narrowly: Whether asides are left out, and only the clause around a deed tells what it is done to.
        answered: What the text answers; "delete it" may be about something named only there.

    Returns:
        The deeds, each with the other words around it.
    """
    text = text[:_LONGEST].lower()
    found: dict[str, list[str]] = {}
    for sentence in _SENTENCE.split(
        _ASIDE.sub(lambda aside: aside[0] if aside[0].startswith("`") else " ", text) if narrowly else text
    ):
        for clause in CLAUSE.split(sentence) if speaks_of_deeds(sentence) else ():
            for name, end in _deeds_in(clause):
                around = clause if narrowly else sentence
                pointing = not narrowly and _POINTING.match(clause, end)
                found.setdefault(name, []).append(f"{text}\n{answered}" if pointing else around)
    return {name: wording(_without_deeds("\n".join(dict.fromkeys(where)))) for name, where in found.items()}


def _deeds_in(clause: str) -> Iterator[tuple[str, int]]:
    """Deeds that a clause does not forbid, each with the offset behind its word."""
    for name, pattern in ANY_DEED.items():
        match = pattern.search(clause)
        if match is None or NEGATION.search(clause[: match.start()]):
            continue
        if not NEGATED_BEHIND.match(clause, match.end()):
            yield name, match.end()


def _without_deeds(text: str) -> str:
    for pattern in ANY_DEED.values():
        text = pattern.sub(" ", text)
    return text


def _stems(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset(chain.from_iterable(map(_stems_of, tokens)))


@lru_cache(maxsize=8_192)
def _stems_of(token: str) -> frozenset[str]:
    """The stems of one word as it was written, whole and of its parts."""
    found: set[str] = set()
    spaced = ATTRIBUTION.sub(" ", _CAMEL.sub(" ", token))
    for word in {*_WORD.findall(token.casefold()), *_WORD.findall(spaced.casefold())}:
        for run in _UNSPACED.findall(ATTRIBUTION.sub(" ", word)):
            found.update(run[at : at + 2] for at in range(max(1, len(run) - 1)))
        for rest in _UNSPACED.split(word):
            if rest and rest not in STOP and (len(rest) > 1 or rest.isdigit()):
                found.add(_stem(rest))
    return frozenset(found)


def _stem(word: str) -> str:
    if len(word) > 3:
        word = _ENDING.sub("", word)
        if len(word) > 3 and word[-1] == word[-2]:
            word = word[:-1]
    return word[:_STEM]


# What the user gave leave for: by a whole yes to a question, or by telling somebody to do it.
#
# Being strict costs a mark in the notes; being lax lets a summary invent an approval. So everything that is
# not plainly a yes or a directive (questions, warnings, conditions, a yes to a part) gives no leave.

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
_CONSENT_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
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
    return yes and (not rest or (not loose and (_gives_leave(rest) or bool(_verbs(rest)))))


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


def _gives_leave(clause: str) -> bool:
    return bool(LEAVES.search(clause) or WANTS.search(clause) or _CONSENT_UNSPACED.search(clause))


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
