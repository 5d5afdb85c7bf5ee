"""A letter that answers a question, unless it begins a word."""

from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

ALONE_S = 0.25
"""Seconds without another letter after which one was an answer; who writes types the next one sooner."""


class LoneLetter:
    """Holds a letter back until it is known to stand alone.

    A question may come up just when a user begins to write. Focus and quiet cannot tell a ``y`` that
    answers from the one of ``you``: only what follows can.

    Args:
        owner: The widget that is asked; what waits ends with it.
    """

    def __init__(self, owner: Widget) -> None:
        self._owner = owner
        self._timer: Timer | None = None
        self._letter = ""
        self._act: Callable[[], None] | None = None

    @property
    def waits(self) -> bool:
        return self._letter != ""

    def press(self, letter: str, act: Callable[[], None]) -> None:
        """Act when no other letter follows; at once for a key that writes nothing.

        Args:
            letter: What the key would write.
            act: What it means as an answer.
        """
        self.take()
        if not letter or not ALONE_S:
            act()
            return
        self._letter, self._act = letter, act
        self._timer = self._owner.set_timer(ALONE_S, self.act)

    def act(self) -> bool:
        """Let a letter that waits act now; returns whether one waited."""
        act = self._act
        self.take()
        if act is not None:
            act()
        return act is not None

    def take(self) -> str:
        """End the wait without an answer and return the letter."""
        letter, self._letter, self._act = self._letter, "", None
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        return letter
