"""A unified diff as pairs of texts, which is how the protocol carries a change. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of a file, before and after."""

    old: str | None
    """None where there was no file."""
    new: str


def hunks(diff: str) -> tuple[Hunk, ...]:
    """The changed places; none where the diff only says in words what it does."""
    rows = diff.split("\n")
    fresh = rows[0] == "--- /dev/null"
    places: list[list[str]] = []
    for row in rows:
        if row.startswith("@@"):
            places.append([])
        elif places and row.startswith((" ", "+", "-")):
            places[-1].append(row)
    return tuple(Hunk(None if fresh else _text(place, " -"), _text(place, " +")) for place in places if place)


def remarks(diff: str) -> tuple[str, ...]:
    """What a diff says about itself, such as how much of it is left out."""
    return tuple(row for row in diff.split("\n") if row.startswith("["))


def _text(rows: Iterable[str], signs: str) -> str:
    return "".join(f"{row[1:]}\n" for row in rows if row[0] in signs)
