"""Names of code and of files: where each came up, who used it, and whether it was defined there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tui_app.context.fact_extractors.files import target_of
from tui_app.context.fact_extractors.outcomes import command_of
from tui_app.context.fact_extractors.reading import Action, Reading, argument_texts
from tui_app.context.fact_extractors.words import words
from tui_app.context.masking import mask_secrets

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
        text = _DIFF_HEAD.sub(_without_sides, text[:LONGEST])
        if _MAY_HOLD_SECRETS.search(text):
            text = mask_secrets(text)
        defined = set(_DEFINED.findall(text)) if voice == PRINTED else ()
        for name in _code_names(text):
            points = voice * _DEFINITION if name in defined else voice
            _note(self.code, name, key, index, points, place, defined=name in defined)
        for name in dict.fromkeys(_file_names(text)):
            _note(self.files, name, key, index, voice, place)


def _without_sides(match: re.Match[str]) -> str:
    return _DIFF_SIDE.sub(" ", match[0])


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
