"""One row above the prompt: what goes along with it, how many tokens that is, and what does not go along."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.format import tokens
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.safe_text import cut_cells, one_line

_LABEL_CELLS = 40
CHIP_KEYS = "ctrl+o expands, backspace removes"
"""What can be done with the chip of a pasted text that the cursor stands at."""
CHIP_AWAY = "ctrl+o at its mark expands"
"""The same from anywhere else in the draft."""


class Bundle(NamedTuple):
    """A file or a pasted text of the draft."""

    label: str
    tokens: int = 0
    """About how many it adds; 0 for what does not go along."""
    why_not: str = ""
    """Why a file does not go along; empty when it does."""


def weigh(folder: Path, paths: Sequence[str]) -> tuple[Bundle, ...]:
    """Look at the files that a draft names; blocks on the disk."""
    # Not needed for the first frame.
    from tui_app.agent.tools.workspace import Workspace
    from tui_app.conversation.turns import Attached, read_attachments

    return tuple(
        Bundle(found.path, found.tokens)
        if isinstance(found, Attached)
        else Bundle(found.path, why_not=found.why)
        for found in read_attachments(Workspace(folder), paths)
    )


def attached_line(bundles: Sequence[Bundle], width: int, *, keys: str = "", separator: str = "·") -> str:
    """Say what goes along and what does not, never wider than ``width`` cells.

    Args:
        bundles: What the draft names and holds.
        width: Cells.
        keys: What can be done with it; left out where there is no room.
        separator: Between two of them.
    """
    gap = f" {separator} "
    along = gap.join(f"{_label(each)} ~{tokens(each.tokens)} tok" for each in bundles if not each.why_not)
    rest = gap.join(f"@{_label(each)}: {each.why_not}" for each in bundles if each.why_not)
    # What the person may have to change comes first: the end of the row is what gets cut.
    parts = (rest and f"not attached: {rest}", along and f"attached: {along}")
    line = gap.join(filter(None, parts))
    if along and rest and len(line) > width:
        going = [each.tokens for each in bundles if not each.why_not]
        line = f"{len(going)} attached ~{tokens(sum(going))} tok{gap}{parts[0]}"
    longer = f"{line}{gap}{keys}"
    return longer if keys and len(longer) <= width else cut_cells(line, max(1, width))


def _label(bundle: Bundle) -> str:
    return one_line(bundle.label, _LABEL_CELLS)


class AttachedRow(Widget):
    """Takes no room while the draft brings nothing along."""

    DEFAULT_CSS = """
    AttachedRow { height: 1; width: 1fr; padding: 0 2; color: $text-muted; display: none; }
    AttachedRow.-bringing { display: block; }
    """

    bundles: reactive[tuple[Bundle, ...]] = reactive(())
    keys: reactive[str] = reactive("")
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    def watch_bundles(self, bundles: tuple[Bundle, ...]) -> None:
        """Appear and disappear with the first and last of them."""
        self.set_class(bool(bundles), "-bringing")

    def render(self) -> Content:
        """The row."""
        width = max(1, self.size.width)
        return Content(attached_line(self.bundles, width, keys=self.keys, separator=self.glyphs.separator))
