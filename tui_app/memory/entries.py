"""Immutable entries of the context board."""

import re
import unicodedata
from typing import Literal, get_args

from tui_app.records import frozen
from tui_app.system.secrets import mask_secrets
from tui_app.text import without_sequences

EntryKind = Literal["rule", "decision", "command", "file", "note"]
KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
"""Kinds of entries, in the order of a board's text."""
WEIGHTS: dict[EntryKind, float] = {"rule": 4.0, "decision": 2.0, "command": 1.5, "file": 1.2, "note": 1.0}
"""Weight of an entry that the user did not write, by its kind."""
PERSON = "person"
EXTRACTION = "extraction"
Maker = str
"""Author of an entry or of its removal: ``person``, ``extraction``, or the name of a model."""


@frozen(kw_only=True)
class Draft:
    """A proposed entry, not checked yet."""

    text: str
    kind: EntryKind = "note"
    made_by: Maker = PERSON
    session: str = ""
    """Id of its session; empty if the user wrote it outside of one."""
    seq: int = 0
    """Log number of its message; 0 for none."""
    weight: float = 1.0
    everywhere: bool = False
    """Whether it applies to every branch of the repository."""

    @property
    def on_every_branch(self) -> bool:
        """Whether it applies to every branch of the repository, as all rules do."""
        return self.everywhere or self.kind == "rule"


@frozen(kw_only=True)
class Entry:
    """One entry on a board, or removed from it."""

    id: int
    repository: str
    branch: str
    """Empty if it applies to every branch, or if there are none."""
    text: str
    kind: EntryKind
    made_by: Maker
    session: str
    seq: int
    time: float
    """Time of creation, in seconds since the epoch."""
    weight: float
    pruned: float = 0.0
    """Time of removal, in seconds since the epoch; 0 while it is on the board."""
    pruned_by: Maker = ""
    reason: str = ""
    """Reason of removal, in a few words."""
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
        """The line for a model that updates the board."""
        return f"{self.id} {self.kind}: {self.text}"


@frozen(kw_only=True)
class Change:
    """A change of the board that is in no session's log yet."""

    kind: Literal["added", "pruned"]
    entry: Entry


@frozen(kw_only=True)
class DueSession:
    """A session waiting to be read for the board."""

    session: str
    repository: str
    branch: str
    asked: float
    """When it was requested, in seconds since the epoch."""
    attempts: int = 0
    """Number of attempts that did not finish."""


LONGEST = 400
"""Maximum characters of an entry; anything longer belongs in a file of the repository."""
_SHORTEST = 4
_MARKUP = re.compile(
    r"(?i)<\|[\w-]{1,40}\|>|</?\s*(?:system|assistant|user|human|instructions?|tool|function|context_board"
    r"|system[_-]reminder|transcript)\b[^>]{0,80}>|\[/?INST\]|^\s*(?:system|assistant|developer)\s*:"
)
"""Role markup for models, which can only deceive on a board."""
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


class NotRemembered(Exception):
    """An entry was refused; the message is the reason, as part of a sentence."""


def plain(text: str) -> str:
    """Return one line without invisible characters."""
    seen = "".join(
        " " if char.isspace() else "" if unicodedata.category(char) in _INVISIBLE else char
        for char in without_sequences(text)
    )
    return " ".join(seen.split())


def key_of(text: str) -> str:
    """Return the key of equal entries: letters and digits, case folded."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(words) or text.strip()


def checked(text: str, *, by_person: bool) -> str:
    """Return the normalized text of an entry.

    Args:
        text: The proposed text.
        by_person: Whether the user wrote it directly: then anything but secrets is allowed.

    Raises:
        NotRemembered: if it must not be kept.
    """
    # Check the length first: a million characters are refused at once.
    normal = plain(text) if len(text) <= LONGEST * 10 else text
    if len(normal) > LONGEST:
        raise NotRemembered(f"it is longer than {LONGEST} characters")
    if len(normal) < _SHORTEST:
        raise NotRemembered("it is empty")
    if mask_secrets(normal) != normal or mask_secrets(text) != text:
        raise NotRemembered("it contains what looks like a secret")
    if not by_person and _MARKUP.search(unicodedata.normalize("NFKC", normal)):
        raise NotRemembered("it holds signs by which models tell who speaks")
    return normal
