"""The base of all modal screens: look, key hints, and esc that closes without a decision."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from textual import events, getters
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.types import CSSPathType
from textual.widgets import Input, Static, TextArea

from tui_app.ui.clipboard import copy
from tui_app.ui.keyboard.keys import Hint, is_possible, place_bindings, place_hints
from tui_app.ui.keyboard.stray_keys import LEADS_ON, StrayKeys, is_fully_visible
from tui_app.ui.widgets.hint_row import HintRow, SelectsWhatIsSeen, TellsFailures
from tui_app.ui.words.glyphs import UNICODE

Result = TypeVar("Result")
_STYLES = Path(__file__).parents[1] / "styles"
"""Folder of the style sheets, independent of the dialog's own folder."""
MORE_ROOM = "make the window larger"
"""Shown if a key would decide about something that is partly hidden."""


class Dialog(SelectsWhatIsSeen, TellsFailures, ModalScreen[Result | None], Generic[Result]):
    """A modal screen whose result is ``None`` when it is closed with esc.

    It has a heading, a body and a row of keys. A subclass sets the place whose keys act in it, its style
    sheet and its size.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = _STYLES / "dialog.tcss"
    BINDINGS = place_bindings("dialog")
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-high")]  # noqa: RUF012 - Textual's own type
    key_row = getters.query_one("#dialog-hints", HintRow)
    HINTS: ClassVar[tuple[Hint, ...]] = place_hints("dialog")
    """Every key of the screen, as shown in its last row."""
    GUARDS: ClassVar[bool] = True
    """Whether it may appear while the user is typing."""
    SIZE: ClassVar[str] = ""
    """Class of its box: ``-small``, ``-full``, or none."""
    ASKED: ClassVar[str] = (
        ".dialog-title, OptionList, RowList, LongText, TextArea, Input, Button, VerticalScroll"
    )
    """CSS selectors of the parts that must be completely visible before a key can decide anything."""

    def __init_subclass__(
        cls, place: str = "", style: str = "", size: str | None = None, **options: Any
    ) -> None:
        if place:
            cls.BINDINGS, cls.HINTS = place_bindings(place), place_hints(place)
        if style:
            cls.CSS_PATH = [_STYLES / "dialog.tcss", _STYLES / f"{style}.tcss"]
        cls.SIZE = cls.SIZE if size is None else size
        super().__init_subclass__(**options)

    def __init__(self, head: str | Content = "") -> None:
        super().__init__()
        self._head = head
        self.whole = ""
        """The text that "copy all" copies."""
        self.stray = StrayKeys()
        """Collects keys typed by a user who is still writing something else."""
        self._is_unbuilt = False

    @property
    def head(self) -> str | Content:
        """The first row; text of any origin, never parsed as markup."""
        return self._head

    def compose(self) -> ComposeResult:
        self.fit()
        with Vertical(classes=f"dialog {self.SIZE}"):
            if self.head:
                title = Static(self.head, classes="dialog-title", markup=False)
                yield title.set_class(_is_signed(self.head), "-signed", update=False)
            yield from self.body()
            yield HintRow(self.HINTS, id="dialog-hints")

    def body(self) -> ComposeResult:
        """Yield the widgets between the heading and the keys."""
        yield from ()

    def write_head(self, head: str | Content) -> None:
        self.query_one(".dialog-title", Static).set_class(_is_signed(head), "-signed").update(head)

    @property
    def typed(self) -> str:
        """Text typed meanwhile that belongs to the screen below."""
        return self.stray.text.rstrip("\n")

    @property
    def writes(self) -> bool:
        """Whether keys and pastes go to a text field."""
        field = self.focused
        return isinstance(field, Input) or (isinstance(field, TextArea) and not field.read_only)

    def on_paste(self, event: events.Paste) -> None:
        """Keep a paste that no widget uses."""
        if not self.writes:
            event.stop()
            self.stray.text += event.text

    def take_text(self, text: str) -> None:
        """Keep text from a question above, to be passed on with the text typed here."""
        self.stray.text += text

    async def on_event(self, event: events.Event) -> None:
        """Leave a screen unbuilt that was dismissed before: its handlers would look for missing widgets."""
        if isinstance(event, events.Compose | events.Mount):
            self._is_unbuilt = self not in self.app.screen_stack
        if not self._is_unbuilt or isinstance(event, events.Unmount):
            await super().on_event(event)

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close with a result, once: each of several quick keys may try to close it.

        Textual always pops the topmost screen, which could be the one below this one.
        """
        stack = self.app.screen_stack
        if self not in stack:
            return AwaitComplete()
        if self.typed and isinstance(below := stack[stack.index(self) - 1], SelectsWhatIsSeen):
            below.take_text(self.typed)
        return super().dismiss(result)

    def ask(self, question: "Dialog[Any]", result: Callable[[Any], Result | None]) -> None:
        """Ask a question, and dismiss with the result of a positive answer; otherwise change nothing."""

        def answered(answer: object) -> None:
            if answer and (found := result(answer)) is not None:
                self.dismiss(found)

        self.app.push_screen(question, answered)

    def acting_hints(self) -> list[Hint]:
        """Return the keys that work now, as the bottom row shows them."""
        return [hint for hint in self.HINTS if is_possible(self, hint.action)]

    @property
    def is_open(self) -> bool:
        """Whether it can be repainted: composed, and not closed.

        A screen that is being removed stays attached while its widgets are removed one by one.
        """
        return self.is_mounted and self in self.app.screen_stack

    @property
    def is_seen(self) -> bool:
        """Whether everything that a key could decide about is completely visible."""
        return self.is_mounted and all(map(is_fully_visible, self.query(self.ASKED)))

    def holds_back(self, event: events.Key | events.Paste) -> bool:
        """Ignore keys that may decide something before it is visible; typed text is kept."""
        if isinstance(event, events.Paste) or event.key in LEADS_ON or self.is_seen:
            return False
        if event.is_printable and self.writes:
            return False
        if event.is_printable:
            self.stray.write(event.character or "")
        self.key_row.said = MORE_ROOM
        return True

    async def action_copy_all(self) -> None:
        # Lone surrogates cannot be encoded, and could not be pasted.
        self.key_row.said = await copy(self.app, self.whole.encode("utf-8", "replace").decode())

    def action_back(self) -> None:
        """Go one step back: here, close."""
        self.action_close()

    def action_close(self) -> None:
        self.dismiss(None)

    def on_resize(self) -> None:
        """Remove the request for a larger window, since it may be large enough now."""
        for row in self.query("#dialog-hints").results(HintRow):
            row.said = "" if row.said == MORE_ROOM else row.said


def _is_signed(head: str | Content) -> bool:
    """Return whether a first row starts with the product's sign, which takes the place of the left margin."""
    return str(head).startswith(UNICODE.load_line)
