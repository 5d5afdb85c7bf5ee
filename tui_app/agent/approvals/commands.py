"""Reading command lines: which need a shell, and what their words are."""

import re
import shlex
from collections.abc import Sequence

from tui_app.agent.approvals.rule_words import Found, find_spread, stronger
from tui_app.agent.approvals.shell_parts import ANY_WORD, ANYTHING, RUNNERS, TooLong, parts_of
from tui_app.settings.approvals import SHELL_SIGNS

_SIGNS = re.compile(r"[|&;<>()\n\r`{}]|\$\(")
_QUOTING = re.compile(r"[\"'\\]")
_OPENING = re.compile(r"[/=]")
_BEFORE_PROGRAM = re.compile(r"\w+\+?=.*|if|then|else|elif|do|while|until|time|!|\{", re.DOTALL)
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


def begins_with(command: str, pattern: str) -> bool:
    """Whether a command is nothing but words and begins with those of a pattern.

    For rules that allow: with any sign in it that a shell reads, quotes included, the answer is no.
    """
    wanted = pattern.split()
    if not wanted or SHELL_SIGNS & set(command):
        return False
    words = plain_words(command)
    return words is not None and list(words[: len(wanted)]) == wanted


def find_in(command: str, pattern: str) -> Found:
    """Whether some part of a command line begins with the words of a pattern.

    For rules that ask or deny: quotes, redirections, line ends behind a backslash, paths of programs, upper
    and lower case, options between the words make no difference. Where the shell puts in what is not known
    here, or an option may be more than one, it is "perhaps".
    """
    wanted = _bare(pattern)
    if not wanted or any(_begins_somewhere(_bare(part), wanted) for part in _SIGNS.split(command)):
        return "surely"
    found: Found = "no"
    try:
        for part in parts_of(command):
            words = tuple(word.casefold() for word in part.words)
            if _begins_somewhere(words, wanted):
                return "surely"
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


def _program(words: Sequence[str]) -> int | None:
    """Where the program of a command stands."""
    return next((at for at, word in enumerate(words) if not _BEFORE_PROGRAM.fullmatch(word)), None)


def _places(words: Sequence[str], *, runs: bool) -> range:
    """Where a program that is run may stand: behind one that runs others, anywhere."""
    program = _program(words)
    if program is None or not runs:
        return range(0)
    runner = words[program].rsplit("/", 1)[-1] in RUNNERS
    return range(program, len(words) if runner else program + 1)


def _may_begin(words: Sequence[str], wanted: Sequence[str], *, runs: bool) -> bool:
    """Whether what is not known of some words may make them begin with those of a pattern."""
    program = _program(words)
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
