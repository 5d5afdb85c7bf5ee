"""Programs and the roles of their operands and options, from ``programs.toml``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any, Literal

from tui_app.files import toml_beside
from tui_app.records import frozen

_LISTS = ("sets", "same", "letters", "shapes")
_MOST_KEY = 3
"""Maximum words that name a program with its subcommand."""

Role = Literal[
    "harmless", "named", "reads", "writes", "folder", "copies", "moves", "links", "packs", "text", "names",
    "resources", "label", "package", "actions", "argument", "none", "sed", "awk", "jq", "ps",
]  # fmt: skip
"""The role of a word for a program; a ``named`` one has to be named by a rule."""
SCRIPTS = frozenset({"sed", "awk", "jq", "ps"})


@frozen
class Option:
    """The value of an option."""

    takes: Literal["nothing", "value", "attached", "number"]
    role: Role | Literal["first"] = "harmless"
    """Role of its value; ``first`` is that of the first operand, which it replaces."""
    values: re.Pattern[str] | None = None
    """Allowed values."""
    is_named: bool = False

    def fits(self, value: str) -> bool:
        if self.takes == "number":
            return value.isdigit()
        # A format of git with these starts a program that checks signatures.
        return not _SIGNATURES.search(value) and (self.values is None or bool(self.values.fullmatch(value)))


@frozen
class Program:
    """One row of the table."""

    name: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    operands: tuple[Role, ...] = ("argument",)
    actions: frozenset[str] = frozenset()
    after: Mapping[str, Option] | None = None
    """Options after ``--``; None if the usual ones apply."""
    never: re.Pattern[str] | None = None
    looks: bool = False
    marks: frozenset[str] = frozenset()
    runs: int | None = None
    program: frozenset[str] = frozenset()
    input: frozenset[str] = frozenset()
    code: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    between: Mapping[str, Option] = field(default_factory=dict)

    def option(self, word: str, *, is_end: bool = False) -> tuple[Option | None, str | None]:
        """The option for a word, and the value attached to it; None if it is unknown.

        Args:
            word: Begins with a dash or a plus.
            is_end: Whether it follows ``--``.
        """
        options = self.after if is_end and self.after is not None else self.options
        name, equals, value = word.partition("=")
        found = options.get(name)
        if found is not None:
            if not equals:
                return found, None
            return (found, value) if found.takes != "nothing" and len(name) > len("-x") else (None, None)
        if "-1" in options and re.fullmatch(r"-\d+", word):
            return options["-1"], None
        if word.startswith(("--", "+")):
            return None, None
        return _bundled(options, word[1:])


UNKNOWN = Program()
NEGATIVE = re.compile(r"-\d*\w?")
_SIGNATURES = re.compile(r"%G|%\([^)]*signature")
_HARMLESS = Option("nothing")


def _bundled(options: Mapping[str, Option], letters: str) -> tuple[Option | None, str | None]:
    """A cluster of one-letter options. The last one counts, unless an earlier one has to be named."""
    found: Option | None = None
    for at, letter in enumerate(letters, 1):
        each = options.get(f"-{letter}")
        if each is None:
            return None, None
        found = each if found is None or not found.is_named else found
        if each.takes != "nothing":
            return found, letters[at:] or None
    return found, None


@frozen
class Argument:
    """One word of a command, or a value attached to one."""

    at: int
    text: str
    role: Role


def roles(program: Program, words: Sequence[str]) -> list[Argument]:
    """What each word after a program is to it."""
    kinds = list(program.operands)
    # An option that replaces the first operand counts wherever it is: `rg secret --files` lists files.
    options = (program.option(word)[0] for word in words if word.startswith("-"))
    is_taken = len(kinds) > 1 and any(each is not None and each.role == "first" for each in options)
    return list(_roles(program, words, kinds[1:] if is_taken else kinds))


def _roles(program: Program, words: Sequence[str], kinds: Sequence[Role]) -> Iterator[Argument]:
    first = program.operands[0]
    waiting: Option | None = None
    is_end = is_unclear = False

    def value_role(option: Option) -> Role:
        return first if option.role == "first" else option.role

    for at, word in enumerate(words):
        if waiting is not None:
            option, waiting = waiting, None
            other = program.option(word)[0] if word.startswith("-") and len(word) > 1 else _HARMLESS
            # In case the option takes no value after all.
            is_option = (other is None or other.is_named) and NEGATIVE.fullmatch(word) is None
            is_input = word == "-" and option.role == "reads"
            yield Argument(at, word, "named" if is_option or is_input else value_role(option))
        elif word == "--" or (word.startswith("+") and "+" in program.options):
            is_end = is_end or word == "--"
            yield Argument(at, word, "harmless")
        elif word == "-":
            # Standard input or output in place of a file.
            yield Argument(at, word, "harmless" if kinds[0] in ("reads", "writes", "text") else "named")
            kinds = kinds[1:] or kinds
        elif word.startswith(("-", "+")):
            found, attached = program.option(word, is_end=is_end)
            following = words[at + 1] if at + 1 < len(words) else ""
            takes = found is not None and attached is None and _takes(found, following)
            if found is None or (takes and is_end and program.after is None):
                # Its effect on the other words is unknown; after `--` it may be a file and take no value.
                is_unclear = True
                yield Argument(at, word, "named")
                continue
            if found.is_named:
                kinds = ["writes" if kind == "reads" else kind for kind in kinds]
            waiting = found if takes else None
            value = following if takes else attached
            fits = value is None or found.fits(value)
            yield Argument(at, word, "harmless" if fits and not found.is_named else "named")
            if attached is not None:
                yield Argument(at, attached, value_role(found))
        else:
            yield Argument(at, word, _operand_role(kinds) if is_unclear else kinds[0])
            kinds = kinds[1:] or kinds


def _operand_role(kinds: Sequence[Role]) -> Role:
    """The role of an operand if its position, or whether it is one at all, is unknown."""
    return "named" if {"none", "actions", *SCRIPTS} & {*kinds} else "writes"


def _takes(option: Option, following: str) -> bool:
    return option.takes == "value" or (option.takes == "number" and following.isdigit())


@cache
def _rows() -> tuple[dict[str, dict[str, Any]], dict[str, Mapping[str, Any]]]:
    table = toml_beside(__file__, "programs")
    lists = {name: table.pop(name) for name in _LISTS}
    return {name: row for key, row in table.items() for name in (key, *row.get("also", ()))}, lists


def known_programs() -> Mapping[str, Mapping[str, Any]]:
    """All rows as written, by each of their names."""
    return _rows()[0]


def same_programs() -> Mapping[str, Sequence[str]]:
    """Equivalent commands, by the name used in rules."""
    return _rows()[1]["same"]


def long_options() -> Mapping[str, str]:
    """The long option that each letter abbreviates by convention."""
    return _rows()[1]["letters"]


@cache
def shapes() -> Mapping[str, re.Pattern[str]]:
    """Patterns for operands of some kinds, which must match as a whole."""
    return {kind: re.compile(pattern, re.DOTALL) for kind, pattern in _rows()[1]["shapes"].items()}


@cache
def program_named(name: str) -> Program | None:
    """The row of a program, by its name with or without a subcommand."""
    rows, lists = _rows()
    if (row := rows.get(name)) is None:
        return None
    sets = " ".join(lists["sets"][each] for each in row.get("sets", "").split())
    never = row.get("never")
    return Program(
        name,
        _options(f"{sets} {row.get('options', '')}"),
        tuple(row.get("operands", "argument").split()),
        frozenset(row.get("actions", "").split()),
        _options(row["after"]) if "after" in row else None,
        re.compile(never) if never else None,
        row.get("looks", False),
        **{key: frozenset(row.get(key, "").split()) for key in _KEYS},
        runs=row.get("runs"),
        between=_options(row.get("between", "")),
    )


_KEYS = ("marks", "program", "input", "code", "files", "values")
_OPTION = re.compile(
    r"(?P<name>\+|--?[^\s:=!^\[]+)(?P<named>!?)(?P<first>\^?)(?P<sign>(?:\[=\]|[:=])?)(?P<values>\S*)"
)
_VALUES: Mapping[str, Role | Literal["first"]] = {"@": "reads", ">": "writes", "/": "folder", "^": "first"}


def _options(text: str) -> Mapping[str, Option]:
    found: dict[str, Option] = {}
    for each in _OPTION.finditer(text):
        values, sign = each["values"], each["sign"]
        role: Role | Literal["first"] = "first" if each["first"] else _VALUES.get(values, "harmless")
        pattern = re.compile(values) if values and values != "#" and values not in _VALUES else None
        takes: Literal["nothing", "value", "attached", "number"] = "nothing"
        if sign:
            takes = "number" if values == "#" else "attached" if sign == "[=]" else "value"
        found[each["name"]] = Option(takes, role, pattern, bool(each["named"]))
    return found


@frozen
class Use:
    """The program of a command, found after the programs that only run it."""

    program: Program
    at: int
    """Number of words up to the end of its name."""
    begins: int = 0
    """Index of its own name."""

    def arguments(self, words: Sequence[str]) -> list[Argument]:
        """The role of each word after the name."""
        return roles(self.program, words[self.at :])


def program_of(words: Sequence[str]) -> Use:
    """The program that a command runs in the end."""
    start = 0
    while True:
        found = longest_named(words, start)
        if found is None:
            return Use(UNKNOWN, start + 1, start)
        program, size = found
        inner = len(words) if program.runs is None else inner_at(program, words, start + size)[0]
        if inner >= len(words):
            return Use(program, start + size, start)
        start = inner


def only_looks(words: Sequence[str]) -> bool:
    """Whether the table knows that a command is read-only with these arguments."""
    use = program_of(words)
    program, forms = use.program, shapes()
    return program.looks and not any(
        each.role in ("named", "none", "writes")
        or (each.role == "actions" and each.text not in program.actions)
        or (each.role in forms and not forms[each.role].fullmatch(each.text))
        or (program.never is not None and program.never.fullmatch(each.text))
        for each in use.arguments(words)
    )


def longest_named(words: Sequence[str], start: int) -> tuple[Program, int] | None:
    """The row with the longest name at a place, and its number of words."""
    for size in range(_MOST_KEY, 0, -1):
        if len(words) >= start + size and (found := program_named(" ".join(words[start : start + size]))):
            return found, size
    return None


def inner_at(program: Program, words: Sequence[str], at: int) -> tuple[int, bool]:
    """Index of the command that a program runs, and whether it is certain."""
    left = program.runs or 0
    is_sure = True
    while at < len(words):
        word = words[at]
        if word == "--" or (_ASSIGNED.match(word) and program.name == "env"):
            at += 1
        elif word.startswith("-") and len(word) > 1:
            option, attached = program.option(word)
            takes = option is not None and attached is None and option.takes == "value"
            is_sure = is_sure and option is not None
            at += 2 if takes else 1
        elif left:
            left -= 1
            at += 1
        else:
            break
    return at, is_sure


_ASSIGNED = re.compile(r"\w+=")
