"""Small things that are dear later: addresses, versions, measures, and names, each with where it was seen."""

import math
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter

from tui_app.context.facts.files import Trail, ending_of, file_trails, target_of
from tui_app.context.facts.observations import Action, Reading, argument_texts, command_of, handle, make_fact
from tui_app.context.secrets import mask_secrets
from tui_app.context.user_text import words
from tui_app.events import Fact

LONGEST = 200_000
"""Characters of one text that are searched for names; what is longer is data."""

_NAME = re.compile(r"(?<![\w/\\-])[A-Za-z_$][A-Za-z0-9_$]{3,60}(?![\w/])")
_SHAPED = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z0-9]_[A-Za-z0-9]|^_\w{4}")
_DUNDER = re.compile(r"__\w+__")
_FILE = re.compile(
    r"(?<![\w/.\\)\]}-])(?:[~.]{0,2}/)?(?:[\w.@~-]{1,80}/){0,16}[\w.@-]{1,80}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/-])(?!\((?!\d))"
)
_MAY_HOLD_SECRETS = re.compile(r"(?i)(?:pass(?:word|wd|phrase)?|_pwd|secret|api_?key)[\"'\\]{0,4}[ \t]?[:=]")
"""Texts with values that only their names give away, and that would be told without these."""
_TURN = re.compile(r"[a-z](?=[A-Z0-9])|[0-9](?=[A-Za-z])")
_GENERATED_CHARS, _STRAIGHT = 16, 3
"""Length of a generated name, and characters of one kind in a row that it has on average at most."""
_FILE_ENDINGS = words(
    "py js ts tsx jsx mjs cjs go rs java kt c h cc cpp hpp cs rb php swift scala sh bash zsh ps1 md mdx "
    "rst txt json jsonl yaml yml toml ini cfg conf lock xml html css scss less vue svelte sql proto tf "
    "bicep gradle env csv tsv ipynb lua dart ex exs hs ml pony mod sum log plist svg tcss"
)
_DIFF_HEAD = re.compile(r"(?m)^(?:diff --git|---|\+\+\+) [ab]/.*$")
_DIFF_SIDE = re.compile(r" [ab]/")
"""A diff puts a letter for its side in front of every path."""
_OUTSIDE = re.compile(r"^(?:\.{1,3}/|@)+")
"""What stands in front of a path that is told from somewhere else, or whose beginning is left out."""
_ATTRIBUTES = frozenset({"process.env", "console.log"})
"""Everyday code that is spelt like a file."""
_MARKED = re.compile(r"`([^`\n]{2,80})`")
_DEFINED = re.compile(
    r"\b(?:class|interface|struct|enum|trait|protocol|record|type|def|fn|func|function|fun|sub|macro|module"
    r"|const|static|private|public|protected|abstract)\s+"
    r"(?:(?:async|static|readonly|abstract|override|const|function|func|class|type|enum|let|var|mut)\s+){0,3}"
    r"(?:\([^()\n]{0,80}\)\s{0,2})?([A-Za-z_$][A-Za-z0-9_$]{3,60})"
)
_LINES = re.compile(r"[^\s:]+\.\w+:\d+(?:[-:,]\d+)*")
"""Lines of a file: they are others after its next change, and by themselves say nothing."""
_PUNCTUATION = (",", ";", ":", "(", "{")
_REPORTERS = words("task agent subagent delegate dispatch explore research")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


@dataclass(slots=True)
class Seen:
    """Where one name came up."""

    key: int = 0
    """Log number of the newest message that holds it."""
    index: int = -1
    """Place of that message."""
    place: str = ""
    """Path of the file or folder it was last seen in by a call, if any."""
    defined: bool = False
    """Whether it is defined there."""
    typed: bool = False
    """Whether the user typed it."""
    written: int = -1
    """Place of the last message in which the agent wrote it, in words or in an argument; -1 for none."""
    messages: list[int] = field(default_factory=list)
    """Places of the messages that hold it."""
    outputs: list[int] = field(default_factory=list)
    """Places of the outputs that hold it."""

    def take_in(self, other: "Seen") -> None:
        """Count another way to write the same name."""
        self.messages += other.messages
        self.outputs += other.outputs
        self.typed = self.typed or other.typed
        self.written = max(self.written, other.written)
        if other.index > self.index:
            self.key, self.index = other.key, other.index


@dataclass(slots=True)
class Names:
    """Names of a session, in order of first use."""

    code: dict[str, Seen] = field(default_factory=dict)
    files: dict[str, Seen] = field(default_factory=dict)

    def _seen(self, name: str, key: int, index: int, *, file: bool = False) -> Seen:
        seen = (self.files if file else self.code).setdefault(name, Seen())
        if not seen.messages or seen.messages[-1] != index:
            seen.messages.append(index)
        seen.key, seen.index = key, index
        return seen

    def say(self, text: str, key: int, index: int, *, typed: bool) -> None:
        """Take in what one side said."""
        code, files = names_of(text)
        marks = () if typed else tuple(_marked(text))
        for name in (*code, *marks):
            self._note_words(self._seen(name, key, index), index, typed=typed)
        for name in files:
            self._note_words(self._seen(name, key, index, file=True), index, typed=typed)

    @staticmethod
    def _note_words(seen: Seen, index: int, *, typed: bool) -> None:
        if typed:
            seen.typed = True
        else:
            seen.written = index

    def call(self, action: Action) -> None:
        """Take in a call with its answer."""
        place = target_of(action.args)
        for text in argument_texts(action.args):
            where = "" if command_of(action) else place
            self._take(text, action, where, written=True)
        self._take(action.result, action, place, written=reports(action))

    def _take(self, text: str, action: Action, place: str, *, written: bool) -> None:
        code, files = names_of(text)
        defined = frozenset() if written else _defined(text)
        for file, names in ((False, code), (True, files)):
            for name in names:
                seen = self._seen(name, action.key, action.index, file=file)
                here = name in defined and not file
                if place and (here >= seen.defined or not seen.place):
                    seen.place, seen.defined = place, here
                if written:
                    seen.written = action.index
                else:
                    seen.outputs.append(action.index)


def index_names(reading: Reading) -> Names:
    """Collect the names of a history in one pass.

    Args:
        reading: The history.

    Returns:
        Every name with its places; names that only stood in outputs too.
    """
    names = Names()
    for said in reading.typed:
        names.say(said.text, said.key, said.index, typed=True)
    for said in reading.spoken:
        names.say(said.text, said.key, said.index, typed=False)
    for action in reading.actions:
        names.call(action)
    return names


@lru_cache(maxsize=4_096)  # the next compaction reads the same messages again
def names_of(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of code and of files in a text, each once, without values that are secret by their name."""
    text = _DIFF_HEAD.sub(lambda head: _DIFF_SIDE.sub(" ", head[0]), text[:LONGEST])
    if _MAY_HOLD_SECRETS.search(text):
        text = mask_secrets(text)
    return tuple(_code_names(text)), tuple(dict.fromkeys(_file_names(text)))


@lru_cache(maxsize=4_096)
def _defined(text: str) -> frozenset[str]:
    return frozenset(_DEFINED.findall(text[:LONGEST]))


def reports(action: Action) -> bool:
    """Whether another agent did the work: what it wrote is a report and no raw output."""
    return bool({word.lower() for word in _WORD.findall(action.tool)} & _REPORTERS) and " " in action.result


def _code_names(text: str) -> Iterator[str]:
    """Each name once: code says most of its names often."""
    for name in dict.fromkeys(_NAME.findall(text)):
        if _SHAPED.search(name) and not _DUNDER.fullmatch(name) and not _is_generated(name):
            yield name


def _is_generated(name: str) -> bool:
    """Whether a name is no word of a program but a piece of a key, cut from what told so."""
    digits = sum(map(str.isdigit, name))
    return len(name) >= _GENERATED_CHARS and digits > 1 and len(_TURN.findall(name)) * _STRAIGHT > len(name)


def _file_names(text: str) -> Iterator[str]:
    for match in _FILE.finditer(text):
        if _is_file(match[0]) and match[0] not in _ATTRIBUTES:
            yield _OUTSIDE.sub("", match[0])


def _marked(text: str) -> Iterator[str]:
    """What the assistant put in code marks and is no plain word; calls without their brackets."""
    for mark in _MARKED.findall(text[:LONGEST]):
        bare = mark.removesuffix("()")
        plain = " " in bare or bare.isalpha() or bare.endswith(_PUNCTUATION)
        if not plain and not _LINES.fullmatch(bare) and not _is_file(bare) and not _NAME.fullmatch(bare):
            yield bare


def _is_file(name: str) -> bool:
    ending = name.rsplit(".", 1)[-1]
    return ending in _FILE_ENDINGS or (name.isupper() and ending.lower() in _FILE_ENDINGS)


# Which names will be needed: a sum of six features, weighed on real sessions.

OWN, FERTILE, WORDS_TYPED, TYPED, RELEVANT, EDITED = 2.5, 2.5, 1.5, 1.5, 1.0, 1.0
"""Weights of: the agent wrote it; its best output was used; its words were typed; it was typed; it stands
near what is being talked of; it is a file that was changed. Fitted to 152 cuts of 73 real sessions."""
_DAMPING = 4
"""Names that are added to an output's own, so that one used name of two makes no output fertile."""
_LATEST = 4
"""Messages of the agent that say what is being talked of."""
_K1, _B = 1.2, 0.75
"""The usual constants of BM25."""
_SPLIT = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_TERM = re.compile(r"[^\W\d_]{3,30}")
_TERMS_OF = 20_000
"""Characters of one message in which its words are counted."""


def rank_names(reading: Reading, names: Names, trails: Sequence[Trail] = ()) -> dict[str, float]:
    """Score every name by how likely it is to be needed.

    Args:
        reading: The history.
        names: From ``index_names`` of the same history.
        trails: What was done to files.

    Returns:
        A score from 0 to about 10 for each name of code and of a file.
    """
    every = {**names.files, **names.code}
    fertile = _ranks({name: value for name, value in _fertility(every).items()})
    relevant = _ranks(_relevance(reading, every))
    asked = _typed_parts(reading, every)
    changed = {trail.path.rpartition("/")[2] for trail in trails if trail.changed()}
    return {
        name: OWN * (seen.written >= 0)
        + FERTILE * fertile[name]
        + WORDS_TYPED * asked[name]
        + TYPED * seen.typed
        + RELEVANT * relevant[name]
        + EDITED * (name in names.files and name.rpartition("/")[2] in changed)
        for name, seen in every.items()
    }


def _ranks(values: dict[str, float]) -> dict[str, float]:
    """The share of the others below each value, from 0 to 1; equal ones are equal."""
    below: dict[float, int] = {}
    for place, value in enumerate(sorted(values.values())):
        below.setdefault(value, place)
    most = max(1, len(values) - 1)
    return {name: below[value] / most for name, value in values.items()}


def _fertility(every: dict[str, Seen]) -> dict[str, float]:
    """Of the best output that holds a name: the share of its other names that the agent wrote later."""
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


def _relevance(reading: Reading, every: dict[str, Seen]) -> dict[str, float]:
    """The best BM25 score of the messages that hold a name, for what was said and written last."""
    terms: dict[int, Counter[str]] = {}
    for said in (*reading.typed, *reading.spoken):
        terms.setdefault(said.index, Counter()).update(_terms(said.text))
    for action in reading.actions:
        here = terms.setdefault(action.index, Counter())
        here.update(_terms(action.result))
        for text in argument_texts(action.args):
            here.update(_terms(text))
    query = _query(reading)
    holding = Counter(term for counted in terms.values() for term in query & counted.keys())
    average = sum(counted.total() for counted in terms.values()) / max(1, len(terms)) or 1.0
    scores: dict[int, float] = {}
    for index, counted in terms.items():
        length = 1 - _B + _B * counted.total() / average
        scores[index] = sum(
            math.log(1 + (len(terms) - holding[term] + 0.5) / (holding[term] + 0.5))
            * counted[term]
            * (_K1 + 1)
            / (counted[term] + _K1 * length)
            for term in query & counted.keys()
        )
    return {
        name: max((scores.get(index, 0.0) for index in seen.messages), default=0.0)
        for name, seen in every.items()
    }


@lru_cache(maxsize=4_096)
def _terms(text: str) -> tuple[str, ...]:
    return tuple(_TERM.findall(text[:_TERMS_OF].casefold()))


def _query(reading: Reading) -> set[str]:
    """The words of the latest request, the last words, and what the agent wrote in its last few messages."""
    beside = reading.beside or Reading()
    typed, spoken = [*reading.typed, *beside.typed], [*reading.spoken, *beside.spoken]
    texts = [max(said, key=lambda each: each.index).text for said in (typed, spoken) if said]
    acted = sorted((*reading.actions, *beside.actions), key=lambda action: action.index)[-_LATEST:]
    texts += [text for action in acted for text in argument_texts(action.args)]
    return {term for text in texts for term in _terms(text)}


def _typed_parts(reading: Reading, every: dict[str, Seen]) -> dict[str, float]:
    """The share of a name's parts that stand in anything the user typed; rare parts count more."""
    typed = {part for said in reading.typed for part in _terms(said.text)}
    parts = {name: {part.casefold() for part in _SPLIT.findall(name)} for name in every}
    counts = Counter(part for found in parts.values() for part in found)
    shares: dict[str, float] = {}
    for name, found in parts.items():
        weights = {part: math.log(1 + len(every) / counts[part]) for part in found}
        whole = sum(weights.values())
        shares[name] = sum(weights[part] for part in found & typed) / whole if whole else 0.0
    return shares


# Details: names by how likely they are to be needed, addresses, versions and measures.

MAX_DETAILS = 1_000
"""Enough to judge a summary by; of what is needed again hardly anything stands further down."""
_FEWEST_IN_FILE = 3
"""Names of one file from which on its path stands in front of them."""
_SEEN, _DETAILS_DEFINED = "in ", "defined in "
SEEN_IN, DEFINED_IN = f" · {_SEEN}", f" · {_DETAILS_DEFINED}"
FILES = "files: "
_SEPARATOR = " · "
_NO_FOLDER = "?"
_MOST_OWNERS = 3
"""Paths a bare name may stand for; more of them share it than anybody can have meant."""
_WEIGHT = 0.13
"""Weight of a fact for each point of its name's score."""
_FILES_IN_A_LINE = 40
_FILES_SHARE = 0.7
"""Of the room for names, what files may take before any other name."""

_URL = re.compile(r"https?://[^\s<>\"'`)\]}|\\]{4,300}")
_MEASURE = re.compile(
    r"(?<![\w.#-])(?:v\d{1,4}(?:\.\d{1,6}){1,3}|\d{1,6}(?:\.\d{1,6}){2,3}(?:[-+][\w.]{1,20})?"
    r"|\d{1,9}(?:[.,]\d{1,6})?\s?(?:ms|µs|ns|seconds?|secs?|minutes?|hours?|days?|[KMGT]i?B|bytes|px|rem"
    r"|MHz|GHz|fps|tokens|%|°C|€|USD))(?!\w|\.\w)"
)
_IDENTIFIER = re.compile(r"\w*(?:[a-z0-9][A-Z]|_)\w*")
_HEX = re.compile(r"(?<![\w])#[0-9A-Fa-f]{6}\b|\b[0-9a-f]{7,12}\b(?<=\d\w{5})")


def detail_facts(reading: Reading, limit: int = MAX_DETAILS) -> list[Fact]:
    """Facts ``name · in path`` for names likely to be needed, and addresses, versions and measures.

    Args:
        reading: The history.
        limit: Facts to return at most.

    Returns:
        Facts, weightiest first; without names of files that have their own trail.
    """
    facts = sorted((*_named_values(reading), *_names(reading)), key=attrgetter("weight"), reverse=True)
    return facts[:limit]


def chosen_lines(
    facts: Iterable[Fact], budget: int, count: Callable[[str], int]
) -> list[tuple[str, list[Fact]]]:
    """Take details one by one until a budget is spent, and put those of one file on a line.

    Args:
        facts: Details, weightiest first.
        budget: Tokens all lines may take.
        count: Tokens of a text.

    Returns:
        The text of each line with its facts, the weightiest line first.
    """
    taken: dict[int, Fact] = {}
    places: dict[str, int] = {}
    spent = 0
    ranked = list(enumerate(facts))
    # Of files there are few, and each leads to many names: they have room of their own.
    for most, only_files in ((int(budget * _FILES_SHARE), True), (budget, False)):
        for rank, fact in ranked:
            name, place = fact.text.partition(_SEPARATOR)[0], _place(fact)
            of_folder = place.endswith("/")
            if (only_files and not of_folder) or rank in taken:
                continue
            cost = count(f"{name}, ")
            # A folder stands in front of its first file, a file in front of its third name.
            opens = 1 if of_folder else _FEWEST_IN_FILE
            if place and places.get(place, 0) + 1 == opens:
                cost += count(f"\n- {place}: (#1000)")
            if spent + cost <= most:
                places[place] = places.get(place, 0) + 1
                taken[rank] = fact
                spent += cost
    return list(grouped(taken[rank] for rank in sorted(taken)))


def grouped(facts: Iterable[Fact]) -> Iterator[tuple[str, list[Fact]]]:
    """Put details of one file, and files of one folder, on a common line: ``path: a, b``.

    A path stands in front of three names or more; the others share one line without it. Folders that came up
    in the same message share a line.

    Args:
        facts: Details, weightiest first.

    Yields:
        The text of a line and its facts.
    """
    groups: dict[str, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(_place(fact), []).append(fact)
    alone = [
        fact
        for place, part in groups.items()
        for fact in part
        if not place.endswith("/") and place != _NO_FOLDER and (not place or len(part) < _FEWEST_IN_FILE)
    ]
    kept = {id(fact) for fact in alone}
    folders: dict[str, list[list[Fact]]] = {}
    for place, part in groups.items():
        if place.endswith("/"):
            folders.setdefault(_newest(part), []).append(part)
    for place, part in groups.items():
        if place.endswith("/"):
            if part is folders[_newest(part)][0]:
                yield from _folder_lines(folders[_newest(part)])
        elif id(part[0]) not in kept:
            yield _line(place, part), part
        elif part[0] is alone[0]:
            yield ", ".join(_shown(fact.text.partition(_SEPARATOR)[0], "") for fact in alone), alone


def _newest(part: Iterable[Fact]) -> str:
    """The handle of the newest message that facts come from."""
    return max((fact.source for fact in part), key=lambda source: int(source.removeprefix("#")))


def _folder_lines(folders: Iterable[list[Fact]]) -> Iterator[tuple[str, list[Fact]]]:
    """Files of several folders that came up together, some to a line."""
    told: list[str] = []
    facts: list[Fact] = []
    for part in folders:
        if facts and len(facts) + len(part) > _FILES_IN_A_LINE:
            yield f"{FILES}{'; '.join(told)}", facts
            told, facts = [], []
        place, names = _place(part[0]), [fact.text.partition(_SEPARATOR)[0].replace("`", "") for fact in part]
        told.append(f"{place}: {', '.join(names)}" if len(names) > 1 else f"{place}{names[0]}")
        facts = [*facts, *part]
    yield f"{FILES}{'; '.join(told)}", facts


def is_name(fact: Fact) -> bool:
    """Whether a detail is a name or a value, and not a sentence about something."""
    return fact.kind == "detail" and fact.text.startswith("`")


def _place(fact: Fact) -> str:
    """The file or folder a detail belongs to; empty for one that belongs nowhere."""
    where = fact.text.partition(_SEPARATOR)[2]
    return where.removeprefix(_DETAILS_DEFINED).removeprefix(_SEEN)


def folders_of(facts: Iterable[Fact]) -> list[str]:
    """Paths of the folders that details stand in, one for each file."""
    return [place for fact in facts if (place := _place(fact)).endswith("/")]


def _line(place: str, part: Iterable[Fact]) -> str:
    """What is known of one place: in a file what is defined there first, then what else came up in it."""
    defined: list[str] = []
    others: list[str] = []
    for fact in part:
        name, _, where = fact.text.partition(_SEPARATOR)
        (defined if where.startswith(_DETAILS_DEFINED) else others).append(_shown(name, place))
    listed = ", ".join(others)
    if defined:
        return f"{place} defines {', '.join(defined)}" + (f"; also {listed}" if others else "")
    return f"{FILES}{listed}" if place == _NO_FOLDER else f"{place}: {listed}" if place else listed


def _shown(name: str, place: str) -> str:
    """A name as it stands in a line: in code marks only where nobody could tell it from a word."""
    bare = name.replace("`", "")
    return bare if place or _IDENTIFIER.fullmatch(bare) else name


def _named_values(reading: Reading) -> Iterator[Fact]:
    """Addresses, versions and measures from what was said; outputs are full of them and mean nothing."""
    found: dict[str, tuple[int, int, float]] = {}
    for factor, voices in ((1.5, reading.spoken), (3.0, reading.typed)):
        for said in voices:
            text = said.text[:LONGEST]
            for pattern in (_URL, _MEASURE, _HEX):
                for match in pattern.finditer(text):
                    found[match[0].rstrip(".,;:")] = (said.key, said.index, factor)
    for value, (key, index, factor) in found.items():
        yield make_fact(reading, "detail", f"`{value}`", key=key, index=index, factor=factor)


def _names(reading: Reading) -> Iterator[Fact]:
    """Names by how likely they are to be needed, those that can be read beside the notes left out."""
    trails = file_trails(reading)
    names = index_names(reading)
    unopened = dict(_unopened(names.files, trails))
    scores = rank_names(reading, names, trails)
    stems = {posixpath.splitext(posixpath.basename(path))[0] for path in names.files}
    beside = index_names(reading.beside) if reading.beside else Names()
    in_sight = {ending for path in beside.files for ending in _endings(path)}
    for name, seen in names.code.items():
        if name in stems or (name in beside.code and not seen.defined):
            continue  # the name of the file says it already, or it can be read beside the notes
        place = ending_of(seen.place)
        where = f"{DEFINED_IN if seen.defined else SEEN_IN}{place}" if place and name not in place else ""
        yield _detail(f"`{name}`{where}", seen, scores[name])
    for path, seen in unopened.items():
        if path not in in_sight:
            folder, name = posixpath.split(path)
            where = SEEN_IN + (f"{folder}/" if folder.strip("/") else _NO_FOLDER)
            yield _detail(f"`{name}`{where}", seen, scores[path])


def _detail(text: str, seen: Seen, score: float) -> Fact:
    return Fact(kind="detail", text=text, source=handle(seen.key), weight=round(_WEIGHT * score, 4))


def _unopened(files: dict[str, Seen], trails: Iterable[Trail]) -> Iterator[tuple[str, Seen]]:
    """Files that were seen and never opened; one that is told in several ways counts for its longest path."""
    listed = {ending for trail in trails for ending in _endings(trail.path)}
    longer: dict[str, list[str]] = {}
    for path in files:
        for ending in _endings(path):
            if ending != path and ending in files:
                longer.setdefault(ending, []).append(path)
    for short, paths in longer.items():
        for path in paths[:_MOST_OWNERS]:
            files[path].take_in(files[short])
    for path, seen in files.items():
        if path not in listed and path not in longer:
            yield path, seen


def _endings(path: str) -> Iterator[str]:
    """The path and every shorter form of it that ends in the same name."""
    yield path
    place = path.find("/")
    while place >= 0:
        yield path[place + 1 :]
        place = path.find("/", place + 1)
