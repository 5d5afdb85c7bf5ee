"""Questions to the user: confirmations, choices and values; the safe answer is preselected.

The user may be typing when one appears. So a letter answers only after a moment without keys, with nothing
typed, and if no other letter follows at once; typed text continues in the prompt.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.options import MarkedList
from tui_app.ui.keyboard.keys import Hint, choice_hints
from tui_app.ui.keyboard.lone_letter import LoneLetter
from tui_app.ui.widgets.scroll_bars import WrittenLine
from tui_app.ui.widgets.tables import MUTED
from tui_app.ui.words.text import clean, one_line, padded

if TYPE_CHECKING:
    from tui_app.ui.host import Host


class ConfirmDialog(Dialog[bool], place="confirm", style="confirm", size="-small"):
    """Dismisses with ``True`` only for the verb; esc and the default button change nothing."""

    def __init__(self, text: str, *, verb: str = "Delete", keep: str = "Keep") -> None:
        """Ask.

        Args:
            text: ``Delete session "Tide notes"? 14 messages, cannot be undone.``
            verb: Label of the dangerous button.
            keep: Label of the safe button.
        """
        super().__init__()
        self._text, self._verb, self._keep = text, verb, keep
        self._lone = LoneLetter(self)
        self._writes = ""
        """Text of the key being handled."""

    def body(self) -> ComposeResult:
        with VerticalScroll(id="confirm-scroll", can_focus=False):
            yield Static(clean(self._text), markup=False, id="confirm-text")
        with Horizontal(id="confirm-buttons"):
            yield Button(Content(self._verb), id="confirm-verb", compact=True)
            yield Button(Content(self._keep), id="confirm-keep", compact=True)

    def on_mount(self) -> None:
        """Focus the safe answer."""
        self._offer_keys()
        self.query_one("#confirm-keep").focus()

    def _offer_keys(self, answers: Collection[str] = ()) -> None:
        """Show no letters as answers while letters go to the prompt, and show the text typed there."""
        writes = self.stray.is_writing(answers)
        choose = Hint("left/right", "choose", 0, "screen.other"), Hint("enter", "answer")
        yes = Hint("y", self._verb.lower(), 0, "screen.answer(True)")
        leave = Hint("esc" if writes else "n/esc", self._keep.lower(), 0, "screen.answer(False)")
        self.key_row.hints = (*(choose if writes else (yes,)), leave)
        self.key_row.said = f"prompt: {one_line(self.typed, _WRITTEN_CELLS)}" if writes else ""

    def on_key(self, event: events.Key) -> None:
        """Pass only keys to the answers that are meant for them."""
        # Bindings run only after this; a focused button handles enter as one.
        if event.key == "enter" and self._lone.act():
            event.stop()
            return
        began = self._lone.take()
        self._writes = (event.character or "") if event.is_printable else ""
        if self._writes and began:
            self.stray.write(began)
        bound = self.active_bindings.items()
        answers = [key for key, each in bound if each.binding.id in ("confirm.yes", "confirm.no")]
        if self.stray.catch(event, answers):
            event.stop()
        self._offer_keys(answers)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id == "confirm-verb")

    def action_letter(self, yes: bool) -> None:
        """Answer by a letter, if no other follows."""
        self._lone.press(self._writes, lambda: self.action_answer(yes))

    def on_resize(self) -> None:
        """Leave space for the answers, however long the question is."""
        self.query_one("#confirm-scroll").styles.max_height = max(1, self.size.height - _AROUND)

    def action_answer(self, yes: bool) -> None:
        """Answer; a "yes" before the end of the question was visible scrolls on."""
        self._lone.take()
        text = self.query_one("#confirm-scroll")
        if yes and text.scroll_offset.y < text.max_scroll_y:
            text.scroll_page_down(animate=False)
        elif not yes or self.is_seen:
            self.dismiss(yes)

    def action_other(self) -> None:
        self.focus_next(Button)

    def action_close(self) -> None:
        """Answer "no"."""
        self.action_answer(False)


_WRITTEN_CELLS = 24
_AROUND = 9
"""Rows of the dialog without the question."""


class Way(NamedTuple):
    """A choice."""

    name: str
    what: str
    """What it does."""
    answer: Any = None
    """The dialog's result; None changes nothing."""
    can: bool = True


class ChoiceDialog(Dialog[Any], size="-small -list"):
    """Dismisses with the chosen answer; esc with None."""

    HINTS = choice_hints("choose", "cancel")
    ASKED = ".dialog > Static, OptionList"

    def __init__(self, question: str, ways: Sequence[Way], note: str = "", *, first: int = -1) -> None:
        """Ask.

        Args:
            question: Shown in one row.
            ways: The choices.
            note: Shown below them.
            first: Index of the choice marked first.
        """
        super().__init__(clean(question))
        self.ways, self.said, self._first = ways, note, first % len(ways)

    def body(self) -> ComposeResult:
        cells = max(len(way.name) for way in self.ways) + 2
        rows = [Content.assemble(padded(way.name, cells), self.gap, (way.what, MUTED)) for way in self.ways]
        options = (Option(row, disabled=not way.can) for row, way in zip(rows, self.ways, strict=True))
        ways, note = MarkedList(*options, compact=True, markup=False), Static(self.said, markup=False)
        yield from self.arranged(ways, note.add_class("dialog-note"))

    @property
    def gap(self) -> str:
        """Separator between a choice's name and its effect."""
        return ""

    def arranged(self, ways: Widget, note: Widget) -> Iterable[Widget]:
        return ways, note

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.focus()
        options.highlighted = self._first

    def on_key(self, event: events.Key) -> None:
        """Pass only keys to the list that are meant for it."""
        # Bindings run only after this.
        if self.GUARDS and self.stray.catch(event):
            event.stop()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self.ways[event.option_index].answer)


class DetailedChoice(ChoiceDialog):
    """A question with a scrollable text above its choices, the first of which is marked."""

    def __init__(self, question: str, ways: Sequence[Way], detail: Content, note: str = "") -> None:
        super().__init__(question, ways, note, first=0)
        self.detail = detail

    def arranged(self, ways: Widget, note: Widget) -> Iterable[Widget]:
        detail = VerticalScroll(Static(self.detail, markup=False), id="ways-detail", can_focus=False)
        return detail, note, ways


class FilesDialog(DetailedChoice):
    """Asks what to do with files, listing the effect on each; ``None`` cancels."""

    HINTS = choice_hints("choose", "cancel: nothing changes")
    GUARDS = False


def file_line(fate: str, path: str, why: str, *, stays: bool) -> Content:
    """Return a file's row with its fate; files that are left alone are highlighted."""
    tone = "$text-warning" if stays else MUTED
    return Content.assemble((f"{fate:<11}", tone), path, (f"  {why}" if why else "", MUTED))


class EditDialog(Dialog[str], style="settings", size="-small"):
    """Dismisses with the typed text, or ``None``."""

    def __init__(self, title: str, about: str, text: str, refused: str = "", *, verb: str = "save") -> None:
        """Ask for a value.

        Args:
            title: Name of the value.
            about: Its purpose and allowed values.
            text: Initial text.
            refused: Why the previous value was rejected; empty at first.
            verb: What enter does with it.
        """
        super().__init__(one_line(title, 100))
        self._about, self._text, self._refused, self._verb = about, text, refused, verb

    def body(self) -> ComposeResult:
        yield Static(clean(self._about), classes="dialog-note", markup=False)
        yield self.new_line()
        yield Static(clean(self._refused), id="edit-refused", markup=False)

    def on_mount(self) -> None:
        self.key_row.hints = (Hint("enter", self._verb), Hint("esc", "cancel", 0, "screen.close"))

    def new_line(self) -> Input:
        """Create the input."""
        return WrittenLine(clean(self._text, keep_newlines=False), id="edit-value", compact=True)

    def refusal(self, text: str) -> str:
        """Return why a text is rejected; empty if it is not."""
        return ""

    def on_input_submitted(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if refused := self.refusal(text):
            event.input.clear()
            self.query_one("#edit-refused", Static).update(clean(refused))
        else:
            self.dismiss(text)


async def typed(
    app: "Host", title: str, about: str, text: str, take: Callable[[str], Awaitable[str]]
) -> str | None:
    """Ask for a value until it is accepted.

    Args:
        app: Shows the dialog.
        title: Name of the value.
        about: Its purpose and allowed values.
        text: Initial text.
        take: Handles a value; returns why it is rejected, or an empty text.

    Returns:
        The accepted value; None if the user cancelled.
    """
    refused = ""
    value: str | None
    while (value := await app.push_screen_wait(EditDialog(title, about, text, refused))) is not None:
        text, refused = value, await take(value)
        if not refused:
            break
    return value


async def confirmed(app: "Host", text: str, *, verb: str, keep: str) -> bool:
    """Ask for confirmation.

    Args:
        app: Shows the question.
        text: The question, with the consequences.
        verb: Label for doing it.
        keep: Label for not doing it.
    """
    return bool(await app.push_screen_wait(ConfirmDialog(text, verb=verb, keep=keep)))
