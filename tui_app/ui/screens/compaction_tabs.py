"""The names of a compaction's six parts: in a row where they fit, else only that of the one shown."""

from collections.abc import Mapping

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TabbedContent, TabPane

SLIM = 64
"""Columns below which only the part that is shown is named, with its place among the others."""
WORDY = 76
"""Columns from which the names are as long as they are meant to be."""
NAMES: Mapping[str, tuple[str, str]] = {
    "tab-summary": ("Summary", "Summary"),
    "tab-facts": ("Facts", "Facts"),
    "tab-left": ("What left", "Left"),
    "tab-stayed": ("What stayed", "Stayed"),
    "tab-diff": ("Diff", "Diff"),
    "tab-numbers": ("Numbers", "Numbers"),
}
"""The parts in order, by id: their names, and shorter ones."""


def place_text(number: int, of: int, name: str) -> str:
    """``< 2 of 6 >  Facts   [ ] turn``."""
    return f"< {number} of {of} >  {name}   [ ] tabs"


class CompactionTabs(Vertical):
    """Six parts, one of which is shown."""

    def __init__(self, *panes: TabPane) -> None:
        """Show the first part.

        Args:
            panes: The parts, with the ids of :data:`NAMES`.
        """
        super().__init__()
        self._panes = panes
        self._counts: dict[str, int] = {}

    def compose(self) -> ComposeResult:
        """The name of the part that is shown, for little room; the parts."""
        yield Static(id="tab-place", markup=False)
        with TabbedContent(id="tabs"):
            yield from self._panes

    @property
    def active(self) -> TabPane:
        """The part that is shown."""
        return self.query_one(f"#{self._tabs.active}", TabPane)

    def count(self, pane: str, number: int) -> None:
        """Say how many messages a part lists, behind its name."""
        self._counts[pane] = number
        self._write_names()

    def turn(self, step: int) -> None:
        """Go on by some parts; behind the last one comes the first."""
        panes = list(NAMES)
        self._tabs.active = panes[(panes.index(self._tabs.active) + step) % len(panes)]
        self._write_names()

    def on_resize(self) -> None:
        """Use the names that there is room for."""
        self._write_names()

    @on(TabbedContent.TabActivated)
    def _turned(self, event: TabbedContent.TabActivated) -> None:
        event.stop()
        self._write_names()

    @property
    def _tabs(self) -> TabbedContent:
        return self.query_one(TabbedContent)

    def _write_names(self) -> None:
        width = self.screen.size.width
        self.set_class(width < SLIM, "-slim")
        names = {pane: self._label(pane, short=width < WORDY) for pane in NAMES}
        for pane, name in names.items():
            self._tabs.get_tab(pane).label = Content(name)
        active = self._tabs.active or next(iter(NAMES))
        text = place_text(list(NAMES).index(active) + 1, len(NAMES), names[active])
        self.query_one("#tab-place", Static).update(Content(text))

    def _label(self, pane: str, *, short: bool) -> str:
        count = self._counts.get(pane)
        return NAMES[pane][short] + (f" {count:,} msg" if count is not None else "")
