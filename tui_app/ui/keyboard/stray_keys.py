"""Keys of a user who is still writing when a dialog comes up."""

from collections.abc import Callable, Collection
from time import monotonic

from textual import events
from textual.widget import Widget
from textual.widgets import Static

QUIET_S = 0.5
"""Seconds without a key after which the next one is meant for the dialog."""

_CHOOSING = frozenset({"enter", "up", "down", "home", "end", "pageup", "pagedown"})
"""Keys that mark or choose a way."""


class StrayKeys:
    """Tells keys for a dialog from those of a user who is still writing, and keeps what they write.

    Args:
        clock: Seconds that only go forward.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.text = ""
        """What was written."""
        self._clock = clock
        self._quiet_since = clock()

    @property
    def is_over(self) -> bool:
        """Whether no key has come for a while: whoever writes now has seen the dialog."""
        return self._clock() - self._quiet_since >= QUIET_S

    def write(self, letter: str) -> None:
        """Take a letter for a part of what is written, whatever it could mean."""
        self.text += letter
        self._quiet_since = self._clock()

    def is_writing(self, shortcuts: Collection[str] = ()) -> bool:
        """Whether a letter goes on with what was written; shortcuts pressed too early are no writing."""
        return not set(self.text) <= {*shortcuts}

    def catch(self, event: events.Key, shortcuts: Collection[str] = ()) -> bool:
        """Whether a key was not meant for the dialog.

        Letters never are, but for shortcuts that decide nothing, where nothing was written; those and the
        keys that choose are from the moment on when no key came for a while.
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
    """Whether all of a widget can be seen: no edge cuts it off, and nothing lies over a corner of it."""
    screen, region = widget.screen, widget.region
    if not region or not screen.is_current or not screen.region.contains_region(region):
        return False
    corners = ((x, y) for x in (region.x, region.right - 1) for y in (region.y, region.bottom - 1))
    return all(widget in screen.get_widget_at(*corner)[0].ancestors_with_self for corner in corners)


def is_fully_visible(part: Widget) -> bool:
    """Whether all that a part of a dialog says can be seen, or can be scrolled to."""
    said = str(part.content) if isinstance(part, Static) else ""
    is_shown = all(node.display for node in part.ancestors_with_self if isinstance(node, Widget))
    if not is_shown or (isinstance(part, Static) and not said):
        return True
    if not in_sight(part):
        return False
    size = part.content_size
    needed = part.get_content_height(part.container_size, part.screen.size, size.width) if said else 0
    return needed <= size.height


LEADS_ON = _CHOOSING - {"enter"} | {
    "escape", "tab", "left", "right", "backspace", "ctrl+home", "ctrl+end", "ctrl+c", "ctrl+q",
}  # fmt: skip
"""Keys that decide nothing, wherever they are pressed."""
