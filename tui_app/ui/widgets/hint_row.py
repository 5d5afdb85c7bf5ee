"""The bottom row of key hints; and the base classes of screens for selection and failed workers."""

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
    # Textual takes styles from the first base that is a widget, which must be the other one.
    _Node = _Screen = object

SEPARATOR = "   "


def fit_hints(hints: Sequence[Hint], width: int) -> list[Hint]:
    """Leave out whole hints, highest rank first, until the row fits ``width`` cells."""
    left = list(hints)
    while left and len(SEPARATOR.join(map(str, left))) > width:
        left.remove(max(left, key=lambda hint: hint.rank))
    return left


def notice_text(notices: int) -> str:
    """Return ``⚠ 1 notice · f2``; empty if there are none."""
    return f"⚠ {notices} notice{'s' if notices > 1 else ''} · f2" if notices else ""


LEAST_HINTS = 33
"""Cells of hints that take precedence over `meanwhile`."""


class HintRow(Widget):
    """Key hints, of which whole ones are left out if there is no space; a click runs the key's action."""

    hints: reactive[tuple[Hint, ...]] = reactive(())
    instead: reactive[tuple[Hint, ...]] = reactive(())
    """Temporary hints, which replace those with the same labels."""
    notices: reactive[int] = reactive(0)
    folded: reactive[str] = reactive("")
    """Shown for a hidden timeline, for example ``timeline 14``."""
    said: reactive[str] = reactive("")
    """Result of the last key, for example ``copied all``."""
    meanwhile: reactive[tuple[str, ...]] = reactive(())
    """Background work, from its longest form to its shortest."""

    def __init__(self, hints: Sequence[Hint], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.hints = tuple(hints)

    def render(self) -> Content:
        """Draw hints at the left; the last result, the hidden timeline and notices at the right."""
        notices = notice_text(self.notices)
        parts = [(self.folded, "$text-muted"), (notices, "$text-warning")]
        free = self.size.width - sum(len(part) + 2 for part, _ in (*parts, (self.said, "")) if part)
        fitting = (form for form in self.meanwhile if free - len(form) > LEAST_HINTS)
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
    """A screen on which a drag selects only visible text of the widget that it began in.

    Otherwise a drag across an edge would select everything scrolled out of view there, and other widgets.
    """

    def fit(self) -> None:
        """Set the classes for the terminal's size.

        Left to the first resize, this would style all parts again.
        """
        both = self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS
        for cells, breakpoints in zip(self.app.size, both, strict=True):
            reached = [name for least, name in breakpoints or () if cells >= least]
            self.set_class(True, *reached[-1:], update=False)

    def holds_back(self, event: events.Key | events.Paste) -> bool:
        """Return whether a key is ignored, because what it would decide is not visible."""
        return False

    def take_text(self, text: str) -> None:
        """Insert text typed into a question above this screen where the user was typing."""

    _dragged: tuple[Widget, Offset] | None = None
    """The widget in which the drag began, and its current offset in that widget's text."""

    def begin_drag(self, event: events.MouseEvent | None) -> None:
        """Record where a button was pressed; None before a press and after a release."""
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
        # A row without text has no offset.
        self._dragged = widget, last if offset is None else offset
        return self._dragged


_LOG = logging.getLogger(__name__)

SESSION = "session"
"""Group of the worker that everything else on a chat screen needs."""


class Teller(Protocol):
    """An application that reports failures."""

    def tell_failure(self, worker: "Worker[Any]", error: BaseException) -> None:
        """Report a failure in a sentence, or quit if the program cannot continue."""


class TellsFailures(_Node):
    """A screen or widget whose failed workers are reported while the application continues."""

    if not TYPE_CHECKING:  # what is given is checked against the parameters of Textual's own

        def run_worker(self, *work: Any, **options: Any) -> "Worker[Any]":
            return super().run_worker(*work, **options | {"exit_on_error": False})

    def on_worker_state_changed(self, event: "Worker.StateChanged") -> None:
        error = event.worker.error
        if event.state is WorkerState.ERROR and error is not None:
            _LOG.error("a flow failed", exc_info=error)
            cast("Teller", self.app).tell_failure(event.worker, error)
