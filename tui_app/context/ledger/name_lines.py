"""Lines of names: those of one file together, files of one folder together."""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from tui_app.context.ledger.files import FileTrail
from tui_app.context.ledger.names import Names, Seen, rank_names
from tui_app.context.ledger.passages import Passage
from tui_app.records import frozen

_FEWEST_IN_FILE = 3
"""Names of one file from which on they are listed after its path."""

_FILES_SHARE = 0.5
"""Share of the room for names that files may take before any other name."""

_MOST_OWNERS = 3
"""Maximum paths that the occurrences of a bare name count for."""

_BROUGHT = frozenset({"node_modules", "site-packages", ".venv", "__pycache__", ".git"})
"""Folders whose files are not the project's own."""

_IDENTIFIER = re.compile(r"\w*(?:[a-z0-9][A-Z]|_)\w*")


@frozen
class RankedName:
    """A name worth keeping."""

    name: str
    place: str
    """The file that it was seen in, or the folder of a file; empty if unknown."""
    key: int
    score: float
    is_file: bool = False
    defined: bool = False


def names_to_carry(
    texts: Sequence[Passage], trails: Collection[FileTrail], in_sight: Collection[int]
) -> list[RankedName]:
    """Return the names that will be needed and cannot be read elsewhere, likeliest first.

    Args:
        texts: The whole session.
        trails: What was done to files; changed ones have their own lines.
        in_sight: Messages that stay: their names are left out.
    """
    names = Names.from_passages(texts)
    # First, so that different spellings of a file are scored as one.
    unopened = list(_without_trail(names.files, trails))
    scores = rank_names(texts, names, trails)
    visible = Names.from_passages(passage for passage in texts if passage.key in in_sight)
    shown = {ending for path in visible.files for ending in _endings(path)}
    stems = {posixpath.splitext(posixpath.basename(path))[0] for path in names.files}
    known = stems | visible.code.keys() | visible.values.keys() | {passage.tool for passage in texts}
    found: list[RankedName] = []
    for name, seen in {**names.values, **names.code}.items():
        if name not in known:
            place = seen.place if name not in seen.place else ""
            found.append(RankedName(name, place, seen.key, scores[name], defined=seen.defined))
    for path, seen in unopened:
        if path not in shown and _BROUGHT.isdisjoint(path.split("/")):
            folder, name = posixpath.split(path)
            found.append(RankedName(name, folder, seen.key, scores[path], is_file=True))
    return sorted(found, key=lambda one: -one.score)


def _without_trail(files: dict[str, Seen], trails: Iterable[FileTrail]) -> Iterator[tuple[str, Seen]]:
    """Yield files without their own line; different spellings of a file count for its longest path."""
    listed = {ending for trail in trails if trail.is_changed for ending in _endings(trail.path)}
    longer: dict[str, list[str]] = {}
    for path in files:
        for ending in _endings(path):
            if ending != path and ending in files:
                longer.setdefault(ending, []).append(path)
    for short, paths in longer.items():
        for path in paths[:_MOST_OWNERS]:
            files[path].take_in(files[short])
    for path, seen in files.items():
        if path not in listed and path not in longer:
            yield path, seen


def _endings(path: str) -> Iterator[str]:
    """Yield the path and every shorter form of it that ends in the same name."""
    yield path
    place = path.find("/")
    while place >= 0:
        yield path[place + 1 :]
        place = path.find("/", place + 1)


def chosen_names(ranked: Sequence[RankedName], budget: int, count: Callable[[str], int]) -> list[RankedName]:
    """Select names until a budget is spent, likeliest first; files first, because there are few.

    Args:
        ranked: From ``names_to_carry``.
        budget: Maximum tokens of their lines.
        count: Tokens of a text.
    """
    taken: dict[int, RankedName] = {}
    places: dict[tuple[str, bool], int] = {}
    spent = 0
    for most, only_files in ((int(budget * _FILES_SHARE), True), (budget, False)):
        for rank, one in enumerate(ranked):
            if rank in taken or (only_files and not one.is_file):
                continue
            cost, place = count(f"{one.name}, "), (one.place, one.is_file)
            if one.place and places.get(place, 0) + 1 == (1 if one.is_file else _FEWEST_IN_FILE):
                cost += count(f"\n- {_ending(one)}: ")
            if spent + cost <= most:
                places[place] = places.get(place, 0) + 1
                taken[rank] = one
                spent += cost
    return [taken[rank] for rank in sorted(taken)]


def _ending(one: RankedName) -> str:
    return one.place if one.is_file else "/".join(one.place.rsplit("/", 2)[-2:])


def name_lines(chosen: Sequence[RankedName]) -> list[str]:
    """Return names by the file they were seen in, then files by folder, then the rest on one line."""
    groups: dict[tuple[str, bool], list[RankedName]] = {}
    for one in chosen:
        groups.setdefault((one.place, one.is_file), []).append(one)
    lines: list[str] = []
    folders: list[str] = []
    alone: list[str] = []
    for (place, is_file), part in groups.items():
        bare = [one.name for one in part]
        if is_file:
            folders.append(f"{place.rstrip('/')}/ {', '.join(bare)}" if place else ", ".join(bare))
        elif place and len(part) >= _FEWEST_IN_FILE:
            defined = [one.name for one in part if one.defined]
            others = [one.name for one in part if not one.defined]
            parts = [f"defines {', '.join(defined)}"] * bool(defined) + [", ".join(others)] * bool(others)
            lines.append(f"{_ending(part[0])}: {'; also '.join(parts)}")
        else:
            alone += [name if _IDENTIFIER.fullmatch(name) else f"`{name}`" for name in bare]
    if alone:
        lines.append(", ".join(alone))
    if folders:
        lines.append(f"files: {'; '.join(folders)}")
    return [f"- {line}" for line in lines]
