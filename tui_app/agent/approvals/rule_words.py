"""Finding the words of a rule in one command, whatever options stand between them.

For rules that ask or deny. A word behind an option may be its value or not: where that is not known, both
readings count, and what only one of them makes of a command is "perhaps".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tui_app.agent.approvals.shell_parts import ANY_WORD, ANYTHING

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
_ASSIGNMENT = re.compile(r"\w+\+?=.*", re.DOTALL)
_CLUSTER = re.compile(r"-[a-z]+")
_SHORT = re.compile(r"-[a-z]{1,3}")
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
    """The words behind a program; what ``xargs`` puts there is not known."""
    more = [ANYTHING] if "xargs" in words[:at] else []
    return [*words[at + 1 :], *more]


def _weaker(one: Found, other: Found) -> Found:
    return min(one, other, key=_STRENGTH.__getitem__)


def _behind(program: str, words: Sequence[str], wanted: Sequence[str]) -> Found:
    """Whether what stands behind a program is what stands behind it in a rule."""
    options = [word for word in wanted if _is_option(word)]
    names = [word for word in wanted if not _is_option(word)]
    # Hardly any rule has options, and a line may name its program two thousand times.
    split = [piece for word in words for piece in _parted(word, options)] if options else words
    found = _in_order(program, split, names)
    for option in options:
        found = _weaker(found, _has(option, split))
    return found


def _parted(word: str, options: Sequence[str]) -> Sequence[str]:
    """An option of a rule and the value written onto it; any other word as it is."""
    name, equals, value = word.partition("=")
    return (name, value) if equals and name in options else (word,)


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
        yield (at, _takes_value(program if not at else "", word)), "surely"
    elif word[:1] in (ANYTHING, ANY_WORD):
        yield (at, "perhaps"), "perhaps"


def _takes_value(program: str, option: str) -> Found:
    if "=" in option or option == "--" or not option.startswith("-"):
        return "no"
    if option in _TAKING.get(program, ()):
        return "surely"
    return "no" if option in _ALONE.get(program, ()) else "perhaps"


def _has(option: str, words: Sequence[str]) -> Found:
    """Whether an option is among words, alone, with others behind one dash, or cut short."""
    best: Found = "no"
    for word in words:
        if word == option:
            return "surely"
        cut = word.startswith("--") and len(word) > len("--") and option.startswith(word)
        if cut or ANYTHING in word or (word.startswith("-") and _may_be(word, option)):
            best = "perhaps"
    letters = {letter for word in words if _CLUSTER.fullmatch(word) for letter in word[1:]}
    return "surely" if _SHORT.fullmatch(option) and letters >= set(option[1:]) else best


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith(("-", "+"))


def _may_be(word: str, name: str) -> bool:
    """Whether what is not known of a word can make it another one."""
    pieces = _UNKNOWN.split(word)
    if len(pieces) == 1:
        return False
    ends = name.startswith(pieces[0]) and name.endswith(pieces[-1])
    return ends and all(piece in name for piece in pieces)
