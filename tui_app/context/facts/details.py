"""Small things that are dear later: addresses, versions, measures, and names, each with where it was seen.

Names are what a summary loses first. Those that the user and the assistant said or used weigh most; those
that only stood in an output weigh little, else the listing of a folder would win.
"""

import math
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from tui_app.context.facts.files import Trail, ending_of, file_trails, target_of
from tui_app.context.facts.observations import Action, Reading, argument_texts, command_of, make_fact
from tui_app.context.secrets import mask_secrets
from tui_app.context.user_text import words
from tui_app.events import Fact

# Names of code and of files: where each came up, who used it, and whether it was defined there.

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
TYPED, SPOKEN, REPORTED, ACTED, PRINTED = 2.2, 1.6, 1.3, 1.0, 0.4
"""Weights of the voices: user, assistant, what another agent reported, arguments of a call, output of one."""
_DEFINITION = 2.0


@dataclass(slots=True)
class Seen:
    """Where one name came up."""

    messages: int = 0
    key: int = 0
    index: int = -1
    voice: float = 0.0
    """How much the weightiest voice counts that used it."""
    place: str = ""
    """Path of the file or folder it was last seen in by a call, if any."""
    defined: bool = False
    """Whether it is defined there."""

    def take_in(self, other: "Seen") -> None:
        """Count another way to write the same name."""
        self.messages += other.messages
        self.voice = max(self.voice, other.voice)
        if other.index > self.index:
            self.key, self.index = other.key, other.index


@dataclass(slots=True)
class Names:
    """Names of a history, in order of first use."""

    code: dict[str, Seen] = field(default_factory=dict)
    files: dict[str, Seen] = field(default_factory=dict)

    def note(self, text: str, key: int, index: int, voice: float, place: str = "") -> None:
        """Take in the names of one text."""
        text = _DIFF_HEAD.sub(lambda head: _DIFF_SIDE.sub(" ", head[0]), text[:LONGEST])
        if _MAY_HOLD_SECRETS.search(text):
            text = mask_secrets(text)
        defined = set(_DEFINED.findall(text)) if voice == PRINTED else ()
        for name in _code_names(text):
            points = voice * _DEFINITION if name in defined else voice
            _note(self.code, name, key, index, points, place, defined=name in defined)
        for name in dict.fromkeys(_file_names(text)):
            _note(self.files, name, key, index, voice, place)


def _note(
    known: dict[str, Seen],
    name: str,
    key: int,
    index: int,
    voice: float,
    place: str = "",
    *,
    defined: bool = False,
) -> None:
    seen = known.setdefault(name, Seen())
    if seen.index != index:
        seen.messages += 1
    seen.key, seen.index = key, index
    if place and (defined >= seen.defined or not seen.place):
        seen.place, seen.defined = place, defined
    seen.voice = max(seen.voice, voice)


def index_names(reading: Reading) -> Names:
    """Collect the names of a history in one pass.

    Args:
        reading: The history.

    Returns:
        Every name with its places; names that only stood in outputs too.
    """
    names = Names()
    for said in reading.typed:
        names.note(said.text, said.key, said.index, TYPED)
    for said in reading.spoken:
        names.note(said.text, said.key, said.index, SPOKEN)
        for mark in _marked(said.text):
            _note(names.code, mark, said.key, said.index, SPOKEN)
    for action in reading.actions:
        place = target_of(action.args)
        for text in argument_texts(action.args):
            names.note(text, action.key, action.index, ACTED, "" if command_of(action) else place)
        names.note(action.result, action.key, action.index, REPORTED if reports(action) else PRINTED, place)
    return names


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


MAX_DETAILS = 250
"""Enough to judge a summary by; a log entry that lists more is read by nobody."""
NAMES_IN_A_LINE = 28
LEAST_WEIGHT = 0.15
"""Names below it stood once in an old output: hardly one in thirty of them is ever needed again."""
_SEEN, _DETAILS_DEFINED = "in ", "defined in "
SEEN_IN, DEFINED_IN = f" · {_SEEN}", f" · {_DETAILS_DEFINED}"
FILES = "files: "
_SEPARATOR = " · "
_NO_FOLDER = "?"
_DETAILS_FILE = 2.0
"""How much more the name of a file counts than one in it: there are few of them, and each leads to many."""
_FILE_FADES = 0.3
"""A folder looks much the same an hour later; the names in a file do not."""
_MOST_OWNERS = 3
"""Paths a bare name may stand for; more of them share it than anybody can have meant."""
_CENTRAL = 1.5
"""How much more a name counts that stands in a file the work is about."""

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
        Facts, ``NAMES_IN_A_LINE`` of a place at most; without names of files that have their own trail.
    """
    facts = [*_named_values(reading), *_names(reading)]
    facts = [fact for fact in facts if fact.weight >= LEAST_WEIGHT]
    facts.sort(key=attrgetter("weight"), reverse=True)
    return list(_few_of_each(facts[:limit]))


def _few_of_each(facts: Iterable[Fact]) -> Iterator[Fact]:
    """No more facts of one place than a line holds: whoever needs more of its names opens the file."""
    given: Counter[str] = Counter()
    for fact in facts:
        place = _place(fact)
        given[place] += 1
        if given[place] <= NAMES_IN_A_LINE:
            yield fact


def grouped(facts: Iterable[Fact]) -> Iterator[tuple[str, list[Fact]]]:
    """Put details of one file, and files of one folder, on a common line: ``path: a, b``.

    There is one line for each, for nobody reads a page of names. Folders that came up in the same message
    share a line.

    Args:
        facts: Details, weightiest first.

    Yields:
        The text of a line and its facts, the weightiest ``NAMES_IN_A_LINE`` of them.
    """
    groups: dict[str, list[Fact]] = {}
    for fact in facts:
        groups.setdefault(_place(fact), []).append(fact)
    folders: dict[str, list[list[Fact]]] = {}
    parts: list[tuple[str, list[Fact]]] = []
    for place, members in groups.items():
        part = members[:NAMES_IN_A_LINE]
        parts.append((place, part))
        if place.endswith("/"):
            folders.setdefault(_newest(part), []).append(part)
    for place, part in parts:
        if not place.endswith("/"):
            yield _line(place, part), part
        elif part is folders[_newest(part)][0]:
            yield from _folder_lines(folders[_newest(part)])


def _newest(part: Iterable[Fact]) -> str:
    """The handle of the newest message that facts come from."""
    return max((fact.source for fact in part), key=lambda source: int(source.removeprefix("#")))


def _folder_lines(folders: Iterable[list[Fact]]) -> Iterator[tuple[str, list[Fact]]]:
    """Files of several folders that came up together, some to a line."""
    told: list[str] = []
    facts: list[Fact] = []
    for part in folders:
        if facts and len(facts) + len(part) > NAMES_IN_A_LINE:
            yield f"{FILES}{'; '.join(told)}", facts
            told, facts = [], []
        place, names = _place(part[0]), [fact.text.partition(_SEPARATOR)[0].replace("`", "") for fact in part]
        told.append(f"{place}: {', '.join(names)}" if len(names) > 1 else f"{place}{names[0]}")
        facts = [*facts, *part]
    yield f"{FILES}{'; '.join(told)}", facts


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
    """Names weighed by who used them, how lately and often, and whether their file was changed."""
    trails = file_trails(reading)
    typed = "\n".join(said.text for said in reading.typed)
    # Whether the work is about a file: it was changed, or the user named it
    central = {
        trail.path
        for trail in trails
        if (not trail.gone and (trail.changed() or posixpath.basename(trail.path) in typed))
    }
    names = index_names(reading)
    stems = {posixpath.splitext(posixpath.basename(path))[0] for path in names.files}
    beside = index_names(reading.beside) if reading.beside else Names()
    in_sight = {ending for path in beside.files for ending in _endings(path)}
    for name, seen in names.code.items():
        if name in stems or (name in beside.code and not seen.defined):
            continue  # the name of the file says it already, or it can be read beside the notes
        place = ending_of(seen.place)
        where = f"{DEFINED_IN if seen.defined else SEEN_IN}{place}" if place and name not in place else ""
        factor = _factor(reading, seen) * (_CENTRAL if seen.place in central else 1.0)
        yield make_fact(reading, "detail", f"`{name}`{where}", key=seen.key, index=seen.index, factor=factor)
    for path, seen in _unopened(names.files, trails):
        if path in in_sight:
            continue
        folder, name = posixpath.split(path)
        where = SEEN_IN + (f"{folder}/" if folder.strip("/") else _NO_FOLDER)
        factor = _DETAILS_FILE * _factor(reading, seen, fades=_FILE_FADES)
        yield make_fact(reading, "detail", f"`{name}`{where}", key=seen.key, index=seen.index, factor=factor)


def _factor(reading: Reading, seen: Seen, fades: float = 0.7) -> float:
    """What a name counts: who used it, in how many messages, how lately.

    Args:
        reading: The history.
        seen: Where the name came up.
        fades: Share of its weight that a name has lost at the far end of the history.
    """
    recency = reading.recency(seen.index)
    newest = 2.0 if recency > 0.9 else 1.0
    return seen.voice * (1.0 + math.log2(seen.messages)) * (1.0 - fades + fades * recency) * newest


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
