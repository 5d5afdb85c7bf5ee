"""The prompt editor: multiple lines, history, large pastes as chips, completion of commands and files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from rich.text import Text
from textual import events, on
from textual.actions import SkipAction
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import TextArea
from textual.widgets.text_area import Document, Selection

from tui_app.references import dropped, mentions
from tui_app.system.pictures import PASTED_MENTION, is_picture_name
from tui_app.text import is_large
from tui_app.ui.keyboard.keys import as_bindings
from tui_app.ui.keyboard.vim_keys import ESCAPE, REDO, Pressed, Vim, difference, press, put_in_insert
from tui_app.ui.panels.queue_view import Draft
from tui_app.ui.prompt.completion import AtCursor, Completer, FileFinder, Fill, OfferList
from tui_app.ui.slash import ParsedCommand, UnknownCommand, is_command, parse, text_opens
from tui_app.ui.widgets.scroll_bars import WrittenArea
from tui_app.ui.words.text import clean, sanitize

if TYPE_CHECKING:
    from tui_app.ui.keyboard.type_ahead import TypeAhead

Side = Literal["any", "before", "behind"]
"""The side of the cursor on which a key deletes."""


def normalise(text: str) -> str:
    """Normalise line ends: terminals send those of a paste as CR, LF or both."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Chips:
    """Texts by chip, for the life of the prompt."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}

    def add(self, body: str) -> str:
        """Add a paste and return its chip; equal texts have the same chip."""
        for chip, known in self._bodies.items():
            if known == body:
                return chip
        lines = len(body.rstrip("\n").split("\n"))
        size = f"{lines} lines" if lines > 1 else f"{len(body):,} characters"
        chip, copy = f"[pasted {size}]", 2
        while chip in self._bodies:
            chip, copy = f"[pasted {size} #{copy}]", copy + 1
        self._bodies[chip] = body
        return chip

    def add_picture(self, name: str) -> str:
        """Add a picture and return its chip, ``[picture 1]``, which stands for an attached file."""
        body = f"@{name}"
        known = {each: chip for chip, each in self._bodies.items() if PASTED_MENTION.fullmatch(each)}
        chip = known.get(body, f"[picture {len(known) + 1}]")
        self._bodies[chip] = body
        return chip

    def label_of(self, name: str) -> str:
        """Return the chip of an attached picture, or the name of any other file."""
        return next((chip for chip, body in self._bodies.items() if body == f"@{name}"), name)

    def within(self, text: str) -> list[tuple[str, str]]:
        """Return the chips of pasted texts in a text, with their contents, in order."""
        found = [(chip, self._bodies[chip]) for _, chip in self._found(text)]
        return [each for each in found if not PASTED_MENTION.fullmatch(each[1])]

    def touching(self, line: str, column: int, side: Side = "any") -> tuple[int, int] | None:
        """Return the columns of the chip at the cursor, or of the one that a key deletes on a side."""
        low, high = {"any": (0, 0), "before": (1, 0), "behind": (0, 1)}[side]
        spans = self.places(line)
        return next((span for span in spans if span[0] + low <= column <= span[1] - high), None)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the positions of chips in a text."""
        return [(at, at + len(chip)) for at, chip in self._found(text)]

    def expand(self, text: str, *, pictures: bool = False) -> str:
        """Replace chips by their texts; chip names inside a pasted text are not replaced.

        Args:
            text: The text of the prompt.
            pictures: Whether to replace only those of pictures.
        """
        pieces, rest = list[str](), 0
        for at, chip in self._found(text):
            body = self._bodies[chip]
            pieces += [text[rest:at], chip if pictures and not PASTED_MENTION.fullmatch(body) else body]
            rest = at + len(chip)
        return "".join([*pieces, text[rest:]])

    def fold(self, text: str) -> str:
        """Replace texts that were pasted before by their chips, when a draft returns to the prompt."""
        for found in PASTED_MENTION.finditer(text):
            self.add_picture(found.group()[1:])
        for chip, body in sorted(self._bodies.items(), key=lambda item: -len(item[1])):
            text = text.replace(body, chip)
        return text

    def _found(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the chips of a text with their positions, in order."""
        at = 0
        while places := [(place, chip) for chip in self._bodies if (place := text.find(chip, at)) >= 0]:
            start, chip = min(places)
            yield start, chip
            at = start + len(chip)


_VIM_KEYS = {"escape": ESCAPE, "ctrl+r": REDO, "left": "h", "right": "l", "backspace": "h", "delete": "x"}
"""Meaning of keys that type nothing in vim's normal mode; other keys work as usual."""
PLACEHOLDER = "Ask something, @file, !command or / for commands"
DRAFT_CLEARED = "Draft cleared. The up arrow brings it back."


class PromptHistory(list[str]):
    """Earlier prompts, oldest first, and the position in them; the draft is kept while moving."""

    _at: int | None = None
    _draft = ""

    def remember(self, text: str) -> None:
        """Add a prompt, unless it repeats the newest one."""
        if text.strip() and self[-1:] != [text]:
            self.append(text)
        self._at = None

    def step(self, step: int, draft: str) -> str | None:
        """Return the previous or next prompt, where the draft follows the newest; None beyond either end."""
        if self._at is None:
            self._at, self._draft = len(self), draft
        at, every = self._at + step, [*self, self._draft]
        if 0 <= at < len(every):
            self._at = at
        if self._at == len(self):
            self._at = None
        return every[at] if 0 <= at < len(every) else None

    def leave(self) -> None:
        """Reset the position after the user has typed."""
        self._at = None


class PromptEditor(WrittenArea):
    """The input for prompts. It knows nothing of models or sessions and posts messages.

    A large paste is a chip, ``[pasted 63 lines]``: expanded, deleted and sent as a unit.
    """

    BINDINGS = as_bindings("prompt")
    HELP = "Enter sends, ctrl+j starts a new line, / lists commands, @ files, up brings earlier prompts back."
    COMPONENT_CLASSES = {"prompt--shell"}  # noqa: RUF012 - Textual's type

    vim_keys: reactive[bool] = reactive(False)
    """Whether vim keys are on; each prompt starts in insert mode."""
    vim: reactive[Vim] = reactive(Vim())
    """The state of the vim keys."""

    @dataclass
    class Submitted(Message):
        """The user sent ``text``, chips expanded: a prompt, or an existing command. Never empty."""

        text: str
        files: tuple[str, ...] = ()
        """Paths written as ``@path``, not including those in a paste."""

    @dataclass
    class Typed(Message):
        """The draft changed."""

        files: tuple[str, ...]
        """Paths written as ``@path``."""

    @dataclass
    class PictureWanted(Message):
        """Pictures should be attached: from dropped files, or from the clipboard."""

        paths: Sequence[Path] = ()

    def __init__(self, offers: OfferList, finder: FileFinder, *, id: str | None = None) -> None:
        """Create the editor.

        Args:
            offers: Shows commands and files; mounted by the caller.
            finder: Finds files.
            id: Textual id.
        """
        super().__init__(
            id=id, compact=True, highlight_cursor_line=False, tab_behavior="focus", placeholder=PLACEHOLDER
        )
        self.chips = Chips()
        self.completer = Completer(offers, finder)
        self.prompts, self.commands = PromptHistory(), PromptHistory()
        self._recalled: str | None = None
        self.queued = False
        """Whether prompts are queued."""
        self.type_ahead: TypeAhead | None = None
        """Buffers keys while something opens."""

    @property
    def is_shell(self) -> bool:
        """Whether the text is a shell command."""
        return self.text.startswith("!")

    @property
    def _walk(self) -> PromptHistory:
        return self.commands if self.is_shell else self.prompts

    @property
    def files(self) -> tuple[str, ...]:
        """Paths written as ``@path``; none in a shell command."""
        return () if self.is_shell else mentions(self.chips.expand(self.text, pictures=True))

    def get_line(self, line_index: int) -> Text:
        """Return a line as painted, with the prefix of a shell command highlighted."""
        line = super().get_line(line_index)
        if line_index == 0 and self.is_shell:
            signs = len(line.plain) - len(line.plain.lstrip("!"))
            line.stylize(self.get_component_rich_style("prompt--shell", partial=True), 0, min(2, signs))
        return line

    def leave_shell(self) -> bool:
        """Turn a shell command into a prompt; returns whether it was one."""
        if not self.is_shell:
            return False
        self.replace_draft(self.draft.lstrip("!").lstrip())
        return True

    @property
    def draft(self) -> str:
        """The text with its chips expanded."""
        return self.chips.expand(self.text)

    @property
    def pastes(self) -> list[tuple[str, str]]:
        return self.chips.within(self.text)

    @property
    def cursor_line(self) -> str:
        return self.document.get_line(self.cursor_location[0])

    @property
    def writing(self) -> str:
        """The ``@path`` at the cursor; empty if there is none."""
        mention = self._at_cursor.mention
        return mention.wanted if mention is not None else ""

    @property
    def _at_cursor(self) -> AtCursor:
        return AtCursor(self.text, self.cursor_line, self.cursor_location[1])

    @property
    def kind(self) -> Draft:
        """What enter would act on; a command that does not wait in the queue is a "command"."""
        if not self.text.strip():
            return "blank" if self.text else ""
        parsed = parse(self.text) if is_command(self.text) else None
        runs = isinstance(parsed, ParsedCommand) and parsed.command.busy == "now"
        return "command" if runs or isinstance(parsed, UnknownCommand) else "prompt"

    @property
    def is_empty(self) -> bool:
        return not self.text

    def chip_at_cursor(self, side: Side = "any") -> tuple[int, int] | None:
        """Return the columns of the chip at the cursor; None while text is selected."""
        if not self.selection.is_empty:
            return None
        return self.chips.touching(self.cursor_line, self.cursor_location[1], side)

    def fill_in(self, text: str, start: int, end: int, back: int = 0) -> None:
        """Replace a part of the cursor's line, and put the cursor after it.

        Args:
            text: The replacement.
            start: First column of the part.
            end: Column after its last one.
            back: Number of characters between the cursor and the end of the text.
        """
        row, _ = self.cursor_location
        done = self.replace(text, (row, start), (row, end), maintain_selection_offset=False)
        row, column = done.end_location
        self.move_cursor((row, column - back))

    def restore_prompt(self, text: str) -> None:
        """Put an unsent prompt back, before what was typed meanwhile; pastes stay chips."""
        if not (folded := self.chips.fold(text)):
            return
        self._walk.leave()
        self._put(f"{folded}\n{self.text}" if self.text else folded)

    def replace_draft(self, text: str) -> None:
        """Replace the draft; ``up`` recalls it."""
        self._walk.remember(self.draft)
        self._put(clean(self.chips.fold(normalise(text)), keep_tabs=True))

    def _put(self, text: str) -> None:
        """Set text that was not typed: it may come from a file, and no completion is offered."""
        self._recalled = text = sanitize(text)
        self.completer.dismiss()
        self.text = text
        self.move_cursor(self.document.end)

    def clear_draft(self) -> bool:
        """Clear the prompt; ``up`` recalls the draft. Returns whether there was one."""
        if self.is_empty:
            return False
        self._walk.remember(self.draft)
        self.text, self.vim = "", put_in_insert(self.vim)
        return True

    def watch_vim_keys(self) -> None:
        self.vim = put_in_insert(self.vim)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Pass keys on while they have no effect here: tab without a list, ``?`` in a text."""
        if action == "expand":
            return self.chip_at_cursor() is not None
        may = {
            "complete": self.completer.is_listing,
            "close_list": self.completer.is_open,
            "undo": False,  # its key suspends to the shell
            "help": self.is_empty,
            "copy": not self.selection.is_empty,
        }
        return may.get(action, True) and super().check_action(action, parameters)

    async def on_key(self, event: events.Key) -> None:
        """Handle keys in the order they were typed.

        A binding runs outside the editor's queue: if a whole line arrives at once, enter as a binding would
        overtake the letters before it, or the message would include letters typed after it.
        """
        active = self.screen.active_bindings.get(event.key)
        if self._waits(event) or (self.vim_keys and self._take_vim_key(event)):
            acted = True
        elif active is None or (
            active.node is not self and event.is_printable and self.screen.focused is self
        ):
            acted = False
        else:
            acted = await self.app.run_action(active.binding.action, active.node)
        if acted:
            event.prevent_default()
            event.stop()

    def _take_vim_key(self, event: events.Key) -> bool:
        """Handle a vim key; returns whether it has a meaning."""
        is_insert, is_help = self.vim.mode == "insert", event.key == "question_mark" and self.is_empty
        if is_insert:
            key = ESCAPE if event.key == "escape" and not self.completer.is_open else ""
        elif event.key == "escape" and self.vim.mode == "normal" and not self.vim.pending:
            key = ""  # its usual meaning: stop, or go back
        else:
            key = _VIM_KEYS.get(event.key, "")
            if not key and event.is_printable and event.character and not is_help:
                key = event.character
        if not key:
            return False
        text, cursor = self.text, self._text_document.get_index_from_location(self.cursor_location)
        if (
            "visual" in self.vim.mode
            and not self.selection.is_empty
            and self.selection.end > self.selection.start
        ):
            cursor -= 1
        self._show_pressed(text, press(self.vim, text, cursor, key, self.chips.places(text)))
        return True

    @property
    def _text_document(self) -> Document:
        return cast("Document", self.document)

    def _show_pressed(self, before: str, done: Pressed) -> None:
        """Show the result of a vim key, as one undoable step."""
        if done.vim.mode != self.vim.mode:
            self.history.checkpoint()
        self.vim = done.vim
        place = self._text_document.get_location_from_index
        if done.text != before:
            start, end, written = difference(before, done.text)
            self.history.checkpoint()
            self.replace(written, place(start), place(end), maintain_selection_offset=False)
            self.history.checkpoint()
        start, end = done.selection
        self.selection = Selection(place(start), place(end))
        for _ in range(done.times):
            match done.effect:
                case "up":
                    self.action_cursor_up()
                case "down":
                    self.action_cursor_down()
                case "undo":
                    self.action_undo_typing()
                case "redo":
                    self.action_redo()

    def on_paste(self, event: events.Paste) -> None:
        """Insert a paste; a large one as a chip. Line ends in it never send."""
        event.prevent_default()
        event.stop()
        if not event.text:
            self.post_message(self.PictureWanted())
        elif not self._waits(event):
            body = normalise(event.text)
            if paths := dropped(body, is_picture_name):
                self.post_message(self.PictureWanted(paths))
                return
            shown = self.chips.add(body) if is_large(body) else clean(body, keep_tabs=True)
            self.replace(shown, *self.selection, maintain_selection_offset=False)

    def _waits(self, event: events.Key | events.Paste) -> bool:
        """Return whether an event is buffered for something that is being opened."""
        return self.type_ahead is not None and self.type_ahead.hold(event)

    def action_send(self) -> None:
        """Send the draft. An inexact slash command or path is completed or explained, never run."""
        text = self.draft
        if not text.strip():
            self._ask_screen("go_on")
            return
        match self.completer.entered(self._at_cursor, text):
            case Fill() as fill:
                self._choose(fill)
            case str(complete):
                files = self.files
                if complete.strip("! "):
                    self._walk.remember(complete)
                self.text, self.vim = "", put_in_insert(self.vim)
                self.completer.dismiss()
                if self.type_ahead is not None and text_opens(complete):
                    self.type_ahead.begin()
                self.post_message(self.Submitted(complete, files))

    def _choose(self, fill: Fill) -> None:
        if fill.span is not None:
            self.fill_in(fill.text, *fill.span, back=fill.back)
        else:
            self.text = fill.text
            self.move_cursor(self.document.end)

    def _ask_screen(self, action: str) -> None:
        """Run an action of the screen, after events already queued."""
        self.call_later(self.run_action, f"screen.{action}")

    def action_expand(self) -> None:
        """Replace a chip by its text, to read and edit it."""
        if (place := self.chip_at_cursor()) is not None:
            body = self.chips.expand(self.cursor_line[slice(*place)])
            self.fill_in(clean(body, keep_tabs=True), *place)

    def action_delete_left(self) -> None:
        """Delete the character before the cursor; a chip as a unit."""
        if (place := self.chip_at_cursor("before")) is not None:
            self.fill_in("", *place)
        else:
            super().action_delete_left()

    def action_delete_right(self) -> None:
        """Delete the character after the cursor; a chip as a unit."""
        if (place := self.chip_at_cursor("behind")) is not None:
            self.fill_in("", *place)
        else:
            super().action_delete_right()

    def action_paste_picture(self) -> None:
        self.post_message(self.PictureWanted())

    def add_picture(self, name: str) -> None:
        """Insert the chip of a stored picture at the cursor."""
        chip, before = self.chips.add_picture(name), self.cursor_line[: self.cursor_location[1]]
        space = " " if before[-1:].strip() else ""
        self.replace(f"{space}{chip} ", *self.selection, maintain_selection_offset=False)

    def action_newline(self) -> None:
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_complete(self) -> None:
        if (fill := self.completer.choice(self._at_cursor)) is not None:
            self._choose(fill)

    def action_close_list(self) -> None:
        self.completer.dismiss()

    def action_help(self) -> None:
        if self.type_ahead is not None:
            self.type_ahead.begin()
        self._ask_screen("slash('/help')")

    def action_undo_typing(self) -> None:
        super().action_undo()

    def action_quit_empty(self) -> None:
        """Request quitting in an empty prompt; in a text the key deletes, as in every editor."""
        if self.is_empty:
            self._ask_screen("slash('/quit')")
        else:
            self.action_delete_right()

    def action_cursor_up(self, select: bool = False) -> None:
        """Move up: in the list, in the text, or from its first line to the previous prompt."""
        if not select and self.completer.is_listing:
            self.completer.move(-1, self._at_cursor)
        elif not select and self.queued and self.is_empty and not self.is_shell:
            self._ask_screen("edit_queued")
        elif not select and self._cursor_row == 0:
            self._recall(self._walk.step(-1, self.draft))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Move down: in the list, in the text, or from its last line to the next prompt."""
        if not select and self.completer.is_listing:
            self.completer.move(1, self._at_cursor)
        elif not select and self._cursor_row == self.wrapped_document.height - 1:
            self._recall(self._walk.step(1, self.draft))
        else:
            super().action_cursor_down(select)

    @property
    def _cursor_row(self) -> int:
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self._put(self.chips.fold(text))

    def action_cursor_page_up(self) -> None:
        """Pass the key to the screen: it scrolls the chat while the prompt keeps the focus."""
        raise SkipAction

    action_cursor_page_down = action_cursor_page_up

    @on(TextArea.Changed)
    def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.text != self._recalled:
            self.prompts.leave()
            self.commands.leave()
            if self.is_shell or self.vim.mode != "insert":
                self.completer.dismiss()
            else:
                self.completer.follow(self._at_cursor)
        self.post_message(self.Typed(self.files))

    @on(TextArea.SelectionChanged)
    def _moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self.completer.leave(self._at_cursor)
