"""What all modal screens share: look, key hints, and Esc that closes without a decision."""

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
"""Where the sheets are, whichever folder a dialog is in."""
MORE_ROOM = "make the window larger"
"""Said where a key would decide about something that cannot be seen whole."""


class Dialog(SelectsWhatIsSeen, TellsFailures, ModalScreen[Result | None], Generic[Result]):
    """A modal screen whose result is ``None`` when it is closed with Esc.

    It has a heading, a body and a row of keys. Its class names the place whose keys act in it, a style sheet
    of its own, and its size.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = _STYLES / "dialog.tcss"
    BINDINGS = place_bindings("dialog")
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-high")]  # noqa: RUF012 - Textual's own type
    key_row = getters.query_one("#dialog-hints", HintRow)
    HINTS: ClassVar[tuple[Hint, ...]] = place_hints("dialog")
    """Every key of the screen, as shown in its last row."""
    GUARDS: ClassVar[bool] = True
    """Whether it may come up while the user writes."""
    SIZE: ClassVar[str] = ""
    """Class of its box: ``-small``, ``-full``, or none."""
    ASKED: ClassVar[str] = (
        ".dialog-title, OptionList, RowList, LongText, TextArea, Input, Button, VerticalScroll"
    )
    """Its parts, as CSS names them, that have to be seen whole before a key may decide anything."""

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
        """What is copied of it as a whole."""
        self.stray = StrayKeys()
        """What a user who is still writing types into it."""
        self._is_unbuilt = False

    @property
    def head(self) -> str | Content:
        """The first row; text of any origin, never read as markup."""
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
        """What is between the heading and the keys."""
        yield from ()

    def write_head(self, head: str | Content) -> None:
        self.query_one(".dialog-title", Static).set_class(_is_signed(head), "-signed").update(head)

    @property
    def typed(self) -> str:
        """What the user went on writing while it was there; it belongs to what is below."""
        return self.stray.text.rstrip("\n")

    @property
    def writes(self) -> bool:
        """Whether keys and pastes are for a text in it."""
        field = self.focused
        return isinstance(field, Input) or (isinstance(field, TextArea) and not field.read_only)

    def on_paste(self, event: events.Paste) -> None:
        """Keep a paste that nothing here takes."""
        if not self.writes:
            event.stop()
            self.stray.text += event.text

    def take_text(self, text: str) -> None:
        """Keep what was written into a question above: it goes down with what was written here."""
        self.stray.text += text

    async def on_event(self, event: events.Event) -> None:
        """Leave what was dismissed before it is built unbuilt: its handlers would look for widgets."""
        if isinstance(event, events.Compose | events.Mount):
            self._is_unbuilt = self not in self.app.screen_stack
        if not self._is_unbuilt or isinstance(event, events.Unmount):
            await super().on_event(event)

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close with a result, once: of keys in a burst, each may close it.

        Textual takes the topmost screen away whoever asks, which would be the one below this one, or none.
        """
        stack = self.app.screen_stack
        if self not in stack:
            return AwaitComplete()
        if self.typed and isinstance(below := stack[stack.index(self) - 1], SelectsWhatIsSeen):
            below.take_text(self.typed)
        return super().dismiss(result)

    def ask(self, question: "Dialog[Any]", result: Callable[[Any], Result | None]) -> None:
        """Ask something, and dismiss with what a yes or a text leads to; nothing leaves all as it is."""

        def answered(answer: object) -> None:
            if answer and (found := result(answer)) is not None:
                self.dismiss(found)

        self.app.push_screen(question, answered)

    def acting_hints(self) -> list[Hint]:
        """Those of its keys that act now, as the bottom row shows them."""
        return [hint for hint in self.HINTS if is_possible(self, hint.action)]

    @property
    def is_open(self) -> bool:
        """Whether it can be painted anew: composed, and not closed meanwhile.

        A screen that is taken down stays attached while its widgets go one after the other.
        """
        return self.is_mounted and self in self.app.screen_stack

    @property
    def is_seen(self) -> bool:
        """Whether all that a key could decide about is painted whole."""
        return self.is_mounted and all(map(is_fully_visible, self.query(self.ASKED)))

    def holds_back(self, event: events.Key | events.Paste) -> bool:
        """Take no key that may decide something before that can be seen; what is written is kept."""
        if isinstance(event, events.Paste) or event.key in LEADS_ON or self.is_seen:
            return False
        if event.is_printable and self.writes:
            return False
        if event.is_printable:
            self.stray.write(event.character or "")
        self.key_row.said = MORE_ROOM
        return True

    async def action_copy_all(self) -> None:
        # What is lone half of a pair cannot be encoded, and nobody could paste it.
        self.key_row.said = await copy(self.app, self.whole.encode("utf-8", "replace").decode())

    def action_back(self) -> None:
        """Go one step back: here the only one."""
        self.action_close()

    def action_close(self) -> None:
        self.dismiss(None)

    def on_resize(self) -> None:
        """Ask for no more room where there may be enough."""
        for row in self.query("#dialog-hints").results(HintRow):
            row.said = "" if row.said == MORE_ROOM else row.said


def _is_signed(head: str | Content) -> bool:
    """Whether a first row begins with our sign, which stands where other rows have air."""
    return str(head).startswith(UNICODE.load_line)
