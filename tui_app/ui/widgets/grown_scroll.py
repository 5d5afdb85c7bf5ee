"""A text that is shown as it is, in a part that is as high as it."""

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.widgets import Static

from tui_app.ui.plain_lines import Exact


class ExactStatic(Exact, Static):
    """What somebody wrote."""


class GrownScroll(VerticalScroll, can_focus=False):
    """As high as its contents, up to its greatest height."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the text, within the greatest height."""
        # Textual leaves a share of the screen out while it asks for the height of the box around this.
        height, most = super().get_content_height(container, viewport, width), self.styles.max_height
        return height if most is None else min(height, int(most.resolve(container, viewport)))
