"""Reading command lines: which need a shell, and what their words are."""

import re
import shlex
from collections.abc import Sequence

from tui_app.settings_approvals import SHELL_SIGNS

_PARTS = re.compile(r"[|&;<>()\n\r`{}]|\$\(")
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


def may_contain(command: str, pattern: str) -> bool:
    """Whether some part of a command line may begin with the words of a pattern.

    For rules that ask or deny: quotes, paths of programs, upper and lower case make no difference.
    """
    wanted = pattern.casefold().split()
    if not wanted:
        return True
    for part in _PARTS.split(command):
        words = part.replace('"', "").replace("'", "").replace("\\", "").casefold().split()
        if any(_same(words[at : at + len(wanted)], wanted) for at in range(len(words))):
            return True
    return False


def _same(words: Sequence[str], wanted: Sequence[str]) -> bool:
    """The first word may be given with its path."""
    if len(words) < len(wanted):
        return False
    return words[0].rsplit("/", 1)[-1] == wanted[0].rsplit("/", 1)[-1] and list(words[1:]) == list(wanted[1:])
