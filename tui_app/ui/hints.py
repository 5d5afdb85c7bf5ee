"""The bottom row: which keys do what, how many notices are unread, and the folded timeline's word."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from tui_app.ui.keys import Hint, footer_hints
from tui_app.ui.text import UNICODE, Glyphs

SEPARATOR = "   "


def fit_hints(hints: Sequence[Hint], width: int) -> list[Hint]:
    """Leave out whole hints, highest rank first, until the row fits ``width`` cells."""
    left = list(hints)
    while left and len(SEPARATOR.join(map(str, left))) > width:
        left.remove(max(left, key=lambda hint: hint.rank))
    return left


def notice_text(notices: int, glyphs: Glyphs = UNICODE) -> str:
    """``⚠ 1 notice · f2``; empty when there is none."""
    if not notices:
        return ""
    sign = "!" if glyphs.gauge_full.isascii() else "⚠"
    return f"{sign} {notices} notice{'s' if notices > 1 else ''} {glyphs.separator} f2"


class HintRow(Widget):
    """Key hints that shorten by leaving out whole ones; a click runs what the key would."""

    DEFAULT_CSS = """
    HintRow { height: 1; width: 1fr; color: $text-muted; }
    """

    hints: reactive[tuple[Hint, ...]] = reactive(footer_hints())
    instead: reactive[tuple[Hint, ...]] = reactive(())
    """What keys do for the moment, in place of the hints with the same labels."""
    notices: reactive[int] = reactive(0)
    folded: reactive[str] = reactive("")
    """Said for a timeline that has no room, for example ``timeline 14``."""
    said: reactive[str] = reactive("")
    """What a key has just done, for example ``copied all``."""
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    def __init__(self, hints: Sequence[Hint] | None = None, *, id: str | None = None) -> None:
        """Create the row; without ``hints`` those of the chat screen."""
        super().__init__(id=id)
        if hints is not None:
            self.hints = tuple(hints)

    def render(self) -> Content:
        """Hints at the left; what was done, the folded timeline and notices at the right."""
        notices = notice_text(self.notices, self.glyphs)
        right = Content("  ").join(
            Content.styled(part, style)
            for part, style in (
                (self.said, "$text-success"),
                (self.folded, "$text-muted"),
                (notices, "$text-warning"),
            )
            if part
        )
        room = self.size.width - (right.cell_length + 2 if right.plain else 0)
        now = {hint.label: hint for hint in self.instead}
        hints = fit_hints([now.get(hint.label, hint) for hint in self.hints], room)
        left = Content(SEPARATOR).join(self._hint(hint) for hint in hints)
        spaces = " " * max(0, self.size.width - left.cell_length - right.cell_length)
        return Content.assemble(left, spaces, right)

    @staticmethod
    def _hint(hint: Hint) -> Content:
        text = Content.assemble((hint.label, "$footer-key-foreground"), f" {hint.text}")
        return text.stylize(Style.from_meta({"hint": hint.action})) if hint.action else text

    async def on_click(self, event: events.Click) -> None:
        """Run the clicked hint's action; one without ``screen.`` or ``app.`` is the parent's."""
        action = event.style.meta.get("hint")
        if action:
            event.stop()
            await self.app.run_action(action, self.parent)
