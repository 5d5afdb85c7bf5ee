"""A question before something is lost: verb, object and consequence, and the safe answer first.

Somebody may still be writing when it comes up, or begin to. So a letter answers only after a moment without
keys, with nothing written, and when no other follows it at once; what is written goes on where one wrote.
"""

from collections.abc import Callable
from time import monotonic
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Button, Static

from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import clean
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.lone_letter import LoneLetter
from tui_app.ui.widgets.stray_keys import StrayKeys


class ConfirmDialog(Dialog[bool]):
    """Dismisses with ``True`` only for the verb; Esc and the default button keep everything."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/confirm.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "letter(True)", "Yes", show=False, id="confirm.yes", tooltip="Do it."),
        Binding("n", "letter(False)", "No", show=False, id="confirm.no", tooltip="Keep everything."),
        Binding(
            "left,right,up,down",
            "other",
            "Other button",
            show=False,
            id="confirm.other",
            tooltip="Go to the other button.",
        ),
    ]

    def __init__(
        self,
        text: str,
        *,
        verb: str = "Delete",
        keep: str = "Keep",
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Ask.

        Args:
            text: ``Delete session "Tide notes"? 14 messages, cannot be undone.``
            verb: What the dangerous button says.
            keep: What the safe one says.
            clock: Seconds that only go forward; keys are told apart by the time between them.
        """
        super().__init__()
        self._text, self._verb, self._keep = text, verb, keep
        self._stray = StrayKeys(clock)
        self._lone = LoneLetter(self)
        self._writes = ""
        """What the key would write that is acted on now."""

    @property
    def typed(self) -> str:
        """What the person went on writing while the question was there; it belongs to the prompt."""
        return self._stray.text.rstrip("\n")

    def compose(self) -> ComposeResult:
        """The sentence, two buttons, the keys."""
        with Vertical(classes="dialog -small"):
            yield Static(Content(clean(self._text)), markup=False, id="confirm-text")
            with Horizontal(id="confirm-buttons"):
                yield Button(Content(self._verb), id="confirm-verb", compact=True)
                yield Button(Content(self._keep), id="confirm-keep", compact=True)
            yield self.hints()

    def on_mount(self) -> None:
        """Start on the safe answer."""
        self.key_row.hints = (
            Hint("y", self._verb.lower(), 0, "screen.answer(True)"),
            Hint("n", self._keep.lower(), 0, "screen.answer(False)"),
            Hint("esc", self._keep.lower(), 1, "screen.close"),
        )
        self.query_one("#confirm-keep").focus()

    def on_key(self, event: events.Key) -> None:
        """Let only those keys through to the answers that are meant for them."""
        # Bindings act only after this; a focused button takes enter as one.
        if event.key == "enter" and self._lone.act():
            event.stop()
            return
        began = self._lone.take()
        self._writes = (event.character or "") if event.is_printable else ""
        if self._writes and began:
            self._stray.write(began)
        if self._stray.catch(event, self._answers):
            event.stop()

    def on_paste(self, event: events.Paste) -> None:
        """Keep a paste for the prompt as well."""
        event.stop()
        self._stray.text += event.text

    @property
    def _answers(self) -> list[str]:
        """The keys that answer, as the settings have them."""
        active = self.active_bindings.items()
        return [key for key, each in active if each.binding.id in ("confirm.yes", "confirm.no")]

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_answer(event.button.id == "confirm-verb")

    def action_letter(self, yes: bool) -> None:
        """Answer by letter, if it stands alone."""
        self._lone.press(self._writes, lambda: self.action_answer(yes))

    def action_answer(self, yes: bool) -> None:
        """Answer."""
        self._lone.take()
        self.dismiss(yes)

    def action_other(self) -> None:
        """Go to the other button."""
        self.focus_next(Button)

    def action_close(self) -> None:
        """Esc keeps everything."""
        self.action_answer(False)
