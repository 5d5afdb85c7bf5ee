"""Taking a command line apart the way a shell does, as far as that can be told without running it.

For rules that ask or deny: every reading that some shell may have counts, also of what stands between quotes.
What only shows when the line runs, such as a variable, is kept as a sign for "anything".
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from tui_app.agent.tools.patterns import expand_braces

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
RUNNERS = frozenset(
    {"eval", "exec", "command", "env", "sudo", "doas", "xargs", "sh", "bash", "dash", "zsh", "ksh"}
)
"""Programs whose arguments are a command."""


@dataclass(frozen=True, slots=True)
class Part:
    """The words of one command of a line, without redirections."""

    words: tuple[str, ...]
    runs: bool
    """Whether it is a command for certain, not only what one may be between quotes."""


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
    waiting = [(_without_continuations(command), True), (command, True), (command.replace("\\\n", ""), False)]
    waiting.append((bare, False))
    parts: dict[Part, None] = {}
    seen: set[tuple[str, bool]] = set()
    left = _MOST_CHARS
    while waiting:
        if (each := waiting.pop()) in seen:
            continue
        seen.add(each)
        left -= len(each[0])
        if left < 0:
            raise TooLong
        scanner = _Scanner(*each)
        parts.update(dict.fromkeys(scanner.scan()))
        waiting.extend(scanner.nested)
    return tuple(parts)


def _without_continuations(text: str) -> str:
    """Join lines that end in a backslash, but not between single quotes or in a comment."""

    def joined(match: "re.Match[str]") -> str:
        piece = match.group()
        return piece if piece[0] in "'#" else piece.replace("\\\n", "")

    return _JOINED.sub(joined, text)


@dataclass(slots=True)
class _Scanner:
    text: str
    runs: bool
    nested: list[tuple[str, bool]] = field(default_factory=list)
    """Text in it that is, or may be, a command line itself."""
    _parts: list[Part] = field(default_factory=list)
    _words: list[str] = field(default_factory=list)
    _word: str | None = None
    _target: bool = False
    """Whether the next word is where a redirection leads."""
    _at: int = 0

    def scan(self) -> list[Part]:
        """The commands of this text; those nested in it are left in ``nested``."""
        while self._at < len(self.text):
            self._step(self.text[self._at])
        self._end_part()
        return self._parts

    def _step(self, sign: str) -> None:
        at = self._at
        self._at += 1
        if sign in "<>" or (sign == "&" and self.text.startswith(">", at + 1)):
            self._redirect(at)
        elif sign in "\n\r;|&()":
            self._end_part()
        elif sign.isspace():
            self._end_word()
        elif sign == "#" and self._word is None:
            end = self.text.find("\n", at)
            self._at = end if end >= 0 else len(self.text)
            self.nested.append((self.text[at + 1 : self._at], False))
        elif sign in "\\'\"":
            self._quoted(sign, at)
        elif sign in "$`":
            self._expanded(at, between=False)
        elif found := _WILD.match(self.text, at):
            self._at = found.end()
            self._add(ANY_WORD)
        else:
            self._add(sign)

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
            self.nested.append((found.group(1), True))
        elif following == "(":
            self.nested.append((self._inside(at + 2, "()"), True))
        elif following == "{":
            inside = self._inside(at + 2, "{}")
            if inside.startswith("IFS") and not between:
                return self._end_word()
            self.nested.append((_DEFAULT.sub("", inside, count=1), False))
            unknown = ANYTHING if inside[:1] in ("@", "*") else unknown
        elif following == "'" and not between and (found := _ANSI.match(self.text, at + 1)):
            self._at = found.end()
            self.nested.append((found.group(1), False))
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
            self.nested.append((self._inside(end + 1, "()"), True))
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
            self.nested.append((plain.replace(ANY_WORD, ANYTHING), runner))
        if not self._target:
            self._words += [one for each in expand_braces(word) if (one := _literal(_ranges(each)))]
        self._target = False

    def _end_part(self) -> None:
        self._end_word()
        self._target = False
        if self._words:
            self._parts.append(Part(tuple(self._words), self.runs))
        self._words = []


def _ranges(word: str) -> str:
    """A range in braces, or a list that is too long, is not known."""
    return re.sub(r"\{.*(?:\.\.|,).*\}", ANYTHING, word)


def _literal(word: str) -> str:
    return word.translate({ord(kept): sign for sign, kept in _KEPT.items()})
