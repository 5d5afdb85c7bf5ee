"""What a statement says of the user: what they asked for, decided, allowed, or hold as a rule."""

import re
from collections.abc import Sequence
from functools import cached_property

from tui_app.context.claim_words import (
    ANSWERED,
    AS_TOLD,
    DECIDED,
    DENIES,
    FREED,
    GRAVE,
    INTENTS,
    KEEPS,
    LEAVE,
    MAY,
    MUST,
    OUTWARD,
    PENDING,
    RESERVED,
    RULED,
    SAYS_YES,
    STILL_TO_ASK,
    THEY,
    UNGIVEN,
    UP_TO_THEM,
    USER,
    VOID,
    WILLS,
    WITHOUT,
    YOU,
)
from tui_app.context.facts.observations import Reading, command_of, sentences
from tui_app.context.facts.rules import asks, retraction, rule_strength
from tui_app.context.provenance.statements import Statement, names_in
from tui_app.context.summaries.prompt import language_of
from tui_app.context.user_text import stems_of
from tui_app.records import frozen

_CLAUSE = re.compile(r"[^,.;:()]*")
_CLAUSES = re.compile(r"[,.;:()，、。；]")
_QUOTE = re.compile(r"[\"“„«]([^\"”“»\n]{8,400})[\"”“»]")
_NAMED = re.compile(r"`|\w[./_]\w|\d")
_HANDLE = re.compile(r"\(?#-?\d{1,12}\)?:?")
_ONE, _ALL, _LAID_DOWN, _MOST = 0.4, 0.75, 0.5, 0.6
"""Share of a statement's words that one message must hold, all of them together, one for a rule, and one for
what cannot be undone."""
_SHORT = 12
"""Words of an answer that says little without the question before it."""
_QUESTION = 1_500
"""Characters at the end of the assistant's message that an answer may refer to."""
_LEAST_RULE = 12
"""Characters from which on a sentence of the user's is known in a statement."""
FOREIGN = re.compile(r"[\u0370-\u1fff\u3040-\ud7ff]")
"""Letters of other scripts than the Latin one."""
_SAME = 0.7
"""Share of the words of a rule that a statement about it holds."""
_HALF, _HEADING = 0.5, 60
_FEW = 3


@frozen
class Sentence:
    """Something the user laid down."""

    text: str
    stems: frozenset[str]
    denies: bool
    excludes: bool


class UserEvidence:
    """What the user said, made ready for comparing.

    Args:
        reading: The whole session.
        beside: Texts of the user's that stand beside it, such as instructions.
    """

    def __init__(self, reading: Reading, beside: Sequence[str] = ()) -> None:
        self.reading, self.beside = reading, beside

    @cached_property
    def utterances(self) -> list[frozenset[str]]:
        """The telling words of each message; of a short answer those of the question before it too."""
        found: list[frozenset[str]] = []
        spoken = iter([*self.reading.spoken, None])
        following, before = next(spoken), ""
        for typed in self.reading.typed:
            while following is not None and following.index < typed.index:
                before, following = following.text, next(spoken)
            stems = stems_of(typed.text)
            if len(typed.text.split()) <= _SHORT:
                stems |= stems_of(before[-_QUESTION:])
            found.append(stems)
        return [*found, *map(stems_of, self.beside)]

    @cached_property
    def granted(self) -> list[frozenset[str]]:
        """The telling words of all by which leave may have been given: no questions, no prohibitions."""
        answers = [
            stems
            for stems, typed in zip(self.utterances, self.reading.typed, strict=False)
            if len(typed.text.split()) <= _SHORT and not (DENIES.search(typed.text) or asks(typed.text))
        ]
        return [*answers, *(each.stems for each in self.laid_down if not (each.denies or each.excludes))]

    @cached_property
    def everyone(self) -> list[frozenset[str]]:
        """The telling words of each sentence, the assistant's too."""
        spoken = (sentence for said in self.reading.spoken for sentence in sentences(said.text))
        return [*self.utterances, *(rule.stems for rule in self.laid_down), *map(stems_of, spoken)]

    @cached_property
    def acted(self) -> frozenset[str]:
        """The telling words of the commands that were run and the tools that were used."""
        lines = dict.fromkeys(command_of(action) or action.tool for action in self.reading.actions)
        return frozenset().union(*map(stems_of, lines))

    @cached_property
    def every(self) -> frozenset[str]:
        """The telling words of all messages."""
        return frozenset().union(*self.utterances)

    @cached_property
    def says_grave(self) -> bool:
        """Whether the user spoke at all of what cannot be undone, in whatever language."""
        return any(GRAVE.search(said.text) for said in self.reading.typed)

    @cached_property
    def denies(self) -> bool:
        """Whether they ruled anything out."""
        return any(rule.denies for rule in self.laid_down)

    @cached_property
    def may_have_consented(self) -> bool:
        """Whether they used any word of leave, or answered shortly."""
        return any(LEAVE.search(said.text) or len(said.text.split()) <= _FEW for said in self.reading.typed)

    @cached_property
    def language(self) -> str:
        """The language that most of it is in; empty where that cannot be told."""
        return language_of(said.text for said in self.reading.typed)

    def takes_back(self, rule: str) -> bool:
        """Whether any other sentence may take a rule back: it says so, or shares words with it."""
        stems = stems_of(rule)
        return any(
            plainly == 2 or len(sentence.stems & stems) >= 2
            for sentence in self.laid_down
            if (plainly := retraction(sentence.text)) and rule not in flat(sentence.text)
        )

    @cached_property
    def laid_down(self) -> list[Sentence]:
        """The sentences that state or ask something; questions are left out."""
        found: list[Sentence] = []
        for text in (*(said.text for said in self.reading.typed), *self.beside):
            for sentence in sentences(text):
                stems = stems_of(sentence)
                if len(stems) >= 2 and not asks(sentence):
                    found.append(Sentence(sentence, stems - _STEERING, *polarity(sentence)))
        return found

    @cached_property
    def _flat(self) -> list[str]:
        said = (*self.reading.typed, *self.reading.spoken)
        return [flat(text) for text in (*(each.text for each in said), *self.beside)]

    def quotes(self, text: str) -> bool:
        """Whether somebody wrote this, word for word."""
        wanted = flat(text.rstrip(".!?…,"))
        return any(wanted in one for one in self._flat)


def polarity(text: str) -> tuple[bool, bool]:
    """Whether a sentence forbids, and whether it rules something out or makes it depend on leave."""
    if not frees(text) and any(map(_is_reserved, LEAVE.finditer(text))):
        return True, True  # to need leave is not to do it without
    return bool(DENIES.search(text)), bool(WITHOUT.search(text))


def frees(text: str) -> bool:
    """Whether a sentence says that nobody need be asked."""
    return any(
        not (WITHOUT.match(match[0]) and DENIES.search(text[: match.start()]))
        for match in FREED.finditer(text)
    )


def _is_reserved(leave: re.Match[str]) -> bool:
    """Whether leave is still to be given, or is not."""
    before, behind = leave.string[: leave.start()], leave.string[leave.end() :]
    return any((UNGIVEN.search(before), RESERVED.search(before), PENDING.match(behind)))


def flat(text: str) -> str:
    """A text in small letters on one line."""
    return " ".join(text.casefold().split())


_STEERING = stems_of(
    "always never must should shall please dont cannot immer niemals toujours jamais siempre nunca "
    "sempre altijd nooit alltid aldrig zawsze nigdy всегда никогда нельзя завжди ніколи"
)
"""Words that steer, whatever it is about."""
OWN = stems_of(
    "user users assistant session conversation summary request requested message wants asked said rule "
    "constraint use used using make made get do done none nothing"
)
"""Words that tell nothing of what a summary is about."""


def wish_is_unknown(statement: Statement, bare: str, user: UserEvidence) -> bool:
    """Whether a statement ascribes to the user what no message supports, or turns a rule of theirs round."""
    text = _HANDLE.sub(" ", statement.text)
    if _turns_round(text, user):
        return True
    if _voids(text, bare, statement, user):
        return True
    named = _names_user(bare) or AS_TOLD.match(bare) is not None
    given = [not _is_reserved(match) for match in LEAVE.finditer(bare)]
    agreed = bool(SAYS_YES.search(bare)) and bool(ANSWERED.search(bare) or OUTWARD.search(bare))
    leaves = any(given) or frees(bare) or agreed
    listed = bool(USER.search(statement.label) and WILLS.search(statement.label))
    # Whether a heading says that what follows is the user's.
    heading = statement.heading
    laid_down = listed or (len(heading) <= _HEADING and bool(USER.search(heading) and WILLS.search(heading)))
    wants = bool(INTENTS.search(statement.heading))
    if not (named or leaves or laid_down or wants or YOU.search(bare)):
        return _is_unheard(text, f"{bare} {statement.heading}", user)
    quotes = [quote for quote in _QUOTE.findall(text) if len(quote.split()) >= _FEW]
    if (named or laid_down) and quotes:
        return not all(map(user.quotes, quotes))
    wanted = stems_of(USER.sub(" ", WILLS.sub(" ", LEAVE.sub(" ", text)))) - OWN
    little = wants and not (named or leaves or laid_down) and not GRAVE.search(bare)
    if len(wanted) < _FEW and (little or (given and not leaves)):
        return False
    if not wanted or not _comparable(text, user):
        grave = bool(GRAVE.search(bare)) and not user.says_grave
        unheard = grave and (named or bool(YOU.search(bare)))
        unheard |= leaves and not user.may_have_consented
        unheard |= (laid_down or named) and bool(DENIES.search(bare)) and not user.denies
        return unheard or (leaves and (named or not wanted) and not _NAMED.search(text))
    needed = _ALL if leaves or YOU.search(bare) else _LAID_DOWN if laid_down and not named else _ONE
    needed = max(needed, _MOST if GRAVE.search(bare) else 0)
    grave = any(stems_of(deed) - user.every for deed in GRAVE.findall(bare))
    if grave or (leaves and _is_forbidden(wanted, user)):
        return True
    # Names have been looked up already: beside them, or without them, the words must be somebody's.
    plain = wanted & stems_of(bare)
    ruled = bool(RULED.search(text))
    heard = [rule.stems for rule in user.laid_down] if ruled else user.granted if leaves else user.utterances
    for words in (wanted, plain if plain and not leaves else wanted):
        if max((len(words & said) for said in heard), default=0) >= needed * len(words):
            return False
    return leaves or ruled or len(wanted & user.every) < _ALL * len(wanted)


def speaks_for_user(statement: Statement, bare: str, user: UserEvidence) -> bool:
    """Whether a statement gives leave, or says what the user wants, and nobody in the session spoke so.

    A file or a result may hold the same words: they are somebody else's.
    """
    if user.quotes(statement.text):
        return False
    above = f"{statement.label} {statement.heading}"
    given = any(not _is_reserved(match) for match in LEAVE.finditer(bare)) or frees(bare)
    told = (SAYS_YES, MAY, YOU, DECIDED)
    theirs = bool(USER.search(above) and WILLS.search(above)) or bool(INTENTS.search(above))
    return (
        given
        or theirs
        or any(pattern.search(bare) for pattern in told)
        or bool(DECIDED.search(above) or AS_TOLD.match(bare))
        or _names_user(bare)
    )


def without_quotes(bare: str, user: UserEvidence) -> str:
    """A statement with each quotation blanked that somebody really wrote; nothing else moves."""
    return _QUOTE.sub(lambda match: " " * len(match[0]) if user.quotes(match[1]) else match[0], bare)


def goes_too_far(statement: Statement, bare: str, user: UserEvidence) -> bool:
    """Whether a statement tells of what may be done, or leaves the machine, and nobody spoke of."""
    acts = [stem for act in OUTWARD.findall(bare) for stem in stems_of(act)]
    told = stems_of(MAY.sub(" ", bare)) - OWN
    if told and MAY.search(bare) and all(len(told & said) < _LAID_DOWN * len(told) for said in user.everyone):
        return True
    denied = polarity(bare)[0] and not frees(bare)
    denied |= bool(USER.search(bare) and UP_TO_THEM.search(bare))
    if not acts or denied or all(act in user.acted for act in acts):
        return False
    wanted = stems_of(statement.text) - OWN
    heard = any(act in stems for act in acts for stems in user.granted)
    return not heard and all(len(wanted & said) < _ALL * len(wanted) for said in user.everyone)


def _names_user(bare: str) -> bool:
    """Whether a statement says of the user, and not to them, that they want something."""
    users = [match for match in USER.finditer(bare) if not STILL_TO_ASK.search(bare[: match.start()])]
    wills = bool(WILLS.search(bare)) or not bare.isascii()
    return bool(THEY.search(bare)) or (bool(users) and wills)


def _is_unheard(text: str, said: str, user: UserEvidence) -> bool:
    """Whether a statement tells a decision or a rule of which nobody has spoken."""
    ruled = bool(RULED.search(text))
    decided = any(not UNGIVEN.search(said[: match.start()]) for match in DECIDED.finditer(said))
    if not _comparable(text, user):
        return ruled and not any(rule_strength(rule.text) == 2 for rule in user.laid_down)
    wanted = stems_of(DECIDED.sub(" ", RULED.sub(" ", text))) - OWN
    if not (ruled or decided) or not wanted:
        return False
    nearest = max((len(wanted & words) for words in user.everyone), default=0)
    return nearest < _LAID_DOWN * len(wanted)


def _voids(text: str, bare: str, statement: Statement, user: UserEvidence) -> bool:
    """Whether a statement says that a rule of the user's holds no more, where they took none back."""
    whole = flat(text)
    rules = [flat(rule.text.rstrip(".!… ")) for rule in user.laid_down if len(rule.text) >= _LEAST_RULE]
    held = next((rule for rule in rules if rule in whole), "")
    quotes = [quote for quote in _QUOTE.findall(text) if len(quote.split()) >= _FEW and user.quotes(quote)]
    if not (held or quotes) or user.takes_back(held or flat(quotes[0])):
        return False
    about = whole.replace(held, " ") if held else flat(_QUOTE.sub(" ", bare))
    return bool(VOID.search(about) or VOID.search(f"{statement.label} {statement.heading}"))


def _is_forbidden(wanted: frozenset[str], user: UserEvidence) -> bool:
    """Whether what comes nearest among the user's sentences is a prohibition."""
    nearest = max((len(wanted & sentence.stems) for sentence in user.laid_down), default=0)
    return nearest > 0 and all(
        sentence.denies for sentence in user.laid_down if len(wanted & sentence.stems) == nearest
    )


def _comparable(text: str, user: UserEvidence) -> bool:
    """Whether a statement and the user's words are in one language; across two, words prove nothing."""
    ours = language_of([text])
    return not user.language or not ours or ours == user.language


def _turns_round(text: str, user: UserEvidence) -> bool:
    """Whether a statement says the opposite of what the user laid down."""
    wanted = stems_of(text) - _STEERING
    steers = rule_strength(text) > 0
    if len(wanted) < 2:
        return False
    denies, excludes = polarity(text)
    denied = [stems_of(_CLAUSE.match(text, match.end())[0]) for match in DENIES.finditer(text)]  # type: ignore[index]
    paths = {name.text for name in names_in(text) if name.is_path}
    for rule in user.laid_down:
        named = not denies and rule.denies and any(path in rule.text for path in paths)
        if named and (MAY.search(text) or MUST.search(text)) and not KEEPS.search(text):
            return True
        # Of ``tabs, not spaces`` only the spaces are denied.
        apart = denies and denied and all(stems and not stems & rule.stems for stems in denied)
        if not (rule.denies or denies):
            continue
        if rule.text.isascii() and not (rule_strength(rule.text) or steers):
            continue
        about = rule.stems - OWN or rule.stems
        shared = len(about & wanted)
        if shared < max(2, _SAME * len(about), _HALF * len(wanted)) or rule.text in text:
            continue
        same = (denies and not apart, excludes) == (rule.denies, rule.excludes)
        if not same or _affirms(text, rule.text):
            return True
    return False


def _affirms(text: str, rule: str) -> bool:
    """Whether a clause of a text commands what one of a rule forbids: ``never touch it, always edit it``."""
    said, ruled = _by_clause(text), _by_clause(rule)
    return bool(said[False] & (ruled[True] - ruled[False]))


def _by_clause(text: str) -> dict[bool, frozenset[str]]:
    """The telling words of the clauses that forbid, and of those that command."""
    found: dict[bool, frozenset[str]] = {True: frozenset(), False: frozenset()}
    for clause in _CLAUSES.split(text):
        denies = bool(DENIES.search(clause))
        if denies or rule_strength(clause):
            found[denies] |= stems_of(clause) - _STEERING
    return found
