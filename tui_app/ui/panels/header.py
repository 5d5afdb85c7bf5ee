"""The top row of the chat: title, folder, model, policy and cost."""

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
"""Cells the title keeps while cost and policy can still be dropped."""
TELLING_TITLE = 24
"""Cells of the title from which the folder may be shown next to it."""
LEAST_PLACE = 24
"""Minimum cells for a longer path, which is shortened in the middle."""
USUAL_PLACE = 36
"""Cells that a path keeps even if the title is long."""


class ChatHeader(Widget):
    """``⊖ title      ~/folder (branch) · model · plimsoll · $0.42``; the model is dropped last."""

    title: reactive[str] = reactive("")
    place: reactive[str] = reactive("")
    """Folder and branch; empty if the screen shows them elsewhere."""
    empty: reactive[bool] = reactive(False)
    """Whether the conversation is empty, and shows everything but the version itself."""
    model: reactive[str] = reactive("")
    policy: reactive[str] = reactive("")
    effort: reactive[str] = reactive("")
    """The reasoning effort; empty for the model's default."""
    goal: reactive[str] = reactive("")
    """Progress of the session's goal; empty if there is none."""
    costs: "reactive[Costs | None]" = reactive(None)
    """Costs of the session so far; ``None`` until they are known."""

    def watch_costs(self) -> None:
        text = unpriced_text(self.costs.unpriced, self.costs.unpriced_models) if self.costs else ""
        self.tooltip = Content(text) if text else None

    def render(self) -> Content:
        """Draw the title at the left and the rest at the right, dropping whole pieces if it is narrow."""
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
        # The folder gets the space that the title leaves, and what a long title can spare.
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
