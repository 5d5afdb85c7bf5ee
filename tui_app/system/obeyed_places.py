"""Places in a project that programs run or act on automatically: changes there need approval.

They are recognized by kind first: names with a leading dot, configuration in the root, installed packages.
The table in this folder lists names only where no kind applies.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from functools import cache
from pathlib import PurePosixPath
from typing import Any, Literal

from tui_app.files import toml_beside
from tui_app.text import UNSEEN

Where = Literal["anywhere", "root", "repository"]
_SHORT_NAME = re.compile(r"~\d")
"""As in ``GIT~1``, a short name of a file with a leading dot."""


def obeyed(path: str) -> str:
    """Return the part of a path that makes programs run or act on what is written there; empty for none.

    Args:
        path: Relative to the project, with links resolved.
    """
    place = PurePosixPath(path)
    parts, plain = place.parts, [_plain(part) for part in place.parts]
    if parts and any(map(place.match, _table()["capitals"])):
        return parts[-1]
    return next((part for at, part in enumerate(parts) if _is_obeyed(plain, at)), "")


def is_autorun(name: str, *, is_folder: bool, is_root: bool = True) -> bool:
    """Return whether a name takes effect automatically, in a repository's root or further down."""
    name = name.casefold()
    by_name = _names("anywhere", True).match(name) or (is_root and _names("repository", True).match(name))
    return bool(by_name) or (is_folder and name in _folders("anywhere", True))


def differs_by_branch(name: str) -> bool:
    """Return whether a place may differ between branches."""
    return _differing().match(name.casefold()) is not None


def obeyed_by_git() -> Sequence[str]:
    """Return the places in a repository that git acts on."""
    found: Sequence[str] = _table()["git"]
    return found


@cache
def states_of_git() -> Mapping[str, re.Pattern[str]]:
    """Return the files of a repository with unfinished work of git, and patterns of their harmless lines."""
    return {name: re.compile(lines) for name, lines in _table()["git_states"].items()}


_LIBRARY = frozenset(map(str.lower, sys.stdlib_module_names))
"""Modules of Python's standard library."""


@cache
def _table() -> Mapping[str, Any]:
    return toml_beside(__file__, "obeyed_places")


def _rows(where: Where, by_itself: bool) -> Iterator[Mapping[str, Any]]:
    """Yield the table's rows for a place: all of them, or those that take effect automatically."""
    for row in _table()["places"]:
        if row.get("where", "anywhere") == where and (row.get("by_itself") or not by_itself):
            yield row


@cache
def _folders(where: Where, by_itself: bool = False) -> frozenset[str]:
    return frozenset(name for row in _rows(where, by_itself) for name in row.get("folders", ()))


@cache
def _names(where: Where, by_itself: bool = False) -> re.Pattern[str]:
    return _any_of(name for row in _rows(where, by_itself) for name in row.get("names", ()))


@cache
def _differing() -> re.Pattern[str]:
    return _any_of(name for row in _table()["places"] if row.get("differs") for name in row["names"])


@cache
def _plain_dots() -> re.Pattern[str]:
    return _any_of(_table()["plain_dots"])


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)) or r"(?!)")


def _plain(part: str) -> str:
    """Return a name as a file system may read it: without invisible characters and final dots and blanks."""
    signs = unicodedata.normalize("NFKC", part)
    shown = "".join(sign for sign in signs if unicodedata.category(sign) != "Cf" and not UNSEEN.match(sign))
    return (shown.rstrip(". ") or shown).casefold()


def _is_obeyed(parts: Sequence[str], at: int) -> bool:
    table, part, is_last = _table(), parts[at], at == len(parts) - 1
    if part.startswith(".") and part.strip("."):
        return _plain_dots().match(part) is None
    if part in _folders("anywhere") or part.endswith(tuple(table["folder_ends"])) or _SHORT_NAME.search(part):
        return True
    in_root = _names("root").match(part) if is_last else None
    if not at and (part in _folders("root") or in_root):
        return True
    by_name = _names("anywhere").match(part) is not None
    folders = [at for at, each in enumerate(parts[:-1], 1) if each in table["script_folders"]]
    path = "/".join(parts[folders[-1] :] if folders else parts)
    if end := max(filter(path.endswith, table["module_ends"]), key=len, default=""):
        name = path.removesuffix(end)
        # A compiled module has its platform in its name.
        name = name if end.endswith(".py") else name.partition(".")[0]
        is_module = name in _LIBRARY or (not folders and name in table["modules"])
        return ("/" not in name and is_module) or (is_last and by_name)
    return is_last and by_name
