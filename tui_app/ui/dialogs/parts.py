"""Tabs of a page, with all their names or only the active one's, and read-only texts."""

import re
from collections.abc import Mapping

from textual import getters
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static, TabbedContent, TabPane, Tabs, TextArea

from tui_app.ui.transcript.excerpts import clip
from tui_app.ui.widgets.scroll_bars import ReadArea
from tui_app.ui.words.text import MOST_CHARS, clean

INSETS = 4
"""Cells left and right of a page, together."""
SLIM = 64
"""Columns below which only the active tab is named, with its position."""
BREAKPOINTS = [(0, "-slim"), (SLIM, "-fair"), (110, "-broad")]
"""Breakpoints for screens with tabs; in broad ones the names have more space."""
WORDY = 76
"""Columns from which the names are shown in full."""


class PartTabs(Vertical):
    """Tabs, one of which is active."""

    class Turned(Message):
        """Another tab is active, by a key or a click."""

    _tabs = getters.query_one(TabbedContent)

    def __init__(self, parts: Mapping[str, Widget], names: Mapping[str, str]) -> None:
        """Activate the first tab.

        Args:
            parts: The content of each tab, by id.
            names: Names by the same ids; if space is short, the last word is used.
        """
        super().__init__()
        self._names, self._parts = names, parts
        self._ids = [*parts]
        self._counts: dict[str, str] = {}
        self._at = self._ids[0]
        """Tab that keys have led to: a late focus event may briefly activate an earlier one again."""

    def compose(self) -> ComposeResult:
        yield Static(id="tab-place", markup=False)
        with TabbedContent(id="tabs"):
            for name, part in self._parts.items():
                yield TabPane("", part, id=name)

    @property
    def active(self) -> TabPane:
        return self.query_one(f"#{self._at}", TabPane)

    def count(self, pane: str, number: int | str) -> None:
        """Show the number of items of a tab after its name."""
        self._counts[pane] = f"{number:,}" if isinstance(number, int) else number
        self._write_names()

    def turn(self, step: int) -> None:
        """Move by a number of tabs, cyclically."""
        self._open(self._ids[(self._ids.index(self._at) + step) % len(self._ids)])

    def _open(self, part: str) -> None:
        self._at = self._tabs.active = part
        # Immediately: late focus would be in a tab that was left meanwhile, and activate it again.
        self.screen.set_focus(self.active.query("TextArea, OptionList, RowList, LongText").first())
        self._write_names()
        self.post_message(self.Turned())

    def on_resize(self) -> None:
        self._write_names()

    def on_tabbed_content_tab_activated(self, event: TabbedContent.TabActivated) -> None:
        event.stop()
        if self.query_one(Tabs).has_focus:
            # Activated by a click on its name, not by a key of the screen.
            self._open(event.pane.id or self._at)

    def _write_names(self) -> None:
        width = self.screen.size.width
        names = {}
        for pane in self._ids:
            name = self._names[pane] if width >= WORDY else self._names[pane].split()[-1].capitalize()
            listed = f" {self._counts[pane]}" if self._counts.get(pane) else ""
            names[pane] = name + listed
            label = Content.assemble(name, (listed, "$text-muted not bold"))
            if not label.is_same((tab := self._tabs.get_tab(pane)).label):
                tab.label = label
        active = self._tabs.active or self._ids[0]
        place = f"< {self._ids.index(active) + 1} of {len(self._ids)} >"
        self.query_one("#tab-place", Static).update(Content(f"{place}  {names[active]}   left/right tabs"))


class PartArea(TextArea):
    """The rows of a tab: left and right change the tab, home and end move along a row."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        turns = action in ("cursor_left", "cursor_right") and not parameters
        return not turns and super().check_action(action, parameters)


_LINE = re.compile(r"[^\n]{2000}(?=[^\n])")
"""Longest line that a text area wraps within a frame; longer lines are broken here."""


def readable(text: str) -> str:
    """Make text of any origin and size readable in a text area.

    A text area would stall on a megabyte in one line.
    """
    head, note, tail = clip(text, MOST_CHARS, None, wash=clean)
    shown = f"{head}\n… {note} …\n{tail}" if note else head
    return _LINE.sub(lambda line: f"{line.group()}\n", shown)


def reading_area(text: str, *, id: str | None = None, rows: bool = False) -> TextArea:
    """Create a read-only text area, without escape sequences and control characters.

    Args:
        text: Text of any origin and size.
        id: Name of the widget.
        rows: Whether the text is the program's own in rows, whose signs plain mode replaces by ASCII.
    """
    kind = PartArea if rows else ReadArea
    area = kind(readable(text), read_only=True, show_cursor=True, compact=True, id=id)
    area.highlight_cursor_line = False
    return area
