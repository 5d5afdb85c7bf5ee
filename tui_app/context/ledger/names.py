"""Names in a session: where each occurred, who wrote it, and which ones will be needed."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from tui_app.context.ledger.files import FileTrail
from tui_app.context.ledger.passages import Passage
from tui_app.system.secrets import mask_secrets
from tui_app.text import words

_LONGEST = 200_000
"""Characters of one text that are searched for names."""
_NAME = re.compile(r"(?<![\w/\\-])[A-Za-z_$][A-Za-z0-9_$]{3,60}(?![\w/])")
_SHAPED = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z0-9]_[A-Za-z0-9]|^_\w{4}")
_DUNDER = re.compile(r"__\w+__")
_FILE = re.compile(
    r"(?<![\w/.\\)\]}-])(?:[~.]{0,2}/)?(?:[\w.@~-]{1,80}/){0,16}[\w.@-]{1,80}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/-])(?!\((?!\d))"
)
_MAY_HOLD_SECRETS = re.compile(r"(?i)(?:pass(?:word|wd|phrase)?|_pwd|secret|api_?key)[\"'\\]{0,4}[ \t]?[:=]")
"""Texts with values that are secret only by their names, and would not be masked without them."""
_TURN = re.compile(r"[a-z](?=[A-Z0-9])|[0-9](?=[A-Za-z])")
_GENERATED_CHARS, _STRAIGHT = 16, 3
"""Length of a generated name, and its maximum average run of characters of one kind."""
FILE_ENDINGS = words(
    "py js ts tsx jsx mjs cjs go rs java kt c h cc cpp hpp cs rb php swift scala sh bash zsh ps1 md "
    "mdx rst txt json jsonl yaml yml toml ini cfg conf lock xml html css scss less vue svelte sql "
    "proto tf bicep gradle env csv tsv ipynb lua dart ex exs hs ml pony mod sum log plist svg tcss "
    "png jpg gif pdf diff patch bat cmake mk zig erl pl nix graphql"
)
_DIFF_HEAD = re.compile(r"(?m)^(?:diff --git|---|\+\+\+) [ab]/.*$")
_FLAG = re.compile(r"(?m)^\w+: (?:true|false|-?[\d.]+)$")
"""A number or a switch among a call's arguments: its key belongs to the tool."""
_NO_FILES = frozenset({"process.env", "console.log"})
_OUTSIDE = re.compile(r"^(?:\.{1,3}/|@)+")
"""Prefixes of a path that is relative to another folder or shortened at its beginning."""
_MARKED = re.compile(r"`([^`\n]{2,80})`")
_DEFINED = re.compile(
    r"\b(?:class|interface|struct|enum|trait|protocol|record|type|def|fn|func|function|fun|sub|macro|module"
    r"|const|static|private|public|protected|abstract)\s+"
    r"(?:(?:async|static|readonly|abstract|override|const|function|func|class|type|enum|let|var|mut)\s+){0,3}"
    r"(?:\([^()\n]{0,80}\)\s{0,2})?([A-Za-z_$][A-Za-z0-9_$]{3,60})"
)
_LINES = re.compile(r"[^\s:]+\.\w+:\d+(?:[-:,]\d+)*")
_VALUES = (
    re.compile(r"https?://[^\s<>\"'`)\]}|\\]{4,300}"),
    re.compile(
        r"(?<![\w.#-])(?:v\d{1,4}(?:\.\d{1,6}){1,3}|\d{1,6}(?:\.\d{1,6}){2,3}(?:[-+][\w.]{1,20})?"
        r"|\d{1,9}(?:[.,]\d{1,6})?\s?(?:ms|µs|ns|[KMGT]i?B|px|rem|MHz|GHz|fps|%|°C|€))(?!\w|\.\w)"
    ),
    re.compile(r"(?<![\w])#[0-9A-Fa-f]{6}\b|\b[0-9a-f]{7,12}\b(?<=\d\w{5})"),
)
"""Addresses, versions and measures, hashes."""


@dataclass(slots=True)
class Seen:
    """Occurrences of one name."""

    key: int = 0
    """Newest message that contains it."""
    place: str = ""
    """Path of the file in which a call last showed it, if any."""
    defined: bool = False
    """Whether it is defined there."""
    typed: bool = False
    written: int = -1
    """The newest message in which the agent wrote it; -1 for none."""
    messages: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def take_in(self, other: "Seen") -> None:
        """Merge another spelling of the same name."""
        self.messages += other.messages
        self.outputs += other.outputs
        self.typed = self.typed or other.typed
        self.written = max(self.written, other.written)
        self.key = max(self.key, other.key)


@dataclass(slots=True)
class Names:
    """Names in a session, in order of first use."""

    code: dict[str, Seen] = field(default_factory=dict)
    files: dict[str, Seen] = field(default_factory=dict)
    values: dict[str, Seen] = field(default_factory=dict)

    @classmethod
    def from_passages(cls, texts: Iterable[Passage]) -> "Names":
        names = cls()
        for passage in texts:
            names.add(passage)
        return names

    def add(self, passage: Passage) -> None:
        if passage.voice == "program":
            return
        text = _FLAG.sub("", passage.text) if passage.voice == "call" else passage.text
        code, files = names_of(text)
        written = passage.voice in {"assistant", "call"} or passage.report
        marked = tuple(_marked(passage.text)) if passage.voice == "assistant" else ()
        defined = _defined(passage.text) if passage.voice == "result" and not passage.report else frozenset()
        values = _values(passage.text) if passage.voice in {"user", "assistant"} else ()
        for table, found in ((self.code, (*code, *marked)), (self.files, files), (self.values, values)):
            for name in found:
                seen = table.setdefault(name, Seen())
                if not seen.messages or seen.messages[-1] != passage.key:
                    seen.messages.append(passage.key)
                seen.key = passage.key
                if passage.voice == "user":
                    seen.typed = True
                elif written:
                    seen.written = passage.key
                else:
                    seen.outputs.append(passage.key)
                here = name in defined
                if passage.path and table is self.code and (here >= seen.defined or not seen.place):
                    seen.place, seen.defined = passage.path, here


@lru_cache(maxsize=8_192)  # the next compaction reads the same messages again
def names_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of code and of files in a text, each once, without values of secrets."""
    text = _DIFF_HEAD.sub(lambda head: re.sub(r" [ab]/", " ", head[0]), text[:_LONGEST])
    if _MAY_HOLD_SECRETS.search(text):
        text = mask_secrets(text)
    code = dict.fromkeys(_NAME.findall(text))
    shaped = [each for each in code if _SHAPED.search(each) and not _DUNDER.fullmatch(each)]
    found = (match[0] for match in _FILE.finditer(text))
    files = (_OUTSIDE.sub("", each) for each in found if is_file_name(each) and each not in _NO_FILES)
    return tuple(each for each in shaped if not _is_generated(each)), tuple(dict.fromkeys(files))


@lru_cache(maxsize=8_192)
def _defined(text: str) -> frozenset[str]:
    return frozenset(_DEFINED.findall(text[:_LONGEST]))


def _is_generated(name: str) -> bool:
    """Whether a name is part of a key or hash instead of an identifier."""
    digits = sum(map(str.isdigit, name))
    return len(name) >= _GENERATED_CHARS and digits > 1 and len(_TURN.findall(name)) * _STRAIGHT > len(name)


def _marked(text: str) -> Iterator[str]:
    """Yield what the assistant formatted as code, except plain words; calls without their brackets."""
    for mark in _MARKED.findall(text[:_LONGEST]):
        bare = mark.removesuffix("()")
        plain = " " in bare or bare.isalpha() or bare.endswith((",", ";", ":", "(", "{"))
        if not plain and not _LINES.fullmatch(bare) and not is_file_name(bare) and not _NAME.fullmatch(bare):
            yield bare


def _values(text: str) -> Sequence[str]:
    found = (match[0].rstrip(".,;:") for pattern in _VALUES for match in pattern.finditer(text[:_LONGEST]))
    return list(dict.fromkeys(found))


def is_file_name(name: str) -> bool:
    """Whether a name has a known file extension."""
    ending = name.rsplit(".", 1)[-1]
    return ending in FILE_ENDINGS or (name.isupper() and ending.lower() in FILE_ENDINGS)


_OWN, _FERTILE, _WORDS_TYPED, _TYPED, _RELEVANT, _EDITED = 2.5, 2.5, 1.5, 1.5, 1.0, 1.0
"""Weights of the features: written by the agent; its best output was used; its words were typed; typed
itself; close to the current topic; a changed file. Fitted to 152 cuts of 73 real sessions.
"""
_VALUE = {"typed": 6.0, "written": 3.0}
"""Scores of addresses and measures by author."""
_DAMPING = 4
"""Names added to an output's own, so that one used name of two does not make the output fertile."""
_LATEST = 4
"""Messages of the agent that define the current topic."""
_K1, _B = 1.2, 0.75
"""The usual constants of BM25."""
_SPLIT = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_TERM = re.compile(r"[^\W\d_]{3,30}")
_TERMS_OF = 20_000
"""Characters of one text whose words are counted."""


def rank_names(texts: Sequence[Passage], names: Names, trails: Iterable[FileTrail]) -> dict[str, float]:
    """Score every name by how likely it is to be needed, from 0 to about 10."""
    every = {**names.files, **names.code}
    fertile = _ranks(_fertility(every))
    relevant = _ranks(_relevance(texts, every))
    asked = _typed_parts(texts, every)
    changed = {trail.path.rpartition("/")[2] for trail in trails if trail.is_changed}
    scores = {
        name: _OWN * (seen.written >= 0)
        + _FERTILE * fertile[name]
        + _WORDS_TYPED * asked[name]
        + _TYPED * seen.typed
        + _RELEVANT * relevant[name]
        + _EDITED * (name in names.files and name.rpartition("/")[2] in changed)
        for name, seen in every.items()
    }
    return scores | {
        value: _VALUE["typed" if seen.typed else "written"]
        for value, seen in names.values.items()
        if value not in scores
    }


def _ranks(values: dict[str, float]) -> dict[str, float]:
    """Return the share of the other values below each one, from 0 to 1; equal values rank equal."""
    below: dict[float, int] = {}
    for place, value in enumerate(sorted(values.values())):
        below.setdefault(value, place)
    most = max(1, len(values) - 1)
    return {name: below[value] / most for name, value in values.items()}


def _fertility(every: dict[str, Seen]) -> dict[str, float]:
    """Return, for a name's best output, the share of its other names that the agent wrote later."""
    size: Counter[int] = Counter()
    used: Counter[int] = Counter()
    for seen in every.values():
        for output in set(seen.outputs):
            size[output] += 1
            used[output] += seen.written > output
    return {
        name: max(
            ((used[each] - (seen.written > each)) / (size[each] + _DAMPING) for each in set(seen.outputs)),
            default=0.0,
        )
        for name, seen in every.items()
    }


def _relevance(texts: Sequence[Passage], every: dict[str, Seen]) -> dict[str, float]:
    """Return the best BM25 score of the messages with a name, for the current topic."""
    terms: dict[int, Counter[str]] = {}
    for passage in texts:
        terms.setdefault(passage.key, Counter()).update(_terms(passage.text))
    query = _query(texts)
    holding = Counter(term for counted in terms.values() for term in query & counted.keys())
    average = sum(counted.total() for counted in terms.values()) / max(1, len(terms)) or 1.0
    scores: dict[int, float] = {}
    for key, counted in terms.items():
        length = 1 - _B + _B * counted.total() / average
        scores[key] = math.fsum(  # sum independent of the set's order
            math.log(1 + (len(terms) - holding[term] + 0.5) / (holding[term] + 0.5))
            * counted[term]
            * (_K1 + 1)
            / (counted[term] + _K1 * length)
            for term in query & counted.keys()
        )
    return {
        name: max((scores.get(key, 0.0) for key in seen.messages), default=0.0)
        for name, seen in every.items()
    }


@lru_cache(maxsize=8_192)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(_TERM.findall(text[:_TERMS_OF].casefold()))


def _query(texts: Sequence[Passage]) -> set[str]:
    """Return the words of the latest prompt, of the last response, and of the agent's last few calls."""
    last: list[str] = []
    for voice, most in (("user", 1), ("assistant", 1), ("call", _LATEST)):
        last += [passage.text for passage in texts if passage.voice == voice][-most:]
    return {term for text in last for term in _terms(text)}


def _typed_parts(texts: Sequence[Passage], every: dict[str, Seen]) -> dict[str, float]:
    """Return the share of a name's parts that the user typed; rare parts count more."""
    typed = {part for passage in texts if passage.voice == "user" for part in _terms(passage.text)}
    parts = {name: {part.casefold() for part in _SPLIT.findall(name)} for name in every}
    counts = Counter(part for found in parts.values() for part in found)
    shares: dict[str, float] = {}
    for name, found in parts.items():
        weights = {part: math.log(1 + len(every) / counts[part]) for part in found}
        whole = math.fsum(weights.values())
        shares[name] = math.fsum(weights[part] for part in found & typed) / whole if whole else 0.0
    return shares
