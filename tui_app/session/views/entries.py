"""Entries of the user view: one light row for each thing in transcript and timeline."""

from typing import Literal, Protocol

from tui_app.events import RowKind
from tui_app.records import frozen

EntryState = Literal[
    "running", "asking", "waiting", "ok", "failed", "denied", "cancelled", "discarded", "vetoed", "undone",
    "interrupted",
]  # fmt: skip
"""``asking`` is the call that the user is asked about, ``waiting`` one after it; only the screen knows."""


@frozen(kw_only=True)
class Entry:
    """One row. It is light on purpose: the full text is asked for when it becomes visible."""

    seq: int
    """Log number (for a tool the one of its call); negative for rows that are live only."""
    kind: RowKind
    time: float
    """Seconds since the epoch."""
    title: str
    """One line: first line of a prompt or answer, ``grep "sunday" · 3 hits``, ``91.5k → 6.2k · ...``."""
    state: EntryState = "ok"
    tokens: int = 0
    """Tokens this adds to the context (0 when it adds none)."""
    chars: int = 0
    """Characters of the full text; an estimate of its height before it is rendered."""
    result_seq: int = 0
    """Log number of a tool's result; 0 while it runs."""
    left: bool = False
    """Whether a rewind has left it behind: it is still shown, the model does not see it any more."""
    pinned: bool = False
    """Whether it stays word for word in the model's view."""
    excluded: bool = False
    """Whether the user keeps it out of the model's view."""
    calls: int = 0
    """Calls that a sub-agent has made on its behalf; the context holds none of them."""
    private: bool = False
    """Whether it is a command that the user keeps from the model."""
    used: int = 0
    """Tokens that sub-agent has read and written."""
    cost: float = 0.0
    """US dollars that it has cost, once it is at its end; 0 where no price is known."""
    at_work: bool = False
    """Whether it works now, which it may after the result of its call."""
    gauge: tuple[int, int] = (0, 0)
    """Tokens of its own context, and what its window holds."""
    cached: int = -1
    """Percent of its first request that a cache gave; -1 before that."""
    origin: str = ""
    """Where what a call acts on first stood, if the user was asked for that: ``#45 read_file README.md``."""
    guard: int = 0
    """Log number of the guard that stopped it."""
    words: str = ""
    """The user's, which a stopped call breaks."""
    repeats: str = ""
    """What a call did before that it does once more, and what came of it."""
    answered: bool = False
    """Whether the log has answered that call, and nothing was done."""

    @property
    def message(self) -> int:
        """Log number of the message that it stands for: of a tool, that of its result."""
        return self.result_seq or self.seq


@frozen(kw_only=True)
class Body:
    """The full content of one entry."""

    text: str
    """Markdown for answers; plain text for everything else (a tool's result, a prompt, a summary)."""
    thinking: str = ""
    args: str = ""
    """Arguments of a tool call as JSON text."""
    actions: tuple[str, ...] = ()
    """What can be done after an error."""


class Bodies(Protocol):
    """Where the screen gets full texts from."""

    def body(self, entry: Entry) -> Body:
        """Return the full content of an entry, however long that takes; for copying."""

    def preview(self, entry: Entry) -> Body:
        """Return what is painted of an entry within a millisecond: its content, or a word until that is read.

        Called on the UI loop in the middle of a frame.
        """
