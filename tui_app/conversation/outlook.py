"""What may be done with one message of the next request, and what each would come to.

Imports nothing heavy: the screen shows it.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Move:
    """One thing that may be done."""

    after: int = 0
    """Tokens of the next request then."""
    refused: str = ""
    """Why it makes no sense, as a sentence; empty when it does."""
    count: int = 1
    """How many of the messages it can be done to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What may be done with one message, or with some together. All sizes in tokens of the estimate."""

    seq: int = 0
    """Log number of the message; the first one's where several were asked about."""
    seqs: tuple[int, ...] = ()
    """Log numbers of all of them."""
    pin: Move = field(default_factory=Move)
    archive: Move = field(default_factory=Move)
    offload: Move = field(default_factory=Move)
    restore: Move = field(default_factory=Move)
    """Taking the newest rewrite of it back, with all that it has rewritten."""
    floor: int = 0
    """What no compaction can remove from the view."""
    pinned: int = 0
    """What stays because of pins, calls and their results together."""
    pinned_along: int = 0
    """Of that, what nobody has pinned itself: the calls of pinned results, the results of pinned calls."""
    pin_budget: int = 0
    """What may stay because of pins."""
