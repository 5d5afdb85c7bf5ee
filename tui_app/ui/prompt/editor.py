"""The prompt editor: many lines, history, large pastes as chips, commands by exact name, files by path."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events, on
from textual.actions import SkipAction
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import Input, TextArea

from tui_app.references import mentions
from tui_app.ui.commands import CustomCommand, text_opens
from tui_app.ui.keys import as_bindings
from tui_app.ui.plain_lines import Exact
from tui_app.ui.prompt.completion import AtCursor, Completer, FileFinder, Fill, OfferList, Send
from tui_app.ui.prompt.paste import Chips, Side, normalise
from tui_app.ui.text import clean, tamed

if TYPE_CHECKING:
    from tui_app.ui.type_ahead import EarlyKeys

# Fields in which a person writes: what is pasted is cleaned like every text that comes from outside.

if TYPE_CHECKING:
    from textual.widget import Widget as _Mixed
else:
    _Mixed = object


class ActsInOrder(_Mixed):
    """A field that does what its keys are bound to in the order they were typed.

    A binding runs outside the field's queue: where a line hangs, letters typed behind backspace would come
    before it.
    """

    async def on_key(self, event: events.Key) -> None:
        """Act at once on a key that is bound, here or further out."""
        active = self.screen.active_bindings.get(event.key)
        if active is None or event.is_printable:
            return
        if await self.app.run_action(active.binding.action, active.node):
            event.prevent_default()
            event.stop()


class WrittenArea(Exact, ActsInOrder, TextArea):
    """A text area whose pastes hold no sign that acts, hides or reorders.

    Its lines are those that a person wrote, however they are wrapped: what deletes to the end of one takes
    all of it, as a shell does.
    """

    def action_delete_to_start_of_line(self) -> None:
        """Delete what stands before the cursor in its line; at its start join it to the one before."""
        row, column = self.selection.end
        if self.read_only or not column:
            super().action_delete_to_start_of_line()
        else:
            self.delete((row, 0), (row, column), maintain_selection_offset=False)

    def action_delete_to_end_of_line(self) -> None:
        """Delete what stands behind the cursor in its line."""
        row, column = self.selection.end
        if not self.read_only:
            end = (row, len(self.document.get_line(row)))
            self.delete((row, column), end, maintain_selection_offset=False)

    def on_paste(self, event: events.Paste) -> None:
        """Insert what may reach the terminal."""
        event.prevent_default()
        event.stop()
        if not self.read_only:
            self.replace(clean(event.text, keep_tabs=True), *self.selection, maintain_selection_offset=False)

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Scroll to the cursor, unless it stands behind the end of the text.

        Undoing takes the text back first and the cursor after it. Between the two the scroll bar may go, and
        the text area then looks for the cursor in a line that is no longer there.
        """
        if self.cursor_location[0] >= self.document.line_count:
            return Offset(0, 0)
        return super().scroll_cursor_visible(center, animate)


class ReadArea(Exact, TextArea):
    """A text area in which one only reads."""


class WrittenLine(Exact, ActsInOrder, Input):
    """One line; of a paste it takes the first."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave up, down and the like to what is around a line: there is nothing in it to scroll to."""
        return not action.startswith(("scroll_", "page_")) and super().check_action(action, parameters)

    def on_paste(self, event: events.Paste) -> None:
        """Insert what may reach the terminal."""
        event.prevent_default()
        event.stop()
        lines = clean(event.text).splitlines()
        self.replace(lines[0] if lines else "", *self.selection)


# A text area in which large pastes stand as chips: looked into, deleted and sent as one.


class ChipArea(WrittenArea):
    """Knows what each ``[pasted 63 lines]`` in its text stands for."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, compact=True, highlight_cursor_line=False, tab_behavior="focus")
        self._chips = Chips()

    @property
    def draft(self) -> str:
        """The text with its chips expanded."""
        return self._chips.expand(self.text)

    @property
    def pastes(self) -> list[tuple[str, str]]:
        """The chips in the text with what they stand for."""
        return self._chips.within(self.text)

    @property
    def cursor_line(self) -> str:
        """The line in which the cursor stands."""
        return self.document.get_line(self.cursor_location[0])

    def chip_at_cursor(self, side: Side = "any") -> tuple[int, int] | None:
        """Columns of the chip that the cursor stands at; none while text is selected."""
        if not self.selection.is_empty:
            return None
        return self._chips.touching(self.cursor_line, self.cursor_location[1], side)

    def fill_in(self, text: str, start: int, end: int, back: int = 0) -> None:
        """Put a text between two columns of the cursor's line, and the cursor behind it.

        Args:
            text: What to put there.
            start: First column that goes.
            end: Column behind the last one that goes.
            back: Signs by which the cursor then stands before the end of the text.
        """
        row, _ = self.cursor_location
        done = self.replace(text, (row, start), (row, end), maintain_selection_offset=False)
        row, column = done.end_location
        self.move_cursor((row, column - back))

    def action_expand(self) -> None:
        """Put a pasted text in place of its chip, to read and change it."""
        if (place := self.chip_at_cursor()) is not None:
            body = self._chips.expand(self.cursor_line[slice(*place)])
            self.fill_in(clean(body, keep_tabs=True), *place)

    def action_delete_left(self) -> None:
        """Delete the sign before the cursor; a chip as a whole, because a part of it stands for nothing."""
        if (place := self.chip_at_cursor("before")) is not None:
            self.fill_in("", *place)
        else:
            super().action_delete_left()

    def action_delete_right(self) -> None:
        """Delete the sign behind the cursor; a chip as a whole."""
        if (place := self.chip_at_cursor("behind")) is not None:
            self.fill_in("", *place)
        else:
            super().action_delete_right()

    def on_paste(self, event: events.Paste) -> None:
        """Insert a paste; a large one as a chip. Line ends in it never send."""
        event.prevent_default()
        event.stop()
        body = normalise(event.text)
        shown = self._chips.add(body) if self._chips.is_large(body) else clean(body, keep_tabs=True)
        self.replace(shown, *self.selection, maintain_selection_offset=False)


# Walking through earlier prompts without losing the draft that was being written.


class PromptHistory:
    """Earlier prompts, oldest first, and where the person stands among them."""

    def __init__(self, prompts: list[str] | None = None) -> None:
        self.prompts: list[str] = list(prompts or [])
        self._at: int | None = None
        self._draft = ""

    def add(self, text: str) -> None:
        """Remember a prompt; a repetition of the newest one is not kept twice."""
        if text.strip() and (not self.prompts or self.prompts[-1] != text):
            self.prompts.append(text)
        self._at = None

    def back(self, draft: str) -> str | None:
        """The prompt before, or ``None`` at the oldest. The first step keeps ``draft`` for the way back."""
        if self._at is None:
            self._draft = draft
        at = len(self.prompts) if self._at is None else self._at
        if at == 0:
            return None
        self._at = at - 1
        return self.prompts[self._at]

    def forward(self) -> str | None:
        """The prompt after, at the end the draft itself; ``None`` when not among earlier prompts."""
        if self._at is None:
            return None
        self._at += 1
        if self._at < len(self.prompts):
            return self.prompts[self._at]
        self._at = None
        return self._draft

    def stop(self) -> None:
        """Forget the place: the person went on typing."""
        self._at = None


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


DRAFT_CLEARED = "Draft cleared. The up arrow brings it back."
