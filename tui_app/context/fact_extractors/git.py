"""What git does to files: what it removes and moves, and which changes it undoes or keeps for good."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WHOLE_TREE = "."
"""Path of what concerns every file."""
ON_TRAILS = frozenset({"undone", "cleaned", "added", "committed"})
"""Verbs that say something of earlier deeds only: that a change was taken back, a file that git does not
know deleted, a file made known to it, and everything before kept."""
_OF_ONE = frozenset({"-m", "--message", "-C", "-c", "-s", "--source", "-e"})
"""Options whose value is the next word."""
_STAGED, _WORKTREE = frozenset({"-S", "--staged"}), frozenset({"-W", "--worktree"})
_ASKS = frozenset({"-p", "--patch", "--ours", "--theirs", "-b", "-B", "--orphan", "--detach"})
"""Options with which it is not known, or not so, that a file is as it was."""
_HERE = frozenset({"HEAD", "@"})


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing a command does to one file."""

    path: str
    verb: str
    """``created``, ``edited``, ``read``, ``deleted`` or ``written``; or one of ``ON_TRAILS``."""


def git_subcommand(arguments: Sequence[str]) -> list[str]:
    """The words of a git command from its subcommand on."""
    start = 0
    while start < len(arguments) and arguments[start].startswith("-"):
        start += 2 if arguments[start] in {"-C", "-c"} else 1
    return list(arguments[start:])


def git_effects(words: Sequence[str]) -> list[Effect]:
    """What a git command that worked has done to the changes before it.

    Args:
        words: The subcommand and its arguments.

    Returns:
        Effects; where it depends on another commit, which is not known, none.
    """
    if not words:
        return []
    options = {word for word in words[1:] if word.startswith("-")}
    match words[0]:
        case "commit" if not options & {"-n", "--dry-run"} or "-m" in options:
            return [Effect(WHOLE_TREE, "committed")]
        case "add" | "stage":
            plain = list(_plain(words[1:]))
            every = bool(options & {"-A", "--all"}) and not plain
            return [Effect(path, "added") for path in (plain or [WHOLE_TREE] * every)]
        case "checkout" if not options & _ASKS:
            return [Effect(path, "undone") for path in _checked_out(words[1:], options)]
        case "restore" if not options & _ASKS and (not options & _STAGED or options & _WORKTREE):
            source = _source(words)
            return [Effect(path, "undone") for path in _plain(words[1:]) if source in {"", *_HERE}]
        case "reset" if "--hard" in options:
            return [Effect(WHOLE_TREE, "undone")]
        case "clean" if _forced(options):
            return [Effect(path, "cleaned") for path in list(_plain(words[1:])) or [WHOLE_TREE]]
    return []


def _checked_out(words: Sequence[str], options: set[str]) -> Sequence[str]:
    if "--" in words:
        place = words.index("--")
        ref = [word for word in words[:place] if not word.startswith("-")]
        return words[place + 1 :] if not ref or ref[0] in _HERE else []
    plain = list(_plain(words))
    if options & {"-f", "--force"} and len(plain) < 2:
        return [WHOLE_TREE]
    # A word alone may name a branch: then no file of that name was changed.
    if plain[:1] and plain[0] in _HERE:
        return plain[1:]
    return [word for word in plain if len(plain) == 1 and "." in word]


def _source(words: Sequence[str]) -> str:
    for place, word in enumerate(words):
        if word in {"-s", "--source"}:
            return words[place + 1] if place + 1 < len(words) else "?"
        if word.startswith("--source="):
            return word.removeprefix("--source=")
    return ""


def _forced(options: set[str]) -> bool:
    letters = "".join(one for one in options if not one.startswith("--"))
    asks = "n" in letters or "i" in letters or "--dry-run" in options or "--interactive" in options
    return ("f" in letters or "--force" in options) and not asks


def _plain(words: Sequence[str]) -> Iterator[str]:
    """The words that are neither options nor their values."""
    value = False
    for word in words:
        if value:
            value = False
        elif word.startswith("-"):
            value = word in _OF_ONE
        else:
            yield word
