"""When a blocking tool has to give up: the turn was cancelled, or it took too long."""

import threading
import time
from dataclasses import dataclass, field

BUDGET_S = 10.0
"""Seconds a search through the workspace may take before it returns what it has."""


class Cancelled(Exception):
    """The turn that wanted this work is over; nobody reads the result."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Asked often by long work on a worker thread, which Python cannot interrupt from outside."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    deadline: float = field(default_factory=lambda: time.monotonic() + BUDGET_S)
    """On the clock of ``time.monotonic``, in seconds."""

    @property
    def left_s(self) -> float:
        """Seconds left before the deadline; never negative."""
        return max(0.0, self.deadline - time.monotonic())

    def late(self) -> bool:
        """Whether the deadline has passed.

        Raises:
            Cancelled: if the turn was cancelled.
        """
        if self.cancelled.is_set():
            raise Cancelled
        return self.left_s <= 0.0
