"""Checking a summary against what the user really said: what no message of theirs supports is marked.

A model that writes a summary may invent a wish, widen an approval, or take a sentence out of a tool's output
for the user's. Whoever reads the summary later cannot tell it from the truth, so each claim is compared here
with the user's own messages, word by word. This asks no model and rewrites nothing: it only adds a mark.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from tui_app.context.facts.dialogue import ANSWERED
from tui_app.context.facts.observations import QUOTED_REQUEST, UNCONFIRMED, USERS_LABELS, read_items
from tui_app.context.provenance.lexicon import (
    ABOUT,
    ACTIVE,
    AIM,
    ANY_APPROVAL,
    ANY_REQUEST,
    ASCRIBING,
    FOREIGN,
    INSTEAD,
    NAMES_USER,
    PRESERVES,
    REFUSAL,
    WARNING,
    places,
    reach,
    spares_asking,
)
from tui_app.context.provenance.wording import (
    Leave,
    Refusal,
    Wording,
    affirmed,
    agrees,
    assents,
    chooses,
    content,
    deeds,
    denies,
    flat,
    is_revoked,
    leaves_of,
    negates,
    numbers,
    quotes,
    refusals_of,
    sentences_of,
    stated,
    unquoted,
    wording,
)
from tui_app.context.summaries.prompt import language_of, prompts_of
from tui_app.context.user_text import command_typed
from tui_app.context.view import Item

# Finding the sentences of a summary that ascribe a wish, a decision or an approval to the user.

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


# What the user said, made ready for comparing.

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
