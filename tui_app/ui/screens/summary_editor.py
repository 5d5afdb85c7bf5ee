"""Other words for a summary that stands: its text, and what to do with it."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import OptionList, Static, TextArea
from textual.widgets.option_list import Option

from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import clean
from tui_app.ui.screens.confirm import ConfirmDialog
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.written import WrittenArea

_ABOUT = (
    "The model reads these words from the next request on. They are checked like written ones: secrets are "
    "masked, and what nobody said is marked."
)
_WAYS = (
    ("Save", "they count from the next request on; the old ones are kept"),
    ("Original", "put the words it was written with into the editor"),
    ("Discard", "nothing changes"),
)


class SummaryEditor(Dialog[str]):
    """Dismisses with the new text, or ``None`` where nothing is to change."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/summary_editor.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "tab",
            "other",
            "Summary or ways",
            show=False,
            id="summary.other",
            priority=True,
            tooltip="Go to the summary, or to what can be done with it.",
        ),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("tab", "save or discard", 0, "screen.other"),
        Hint("esc", "back", 0, "screen.close"),
    )

    def __init__(self, text: str, *, original: str) -> None:
        """Edit a summary.

        Args:
            text: Its words now.
            original: The words it was written with.
        """
        super().__init__()
        self._shown, self._original = clean(text), clean(original)

    def compose(self) -> ComposeResult:
        """Heading, what happens to the words, text, ways, keys."""
        with Vertical(classes="dialog -full"):
            yield self.heading("Edit the summary")
            yield Static(Content(_ABOUT), classes="dialog-note", markup=False)
            yield WrittenArea(self._shown, compact=True, id="summary-text")
            options = [Option(Content.assemble((f"{way:<10}", "bold"), what)) for way, what in _WAYS]
            yield OptionList(*options, id="summary-ways", compact=True, markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Start in the text."""
        self.set_focus(self._area)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        match event.option_index:
            case 0:
                self.dismiss(self._area.text if self._changed else None)
            case 1:
                # As an edit, so that it can be taken back like one.
                self._area.replace(self._original, (0, 0), self._area.document.end)
                self._ways.highlighted = 0
                self.set_focus(self._area)
                self.key_row.said = "ctrl+z brings your words back"
            case _:
                self._discard()

    @on(TextArea.Changed)
    def _edited(self, event: TextArea.Changed) -> None:
        """What was said of the original words holds only while they stand there."""
        event.stop()
        if self._area.text != self._original:
            self.key_row.said = ""

    def action_other(self) -> None:
        """Go to the summary, or to what can be done with it."""
        # At once: the next key may be there already.
        self.set_focus(self._ways if self.focused is self._area else self._area)

    def action_close(self) -> None:
        """One step back: from the text to the ways; then nothing is changed."""
        if self.focused is self._area and self._changed:
            self.set_focus(self._ways)
        else:
            self._discard()

    @property
    def _area(self) -> TextArea:
        return self.query_one(TextArea)

    @property
    def _ways(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def _changed(self) -> bool:
        return self._area.text != self._shown

    def _discard(self) -> None:
        """What was edited is not thrown away by one key."""
        if not self._changed:
            self.dismiss(None)
            return
        question = ConfirmDialog("Discard what you have edited?", verb="Discard", keep="Keep")
        self.app.push_screen(question, self._sure)

    def _sure(self, yes: bool | None) -> None:
        if yes:
            self.dismiss(None)
