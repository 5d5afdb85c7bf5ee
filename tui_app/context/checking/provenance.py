"""Checking a summary against what the user really said: what no message of theirs supports is marked.

A model that writes a summary may invent a wish, widen an approval, or take a sentence out of a tool's output
for the user's. Whoever reads the summary later cannot tell it from the truth, so each claim is compared here
with the user's own messages, word by word. This asks no model and rewrites nothing: it only adds a mark.
"""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

from tui_app.context.checking.claims import Claim, find_claims
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
    permits,
    quotes,
    wording,
)
from tui_app.context.fact_extractors.labels import UNCONFIRMED
from tui_app.context.fact_extractors.reading import read_items
from tui_app.context.fact_extractors.talk import ANSWERED
from tui_app.context.fact_extractors.typed import command_typed
from tui_app.context.items import Item
from tui_app.context.summaries.languages import language_of
from tui_app.context.summaries.render import prompts_of

__all__ = ["UNCONFIRMED", "Utterance", "mark_unconfirmed", "utterances"]

_MARK = re.compile(r"[ \t]?\(unconfirmed\)")
_HANDLE = re.compile(r"\s*\(#-?\d{1,12}\)\s*$")
_WORD = re.compile(r"\w+")
_GAP = re.compile(r"\[[^\]\n]{0,200}\]|…|\.\.\.")
"""Where a quotation leaves something out."""

_ONE = 0.5
"""Share of a claim's words that one message must hold."""
_ALL = 0.75
"""Share that all messages together must hold where no single one holds enough."""
_ALLOWED = 0.75
"""Share that the user's own words must hold where they did not just say yes to a question."""
_CARRIED = 0.6
"""Share that a claim of an earlier summary must hold: it is the same one, worded anew."""
_LONG = 80
"""Words from which on a message holds some words of anything."""
_OF_LONG = 0.6
"""Share of a claim's words that a long message must hold."""
_TELLING = 3
"""Words with which a sentence, or a line that introduces a list, says something by itself."""
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
class _Source:
    """An utterance made ready for comparing."""

    own: frozenset[str]
    affirmed: frozenset[str]
    """Its words without those of clauses that say no."""
    answered: frozenset[str]
    """Words of what it answers, where it is an answer."""
    question: frozenset[str]
    """Words of what the assistant had said just before."""
    begins: str
    """Its beginning, word by word."""
    flat: str
    deeds: Mapping[str, Wording]
    numbers: frozenset[str]
    permits: bool
    """Whether it says yes, or gives leave."""
    needed: float
    """Share of a claim's words that it must hold: a long message holds some words of anything."""


def utterances(items: Sequence[Item]) -> tuple[Utterance, ...]:
    """What the user said in a history, in order, then the slash commands they typed.

    What programs put into their messages is left out.
    """
    reading = read_items(items)
    said: list[Utterance] = []
    spoken = iter([*reading.spoken, None])
    following, before = next(spoken), ""
    for typed in reading.typed:
        while following is not None and following.index < typed.index:
            before, following = following.text, next(spoken)
        said.append(Utterance(typed.text, before))
    commands = (command_typed(text) for _, text in prompts_of(items))
    said += [Utterance(command) for command in commands if command]
    return tuple(said)


def mark_unconfirmed(summary: str, said: Iterable[Utterance], earlier: str = "") -> str:
    """Mark what a summary ascribes to the user and no message of theirs supports.

    A request or decision is supported when one message holds half of its words (all messages three quarters),
    a quotation when it stands in a message, an approval when the user said yes to something that holds its
    words, or asked for it themselves. Deeds that cannot be taken back (deleting, publishing, overwriting,
    paying, switching a check off) must also have been named by the user, and not in order to forbid them.
    It is a check of words, not of meaning: what it leaves unmarked may still be wrong.

    Args:
        summary: Notes in Markdown; marks that stand in it already are judged anew.
        said: Everything the user said, as far as it is known.
        earlier: The summary that this one updates. What it says without a mark has been checked when it was
            written, and its messages may no longer be at hand.

    Returns:
        The summary, with ``(unconfirmed)`` behind each sentence that nothing supports. The same input gives
        the same text, and marking a marked text changes nothing.
    """
    text = _MARK.sub("", summary)
    claims = list(find_claims(text))
    if not claims:
        return text
    judge = _Judge(tuple(said), earlier, text)
    for claim in reversed(claims):
        if not judge.supports(claim):
            text = f"{text[: claim.end].rstrip()} {UNCONFIRMED}{text[claim.end :]}"
    return text


class _Judge:
    """Compares claims with everything the user said."""

    def __init__(self, said: Sequence[Utterance], earlier: str, summary: str) -> None:
        self._sources = [_source(one) for one in said]
        self._all = frozenset(chain.from_iterable(source.affirmed for source in self._sources))
        kept = [claim for claim in find_claims(earlier) if not _marked(earlier, claim)]
        self._answers = {_unnumbered(claim.text) for claim in kept if claim.kind == "answered"}
        self._earlier = [(_words_of(claim).every, deeds(claim.text).keys()) for claim in kept]
        languages = (language_of(one.text for one in said), language_of((summary,)))
        self._comparable = "" in languages or languages[0] == languages[1]

    def supports(self, claim: Claim) -> bool:
        """Whether something the user said says what the claim says they did."""
        if claim.kind == "answered":
            return _unnumbered(claim.text) in self._answers or self._is_answered(claim.text)
        words, done = _words_of(claim), deeds(claim.text, narrowly=True)
        if self._was_said_before(words, done.keys()):
            return True
        if quoted := quotes(claim.text):
            return all(map(self._is_quoted, quoted))
        if claim.kind == "allowed":
            return self._is_allowed(words, done, numbers(claim.text))
        if _introduces(claim, words, done):
            return True
        if not all(self._is_named(deed, what) for deed, what in done.items()):
            return False
        # An aim is put in words of the writer's own, and words of two languages cannot be compared: there
        # only what cannot be taken back is.
        if claim.kind == "meant" or not self._comparable:
            return True
        return self._is_asked(words, numbers(claim.text), affirming=not negates(claim.text))

    def _was_said_before(self, words: Wording, done: Set[str]) -> bool:
        return any(done <= known and words.held_by(old, _CARRIED) for old, known in self._earlier)

    def _is_quoted(self, quotation: str) -> bool:
        pieces = [flat(piece) for piece in _GAP.split(quotation)]
        if any(all(piece in source.flat for piece in pieces) for source in self._sources):
            return True
        words = wording(quotation)
        return any(words.held_by(source.own, _ALLOWED) for source in self._sources)

    def _is_answered(self, text: str) -> bool:
        """Whether the user gave this answer, in these words, to a question of these words."""
        question, _, answer = text.partition(ANSWERED)
        asked, pieces = wording(question), _GAP.split(_HANDLE.sub("", answer))
        begins = _spaced(pieces[0])
        return bool(begins.strip()) and any(
            asked.held_by(source.question, _ALLOWED)
            and source.begins.startswith(begins)
            and all(flat(piece) in source.flat for piece in pieces)
            for source in self._sources
        )

    def _is_allowed(self, words: Wording, done: Mapping[str, Wording], which: frozenset[str]) -> bool:
        return any(
            which <= source.numbers
            and all(_names(source, deed, what) for deed, what in done.items())
            and (
                (source.permits and words.held_by(source.affirmed | source.answered, _ONE))
                or (not words.empty and words.held_by(source.affirmed, _ALLOWED))
            )
            for source in self._sources
        )

    def _is_named(self, deed: str, what: Wording) -> bool:
        return any(_names(source, deed, what) for source in self._sources)

    def _is_asked(self, words: Wording, which: frozenset[str], *, affirming: bool) -> bool:
        if len(words.plain) >= _TELLING:
            if words.held_by(self._all, _ALL):
                return True
            which = frozenset()
        return any(
            which <= source.numbers
            and words.held_by((source.affirmed if affirming else source.own) | source.answered, source.needed)
            for source in self._sources
        )


def _names(source: _Source, deed: str, what: Wording) -> bool:
    """Whether the user spoke of a deed together with what it is done to."""
    return deed in source.deeds and what.held_by(source.deeds[deed].every, _ONE)


def _introduces(claim: Claim, words: Wording, done: Mapping[str, Wording]) -> bool:
    """Whether a claim only leads to a list, whose lines are claims themselves."""
    return claim.text.rstrip().endswith((":", "：")) and not done and len(words.plain) < _TELLING


def _words_of(claim: Claim) -> Wording:
    core = wording(claim.core)
    return core if len(core.plain) >= _TELLING else wording(claim.text)


def _source(said: Utterance) -> _Source:
    agrees, length = assents(said.text), len(said.text.split())
    answers = agrees or (length <= _SHORT and not denies(said.text))
    before = said.before[-_QUESTION:] if answers else ""
    done = deeds(said.text, answered=before)
    if agrees or chooses(said.text):
        done = {**deeds(before), **done}
    return _Source(
        own=wording(said.text).every,
        affirmed=wording(affirmed(said.text)).every,
        answered=wording(before).every,
        question=wording(said.before[-_QUESTION:]).every,
        begins=_spaced(said.text[:_ANSWER]),
        flat=flat(said.text),
        deeds=done,
        numbers=numbers(f"{said.text}\n{before}"),
        permits=agrees or permits(said.text),
        needed=_ONE if length <= _LONG else _OF_LONG,
    )


def _unnumbered(text: str) -> str:
    return flat(_HANDLE.sub("", text))


def _spaced(text: str) -> str:
    """The words of a text, each with one space behind it."""
    return "".join(f"{word} " for word in _WORD.findall(text.casefold()))


def _marked(summary: str, claim: Claim) -> bool:
    return _MARK.match(summary, claim.end) is not None or UNCONFIRMED in claim.text
