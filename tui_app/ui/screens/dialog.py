"""What the modal screens share: look, key hints, and Esc that closes without a decision."""

from typing import ClassVar, Generic, TypeVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.types import CSSPathType
from textual.widgets import Static

from tui_app.ui.failing import TellsFailures
from tui_app.ui.keys import Hint
from tui_app.ui.widgets.hints import HintRow

Result = TypeVar("Result")


class Dialog(TellsFailures, ModalScreen[Result | None], Generic[Result]):
    """A modal screen whose result is ``None`` when it is closed with Esc."""

    CSS_PATH: ClassVar[CSSPathType | None] = "../styles/dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "escape", "back", "Close", show=False, id="dialog.close",
            tooltip="Close without a decision; in a list, the filter goes first.",
        ),
    ]  # fmt: skip
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-high")]  # noqa: RUF012 - Textual's own type
    HINTS: ClassVar[tuple[Hint, ...]] = (Hint("esc", "close", 0, "screen.close"),)
    """Every key of the screen, as shown in its last row."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close with a result, once: of keys in a burst, each may close it.

        Textual takes the topmost screen away whoever asks, which would be the one below this one, or none.
        """
        return super().dismiss(result) if self in self.app.screen_stack else AwaitComplete()

    def action_back(self) -> None:
        """Go one step back: here the only one."""
        self.action_close()

    def action_close(self) -> None:
        """Close without a decision."""
        self.dismiss(None)

    def hints(self) -> HintRow:
        """The last row of the dialog."""
        return HintRow(self.HINTS, id="dialog-hints")

    @property
    def key_row(self) -> HintRow:
        """The mounted last row."""
        return self.query_one("#dialog-hints", HintRow)

    @staticmethod
    def heading(text: str | Content) -> Static:
        """The first row of the dialog; text of any origin, never read as markup."""
        return Static(
            text if isinstance(text, Content) else Content(text), classes="dialog-title", markup=False
        )
