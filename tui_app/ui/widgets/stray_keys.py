"""Keys of a person who is still writing when a dialog comes up."""

from collections.abc import Callable, Collection

from textual import events

QUIET_S = 0.5
"""Seconds without a key after which the next one is meant for the dialog."""
_CHOOSING = frozenset({"enter", "up", "down", "home", "end", "pageup", "pagedown"})
"""Keys that mark or choose a way."""


class StrayKeys:
    """Tells keys for a dialog from those of a person who is still writing, and keeps what they write.

    Args:
        clock: Seconds that only go forward.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.text = ""
        """What was written."""
        self._clock = clock
        self._quiet_since = clock()

    def write(self, letter: str) -> None:
        """Take a letter for a part of what is written, whatever it could mean."""
        self.text += letter
        self._quiet_since = self._clock()

    def catch(self, event: events.Key, shortcuts: Collection[str] = ()) -> bool:
        """Whether a key was not meant for the dialog.

        Letters never are, but for shortcuts that decide nothing, where nothing was written; those and the
        keys that choose are from the moment on when no key came for a while.
        """
        now = self._clock()
        if event.key in shortcuts and now - self._quiet_since >= QUIET_S and set(self.text) <= {*shortcuts}:
            # Pressed too early before, it was no writing.
            self.text = ""
            return False
        if event.is_printable and event.character:
            self.text += event.character
        elif event.key == "backspace":
            self.text = self.text[:-1]
        elif event.key not in _CHOOSING or now - self._quiet_since >= QUIET_S:
            return False
        elif event.key == "enter":
            self.text += "\n"
        self._quiet_since = now
        return True
