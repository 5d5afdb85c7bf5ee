"""Places in a project that programs run or obey without being told to: changes there are asked about.

Judged by the kind of place first: what begins with a dot, configuration in the root, installed packages.
Names are listed, in the table beside this file, only where a kind does not tell.
"""

import re
import sys
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from fnmatch import translate
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Literal

from tui_app.records import frozen
from tui_app.text import UNSEEN

Where = Literal["anywhere", "root", "repository"]
_TABLE = Path(__file__).with_suffix(".toml")
_SHORT_NAME = re.compile(r"~\d")
"""As in ``GIT~1``, another name of a file with a dot."""


def obeyed(path: str) -> str:
    """The part of a path because of which programs run or obey what is written there; empty without one.

    Args:
        path: Relative to the project, links followed.
    """
    parts = PurePosixPath(path).parts
    plain = [_plain(part) for part in parts]
    if len(parts) > 1 and parts[-1] in _table().capitals:
        return parts[-1]
    return next((part for at, part in enumerate(parts) if _is_obeyed(plain, at)), "")


def is_autorun(name: str, *, is_folder: bool, is_root: bool = True) -> bool:
    """Whether a name is one that takes effect by itself, at the root of a repository or further down."""
    name, table = name.casefold(), _table()
    by_name = table.names["anywhere", True].match(name) or (
        is_root and table.names["repository", True].match(name)
    )
    return bool(by_name) or (is_folder and name in table.folders["anywhere", True])


def differs_by_branch(name: str) -> bool:
    """Whether a place is one of which each branch may have another."""
    return _table().differs.match(name.casefold()) is not None


def obeyed_by_git() -> Sequence[str]:
    """Places in a repository that git obeys."""
    return _table().git


def states_of_git() -> Mapping[str, re.Pattern[str]]:
    """Files in a repository in which it keeps work that goes on later, and what lines run nothing then."""
    return _table().states


@frozen
class _Table:
    names: dict[tuple[Where, bool], re.Pattern[str]]
    """Patterns of names, by where they count and whether they take effect by themselves."""
    folders: dict[tuple[Where, bool], frozenset[str]]
    differs: re.Pattern[str]
    plain_dots: re.Pattern[str]
    capitals: frozenset[str]
    folder_ends: tuple[str, ...]
    modules: frozenset[str]
    library: frozenset[str]
    """Modules of Python's own."""
    script_folders: frozenset[str]
    module_ends: tuple[str, ...]
    git: tuple[str, ...]
    states: Mapping[str, re.Pattern[str]]


@cache
def _table() -> _Table:
    table = tomllib.loads(_TABLE.read_text("utf-8"))
    names: dict[tuple[Where, bool], list[str]] = {}
    folders: dict[tuple[Where, bool], set[str]] = {}
    for row in table["places"]:
        # What takes effect by itself is obeyed as well.
        for by_itself in {False, row.get("by_itself", False)}:
            key = (row.get("where", "anywhere"), by_itself)
            names.setdefault(key, []).extend(row.get("names", ()))
            folders.setdefault(key, set()).update(row.get("folders", ()))
    return _Table(
        {key: _any_of(found) for key, found in names.items()},
        {key: frozenset(found) for key, found in folders.items()},
        _any_of([name for row in table["places"] if row.get("differs") for name in row["names"]]),
        _any_of(table["plain_dots"]),
        frozenset(table["capitals"]),
        tuple(table["folder_ends"]),
        frozenset((*map(str.lower, sys.stdlib_module_names), *table["modules"])),
        frozenset(map(str.lower, sys.stdlib_module_names)),
        frozenset(table["script_folders"]),
        tuple(table["module_ends"]),
        tuple(table["git"]),
        {name: re.compile(lines) for name, lines in table["git_states"].items()},
    )


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")


def _plain(part: str) -> str:
    """A name as a file system may read it: without signs that are not seen, dots and blanks at its end."""
    signs = unicodedata.normalize("NFKC", part)
    shown = "".join(sign for sign in signs if unicodedata.category(sign) != "Cf" and not UNSEEN.match(sign))
    return (shown.rstrip(". ") or shown).casefold()


def _is_obeyed(parts: Sequence[str], at: int) -> bool:
    table, part, is_last = _table(), parts[at], at == len(parts) - 1
    if part.startswith(".") and part.strip("."):
        return table.plain_dots.match(part) is None
    if (
        part in table.folders["anywhere", False]
        or part.endswith(table.folder_ends)
        or _SHORT_NAME.search(part)
    ):
        return True
    in_root = table.names["root", False].match(part) if is_last else None
    if not at and (part in table.folders["root", False] or in_root):
        return True
    by_name = table.names["anywhere", False].match(part) is not None
    folders = [at for at, each in enumerate(parts[:-1], 1) if each in table.script_folders]
    modules = table.library if folders else table.modules
    path = "/".join(parts[folders[-1] :] if folders else parts)
    if end := max(filter(path.endswith, table.module_ends), key=len, default=""):
        name = path.removesuffix(end)
        # A compiled one has its platform in its name.
        name = name if end.endswith(".py") else name.partition(".")[0]
        return ("/" not in name and name in modules) or (is_last and by_name)
    return is_last and by_name
