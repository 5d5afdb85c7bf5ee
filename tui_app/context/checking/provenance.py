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
from tui_app.context.checking.consent import Leave, content, is_revoked
from tui_app.context.checking.consent_cues import ABOUT, places, reach, spares_asking
from tui_app.context.checking.sources import (
    ONE,
    Utterance,
    flat_sentences,
    preferred,
    source_of,
    spaced,
)
from tui_app.context.checking.wording import (
    Wording,
    deeds,
    flat,
    negates,
    numbers,
    quotes,
    unquoted,
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
_GAP = re.compile(r"\[[^\]\n]{0,200}\]|…|\.\.\.")
"""Where a quotation leaves something out."""

_MOST = 0.75
"""Share that a quotation or a question needs, and all messages together where no single one holds enough."""
_CARRIED = 0.6
"""Share that a claim of an earlier summary must hold: it is the same one, worded anew."""
_TELLING = 3
"""Words with which a sentence, or a line that introduces a list, says something by itself."""


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
    a quotation when it stands in a message. An approval needs more: a whole yes to a question, or a
    directive, that holds every one of its words, and that was not taken back later. Deeds that cannot be
    taken back (deleting, publishing, overwriting, paying, switching a check off) must also have been named
    by the user, and not in a question or warning, or to forbid them; a preference must not be turned round.
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


@dataclass(frozen=True, slots=True)
class _Kept:
    """A claim of the earlier summary that bore no mark."""

    claim: Claim
    words: frozenset[str]
    deeds: Set[str]


class _Judge:
    """Compares claims with everything the user said."""

    def __init__(self, said: Sequence[Utterance], earlier: str, summary: str) -> None:
        self._sources = [source_of(one) for one in said]
        self._refusals = [source.refusals for source in self._sources]
        self._all = frozenset(chain.from_iterable(source.affirmed for source in self._sources))
        kept = [claim for claim in find_claims(earlier) if not _marked(earlier, claim)]
        self._answers = {_unnumbered(claim.text) for claim in kept if claim.kind == "answered"}
        self._earlier = [
            _Kept(claim, _words_of(claim).every, deeds(claim.text).keys())
            for claim in kept
            if claim.kind != "answered"
        ]
        languages = (language_of(one.text for one in said), language_of((summary,)))
        self._comparable = "" in languages or languages[0] == languages[1]

    def supports(self, claim: Claim) -> bool:
        """Whether something the user said says what the claim says they did."""
        if claim.kind == "answered":
            return _unnumbered(claim.text) in self._answers or self._is_answered(claim.text)
        if not claim.named and self._is_verbatim(claim.text):
            return True
        return self._is_allowed(claim) if claim.kind == "allowed" else self._is_wanted(claim)

    def _is_wanted(self, claim: Claim) -> bool:
        """Whether the user asked for what they are said to want, or had it in the earlier summary."""
        words, done = _words_of(claim), deeds(claim.text, narrowly=True)
        if self._was_said_before(claim, words, done.keys()):
            return True
        if quoted := quotes(claim.text):
            return all(map(self._is_quoted, quoted))
        if _introduces(claim, words, done):
            return True
        if not self._are_named(claim, done) or self._turns_round(claim):
            return False
        # An aim is put in words of the writer's own, and words of two languages cannot be compared: there
        # only what cannot be taken back is.
        if claim.kind == "meant" or not self._comparable:
            return True
        return self._is_asked(words, numbers(claim.text), affirming=not negates(claim.text))

    def _was_said_before(self, claim: Claim, words: Wording, done: Set[str]) -> bool:
        return any(
            done <= old.deeds and words.held_by(old.words, _CARRIED) and not _turned(claim, old.claim)
            for old in self._earlier
        )

    def _is_verbatim(self, text: str) -> bool:
        """Whether whole sentences of one message are repeated, and nothing else."""
        pieces = flat_sentences(_HANDLE.sub("", text))
        return any(all(piece in source.sentences for piece in pieces) for source in self._sources if pieces)

    def _is_quoted(self, quotation: str) -> bool:
        pieces = [flat(piece) for piece in _GAP.split(quotation)]
        if any(all(piece in source.flat for piece in pieces) for source in self._sources):
            return True
        words = wording(quotation)
        return any(words.held_by(source.own, _MOST) for source in self._sources)

    def _is_answered(self, text: str) -> bool:
        """Whether the user gave this answer, in these words, to a question of these words."""
        question, _, answer = text.partition(ANSWERED)
        asked, pieces = wording(question), _GAP.split(_HANDLE.sub("", answer))
        begins = spaced(pieces[0])
        return bool(begins.strip()) and any(
            asked.held_by(source.question, _MOST)
            and source.begins.startswith(begins)
            and all(flat(piece) in source.flat for piece in pieces)
            for source in self._sources
        )

    def _is_allowed(self, claim: Claim) -> bool:
        """Whether a whole yes, or a directive, holds all that is said to be allowed, and still stands."""
        text = unquoted(claim.core) if content(unquoted(claim.core)).every else unquoted(claim.text)
        if quoted := quotes(claim.text):
            if not all(map(self._is_quoted, quoted)):
                return False
            if not content(text).every:
                return True
        words = content(text).every
        if any(_repeats(claim, words, old.claim) for old in self._earlier):
            return not is_revoked(words, [(), (), *self._refusals])
        return any(
            leave.covers(words, text) and not self._ended(words, place, leave)
            for place, source in enumerate(self._sources)
            for leave in source.leaves
        )

    def _ended(self, words: frozenset[str], place: int, leave: Leave) -> bool:
        rest = [refusal for refusal in self._refusals[place] if refusal.place > leave.place]
        return is_revoked(words, [rest, *self._refusals[place + 1 :]])

    def _are_named(self, claim: Claim, done: Mapping[str, Wording]) -> bool:
        """Whether the user spoke of these deeds, in a question only where they are said to have asked one."""
        where, asking = places(claim.text), bool(ABOUT.search(claim.text))
        return all(
            any(
                _names(source.spoken if asking else source.deeds, deed, what) and where <= source.places
                for source in self._sources
            )
            for deed, what in done.items()
        )

    def _turns_round(self, claim: Claim) -> bool:
        """Whether the claim prefers what the user rejected, the last time they weighed these two."""
        chosen, rejected = preferred(claim.text)
        for source in reversed(self._sources):
            if chosen & source.rejected and rejected & source.chosen:
                return True
            if chosen & source.chosen and rejected & source.rejected:
                return False
        return False

    def _is_asked(self, words: Wording, which: frozenset[str], *, affirming: bool) -> bool:
        against = frozenset(chain.from_iterable(source.denied for source in self._sources))
        if not affirming and not words.empty and not words.every & against:
            return False
        if len(words.plain) >= _TELLING:
            if words.held_by(self._all, _MOST):
                return True
            which = frozenset()
        return any(
            which <= source.numbers
            and words.held_by(
                (source.affirmed if affirming else source.own | source.denied) | source.answered,
                source.needed,
            )
            for source in self._sources
        )


def _names(spoken: Mapping[str, Wording], deed: str, what: Wording) -> bool:
    """Whether the user spoke of a deed together with what it is done to."""
    return deed in spoken and what.held_by(spoken[deed].every, ONE)


def _turned(claim: Claim, old: Claim) -> bool:
    """Whether two claims prefer opposite things."""
    (chosen, rejected), (before, against) = preferred(claim.text), preferred(old.text)
    return bool(chosen & against and rejected & before)


def _repeats(claim: Claim, words: frozenset[str], old: Claim) -> bool:
    """Whether an approval stood in the earlier summary with all its words."""
    return (
        old.kind == "allowed"
        and words <= content(old.text).every
        and numbers(claim.core) <= numbers(old.text)
        and reach(claim.core) <= reach(old.text)
        and spares_asking(claim.core) == spares_asking(old.text)
    )


def _introduces(claim: Claim, words: Wording, done: Mapping[str, Wording]) -> bool:
    """Whether a claim only leads to a list, whose lines are claims themselves."""
    return claim.text.rstrip().endswith((":", "：")) and not done and len(words.plain) < _TELLING


def _words_of(claim: Claim) -> Wording:
    core = wording(claim.core)
    return core if len(core.plain) >= _TELLING else wording(claim.text)


def _unnumbered(text: str) -> str:
    return flat(_HANDLE.sub("", text))


def _marked(summary: str, claim: Claim) -> bool:
    return _MARK.match(summary, claim.end) is not None or UNCONFIRMED in claim.text
