"""The top row: which conversation this is, and with whom."""

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.safe_text import one_line
from tui_app.ui.turn_text import price_text, unpriced_text
from tui_app.ui.widgets.status import fit_pieces

MIN_TITLE = 12
"""Cells the title keeps while cost and policy can still give way."""


class ChatHeader(Widget):
    """``⊖ title                model · policy plimsoll · $0.42``; the model is the last to go."""

    DEFAULT_CSS = """
    ChatHeader { height: 1; width: 1fr; }
    """

    title: reactive[str] = reactive("")
    model: reactive[str] = reactive("")
    policy: reactive[str] = reactive("")
    spent: reactive[float | None] = reactive(None)
    """US dollars so far; ``None`` when the price is not known."""
    unpriced: reactive[int] = reactive(0)
    """Requests whose price is not known."""
    unpriced_models: reactive[tuple[str, ...]] = reactive(())
    """Whom they went to."""
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    def watch_unpriced(self) -> None:
        """Say under the pointer whose price is missing."""
        told = unpriced_text(self.unpriced, self.unpriced_models)
        self.tooltip = Content(told) if told else None

    def watch_unpriced_models(self) -> None:
        """Name another one."""
        self.watch_unpriced()

    def render(self) -> Content:
        """Title at the left, the rest at the right, whole words dropped when it is narrow."""
        width = self.size.width
        separator = f" {self.glyphs.separator} "
        pieces = [(0, one_line(self.model, max(1, width // 2)))]
        if self.policy:
            pieces.append((1, f"policy {self.policy}"))
        if self.spent is not None:
            pieces.append((2, price_text(self.spent, self.unpriced)))
        right = fit_pieces(pieces, max(1, width - MIN_TITLE - 3), separator) if self.model else ""
        room = width - len(right) - 3
        title = one_line(self.title, room) if room > 0 else ""
        left = f"{self.glyphs.load_line} {title}"
        spaces = " " * max(1, width - Content(left).cell_length - Content(right).cell_length)
        return Content.assemble(
            (self.glyphs.load_line, "bold $text-accent"),
            (f" {title}", "bold"),
            spaces,
            (right, "$text-muted"),
        )
