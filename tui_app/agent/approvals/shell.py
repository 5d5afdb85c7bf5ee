"""Command lines as some shell may read them: which need one, and what rules that ask or deny find in them."""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from tui_app.agent.approvals.command_line import INTERPRETED, RUNNERS, program_at, reads_program, same_as
from tui_app.agent.path_patterns import expand_braces
from tui_app.records import frozen
from tui_app.settings.tables import SHELL_SIGNS

# Taking a command line apart the way a shell does, as far as that can be told without running it.
#
# For rules that ask or deny: every reading that some shell may have counts, also of what stands between
# quotes. What only shows when the line runs, such as a variable, is kept as a sign for "anything".

ANYTHING = "\ue000"
"""Stands for text that is not known and may hold blanks: it may be several words, or none."""
ANY_WORD = "\ue001"
"""Stands for unknown text within one word."""
_KEPT = {"{": "\ue002", "}": "\ue003", ",": "\ue004"}
"""Signs of a list in braces that are quoted: they stand for themselves."""
_OWN_SIGNS = re.compile("[\ue000-\ue004]")
_MOST_CHARS = 200_000
"""Characters that are read of one line, what is nested in it counted again."""
_JOINED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|(?<![^\s;&|()])#[^\n]*|.", re.DOTALL)
_SINGLE = re.compile(r"'([^']*)(?:'|$)")
_ANSI = re.compile(r"'((?:\\.|[^'\\])*)(?:'|$)", re.DOTALL)
_BACKTICKS = re.compile(r"`((?:\\.|[^`\\])*)(?:`|$)", re.DOTALL)
_REDIRECTION = re.compile(r"&>>?|<<<|<<-?|<[&>]?|>[>&|]?")
_DESCRIPTOR = re.compile(r"\d+|\{\w+\}")
_NAME = re.compile(r"\w+|[@*#?$!-]")
_WILD = re.compile(r"[*?]|\[[^\s\]]{1,99}\]")
_DEFAULT = re.compile(r"[#!]?(?:\w+|[@*#?$!-])?:?[-=+?]?")
_VALUE_OF = re.compile(r"-\w|--[\w-]+=|\+")


@frozen
class Part:
    """The words of one command of a line, without redirections."""

    words: tuple[str, ...]
    runs: bool
    """Whether it is a command for certain, not only what one may be between quotes."""
    is_fed: bool = False
    """Whether it reads what another command prints."""


class TooLong(Exception):
    """There is more nested in a line than is read."""


@lru_cache(maxsize=8)  # every rule asks about the same line
def parts_of(command: str) -> tuple[Part, ...]:
    """Every command that may be in a line.

    Raises:
        TooLong: if not all of it was read.
    """
    command = _OWN_SIGNS.sub("\ufffd", command)
    bare = _without_continuations(command).translate(dict.fromkeys(map(ord, "\"'\\")))
    waiting = [_Text(_without_continuations(command), runs=True), _Text(command, runs=True)]
    waiting += [_Text(each, runs=False) for each in (command.replace("\\\n", ""), bare)]
    if INTERPRETED.search(command):
        # In a program of another language the words of a command stand between quotes, commas and brackets.
        waiting.append(_Text(re.sub(r"[\"'`,\[\](){}\\]+", " ", command), runs=False))
    parts: dict[Part, None] = {}
    seen: set[_Text] = set()
    left = _MOST_CHARS
    while waiting:
        if (each := waiting.pop()) in seen:
            continue
        seen.add(each)
        left -= len(each.text)
        if left < 0:
            raise TooLong
        scanner = _Scanner(each.text, each.runs, _fed=each.is_fed)
        parts.update(dict.fromkeys(scanner.scan()))
        waiting.extend(scanner.nested)
    return tuple(parts)


def _without_continuations(text: str) -> str:
    """Join lines that end in a backslash, but not between single quotes or in a comment."""

    def joined(match: "re.Match[str]") -> str:
        piece = match.group()
        return piece if piece[0] in "'#" else piece.replace("\\\n", "")

    return _JOINED.sub(joined, text)


class _Text(NamedTuple):
    """What is, or may be, a command line."""

    text: str
    runs: bool
    is_fed: bool = False


@dataclass(slots=True)
class _Scanner:
    text: str
    runs: bool
    nested: list[_Text] = field(default_factory=list)
    """Text in it that is, or may be, a command line itself."""
    _fed: bool = False
    """Whether the command that is read reads what another one prints."""
    _parts: list[Part] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)
    _word: str | None = None
    _target: bool = False
    """Whether the next word is where a redirection leads."""
    _at: int = 0

    def scan(self) -> list[Part]:
        """The commands of this text; those nested in it are left in ``nested``."""
        while self._at < len(self.text):
            sign = self.text[self._at]
            at = self._at
            self._at += 1
            if sign in "<>" or (sign == "&" and self.text.startswith(">", at + 1)):
                self._redirect(at)
            elif sign in "\n\r;|&()":
                self._end_part()
                if not self._fed and sign == "|":
                    self._fed = self.text[at - 1 : at] != "|" and self.text[at + 1 : at + 2] != "|"
            elif sign.isspace():
                self._end_word()
            elif sign == "#" and self._word is None:
                end = self.text.find("\n", at)
                self._at = end if end >= 0 else len(self.text)
                self.nested.append(_Text(self.text[at + 1 : self._at], runs=False))
            elif sign in "\\'\"":
                self._quoted(sign, at)
            elif sign in "$`":
                self._expanded(at, between=False)
            elif found := _WILD.match(self.text, at):
                self._at = found.end()
                self._add(ANY_WORD)
            else:
                self._add(sign)
        self._end_part()
        return self._parts

    def _add(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _keep(self, text: str) -> None:
        """Add text that stands for itself."""
        self._add("".join(_KEPT.get(sign, sign) for sign in text))

    def _quoted(self, sign: str, at: int) -> None:
        if sign == '"':
            self._double_quoted()
        elif sign == "'" and (found := _SINGLE.match(self.text, at)):
            self._at = found.end()
            self._keep(found.group(1))
        elif not self.text.startswith("\n", at + 1):
            self._keep(self.text[at + 1 : at + 2])
            self._at = at + 2
        else:
            self._at = at + 2

    def _double_quoted(self) -> None:
        self._keep("")
        while self._at < len(self.text):
            at, sign = self._at, self.text[self._at]
            self._at += 1
            if sign == '"':
                return
            if sign in "$`":
                self._expanded(at, between=True)
            elif sign == "\\" and self.text[at + 1 : at + 2] in tuple('$`"\\\n'):
                self._at = at + 2
                self._keep(self.text[at + 1].strip("\n"))
            else:
                self._keep(sign)

    def _expanded(self, at: int, *, between: bool) -> None:
        """Read ``$...`` or backticks, between double quotes or not."""
        unknown = ANY_WORD if between else ANYTHING
        following = self.text[at + 1 : at + 2]
        if self.text[at] == "`" and (found := _BACKTICKS.match(self.text, at)):
            self._at = found.end()
            self.nested.append(_Text(found.group(1), runs=True))
        elif following == "(":
            self.nested.append(_Text(self._inside(at + 2, "()"), runs=True))
        elif following == "{":
            inside = self._inside(at + 2, "{}")
            if inside.startswith("IFS") and not between:
                return self._end_word()
            self.nested.append(_Text(_DEFAULT.sub("", inside, count=1), runs=False))
            unknown = ANYTHING if inside[:1] in ("@", "*") else unknown
        elif following == "'" and not between and (found := _ANSI.match(self.text, at + 1)):
            self._at = found.end()
            self.nested.append(_Text(found.group(1), runs=False))
            return self._add(ANY_WORD) if "\\" in found.group(1) else self._keep(found.group(1))
        elif found := _NAME.match(self.text, at + 1):
            # One digit is a name of its own; more are text behind it.
            self._at = at + 2 if following.isdigit() else found.end()
            if found.group() == "IFS" and not between:
                return self._end_word()
            unknown = ANYTHING if following in ("@", "*") else unknown
        elif following != '"' or between:
            unknown = "$"
        else:
            unknown = ""
        return self._add(unknown)

    def _inside(self, at: int, ends: str) -> str:
        """What stands from a place to the sign that closes it; reading goes on behind that."""
        depth, start = 1, at
        while at < len(self.text):
            sign = self.text[at]
            depth += (sign == ends[0]) - (sign == ends[1])
            if not depth:
                break
            if sign == "'" and (found := _SINGLE.match(self.text, at)):
                at = found.end()
            else:
                at += 2 if sign == "\\" else 1
        self._at = at + 1
        return self.text[start:at]

    def _redirect(self, at: int) -> None:
        found = _REDIRECTION.match(self.text, at)
        end = found.end() if found else at + 1
        if end == at + 1 and self.text.startswith("(", end):
            # Not a redirection: the name of a file that a command writes or reads.
            inside = self._inside(end + 1, "()")
            self.nested.append(_Text(inside, runs=True, is_fed=self.text[at] == ">"))
            self._add(ANY_WORD)
            return
        if self._word is not None and _DESCRIPTOR.fullmatch(self._word):
            self._word = None
        self._end_word()
        self._target = True
        self._at = end

    def _end_word(self) -> None:
        word, self._word = self._word, None
        if word is None:
            return
        plain = _literal(word)
        if re.search(r"[\s;|&<>()$`\\\"']", plain):
            runner = any(each.rsplit("/", 1)[-1] in RUNNERS for each in self._words)
            # Also as the value of an option that it is written onto.
            self.nested += [
                _Text(each.replace(ANY_WORD, ANYTHING), runner)
                for each in dict.fromkeys((plain, _VALUE_OF.sub("", plain, count=1)))
            ]
        if not self._target:
            # A range in braces, or a list that is too long, is not known.
            lists = (re.sub(r"\{.*(?:\.\.|,).*\}", ANYTHING, each) for each in expand_braces(word))
            self._words += filter(None, map(_literal, lists))
        self._target = False

    def _end_part(self) -> None:
        self._end_word()
        self._target = False
        if self._words:
            self._parts.append(Part(tuple(self._words), self.runs, self._fed))
            self._fed = False
        self._words = []


def _literal(word: str) -> str:
    return word.translate({ord(kept): sign for sign, kept in _KEPT.items()})


# Finding the words of a rule in one command, whatever options stand between them.
#
# For rules that ask or deny. A word behind an option may be its value or not: where that is not known, both
# readings count, and what only one of them makes of a command is "perhaps".

Found = Literal["no", "perhaps", "surely"]
_State = tuple[int, Found]
"""How many words are found, and whether the next one is the value of an option."""
_MOST_WORDS = 2_000
"""Words of one command that are looked at; with more of them it may be anything."""
_MOST_OPTIONS = 60
"""Words behind a program within which those of a rule are looked for."""
_STRENGTH: Mapping[Found, int] = {"no": 0, "perhaps": 1, "surely": 2}
_UNKNOWN = re.compile(f"[{ANYTHING}{ANY_WORD}]")
_OPENING = re.compile(r"[/=]")
_BANG = re.compile(r":?!")
"""An editor's sign for a command."""
_ASSIGNMENT = re.compile(r"\w+\+?=.*", re.DOTALL)
_CLUSTER = re.compile(r"-([a-z]+)")
_SHORT = re.compile(r"-[a-z]{1,3}")
_PUTTING = frozenset({"xargs", "parallel"})
_ALIAS = re.compile(r"(?:^|=)(?:alias|include(?:if)?)\.|^git_config\w*=")
"""Settings on a command line with which a word can stand for any other."""
_TAKING = {"git": frozenset({"-c", "--git-dir", "--work-tree", "--namespace", "--config-env"})}
"""Options in front of the first word of a program's own whose value is the next word."""
_ALONE = {
    "git": frozenset(
        {
            "-p", "--paginate", "--no-pager", "--bare", "--no-replace-objects", "--no-lazy-fetch",
            "--no-optional-locks", "--no-advice", "--literal-pathspecs", "--glob-pathspecs",
            "--noglob-pathspecs", "--icase-pathspecs", "-v", "--version", "-h", "--help",
        }
    )
}  # fmt: skip
"""Such options that have none."""


_LONG = {
    "a": "--all", "d": "--delete", "f": "--force", "i": "--in-place", "o": "--output", "q": "--quiet",
    "r": "--recursive", "v": "--verbose", "y": "--yes",
}  # fmt: skip
"""What letters stand for by convention; others may stand for any long option that begins with them."""


def stronger(one: Found, other: Found) -> Found:
    """Of two findings the one that says more."""
    return max(one, other, key=_STRENGTH.__getitem__)


def find_spread(words: Sequence[str], wanted: Sequence[str], places: range) -> Found:
    """Look for a rule's words in the words of a command, all in lower case.

    Args:
        words: The command's, without redirections.
        wanted: The rule's, at least one. Options among them may stand anywhere behind the first word.
        places: Where the program may stand. Found elsewhere it may be a mere argument: "perhaps". None
            where the words may be mere text.
    """
    first = wanted[0].rsplit("/", 1)[-1]
    best: Found = "perhaps" if len(words) > _MOST_WORDS else "no"
    renamed = any(map(_ALIAS.search, words))
    # What is put in between quotes stays one word.
    read = words if places else [word.replace(ANYTHING, ANY_WORD) for word in words]
    for at, word in enumerate(read[:_MOST_WORDS]):
        name = _OPENING.split(word)[-1]
        if name == first:
            found = _behind(first, _rest(read, at), wanted[1:])
        elif (bang := _BANG.match(name)) and name[bang.end() :] == first:
            found = _weaker(_behind(first, _rest(read, at), wanted[1:]), "perhaps")
        elif at in places and name == "-".join((first, *wanted[1:2])):
            found = _behind(first, _rest(read, at), wanted[2:])
        elif at in places and _UNKNOWN.search(name) and _may_be(name, first):
            found = _weaker(_behind("", _rest(read, at), wanted[1:]), "perhaps")
        else:
            continue
        if found == "no" and renamed:
            found = "perhaps"
        best = stronger(best, found if at in places else _weaker(found, "perhaps"))
    return best


def _rest(words: Sequence[str], at: int) -> Sequence[str]:
    """The words behind a program; what ``xargs`` and ``parallel`` put there is not known."""
    behind = words[at + 1 :]
    if _PUTTING.isdisjoint(words[:at]):
        return behind
    # What the second one puts there stands behind colons in the same line.
    return [*(word for word in behind if not word.startswith(":::")), ANYTHING]


def _weaker(one: Found, other: Found) -> Found:
    return min(one, other, key=_STRENGTH.__getitem__)


def _behind(program: str, words: Sequence[str], wanted: Sequence[str]) -> Found:
    """Whether what stands behind a program is what stands behind it in a rule."""
    options = [word for word in wanted if _is_option(word)]
    paths = [word for word in wanted if not _is_option(word) and _PATH.search(word)]
    names = [word for word in wanted if not _is_option(word) and not _PATH.search(word)]
    # Hardly any rule has options, and a line may name its program two thousand times.
    split = words
    if options:
        # An option of the rule and the value written onto it are two words.
        pairs = (word.split("=", 1) if word.partition("=")[0] in options else [word] for word in words)
        split = [piece for pair in pairs for piece in pair]
    found = _in_order(program, split, names)
    for option in options:
        found = _weaker(found, _has(option, split))
    for path in paths:
        # Among the operands, wherever it stands there and however it is written.
        if posixpath.normpath(path) not in map(posixpath.normpath, words):
            found = _weaker(found, "perhaps" if any(_may_be(word, path) for word in words) else "no")
    return found


_PATH = re.compile(r"[./~]")


def _in_order(program: str, words: Sequence[str], names: Sequence[str]) -> Found:
    """Whether words stand in a command one after the other, with nothing but options between them."""
    best: Found = "no" if names else "surely"
    states: dict[_State, Found] = {(0, "no"): "surely"} if names else {}
    for word in words[:_MOST_OPTIONS]:
        after: dict[_State, Found] = {}
        for (at, value), how in states.items():
            if ANYTHING in word:
                best = stronger(best, "perhaps")
            for state, sure in _read(program, word, names, at, value):
                reached = _weaker(how, sure)
                if state[0] == len(names):
                    best = stronger(best, reached)
                else:
                    after[state] = stronger(after.get(state, "no"), reached)
        states = after
    return stronger(best, "perhaps") if states and len(words) > _MOST_OPTIONS else best


def _read(
    program: str, word: str, names: Sequence[str], at: int, value: Found
) -> Iterator[tuple[_State, Found]]:
    """Every reading of one word: as the value of the option before it, as the next name, as an option."""
    if value != "no":
        yield (at, "no"), value
    if value == "surely":
        return
    if word == names[at]:
        yield (at + 1, "no"), "surely"
    elif _may_be(word, names[at]):
        yield (at + 1, "no"), "perhaps"
    if _is_option(word) or _ASSIGNMENT.fullmatch(word):
        takes: Found = "perhaps"
        if "=" in word or word == "--" or not word.startswith("-"):
            takes = "no"
        elif not at and word in _TAKING.get(program, ()):
            takes = "surely"
        elif not at and word in _ALONE.get(program, ()):
            takes = "no"
        yield (at, takes), "surely"
    elif word[:1] in (ANYTHING, ANY_WORD):
        yield (at, "perhaps"), "perhaps"


def _has(option: str, words: Sequence[str]) -> Found:
    """Whether an option is among words: alone, behind one dash with others, in letters or long, cut short."""
    if _SHORT.fullmatch(option):
        each = (_has_one(f"-{letter}", _LONG.get(letter, ""), words) for letter in option[1:])
        return min(each, key=_STRENGTH.__getitem__)
    letter = next((f"-{short}" for short, long in _LONG.items() if long == option), "")
    return _has_one(letter or option[1:3] * option.startswith("--"), option, words, is_known=bool(letter))


def _has_one(letter: str, long: str, words: Sequence[str], *, is_known: bool = True) -> Found:
    """Look for an option by its letter and by its long name; either may be empty.

    Args:
        letter: With its dash.
        long: With its dashes.
        words: Of a command.
        is_known: Whether the letter is known to mean the same, and not only begins it.
    """
    best: Found = "no"
    for word in words:
        name = word if "=" in long else word.partition("=")[0]
        if name == long:
            return "surely"
        found = _CLUSTER.match(name)
        if letter and found and letter[1:] in found[1]:
            if is_known:
                return "surely"
            best = "perhaps"
        # A long option that is cut short, or of which only the first letter is known.
        is_cut = len(name) > len("--") and name.startswith("--") and (long.startswith(name) or not long)
        may_be = is_cut and (bool(long) or name.startswith(f"-{letter}"))
        unknown = word.startswith("-") and (_may_be(word, long) or _may_be(word, letter))
        if may_be or unknown or ANYTHING in word:
            best = "perhaps"
    return best


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith(("-", "+"))


def _may_be(word: str, name: str) -> bool:
    """Whether what is not known of a word can make it another one."""
    pieces = _UNKNOWN.split(word)
    if len(pieces) == 1:
        return False
    ends = name.startswith(pieces[0]) and name.endswith(pieces[-1])
    return ends and all(piece in name for piece in pieces)


_SIGNS = re.compile(r"[|&;<>()\n\r`{}]|\$\(")
_QUOTING = re.compile(r"[\"'\\]")
_LONGEST_UNKNOWN = 4_000
"""Characters of one command in which unknown pieces are followed."""
_QUOTES = frozenset("\"'")
_MORE = SHELL_SIGNS - _QUOTES


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a command that a program can be started with as they are; None when a shell is needed.

    Quotes only hold words together; every other sign a shell reads, a variable in front of the program
    included, needs a shell, even between quotes.
    """
    if _MORE & set(command):
        return None
    try:
        words = tuple(shlex.split(command))
    except ValueError:
        return None
    if not words or not words[0] or "=" in words[0]:
        return None
    return words


def find_in(command: str, pattern: str) -> Found:
    """Whether some part of a command line begins with the words of a pattern.

    For rules that ask or deny: quotes, redirections, line ends behind a backslash, paths of programs, upper
    and lower case, options between the words make no difference. Where the shell puts in what is not known
    here, or an option may be more than one, it is "perhaps".
    """
    wanted = _bare(pattern)
    if not wanted:
        return "surely"
    found: Found = "no"
    # What is not known of a line is asked about because of the rule's own words.
    plain = _QUOTING.sub("", command).casefold()
    others = (each for each in same_as(wanted) if all(word in plain for word in each))
    for each in (wanted, *others):
        found = stronger(found, _find_words(command, each))
        if found == "surely":
            break
    return found


def _find_words(command: str, wanted: Sequence[str]) -> Found:
    if any(_begins_somewhere(_bare(part), wanted) for part in _SIGNS.split(command)):
        return "surely"
    found: Found = "no"
    try:
        parts = parts_of(command)
        if any(part.is_fed and reads_program(part.words) for part in parts):
            # Nobody sees it before it runs.
            found = "perhaps"
        # What a line itself gives other names to; whether its shell heeds that is not known.
        named = (word.casefold() for part in parts if part.words[0] == "alias" for word in part.words[1:])
        split = (word.partition("=") for word in named if "=" in word)
        aliases = {name: tuple(value.split()) for name, _, value in split}
        for part in parts:
            words = tuple(word.casefold() for word in part.words)
            if _begins_somewhere(words, wanted):
                return "surely"
            if part.runs and (renamed := aliases.get(words[0])):
                longer = (*renamed, *words[1:])
                found = stronger(found, _weaker(find_spread(longer, wanted, range(1)), "perhaps"))
            found = stronger(found, find_spread(words, wanted, _places(words, runs=part.runs)))
            if found == "surely":
                return found
            if found == "no" and _may_begin(words, wanted, runs=part.runs):
                found = "perhaps"
    except TooLong:
        return "perhaps"
    return found


def _bare(text: str) -> list[str]:
    return _QUOTING.sub("", text).casefold().split()


def _begins_somewhere(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """The first word may be given with its path, or behind an equals sign."""
    first, rest = wanted[0].rsplit("/", 1)[-1], list(wanted[1:])
    return any(
        _OPENING.split(word)[-1] == first and list(words[at + 1 : at + len(wanted)]) == rest
        for at, word in enumerate(words)
    )


def _places(words: Sequence[str], *, runs: bool) -> range:
    """Where a program that is run may stand: behind one that runs others, anywhere."""
    program = program_at(words)
    if program is None or not runs:
        return range(0)
    runner = words[program].rsplit("/", 1)[-1] in RUNNERS
    return range(program, len(words) if runner else program + 1)


def _may_begin(words: Sequence[str], wanted: Sequence[str], *, runs: bool) -> bool:
    """Whether what is not known of some words may make them begin with those of a pattern."""
    program = program_at(words)
    text, free = " ".join(words), range(0)
    if program is not None:
        name = words[program].rsplit("/", 1)[-1]
        if name == "xargs":
            text += f" {ANYTHING}"
        if name in RUNNERS:
            text = text.replace(ANY_WORD, ANYTHING)
        end = len(" ".join(words[: program + 1]))
        free = range(len(text)) if name in RUNNERS else range(end - len(name), end)
    if not {ANYTHING, ANY_WORD} & set(text):
        return False
    if len(text) > _LONGEST_UNKNOWN:
        return True
    return _reaches(text, " ".join((wanted[0].rsplit("/", 1)[-1], *wanted[1:])), free if runs else range(0))


def _reaches(text: str, wanted: str, free: range) -> bool:
    """Follow every way to read wanted words in a text with unknown pieces.

    A way counts if it begins in ``free``, where the program stands, or meets a letter that is known:
    otherwise every variable could be everything.
    """
    states = {
        (at, at in free)
        for at, sign in enumerate(text)
        if sign == ANYTHING or not at or text[at - 1] in (" ", "/", "=")
    }
    for letter in wanted:
        after: set[tuple[int, bool]] = set()
        for at, met in _passed(text, states):
            sign = text[at : at + 1]
            if sign == ANYTHING or (sign == ANY_WORD and letter != " "):
                after.add((at, met))
            elif sign == letter:
                after.add((at + 1, met or letter != " "))
        states = after
    return any(met and text[at : at + 1] in ("", " ", ANYTHING) for at, met in _passed(text, states))


def _passed(text: str, states: set[tuple[int, bool]]) -> set[tuple[int, bool]]:
    """The states, and those behind unknown pieces that are nothing."""
    found, waiting = set(states), list(states)
    while waiting:
        at, met = waiting.pop()
        sign = text[at : at + 1]
        empty = sign in (ANYTHING, ANY_WORD) or (sign == " " and text[at - 1 : at] == ANYTHING)
        if empty and (at + 1, met) not in found:
            found.add((at + 1, met))
            waiting.append((at + 1, met))
    return found
