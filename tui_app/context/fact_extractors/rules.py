"""What the user wants: standing rules and requests, word for word, and which of them a later one replaced."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tui_app.context.fact_extractors.cues import asks, rule_strength
from tui_app.context.fact_extractors.language import looks_pasted, reads_reported, sentences
from tui_app.context.fact_extractors.ranking import make_fact
from tui_app.context.fact_extractors.reading import Reading, Said
from tui_app.context.fact_extractors.replacing import replaces
from tui_app.context.fact_extractors.retracting import retraction, shared_words
from tui_app.context.fact_extractors.subjects import subject_of
from tui_app.context.fact_extractors.typed import without_quotes
from tui_app.events import Fact

REQUEST_LIMIT = 12_000
"""Characters of a request that are kept; only pasted documents are longer."""
CLIPPED = " characters omitted]…"
"""End of the mark in a clipped text: no sentence that holds it is the user's own."""
REPLACED = "replaced later: "
_BEHIND = 0.999
"""Weight of what takes a rule back, against that rule's: it comes right behind."""
_PASTED = 0.05
"""Weight of what only reads like a rule of the user's, against one that is: less than any file's."""
_LOOK_BACK = 60
"""Rules a correction is compared with: bounds the work, and people correct what they said lately."""

_ADDRESS = re.compile(r"https?://\S+")
"""The words in one are nobody's."""
_BARE_COMMAND = re.compile(r"/[\w:-]{0,60}")
_ASKED_FOR = re.compile(
    r"(?i)(?:and |also |so |ok,? |please )*(?:can|could|would|will|shall|should|kannst|könntest|peux"
    r"|puedes)\b"
)
"""Questions that are requests."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One sentence of the user's that steers the work."""

    said: Said
    text: str
    strength: int
    times: int
    replaced: bool = False
    pasted: bool = False
    """Whether it reads like what a program said; then it stands behind all that is the user's own."""
    behind: int | None = None
    """Place of the message whose rule this one may take back: it must stand as long as that one does."""


def find_rules(reading: Reading, earlier: Sequence[Rule] = ()) -> list[Rule]:
    """Collect the user's rules in order of time; repeated ones once, at their newest place.

    Args:
        reading: The history; only what was typed is read.
        earlier: Rules carried over from before it.

    Returns:
        Rules verbatim but for white space, with those marked that a later one replaced.
    """
    found = {rule.text.casefold(): replace(rule, pasted=reads_reported(rule.text)) for rule in earlier}
    for said in reading.typed:
        for sentence in sentences(without_quotes(said.text)):
            worded = _ADDRESS.sub("", sentence)
            strength = max(rule_strength(worded), retraction(worded))
            if not strength or looks_pasted(sentence) or len(sentence) < 6 or CLIPPED in sentence:
                continue
            if asks(sentence):
                if strength < 2 and not _ASKED_FOR.match(sentence):
                    continue
                strength = 1
            known = found.pop(sentence.casefold(), None)
            times = known.times + 1 if known else 1
            found[sentence.casefold()] = Rule(
                said, sentence, strength, times, pasted=reads_reported(sentence)
            )
    return _behind_theirs(_mark_replaced(list(found.values())))


def rule_facts(reading: Reading) -> list[Fact]:
    """Facts for the user's rules; a replaced one becomes a light ``detail`` that says so."""
    facts: list[Fact] = []
    for rule in find_rules(reading):
        place = {"key": rule.said.key, "index": rule.said.index}
        if rule.replaced:
            facts.append(make_fact(reading, "detail", REPLACED + rule.text, factor=0.5, **place))
        else:
            factor = _PASTED if rule.pasted else 1.2 if rule.strength == 2 else 0.8
            if rule.behind is not None:
                factor, place["index"] = factor * _BEHIND, rule.behind
            facts.append(make_fact(reading, "rule", rule.text, factor=factor, times=rule.times, **place))
    return facts


def request_facts(reading: Reading) -> list[Fact]:
    """The first and the latest request, verbatim; only a pasted document is clipped, with a mark."""
    if not reading.typed:
        return []
    chosen = [first_request(reading.typed), reading.typed[-1]]
    return [
        make_fact(
            reading,
            "request",
            clip_middle(said.text, REQUEST_LIMIT),
            key=said.key,
            index=said.index,
            factor=1.3,
        )
        for said in dict.fromkeys(chosen)
    ]


def first_request(typed: Sequence[Said]) -> Said:
    """The first thing the user asked for; a bare slash command steers the program and asks for nothing.

    Raises:
        IndexError: if nothing was typed.
    """
    asking = (said for said in typed if not is_bare_command(said.text))
    return next(asking, typed[0])


def is_bare_command(text: str) -> bool:
    """Whether a prompt is nothing but a slash command, which steers the program and asks for nothing."""
    return _BARE_COMMAND.fullmatch(text) is not None


def clip_middle(text: str, limit: int) -> str:
    """Keep head and tail of a text that is too long, with a mark of what is missing between them.

    Args:
        text: Any text.
        limit: Characters to keep at most; three quarters of them from the head.

    Returns:
        The text itself when it fits, or when the mark is no shorter than what it stands for. Words
        are never cut in two where there is white space to cut at.
    """
    if len(text) <= limit:
        return text
    head = text[: max(1, limit * 3 // 4)]
    tail = text[-max(1, limit // 4) :]
    if (cut := max(head.rfind(" "), head.rfind("\n"))) > 0:
        head = head[:cut]
    starts = [place for place in (tail.find(" "), tail.find("\n")) if place >= 0]
    tail = tail[min(starts) + 1 :] if starts else tail
    omitted = len(text) - len(head) - len(tail)
    shown = f"{head.rstrip()} …[{omitted}{CLIPPED} {tail.lstrip()}"
    return shown if len(shown) < len(text) else text


def _mark_replaced(rules: list[Rule]) -> list[Rule]:
    """Mark every rule that a newer one takes back or gives another value."""
    subjects = [subject_of(rule.text) for rule in rules]
    gone = [False] * len(rules)
    for new in range(len(rules)):
        for old in range(max(0, new - _LOOK_BACK), new):
            apart = rules[old].said.index != rules[new].said.index
            gone[old] = gone[old] or (apart and replaces(subjects[new], subjects[old]))
    return [replace(rule, replaced=over) for rule, over in zip(rules, gone, strict=True)]


def _behind_theirs(rules: list[Rule]) -> list[Rule]:
    """Give what takes a rule back the strength and the place of that rule, where it still stands."""
    placed: list[Rule] = []
    for rule in rules:
        meant = _meant(rule, placed[-_LOOK_BACK:]) if retraction(rule.text) else None
        strength = max(rule.strength, meant.strength) if meant else rule.strength
        placed.append(replace(rule, strength=strength, behind=meant.said.index if meant else None))
    return placed


def _meant(rule: Rule, before: Sequence[Rule]) -> Rule | None:
    """The standing rule that a sentence which takes something back has most words of."""
    subject = subject_of(rule.text)
    standing = [(shared_words(subject, subject_of(old.text)), old) for old in before if not old.replaced]
    shared, meant = max(standing, key=_first, default=(0, rule))
    return meant if shared else None


def _first(pair: tuple[int, Rule]) -> int:
    return pair[0]
