"""The bottom row: which keys do what, and how many notices are unread."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual import events
from textual.content import Content
from textual.geometry import Offset
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget
from textual.worker import Worker, WorkerState

from tui_app.ui.keyboard.keys import Hint
from tui_app.ui.widgets.tables import spread

if TYPE_CHECKING:
    from textual.dom import DOMNode as _Node
    from textual.screen import Screen

    _Screen = Screen[Any]
else:
    # Styles come from the first base that is a widget, which has to be the other one.
    _Node = _Screen = object

SEPARATOR = "   "


def fit_hints(hints: Sequence[Hint], width: int) -> list[Hint]:
    """Leave out whole hints, highest rank first, until the row fits ``width`` cells."""
    left = list(hints)
    while left and len(SEPARATOR.join(map(str, left))) > width:
        left.remove(max(left, key=lambda hint: hint.rank))
    return left


def notice_text(notices: int) -> str:
    """``⚠ 1 notice · f2``; empty when there is none."""
    return f"⚠ {notices} notice{'s' if notices > 1 else ''} · f2" if notices else ""


LEAST_HINTS = 33
"""Cells of hints that are worth more than the words of what goes on meanwhile."""


class HintRow(Widget):
    """Key hints that shorten by leaving out whole ones; a click runs what the key would."""

    hints: reactive[tuple[Hint, ...]] = reactive(())
    instead: reactive[tuple[Hint, ...]] = reactive(())
    """What keys do for the moment, in place of the hints with the same labels."""
    notices: reactive[int] = reactive(0)
    folded: reactive[str] = reactive("")
    """Said for a timeline that has no room, for example ``timeline 14``."""
    said: reactive[str] = reactive("")
    """What a key has just done, for example ``copied all``."""
    meanwhile: reactive[tuple[str, ...]] = reactive(())
    """What goes on beside the work, from its longest form to its shortest."""

    def __init__(self, hints: Sequence[Hint], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.hints = tuple(hints)

    def render(self) -> Content:
        """Hints at the left; what was done, the folded timeline and notices at the right."""
        notices = notice_text(self.notices)
        parts = [(self.folded, "$text-muted"), (notices, "$text-warning")]
        beside = self.size.width - sum(len(part) + 2 for part, _ in (*parts, (self.said, "")) if part)
        fitting = (form for form in self.meanwhile if beside - len(form) > LEAST_HINTS)
        meanwhile = next(fitting, self.meanwhile[-1] if self.meanwhile else "")
        parts = [(self.said, "$text-success"), (meanwhile, "$text-muted"), *parts]
        right = Content("  ").join(Content.styled(part, style) for part, style in parts if part)
        room = self.size.width - (right.cell_length + 2 if right.plain else 0)
        now = {hint.label: hint for hint in self.instead}
        hints = fit_hints([now.get(hint.label, hint) for hint in self.hints], room)
        pieces = []
        for hint in hints:
            text = Content.assemble((hint.label, "$footer-key-foreground"), f" {hint.text}")
            pieces.append(text.stylize(Style.from_meta({"hint": hint.action})) if hint.action else text)
        left = Content(SEPARATOR).join(pieces)
        return spread(left, right, self.size.width, 0)

    async def on_click(self, event: events.Click) -> None:
        """Run the clicked hint's action; one without ``screen.`` or ``app.`` is the parent's."""
        action = event.style.meta.get("hint")
        if action:
            event.stop()
            await self.app.run_action(action, self.parent)


class SelectsWhatIsSeen(_Screen):
    """A screen on which a drag selects in the widget that it began in, and no further than that can be seen.

    A drag that slips over an edge would take all that is scrolled out of sight there, and other widgets too.
    """

    def fit(self) -> None:
        """Take the classes of the terminal's size: at the first resize, all parts would be styled again."""
        both = self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS
        for cells, breakpoints in zip(self.app.size, both, strict=True):
            reached = [name for least, name in breakpoints or () if cells >= least]
            self.set_class(True, *reached[-1:], update=False)

    def holds_back(self, event: events.Key | events.Paste) -> bool:
        """Whether a key counts for nothing here, because what it would decide cannot be seen."""
        return False

    def take_text(self, text: str) -> None:
        """Write what was written into a question above this screen where the user had been writing."""

    _dragged: tuple[Widget, Offset] | None = None
    """Where the drag began, and the place in its text that it is at."""

    def begin_drag(self, event: events.MouseEvent | None) -> None:
        """Remember where a button was pressed; None when it is about to be pressed, or was released."""
        self._dragged = None
        if event is not None:
            widget, offset = self.get_widget_and_offset_at(int(event.x), int(event.y))
            if widget is not None and offset is not None and widget.allow_select:
                self._dragged = widget, offset

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """Find the place in a text; during a drag the nearest one in the widget that it began in."""
        if self._dragged is None or not self._dragged[0].is_attached:
            return super().get_widget_and_offset_at(x, y)
        widget, last = self._dragged
        # Without scroll bars.
        seen = self.find_widget(widget).visible_region.intersection(widget.scrollable_content_region)
        if y < seen.y:
            x, y = seen.x, seen.y
        elif y >= seen.bottom:
            x, y = seen.right - 1, seen.bottom - 1
        else:
            x = min(max(x, seen.x), seen.right - 1)
        _, offset = super().get_widget_and_offset_at(x, y)
        # There is none on a row that is no text.
        self._dragged = widget, last if offset is None else offset
        return self._dragged


_LOG = logging.getLogger(__name__)

SESSION = "session"
"""Group of the work that everything else on a chat screen needs."""


class Teller(Protocol):
    """An application that says what did not work."""

    def tell_failure(self, worker: "Worker[Any]", error: BaseException) -> None:
        """Say it in a sentence, or end the program where it cannot go on."""


class TellsFailures(_Node):
    """A screen or widget whose work, where it fails, is told; the app goes on."""

    if not TYPE_CHECKING:  # what is given is checked against the parameters of Textual's own

        def run_worker(self, *work: Any, **options: Any) -> "Worker[Any]":
            return super().run_worker(*work, **options | {"exit_on_error": False})

    def on_worker_state_changed(self, event: "Worker.StateChanged") -> None:
        error = event.worker.error
        if event.state is WorkerState.ERROR and error is not None:
            _LOG.error("a flow failed", exc_info=error)
            cast("Teller", self.app).tell_failure(event.worker, error)
