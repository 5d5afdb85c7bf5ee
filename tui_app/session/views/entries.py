"""Entries of the user view: one light row for each item of transcript and timeline."""

from typing import Literal, Protocol

from tui_app.events import RowKind
from tui_app.records import frozen

EntryState = Literal[
    "running", "asking", "waiting", "ok", "failed", "denied", "cancelled", "discarded", "vetoed", "undone",
    "interrupted",
]  # fmt: skip
"""``asking`` is the call that the user is asked about, ``waiting`` one queued after it; never in the log."""


@frozen(kw_only=True)
class Entry:
    """One row. It is light on purpose: the full text is read when the row becomes visible."""

    seq: int
    """Log number (for a tool, that of its call); negative for rows that exist only on the screen."""
    kind: RowKind
    time: float
    """Seconds since the epoch."""
    title: str
    """One line: first line of a prompt or answer, ``grep "sunday" · 3 hits``, ``91.5k → 6.2k · ...``."""
    state: EntryState = "ok"
    tokens: int = 0
    """Tokens this adds to the context (0 if none)."""
    chars: int = 0
    """Characters of the full text; an estimate of its height before it is rendered."""
    result_seq: int = 0
    """Log number of a tool's result; 0 while it runs."""
    left: bool = False
    """Whether a rewind removed it: it is still shown, but no longer sent to the model."""
    pinned: bool = False
    """Whether it is pinned, and so stays word for word in the model's view."""
    excluded: bool = False
    """Whether the user excluded it from the model's view."""
    calls: int = 0
    """Number of calls made by the subagent it started. The context contains none of them."""
    private: bool = False
    """Whether it is a command that the user keeps from the model."""
    used: int = 0
    """Tokens that the subagent has read and written."""
    cost: float = 0.0
    """Cost of the subagent in US dollars once it has ended; 0 if no price is known."""
    at_work: bool = False
    """Whether the subagent is running, which it may be even after the result of its call."""
    gauge: tuple[int, int] = (0, 0)
    """Tokens of the subagent's context, and the size of its window."""
    cached: int = -1
    """Percentage of the subagent's first request that was read from a cache; -1 before that."""
    origin: str = ""
    """Where the object of a call first appeared, if the user was asked: ``#45 read_file README.md``."""
    guard: int = 0
    """Log number of the guard that stopped it."""
    words: str = ""
    """The user's words that a stopped call violates."""
    repeats: str = ""
    """An earlier call that this one repeats, and its result."""
    answered: bool = False
    """Whether the call was answered from the log, without being run."""

    @property
    def message(self) -> int:
        """Log number of its message; for a tool, that of its result."""
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
    """Possible actions after an error."""


class Bodies(Protocol):
    """A source of full texts for the screen."""

    def body(self, entry: Entry) -> Body:
        """Return the full content of an entry, however long that takes; for copying."""

    def preview(self, entry: Entry) -> Body:
        """Return what to paint within a millisecond: the content, or a placeholder until it is read.

        Called on the UI loop in the middle of a frame.
        """
