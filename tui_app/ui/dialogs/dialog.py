"""What all modal screens share: look, key hints, and Esc that closes without a decision."""

from typing import ClassVar, Generic, TypeVar

from textual.await_complete import AwaitComplete
from textual.content import Content
from textual.screen import ModalScreen
from textual.types import CSSPathType
from textual.widgets import Static

from tui_app.ui.keys import Hint, place_bindings, place_hints
from tui_app.ui.widgets import HintRow, SelectsWhatIsSeen, TellsFailures

Result = TypeVar("Result")


class Dialog(SelectsWhatIsSeen, TellsFailures, ModalScreen[Result | None], Generic[Result]):
    """A modal screen whose result is ``None`` when it is closed with Esc."""

    CSS_PATH: ClassVar[CSSPathType | None] = "../styles/dialog.tcss"
    BINDINGS = place_bindings("dialog")
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-high")]  # noqa: RUF012 - Textual's own type
    HINTS: ClassVar[tuple[Hint, ...]] = place_hints("dialog")
    """Every key of the screen, as shown in its last row."""

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close with a result, once: of keys in a burst, each may close it.

        Textual takes the topmost screen away whoever asks, which would be the one below this one, or none.
        """
        return super().dismiss(result) if self in self.app.screen_stack else AwaitComplete()

    @property
    def is_open(self) -> bool:
        """Whether it can be painted anew: composed, and not closed meanwhile.

        A screen that is taken down stays attached while its widgets go one after the other.
        """
        return self.is_mounted and self in self.app.screen_stack

    def action_back(self) -> None:
        """Go one step back: here the only one."""
        self.action_close()

    def action_close(self) -> None:
        self.dismiss(None)

    def hints(self) -> HintRow:
        return HintRow(self.HINTS, id="dialog-hints")

    @property
    def key_row(self) -> HintRow:
        return self.query_one("#dialog-hints", HintRow)

    @staticmethod
    def heading(text: str | Content) -> Static:
        """The first row of the dialog; text of any origin, never read as markup."""
        return Static(
            text if isinstance(text, Content) else Content(text), classes="dialog-title", markup=False
        )
