"""Which of the user's sentences no longer hold because they gave another value later.

Only where that is plain: a correction ("no, port 9090") that names the thing again, against the value that
held last, or a rule that another rule took the place of. In doubt a sentence stays as it is.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_app.context.fact_extractors.cues import asks
from tui_app.context.fact_extractors.language import looks_pasted, sentences
from tui_app.context.fact_extractors.reading import Reading, Said
from tui_app.context.fact_extractors.replacing import adds, corrects
from tui_app.context.fact_extractors.rules import find_rules
from tui_app.context.fact_extractors.typed import without_quotes

_LABELLED = re.compile(
    r"(?i)(?<![\w`])([^\W\d_]{3,30})(?:\s{0,3}[:=]|\s+(?:is|to|of|be|ist|auf|est|es))?\s+"
    r"(`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|\d[\w.:/-]{0,40})"
)
"""A word and the value behind it."""
_DENIES = re.compile(r"(?i)\bnot\b|n['’]t\b|\bnever\b|\bnicht\b|\bkein|\bpas\b|\bnie(?:mals)?\b|不|别")
REPLACED_LATER = "(replaced later)"
_AROUND = '`".,:;/'


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that a sentence gives to something."""

    key: int
    index: int
    sentence: str
    label: str
    value: str


def superseded(typed: Sequence[Said]) -> tuple[tuple[int, str], ...]:
    """Find the sentences that a later message of the user replaced.

    Args:
        typed: What the user typed, in order of time.

    Returns:
        Log number and sentence of each, in order of time.
    """
    gone = dict.fromkeys(
        (rule.said.key, rule.text) for rule in find_rules(Reading(typed=list(typed))) if rule.replaced
    )
    held: dict[str, list[_Given]] = {}
    for said in typed:
        for given in _values(said):
            before = held.setdefault(given.label, [])
            if before and before[-1].value != given.value and before[-1].index != given.index:
                if corrects(given.sentence):
                    gone |= dict.fromkeys((old.key, old.sentence) for old in before)
                before.clear()
            before.append(given)
    return tuple(sorted(gone))


def marked(key: int, text: str, replaced: Sequence[tuple[int, str]]) -> str:
    """A message with a mark behind each of its sentences that does not hold any more.

    Args:
        key: Its log number.
        text: What the user typed.
        replaced: As ``superseded`` gives it.
    """
    for where, sentence in replaced:
        if where == key:
            text = text.replace(sentence, f"{sentence} {REPLACED_LATER}", 1)
    return text


def _values(said: Said) -> Iterator[_Given]:
    """What a message gives one value to, without what it forbids, asks or adds."""
    for sentence in sentences(without_quotes(said.text)):
        if asks(sentence) or adds(sentence) or _DENIES.search(sentence) or looks_pasted(sentence):
            continue
        found = [(label.casefold(), value.strip(_AROUND)) for label, value in _LABELLED.findall(sentence)]
        labels = [label for label, _ in found]
        for label, value in found:
            if labels.count(label) == 1:
                yield _Given(said.key, said.index, sentence, label, value)
