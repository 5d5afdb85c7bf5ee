"""Entries of the context board: values that never change once they are made."""

from dataclasses import dataclass
from typing import Literal

EntryKind = Literal["rule", "decision", "command", "file", "note"]
KINDS: tuple[EntryKind, ...] = ("rule", "decision", "command", "file", "note")
"""What an entry may be, in the order in which a board is read out."""
PERSON = "person"
EXTRACTION = "extraction"
Maker = str
"""Who made or pruned an entry: ``person``, ``extraction``, or the name of a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Something to be remembered, before the board has looked at it."""

    text: str
    kind: EntryKind = "note"
    made_by: Maker = PERSON
    session: str = ""
    """Id of the session it comes from; empty where a person wrote it outside of one."""
    seq: int = 0
    """Log number of the message it comes from; 0 for none."""
    weight: float = 1.0
    everywhere: bool = False
    """Whether it is to hold for every branch of the repository."""

    @property
    def on_every_branch(self) -> bool:
        """Whether it holds for every branch of the repository, as all rules do."""
        return self.everywhere or self.kind == "rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that is remembered, or was."""

    id: int
    repository: str
    branch: str
    """Empty where it holds for every branch, or where there are none."""
    text: str
    kind: EntryKind
    made_by: Maker
    session: str
    seq: int
    time: float
    """When it was made, in seconds since the epoch."""
    weight: float
    pruned: float = 0.0
    """When it was taken off the board; 0 while it stands."""
    pruned_by: Maker = ""
    reason: str = ""
    """Why it was taken off, in a few words."""
    replaced_by: int = 0
    """Id of the entry that stands in its place."""

    @property
    def stands(self) -> bool:
        """Whether it is on the board."""
        return not self.pruned

    @property
    def source(self) -> str:
        """Session and message it comes from; empty for none."""
        if not self.session:
            return ""
        return f"{self.session}#{self.seq}" if self.seq else self.session


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that happened to the board and that a log has not been told yet."""

    kind: Literal["added", "pruned"]
    entry: Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A session that is to be read for the board."""

    session: str
    repository: str
    branch: str
    asked: float
    """When it was asked for, in seconds since the epoch."""
    attempts: int = 0
    """How often it was begun without coming to an end."""
