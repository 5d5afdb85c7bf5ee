"""Letters that answer a question, unless they begin a word."""

from collections.abc import Callable

from textual.timer import Timer
from textual.widget import Widget

ALONE_S = 0.25
"""Seconds without another letter after which a letter is an answer; a typist types the next one sooner."""


class LoneLetter:
    """Delays a letter until it is certain that no other letter follows.

    A question may appear just when the user starts typing. Focus and pauses cannot distinguish a ``y`` that
    answers from that of ``you``; only what follows can.

    Args:
        owner: The widget with the question; a pending letter ends with it.
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
        """Act if no other letter follows; at once for a key that types nothing.

        Args:
            letter: The text of the key.
            act: The answer it stands for.
        """
        self.take()
        if not letter or not ALONE_S:
            act()
            return
        self._letter, self._act = letter, act
        self._timer = self._owner.set_timer(ALONE_S, self.act)

    def act(self) -> bool:
        """Run a pending letter's answer now; returns whether there was one."""
        act = self._act
        self.take()
        if act is not None:
            act()
        return act is not None

    def take(self) -> str:
        """Cancel a pending letter and return it."""
        letter, self._letter, self._act = self._letter, "", None
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        return letter
