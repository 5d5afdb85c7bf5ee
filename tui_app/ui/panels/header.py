"""The top row of the chat: which conversation this is, and with which model."""

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.widgets.tables import MUTED, spread
from tui_app.ui.words.cost_words import price_text, unpriced_text
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import cut_middle, one_line
from tui_app.version import __version__

if TYPE_CHECKING:
    from tui_app.session.figures.costs import Costs
from tui_app.ui.panels.status import SEPARATOR, fit_pieces

MIN_TITLE = 12
"""Cells the title keeps while cost and policy can still give way."""
TELLING_TITLE = 24
"""Cells of it from which the folder may stand beside it."""
LEAST_PLACE = 24
"""Cells from which a longer path says where it is by its ends."""
USUAL_PLACE = 36
"""Cells that a path need not give to a long title."""


class ChatHeader(Widget):
    """``⊖ title      ~/folder (branch) · model · plimsoll · $0.42``; the model is the last to go."""

    title: reactive[str] = reactive("")
    place: reactive[str] = reactive("")
    """Folder and branch; empty where the screen says it elsewhere."""
    empty: reactive[bool] = reactive(False)
    """Whether the conversation is, and says all but the version itself."""
    model: reactive[str] = reactive("")
    policy: reactive[str] = reactive("")
    effort: reactive[str] = reactive("")
    """How much the model thinks; empty where that is left to it."""
    goal: reactive[str] = reactive("")
    """How far the goal of the session is; empty for none."""
    costs: "reactive[Costs | None]" = reactive(None)
    """Of the session so far; ``None`` until they are known."""

    def watch_costs(self) -> None:
        told = unpriced_text(self.costs.unpriced, self.costs.unpriced_models) if self.costs else ""
        self.tooltip = Content(told) if told else None

    def render(self) -> Content:
        """Title at the left, the rest at the right, whole words dropped when it is narrow."""
        width = self.size.width
        model = one_line(self.model, max(1, width // 2))
        costs = self.costs
        price = price_text(costs.usd, costs.unpriced) if costs is not None and costs.usd is not None else ""
        effort = self.effort and f"effort {self.effort}"
        ranked = ((0, model), (1, self.goal), (1, effort), (1, self.policy), (2, price))
        pieces = [each for each in ranked if each[1]]
        if self.empty:
            model, pieces = __version__, [(0, __version__)]
        right = fit_pieces(pieces, max(1, width - MIN_TITLE - 3)) if model else ""
        # The folder has the room that the title leaves, and what a long title can spare.
        both = width - 6 - cell_len(right)
        spare = both - max(MIN_TITLE, min(TELLING_TITLE, cell_len(self.title)))
        if self.place and right and not self.empty and spare >= min(LEAST_PLACE, cell_len(self.place)):
            most = min(spare, max(USUAL_PLACE, both - cell_len(self.title)))
            right = f"{cut_middle(self.place, most)}{SEPARATOR}{right}"
        room = width - cell_len(right) - 3
        title = one_line(self.title or "Plimsoll", room) if room > 0 else ""
        before, _, after = right.partition(model) if model else (right, "", "")
        left = Content.assemble((UNICODE.load_line, "$accent"), (f" {title}", "bold"))
        named = model if right else "", "$text-muted" if self.empty else "$foreground"
        return spread(left, Content.assemble((before, MUTED), named, (after, MUTED)), width)
