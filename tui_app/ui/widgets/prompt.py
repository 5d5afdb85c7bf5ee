"""The prompt editor: many lines, history, large pastes as chips, commands by exact name, files by path."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events, on
from textual.actions import SkipAction
from textual.message import Message
from textual.widgets import TextArea

from tui_app.mentioned import mentions
from tui_app.ui.commands import text_opens
from tui_app.ui.custom_commands import CustomCommand
from tui_app.ui.file_finder import FileFinder
from tui_app.ui.keys import as_bindings
from tui_app.ui.safe_text import clean, tamed
from tui_app.ui.widgets.chip_area import ChipArea
from tui_app.ui.widgets.completer import AtCursor, Completer, Fill, Send
from tui_app.ui.widgets.history import PromptHistory
from tui_app.ui.widgets.offer_list import OfferList
from tui_app.ui.widgets.paste import normalise

if TYPE_CHECKING:
    from tui_app.ui.early_keys import EarlyKeys


class PromptEditor(ChipArea):
    """Where the person writes. It knows nothing of models or sessions: it posts what was asked."""

    BINDINGS = as_bindings("prompt")
    HELP = "Enter sends, ctrl+j starts a new line, / lists commands, @ files, up brings earlier prompts back."
    DEFAULT_CSS = """
    PromptEditor, PromptEditor:focus {
        height: auto; max-height: 8; min-height: 1; width: 1fr; padding: 0; border: none;
        background: $background;
    }
    """

    @dataclass
    class Submitted(Message):
        """The person sent ``text``, chips expanded: a prompt, or a command that exists. Never empty."""

        editor: "PromptEditor"
        text: str
        files: tuple[str, ...] = ()
        """Paths that were written as ``@path``, not those within a paste."""

    @dataclass
    class Typed(Message):
        """The draft changed."""

        editor: "PromptEditor"
        files: tuple[str, ...]
        """Paths that are written as ``@path``."""

    class NextWanted(Message):
        """Enter was pressed on an empty prompt: send what waits in the queue, if anything does."""

    class HelpWanted(Message):
        """``?`` was pressed on an empty prompt."""

    class Cleared(Message):
        """The draft was cleared by a key."""

    class QuitWanted(Message):
        """``ctrl+d`` was pressed on an empty prompt."""

    def __init__(
        self,
        offers: OfferList,
        finder: FileFinder,
        *,
        prompts: list[str] | None = None,
        id: str | None = None,
    ) -> None:
        """Create the editor.

        Args:
            offers: The list that shows commands and files; whoever composes the editor mounts it.
            finder: Looks for files.
            prompts: Earlier prompts, oldest first.
            id: Textual id.
        """
        super().__init__(id=id)
        self._completer = Completer(offers, finder)
        self._walk = PromptHistory(prompts)
        self._recalled: str | None = None
        self.early: EarlyKeys | None = None
        """Takes what is typed behind something that opens."""

    @property
    def custom(self) -> tuple[CustomCommand, ...]:
        """Slash commands that are not built in."""
        return self._completer.custom

    @custom.setter
    def custom(self, commands: tuple[CustomCommand, ...]) -> None:
        self._completer.custom = commands

    @property
    def prompts(self) -> list[str]:
        """Earlier prompts, oldest first."""
        return self._walk.prompts

    @property
    def writing(self) -> str:
        """The path in which the cursor stands; empty when it stands in none."""
        mention = self._at_cursor.mention
        return mention.wanted if mention is not None else ""

    @property
    def _at_cursor(self) -> AtCursor:
        return AtCursor(self.text, self.cursor_line, self.cursor_location[1])

    @property
    def is_empty(self) -> bool:
        """Whether nothing is typed."""
        return not self.text

    def give_back(self, text: str) -> None:
        """Put a prompt that was not sent back, before whatever was typed meanwhile; pastes stay chips."""
        if not (folded := self._chips.fold(text)):
            return
        self._walk.stop()
        self._put(f"{folded}\n{self.text}" if self.text else folded)

    def replace_draft(self, text: str) -> None:
        """Write something else in place of the draft; ``up`` brings the draft back."""
        self._walk.add(self.draft)
        self._put(clean(self._chips.fold(normalise(text)), keep_tabs=True))

    def _put(self, text: str) -> None:
        """Show a text that nobody has just typed: nothing is offered for it, and a file may have held it."""
        self._recalled = text = tamed(text)
        self._completer.close()
        self.text = text
        self.move_cursor(self.document.end)

    def clear_draft(self) -> bool:
        """Empty the prompt; ``up`` brings the draft back. Returns whether there was one."""
        if self.is_empty:
            return False
        self._walk.add(self.draft)
        self.text = ""
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys to others while they mean nothing here: tab without a list, ``?`` in a text."""
        if action == "complete":
            return self._completer.is_listing
        if action == "close_list":
            return self._completer.is_open
        if action == "expand":
            return self.chip_at_cursor() is not None
        if action == "help":
            return self.is_empty
        if action == "copy":
            return not self.selection.is_empty
        return super().check_action(action, parameters)

    async def on_key(self, event: events.Key) -> None:
        """Act on keys in the order they were typed.

        A binding runs outside the editor's queue: with a whole line in one write, Enter as a binding
        would overtake the letters before it, or let the ones behind it slip into the message.
        """
        if self._waits(event) or await self._acted(event):
            event.prevent_default()
            event.stop()

    async def _acted(self, event: events.Key) -> bool:
        """Do what a key is bound to, here or further out; whether it is."""
        active = self.screen.active_bindings.get(event.key)
        if active is None or (active.node is not self and event.is_printable and self.screen.focused is self):
            return False
        if active.binding.id == "chat.interrupt" and self._interrupt():
            return True
        return await self.app.run_action(active.binding.action, active.node)

    def on_paste(self, event: events.Paste) -> None:
        """Keep a paste for what is being opened."""
        if self._waits(event):
            event.prevent_default()
            event.stop()

    def _waits(self, event: events.Key | events.Paste) -> bool:
        return self.early is not None and self.early.hold(event)

    def _interrupt(self) -> bool:
        """Clear the draft before what is typed behind the key; whether there was nothing else to do."""
        cleared = not self.screen.get_selected_text() and self.clear_draft()
        if cleared:
            self.post_message(self.Cleared())
        return cleared

    def action_send(self) -> None:
        """Send the draft. An inexact slash command or path is completed or named, never run."""
        text = self.draft
        if not text.strip():
            self.post_message(self.NextWanted())
            return
        match self._completer.entered(self._at_cursor, text):
            case Fill() as fill:
                self._choose(fill)
            case Send(text=complete):
                self._submit(complete)

    def _submit(self, text: str) -> None:
        files = mentions(self.text)
        self._walk.add(text)
        self.text = ""
        self._completer.close()
        if self.early is not None and text_opens(text):
            self.early.begin()
        self.post_message(self.Submitted(self, text, files))

    def _choose(self, fill: Fill) -> None:
        if fill.span is not None:
            self.fill_in(fill.text, *fill.span, back=fill.back)
        else:
            self.text = fill.text
            self.move_cursor(self.document.end)

    def action_newline(self) -> None:
        """Start a new line."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_complete(self) -> None:
        """Fill in the marked command or path."""
        if (fill := self._completer.choice(self._at_cursor)) is not None:
            self._choose(fill)

    def action_close_list(self) -> None:
        """Close the list; the text stays."""
        self._completer.close()

    def action_help(self) -> None:
        """Ask for help."""
        if self.early is not None:
            self.early.begin()
        self.post_message(self.HelpWanted())

    def action_quit_empty(self) -> None:
        """Ask to quit on an empty prompt; in a text the key deletes, as in every editor."""
        if self.is_empty:
            self.post_message(self.QuitWanted())
        else:
            self.action_delete_right()

    def action_cursor_up(self, select: bool = False) -> None:
        """Go up: in the list, in the text, or on its first line to the prompt before."""
        if not select and self._completer.is_listing:
            self._completer.move(-1, self._at_cursor)
        elif not select and self._on_first_row():
            self._recall(self._walk.back(self.draft))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Go down: in the list, in the text, or on its last line to the prompt after."""
        if not select and self._completer.is_listing:
            self._completer.move(1, self._at_cursor)
        elif not select and self._on_last_row():
            self._recall(self._walk.forward())
        else:
            super().action_cursor_down(select)

    def _on_first_row(self) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    def _on_last_row(self) -> bool:
        return (
            self.wrapped_document.location_to_offset(self.cursor_location).y
            == self.wrapped_document.height - 1
        )

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self._put(self._chips.fold(text))

    def action_cursor_page_up(self) -> None:
        """Leave the key to the screen: it scrolls the chat while the prompt keeps the focus."""
        raise SkipAction

    def action_cursor_page_down(self) -> None:
        """Leave the key to the screen: it scrolls the chat while the prompt keeps the focus."""
        raise SkipAction

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.text != self._recalled:
            self._walk.stop()
            self._completer.follow(self._at_cursor)
        self.post_message(self.Typed(self, mentions(self.text)))

    @on(TextArea.SelectionChanged)
    def _moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._completer.leave(self._at_cursor)
