"""One line of an extractive summary: its section, how dear it is, and its weight."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tui_app.context.fact_extractors.carried import Carried, Entry
from tui_app.events import Fact


class Tier(Enum):
    """Kinds of lines, by how dear they are when there is little room."""

    REQUEST = "request"
    BEFORE = "earlier prose"
    RULE = "rule"
    ERROR = "error"
    CHANGED = "changed file"
    OPEN = "open"
    STATE = "state"
    DECISION = "decision"
    DETAIL = "detail"
    COMMAND = "command"
    READ = "read file"
    CHANGE = "last change"
    SEEN = "seen file"
    DONE = "done"
    NEXT = "next"
    PASTED = "pasted rule"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One line that may go into the summary."""

    section: str
    tier: Tier
    text: str
    key: int | None
    """Log number of its message; None when an earlier summary did not say."""
    weight: float
    labelled: bool = False
    """Whether the handle already stands inside the text."""
    folder: str = ""
    """The folder that the text begins with, where the line may stand below it."""
    carried: bool = False
    """Whether it comes from an earlier summary."""

    def line(self) -> str:
        """The bullet: later lines indented, so that nothing quoted can pass for a heading of ours."""
        body = "\n  ".join(line for line in self.text.splitlines() if line.strip())
        handle = "" if self.key is None or self.labelled else f" (#{self.key})"
        return f"- {body}{handle}"

    def below(self) -> str:
        """The line as it stands below its folder."""
        return f"  {self.line()[len(self.folder) + 2 :]}"

    def saying(self, text: str) -> "Candidate":
        """The same line with another text."""
        folder = self.folder if text.startswith(self.folder) else ""
        return replace(self, text=text, folder=folder)


def bullets(chosen: Sequence[Candidate]) -> Iterator[str]:
    """The lines as they are shown, with those of one folder together below it, at the place of the first."""
    folders: dict[str, list[Candidate]] = {}
    for candidate in chosen:
        folders.setdefault(candidate.folder, []).append(candidate)
    for candidate in chosen:
        together = folders[candidate.folder] if candidate.folder else []
        if len(together) < 2:
            yield candidate.line()
        elif together[0] is candidate:
            yield f"- {candidate.folder}"
            yield from (one.below() for one in together)


def kept(carried: Carried, section: str, tier: Tier, weight: float) -> Iterator[Candidate]:
    """Entries of the earlier summary as they were; the newest of them weigh most."""
    entries: tuple[Entry, ...] = carried.entries(section)
    for place, entry in enumerate(entries):
        yield Candidate(section, tier, entry.text, entry.key, weight + 0.2 * place / len(entries))


def from_fact(fact: Fact, section: str, tier: Tier) -> Candidate:
    """The line of a fact."""
    return Candidate(section, tier, fact.text, key_of(fact), fact.weight)


def key_of(fact: Fact) -> int:
    """Log number of the message a fact comes from."""
    return int(fact.source.removeprefix("#"))
