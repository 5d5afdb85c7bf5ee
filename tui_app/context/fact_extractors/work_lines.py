"""Lines about the work: files, what was last changed in them, commands, errors, and names worth keeping."""

from collections import Counter
from collections.abc import Iterator, Sequence

from tui_app.context.fact_extractors import carried as sections
from tui_app.context.fact_extractors.carried import Carried
from tui_app.context.fact_extractors.changes import LAST_CHANGE, last_changes
from tui_app.context.fact_extractors.commands import (
    FAILED,
    LINE_BREAK,
    Run,
    command_facts,
    error_facts,
    solves,
)
from tui_app.context.fact_extractors.details import FILES, grouped
from tui_app.context.fact_extractors.lines import Candidate, Tier, from_fact, kept, key_of
from tui_app.context.fact_extractors.paths import ending_of, folder_of, root_line, shortened
from tui_app.context.fact_extractors.reading import Reading
from tui_app.context.fact_extractors.trails import Trail
from tui_app.events import Fact

_FEW = 3
"""Errors that are told in more than one line are fewer than these."""
_FILES_IN = "files in "
"""What stood in front of the files of one folder before."""
_NAMED = (sections.DETAILS, sections.SEEN)
_ALWAYS = 1_000.0
"""Weight of a line that others cannot be read without."""


def file_lines(reading: Reading, trails: Sequence[Trail], root: str) -> Iterator[Candidate]:
    """Changed files first, then those only read; newest last within each."""
    if root:
        yield Candidate(sections.FILES, Tier.CHANGED, root_line(root), None, _ALWAYS)
    for changed in (True, False):
        tier = Tier.CHANGED if changed else Tier.READ
        for trail in trails:
            if trail.changed() == changed:
                weight = 1.0 + reading.recency(trail.index) + 0.1 * min(sum(trail.counts.values()), 5)
                path = shortened(trail.path, root)
                text = f"{path} · {trail.deeds()}"
                yield Candidate(sections.FILES, tier, text, trail.key, weight, folder=folder_of(path))


def change_lines(reading: Reading, carried: Carried, root: str) -> Iterator[Candidate]:
    """What was last changed where; a carried one goes when its file was changed since."""
    newest = {change.path: change for change in last_changes(reading)}
    names = Counter(map(ending_of, newest))
    for path, entry in carried.changes().items():
        if not any(f"/{changed}".endswith(f"/{path}") for changed in newest):
            yield Candidate(sections.FILES, Tier.CHANGE, shortened(entry.text, root), entry.key, 0.5)
    for change in reversed(newest.values()):
        # Its line above says where it lies.
        ending = ending_of(change.path)
        name = ending if names[ending] == 1 else shortened(change.path, root)
        text = f"{name}{LAST_CHANGE}{change.line}`"
        weight = 1.0 + reading.recency(change.index)
        yield Candidate(sections.FILES, Tier.CHANGE, text, change.key, weight)


def command_lines(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    """Commands with how their latest run ended, and what a model wrote about files and commands."""
    facts = command_facts(reading)
    new = {fact.text.rpartition("` · ")[0][1:] for fact in facts}
    for what, entry in carried.commands().items():
        if what not in new:
            # A model writes about files in its own way; such a line is as dear as ours about a changed file.
            own = what != entry.text
            tier, weight = (Tier.COMMAND, 0.5) if own else (Tier.CHANGED, 1.0)
            yield Candidate(sections.FILES, tier, entry.text, entry.key, weight)
    for fact in facts:
        yield from_fact(fact, sections.FILES, Tier.COMMAND)


def open_error_lines(reading: Reading, carried: Carried, runs: dict[str, Run]) -> Iterator[Candidate]:
    """Open errors; carried ones go when the same was run since, and one error is told once.

    All but the newest are told in one line.
    """
    since = {run.what for run in runs.values()} | {
        _target(run.what) for run in runs.values() if run.ok and _target(run.what)
    }
    worked = [run.what for run in runs.values() if run.ok]
    earlier = carried.errors()
    for what, entry in earlier.items():
        gone = what in since or _target(what) in since or any(solves(command, what) for command in worked)
        if not gone:
            text = entry.text if len(earlier) < _FEW else entry.text.split(LINE_BREAK)[0]
            yield Candidate(sections.ERRORS, Tier.ERROR, text, entry.key, 1.0)
    told: set[str] = set()
    for fact in sorted(error_facts(reading), key=key_of, reverse=True):
        line = fact.text.split(LINE_BREAK)[0]
        first = line.partition(FAILED)[2]
        if fact.kind == "error" and first not in told:
            told.add(first)
            yield from_fact(fact, sections.ERRORS, Tier.ERROR).saying(fact.text if len(told) < _FEW else line)


def _target(what: str) -> str:
    """The path of a tool's use (``Edit a.py``), so that another tool that changed it counts as well."""
    tool, separator, path = what.partition(" ")
    return path if separator and " " not in path and tool[:1].isalpha() else ""


def detail_lines(details: Sequence[Fact], carried: Carried, root: str) -> Iterator[Candidate]:
    """Values and names by the file they belong to, and files by their folder, some to a line."""
    known = " ".join(entry.text for name in _NAMED for entry in carried.entries(name))
    for name in _NAMED:
        for entry in kept(carried, name, Tier.DETAIL, 0.5):
            yield _named(shortened(entry.text, root), entry.key, entry.weight, seen=name == sections.SEEN)
    facts = (fact for fact in details if fact.text.partition(" · ")[0].strip("`") not in known)
    for text, part in grouped(facts):
        weight = sum(fact.weight for fact in part) / len(part)
        yield _named(shortened(text, root), max(map(key_of, part)), weight)


def _named(text: str, key: int | None, weight: float, *, seen: bool = False) -> Candidate:
    """A line of names: those of files that were never opened stand apart."""
    if seen or text.startswith((FILES, _FILES_IN)):
        folder = text.removeprefix(_FILES_IN).removeprefix(FILES)
        return Candidate(sections.SEEN, Tier.SEEN, folder, key, weight)
    return Candidate(sections.DETAILS, Tier.DETAIL, text, key, weight)
