"""What a session holds, made ready for looking up what a summary says about it.

All that the user typed, the assistant said, and tools were given and answered is evidence of names and
numbers. Of deeds only calls, their output and the user's words are: to say so is not to do it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from tui_app.context.facts.commands import Run, latest_runs
from tui_app.context.facts.files import Trail, file_trails, target_of
from tui_app.context.facts.observations import Action, Reading, argument_texts, command_of
from tui_app.context.facts.rules import prose
from tui_app.context.facts.shell import program_of
from tui_app.context.provenance.users import UserEvidence
from tui_app.context.user_text import stems_of
from tui_app.events import MARKS
from tui_app.records import frozen

# Names and numbers as they stand in any text.

_TOKEN = re.compile(r"[^\s`'\"“”‘’«»()<>\[\]{}|,;=*，。、；（）「」]+")
_EDGES = ".:!?…/\\-–—&#@$%+~^：！？"
_IN_FRONT = ":!?…\\-–—&#@$%+^：！？"
_PARTS = re.compile(r"::|->|[./\\:#@_-]|(?<=[a-z0-9])(?=[A-Z])")
_PLAIN = re.compile(r"[\w.@~+-]+(?:/[\w.@~+-]*)*|/(?:[\w.@~+-]+/?)*|https?://\S+")
_NAME_IN_CODE = re.compile(r"[^\W\d][\w.-]*(?:/[\w.-]+)*")
_LINE_BEHIND = re.compile(r"(?::\d+){1,2}$|:L?\d+-L?\d+$")
_CALL = re.compile(r"\([^()]*\)$")
_LONGEST = 400_000
"""Characters of one text that are read; what is longer is data."""
_AROUND = 90
"""Characters on either side of a number in which what it counts is named."""
_BESIDE = 20
"""Characters on either side of a word in which a number belongs to it."""
_DIGITS = re.compile(r"\d+(?:\.\d+)*")
_SENTENCE = 16
"""Characters from which on a repeated sentence says something."""
_MOST_PLACES = 200
"""Places of one number that are looked at: bounds the work."""
_LISTERS = frozenset({"ls", "find", "tree", "dir", "eza", "fd", "rg", "grep"})


def bare_name(name: str) -> str:
    """A name without the marks around it, the line behind it, or the brackets of a call."""
    bare = _LINE_BEHIND.sub("", _CALL.sub("", name.strip("`'\"“”*").strip()))
    return bare.removeprefix("./").removeprefix("…/").rstrip(_EDGES).lstrip(_IN_FRONT)


@frozen
class NameIndex:
    """The names that came up, whole and in their parts."""

    found: frozenset[str] = frozenset()
    """As they were written."""
    tokens: frozenset[str] = frozenset()
    """In small letters, with every end of a path."""
    words: frozenset[str] = frozenset()
    folders: str = ""
    """Those with a folder, one a line."""
    with_folder: frozenset[str] = frozenset()
    """Names of files that are known by a longer path as well."""

    def grown(self, found: Collection[str]) -> "NameIndex":
        """The same with more names; only those that are new are taken apart."""
        fresh = frozenset(found) - self.found
        tokens: set[str] = set()
        for token in fresh:
            bare = _LINE_BEHIND.sub("", token.removeprefix("./")).rstrip(_EDGES).casefold()
            while bare:
                tokens.add(bare)
                _, slash, rest = bare.partition("/")
                bare = rest if slash else ""
            tokens.add(token.strip(_EDGES).casefold())
        split = {part for token in fresh for part in _PARTS.split(token)}
        folded = {part for token in fresh for part in _PARTS.split(token.casefold())}
        words = {part.strip(_EDGES).casefold() for part in split | folded} - {""}
        paths = [token for token in tokens - self.tokens if "/" in token]
        return NameIndex(
            self.found | fresh,
            self.tokens | tokens,
            self.words | words,
            "\n".join([self.folders, *(f"/{token}" for token in paths)]),
            self.with_folder | {token.rpartition("/")[2] for token in paths},
        )


class Evidence:
    """A session, made ready for looking things up in it.

    Args:
        reading: The whole session, as it was before any stage touched it.
        beside: Texts that the model knows as well, such as instructions, a plan, or the notes of another
            program.
        before: The names of an earlier part of the session, which are not taken apart again.
    """

    def __init__(self, reading: Reading, beside: Sequence[str] = (), before: NameIndex = NameIndex()) -> None:
        self.reading, self._before = reading, before
        self.beside = tuple(beside)
        self._around: dict[str, tuple[str, ...]] = {}

    @cached_property
    def done(self) -> list[str]:
        """What the user typed, tools were given and answered, and stands beside the session."""
        texts = [said.text for said in self.reading.typed]
        for action in self.reading.actions:
            texts += (action.tool, *argument_texts(action.args))
            texts.append(action.result)
        # What a summary said without a mark was checked when it was written.
        for notes in self.reading.summaries:
            texts += [line for line in notes.splitlines() if not any(mark in line for mark in MARKS)]
        return [text[:_LONGEST] for text in (*texts, *self.beside) if text]

    @cached_property
    def texts(self) -> list[str]:
        """All texts, what the assistant said too."""
        return [*self.done, *(said.text[:_LONGEST] for said in self.reading.spoken)]

    @cached_property
    def user(self) -> UserEvidence:
        """What the user said and laid down."""
        return UserEvidence(self.reading, self.beside)

    @cached_property
    def trails(self) -> list[Trail]:
        """What was done to each file."""
        return file_trails(self.reading)

    @cached_property
    def runs(self) -> list[Run]:
        """The newest run of each command and tool, in order."""
        return list(latest_runs(self.reading).values())

    @cached_property
    def names(self) -> "NameIndex":
        """What stands between blanks and brackets, taken apart."""
        found: set[str] = set()
        for text in self.texts:
            found.update(_TOKEN.findall(text))
        return self._before.grown(found.union(self._listed()))

    def _listed(self) -> Iterator[str]:
        """Paths that a listing tells in two parts: the folder in the call, the names in its answer."""
        for action in self.reading.actions:
            command = command_of(action)
            if command and program_of(command) not in _LISTERS:
                continue
            folder = command.split()[-1] if command else target_of(action.args)
            if folder and not folder.startswith("-"):
                for token in _TOKEN.findall(action.result[:20_000]):
                    yield f"{folder.rstrip('/')}/{token}"

    def knows(self, name: str) -> bool:
        """Whether a name, path, command or piece of code came up, whole or in all its parts."""
        whole = bare_name(name)
        bare = whole.casefold()
        if not bare or bare in self.names.tokens or bare in self.names.words or self.quotes(name):
            return True
        if not _PLAIN.fullmatch(bare):
            # A piece of code, perhaps with places to fill in: each of its names must be known.
            return all(map(self.knows, _NAME_IN_CODE.findall(whole)))
        if "/" in bare.strip("/") and not bare.startswith(("http:", "https:")):
            return self._knows_path(bare)
        parts = [part.casefold() for part in _PARTS.split(whole) if part]
        if "." in bare and bare.rpartition(".")[2].isalnum() and len(parts) == 2:
            return False  # the name of a file is one name
        return all(part in self.names.words or len(part) < 2 for part in parts)

    def _knows_path(self, path: str) -> bool:
        if f"/{path.strip('/')}/" in self.names.folders:
            return True
        parts = path.strip("/").split("/")
        if any("/".join(parts[start:]) in self.names.tokens for start in range(len(parts) - 1)):
            return True
        if all(part in self.names.words for part in parts) and "." not in parts[-1]:
            return True
        # It may be put together of a folder and a name that stand apart, or have a place to fill in.
        return (parts[-1] in self.names.tokens and parts[0].isdigit()) or (
            parts[-1] in self.names.tokens
            and parts[-1] not in self.names.with_folder
            and all(part in self.names.words or part in self.names.tokens for part in parts[:-1])
        )

    def quotes(self, text: str) -> bool:
        """Whether a text stands word for word somewhere; white space makes no difference."""
        wanted = " ".join(text.strip("`\"'“”‘’ ").split())
        return any(wanted in one for one in (*self._flat_done, *self._flat_spoken))

    def repeats(self, text: str) -> bool:
        """Whether a whole sentence stands word for word in what was typed, given to tools, or answered."""
        wanted = " ".join(text.split())
        return len(wanted) >= _SENTENCE and any(wanted in one for one in self._flat_done)

    @cached_property
    def _flat_done(self) -> list[str]:
        return [" ".join(text.split()) for text in self.done]

    @cached_property
    def _flat_spoken(self) -> list[str]:
        return [" ".join(said.text[:_LONGEST].split()) for said in self.reading.spoken]

    def around(self, number: str) -> tuple[str, ...]:
        """The text around each place where a number stands, of the same line.

        Args:
            number: Digits, without marks between groups of three.
        """
        if number not in self._around:
            self._around[number] = tuple(self._places(number))
        return self._around[number]

    def _places(self, number: str) -> Iterator[str]:
        whole, _, rest = number.partition(".")
        grouped = f"{int(whole):,}.{rest}".rstrip(".") if whole.isdigit() and len(whole) < 18 else number
        behind = r"(?!\d)" if rest else r"(?!\d|\.\d|,\d{3})"
        given = 0
        for form in dict.fromkeys((number, grouped)):
            pattern = re.compile(rf"(?<![\d.]){re.escape(form)}{behind}")
            for text in self.texts:
                for match in pattern.finditer(text) if form in text else ():
                    start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - _AROUND)
                    end = text.find("\n", match.end())
                    yield text[start : min(end if end >= 0 else len(text), match.end() + _AROUND)]
                    given += 1
                    if given >= _MOST_PLACES:
                        return

    def gives_another(self, stems: frozenset[str], number: str) -> bool:
        """Whether the log gives another number to one of some words."""
        return any(self._other_number(stem, number) for stem in stems)

    def _other_number(self, stem: str, number: str) -> bool:
        seen = 0
        for text in self._folded:
            place = text.find(stem)
            while place >= 0:
                near = text[max(0, place - _BESIDE) : place + len(stem) + _BESIDE]
                if any(found != number for found in _DIGITS.findall(near)):
                    return True
                seen += 1
                if seen >= _MOST_PLACES:
                    return False
                place = text.find(stem, place + 1)
        return False

    @cached_property
    def _folded(self) -> list[str]:
        return [text.casefold() for text in self.done]

    @cached_property
    def stems(self) -> frozenset[str]:
        """The telling words of what the user and the assistant said."""
        reading = self.reading
        return frozenset().union(*(stems_of(said.text) for said in (*reading.typed, *reading.spoken)))

    @cached_property
    def words(self) -> frozenset[str]:
        """The telling words of everything, names taken apart."""
        return stems_of(" ".join(self.names.words))

    def trails_of(self, name: str) -> list[Trail]:
        """The files that a path or the end of one names."""
        ending = f"/{bare_name(name).lstrip('/')}".casefold()
        return [trail for trail in self.trails if f"/{trail.path}".casefold().endswith(ending)]

    def lines_with(self, name: str) -> Iterator[str]:
        """Lines of output in which a name stands."""
        bare = bare_name(name).rpartition("/")[2]
        for text in self.done:
            place = text.find(bare) if bare else -1
            while place >= 0:
                start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
                end = end if end >= 0 else len(text)
                yield text[max(start, place - 200) : min(end, place + 200)]
                place = text.find(bare, end)

    @cached_property
    def prose(self) -> list[str]:
        """The user's own sentences, in small letters."""
        return [sentence.casefold() for said in self.reading.typed for sentence in prose(said.text)]

    def knows_word(self, word: str) -> bool:
        """Whether a word came up in any text."""
        return word.casefold() in self.names.words or word.casefold() in self.names.tokens

    def outputs(self) -> Iterator[Action]:
        """Calls that ran a command."""
        return (action for action in self.reading.actions if command_of(action))
