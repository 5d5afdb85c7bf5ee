"""Entries of the context board: values that never change once they are made."""

import re
import unicodedata
from typing import Literal, get_args

from tui_app.records import frozen
from tui_app.system.secrets import mask_secrets
from tui_app.text import without_sequences

EntryKind = Literal["rule", "decision", "command", "file", "note"]
KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
"""What an entry may be, in the order in which a board is read out."""
WEIGHTS: dict[EntryKind, float] = {"rule": 4.0, "decision": 2.0, "command": 1.5, "file": 1.2, "note": 1.0}
"""Weight of an entry that the user did not write, by its kind."""
PERSON = "person"
EXTRACTION = "extraction"
Maker = str
"""Who made or pruned an entry: ``person``, ``extraction``, or the name of a model."""


@frozen(kw_only=True)
class Draft:
    """Something to be remembered, before the board has looked at it."""

    text: str
    kind: EntryKind = "note"
    made_by: Maker = PERSON
    session: str = ""
    """Id of the session it comes from; empty where the user wrote it outside of one."""
    seq: int = 0
    """Log number of the message it comes from; 0 for none."""
    weight: float = 1.0
    everywhere: bool = False
    """Whether it is to hold for every branch of the repository."""

    @property
    def on_every_branch(self) -> bool:
        """Whether it holds for every branch of the repository, as all rules do."""
        return self.everywhere or self.kind == "rule"


@frozen(kw_only=True)
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
    """When it was removed from the board; 0 while it is on the board."""
    pruned_by: Maker = ""
    reason: str = ""
    """Why it was removed, in a few words."""
    replaced_by: int = 0
    """Id of the entry that replaced it."""

    @property
    def is_current(self) -> bool:
        return not self.pruned

    @property
    def source(self) -> str:
        """Session and message it comes from; empty for none."""
        return f"{self.session}#{self.seq}" if self.session and self.seq else self.session

    @property
    def line(self) -> str:
        """The entry as a model reads it that keeps the board."""
        return f"{self.id} {self.kind}: {self.text}"


@frozen(kw_only=True)
class Change:
    """Something that happened to the board and that a log has not been told yet."""

    kind: Literal["added", "pruned"]
    entry: Entry


@frozen(kw_only=True)
class DueSession:
    """A session that is to be read for the board."""

    session: str
    repository: str
    branch: str
    asked: float
    """When it was asked for, in seconds since the epoch."""
    attempts: int = 0
    """How often it was started without coming to an end."""


LONGEST = 400
"""Characters of an entry; what needs more belongs into a file of the repository."""
_SHORTEST = 4
_MARKUP = re.compile(
    r"(?i)<\|[\w-]{1,40}\|>|</?\s*(?:system|assistant|user|human|instructions?|tool|function|context_board"
    r"|system[_-]reminder|transcript)\b[^>]{0,80}>|\[/?INST\]|^\s*(?:system|assistant|developer)\s*:"
)
"""Signs by which models tell who speaks; on a board they have no meaning but to deceive."""
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


class NotRemembered(Exception):
    """An entry was refused; the message says why, as part of a sentence."""


def plain(text: str) -> str:
    """One line without characters that cannot be seen."""
    seen = "".join(
        " " if char.isspace() else "" if unicodedata.category(char) in _INVISIBLE else char
        for char in without_sequences(text)
    )
    return " ".join(seen.split())


def key_of(text: str) -> str:
    """What makes two entries the same one: their letters and digits, in any case."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(words) or text.strip()


def checked(text: str, *, by_person: bool) -> str:
    """The text of an entry as it is kept.

    Args:
        text: What is to be remembered.
        by_person: Whether the user wrote it here and now: anything but secrets is allowed then.

    Raises:
        NotRemembered: if it may not be kept.
    """
    # Measured before it is gone through: a million characters are refused at once.
    said = plain(text) if len(text) <= LONGEST * 10 else text
    if len(said) > LONGEST:
        raise NotRemembered(f"it is longer than {LONGEST} characters")
    if len(said) < _SHORTEST:
        raise NotRemembered("it is empty")
    if mask_secrets(said) != said or mask_secrets(text) != text:
        raise NotRemembered("it contains what looks like a secret")
    if not by_person and _MARKUP.search(unicodedata.normalize("NFKC", said)):
        raise NotRemembered("it holds signs by which models tell who speaks")
    return said
