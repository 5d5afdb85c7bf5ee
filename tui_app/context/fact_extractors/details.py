"""Small things that are dear later: addresses, versions, measures, and names, each with where it was seen.

Names are what a summary loses first. Those that the user and the assistant said or used weigh most; those
that only stood in an output weigh little, else the listing of a folder would win.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tui_app.context.events import Fact
from tui_app.context.fact_extractors.files import file_trails, target_of
from tui_app.context.fact_extractors.ranking import make_fact
from tui_app.context.fact_extractors.reading import Reading, argument_texts
from tui_app.context.fact_extractors.words import words

MAX_DETAILS = 250
"""Enough to judge a summary by; a log entry that lists more is read by nobody."""
NAMES_IN_A_LINE = 10
LEAST_WEIGHT = 0.15
"""Names below it stood once in an old output: hardly one in thirty of them is ever needed again."""
SEEN_IN = " · in "

_NAME = re.compile(r"(?<![\w/.\\-])[A-Za-z_$][A-Za-z0-9_$]{3,60}(?:\.[A-Za-z_][A-Za-z0-9_]{2,60})?(?![\w/])")
_SHAPED = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z0-9]_[A-Za-z0-9]|^_\w{4}|^[A-Z][A-Z0-9]{4}")
_FILE = re.compile(
    r"(?<![\w/.\\-])(?:[\w.@~-]{1,80}/){0,12}[\w.@-]{1,80}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/-])"
)
_FILE_ENDINGS = words(
    "py js ts tsx jsx mjs cjs go rs java kt c h cc cpp hpp cs rb php swift scala sh bash zsh ps1 md mdx "
    "rst txt json jsonl yaml yml toml ini cfg conf lock xml html css scss less vue svelte sql proto tf "
    "bicep gradle env csv tsv ipynb lua dart ex exs hs ml pony mod sum log plist svg tcss"
)
_MARKED = re.compile(r"`([^`\n]{2,80})`")
_URL = re.compile(r"https?://[^\s<>\"'`)\]}|\\]{4,300}")
_MEASURE = re.compile(
    r"(?<![\w.#-])(?:v\d{1,4}(?:\.\d{1,6}){1,3}|\d{1,6}(?:\.\d{1,6}){2,3}(?:[-+][\w.]{1,20})?"
    r"|\d{1,9}(?:[.,]\d{1,6})?\s?(?:ms|µs|ns|seconds?|secs?|minutes?|hours?|days?|[KMGT]i?B|bytes|px|rem"
    r"|MHz|GHz|fps|tokens|%|°C|€|USD))(?!\w|\.\w)"
)
_HEX = re.compile(r"(?<![\w])#[0-9A-Fa-f]{6}\b|\b[0-9a-f]{7,12}\b(?<=\d\w{5})")
_TYPED, _SPOKEN, _ACTED, _PRINTED = 2.2, 1.6, 1.0, 0.4
"""Weights of the voices: user, assistant, arguments of a call, output of a call."""
_LONGEST = 200_000
"""Characters of one text that are searched for names; what is longer is data."""


@dataclass(slots=True)
class Seen:
    """Where one name came up."""

    messages: int = 0
    key: int = 0
    index: int = -1
    voice: float = 0.0
    """How much the weightiest voice counts that used it; an output counts least."""
    place: str = ""
    """Path of the file it was last seen in by a call, if any."""


@dataclass(slots=True)
class _Index:
    names: dict[str, Seen] = field(default_factory=dict)

    def note(self, found: Iterator[str], key: int, index: int, points: float, place: str = "") -> None:
        for name in dict.fromkeys(found):
            seen = self.names.setdefault(name, Seen())
            if seen.index != index:
                seen.messages += 1
            seen.key, seen.index = key, index
            seen.voice = max(seen.voice, points)
            seen.place = place or seen.place


def detail_facts(reading: Reading, limit: int = MAX_DETAILS) -> list[Fact]:
    """Facts ``name · in path`` for names likely to be needed, and addresses, versions and measures.

    Args:
        reading: The history.
        limit: Facts to return at most.

    Returns:
        Facts, weightiest first; without names of files that have their own trail.
    """
    facts = [*_named_values(reading), *_names(reading)]
    facts = [fact for fact in facts if fact.weight >= LEAST_WEIGHT]
    facts.sort(key=_weight, reverse=True)
    return facts[:limit]


def grouped(facts: Iterable[Fact]) -> Iterator[tuple[str, list[Fact]]]:
    """Put details of one file on common lines: ``path: `a`, `b```.

    Args:
        facts: Details, weightiest first.

    Yields:
        The text of a line and its facts, at most ``NAMES_IN_A_LINE`` of them, weightiest first.
    """
    groups: dict[str, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(fact.text.partition(SEEN_IN)[2], []).append(fact)
    for place, members in groups.items():
        for start in range(0, len(members), NAMES_IN_A_LINE):
            part = members[start : start + NAMES_IN_A_LINE]
            names = ", ".join(fact.text.partition(SEEN_IN)[0] for fact in part)
            yield (f"{place}: {names}" if place else names), part


def _weight(fact: Fact) -> float:
    return fact.weight


def _named_values(reading: Reading) -> Iterator[Fact]:
    """Addresses, versions and measures from what was said; outputs are full of them and mean nothing."""
    found: dict[str, tuple[int, int, float]] = {}
    for factor, voices in ((1.5, reading.spoken), (3.0, reading.typed)):
        for said in voices:
            text = said.text[:_LONGEST]
            for pattern in (_URL, _MEASURE, _HEX):
                for match in pattern.finditer(text):
                    found[match[0].rstrip(".,;:")] = (said.key, said.index, factor)
    for value, (key, index, factor) in found.items():
        yield make_fact(reading, "detail", f"`{value}`", key=key, index=index, factor=factor)


def _names(reading: Reading) -> Iterator[Fact]:
    """Names weighed by who used them, how lately, and in how many messages."""
    listed = {ending for trail in file_trails(reading) for ending in _endings(trail.path)}
    for name, seen in _index_names(reading).names.items():
        if name in listed:
            continue
        place = "/".join(seen.place.rsplit("/", 2)[-2:])
        where = f"{SEEN_IN}{place}" if place and name not in place else ""
        recency = reading.recency(seen.index)
        newest = 2.0 if recency > 0.9 else 1.0
        factor = seen.voice * (1.0 + math.log2(seen.messages)) * (0.3 + 0.7 * recency) * newest
        yield make_fact(reading, "detail", f"`{name}`{where}", key=seen.key, index=seen.index, factor=factor)


def _endings(path: str) -> Iterator[str]:
    """The path and every shorter form of it that ends in the same name."""
    yield path
    place = path.find("/")
    while place >= 0:
        yield path[place + 1 :]
        place = path.find("/", place + 1)


def _index_names(reading: Reading) -> _Index:
    index = _Index()
    for said in reading.typed:
        index.note(names_in(said.text), said.key, said.index, _TYPED)
    for said in reading.spoken:
        index.note(names_in(said.text), said.key, said.index, _SPOKEN)
        index.note(_marked(said.text), said.key, said.index, _SPOKEN)
    for action in reading.actions:
        place = target_of(action.args)
        for text in argument_texts(action.args):
            index.note(names_in(text), action.key, action.index, _ACTED, place)
        index.note(names_in(action.result), action.key, action.index, _PRINTED, place)
    return index


def names_in(text: str) -> Iterator[str]:
    """Yield file names and identifiers of a text: what stands in code and not in prose.

    Args:
        text: Any text; only its first part is searched when it is very long.

    Yields:
        Names, repeated as they occur.
    """
    text = text[:_LONGEST]
    for match in _NAME.finditer(text):
        if _SHAPED.search(match[0]):
            yield match[0]
    for match in _FILE.finditer(text):
        if match[0].rsplit(".", 1)[-1].lower() in _FILE_ENDINGS:
            yield match[0]


def _marked(text: str) -> Iterator[str]:
    for mark in _MARKED.findall(text[:_LONGEST]):
        if " " not in mark and not mark.isalpha():
            yield mark
