"""Keys of a user who is still typing when a dialog appears."""

from collections.abc import Callable, Collection
from time import monotonic

from textual import events
from textual.widget import Widget
from textual.widgets import Static

QUIET_S = 0.5
"""Seconds without a key after which the next one is meant for the dialog."""

_CHOOSING = frozenset({"enter", "up", "down", "home", "end", "pageup", "pagedown"})
"""Keys that mark or choose an answer."""


class StrayKeys:
    """Separates keys for a dialog from those of a user who is still typing, and collects the latter.

    Args:
        clock: Monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.text = ""
        """The text typed."""
        self._clock = clock
        self._quiet_since = clock()

    @property
    def is_over(self) -> bool:
        """Whether there was a pause, so that the user has seen the dialog."""
        return self._clock() - self._quiet_since >= QUIET_S

    def write(self, letter: str) -> None:
        """Add a letter to the typed text, whatever else it could mean."""
        self.text += letter
        self._quiet_since = self._clock()

    def is_writing(self, shortcuts: Collection[str] = ()) -> bool:
        """Return whether a letter continues typed text; shortcuts pressed too early do not count as text."""
        return not set(self.text) <= {*shortcuts}

    def catch(self, event: events.Key, shortcuts: Collection[str] = ()) -> bool:
        """Collect a key that was not meant for the dialog; returns whether it was not.

        Letters never are, except shortcuts after a pause if nothing was typed. Keys that choose are meant for
        the dialog after a pause.
        """
        now = self._clock()
        quiet = now - self._quiet_since >= QUIET_S
        if event.key in shortcuts and quiet and not self.is_writing(shortcuts):
            self.text = ""
            return False
        if event.is_printable and event.character:
            self.text += event.character
        elif event.key == "backspace":
            self.text = self.text[:-1]
        elif event.key not in _CHOOSING or quiet:
            return False
        elif event.key == "enter":
            self.text += "\n"
        self._quiet_since = now
        return True


def in_sight(widget: Widget) -> bool:
    """Return whether a widget is completely visible: not clipped, and none of its corners covered."""
    screen, region = widget.screen, widget.region
    if not region or not screen.is_current or not screen.region.contains_region(region):
        return False
    corners = ((x, y) for x in (region.x, region.right - 1) for y in (region.y, region.bottom - 1))
    return all(widget in screen.get_widget_at(*corner)[0].ancestors_with_self for corner in corners)


def is_fully_visible(part: Widget) -> bool:
    """Return whether all content of a dialog's part is visible, or can be scrolled to."""
    text = str(part.content) if isinstance(part, Static) else ""
    is_shown = all(node.display for node in part.ancestors_with_self if isinstance(node, Widget))
    if not is_shown or (isinstance(part, Static) and not text):
        return True
    if not in_sight(part):
        return False
    size = part.content_size
    needed = part.get_content_height(part.container_size, part.screen.size, size.width) if text else 0
    return needed <= size.height


LEADS_ON = _CHOOSING - {"enter"} | {
    "escape", "tab", "left", "right", "backspace", "ctrl+home", "ctrl+end", "ctrl+c", "ctrl+q",
}  # fmt: skip
"""Keys that decide nothing, wherever they are pressed."""
