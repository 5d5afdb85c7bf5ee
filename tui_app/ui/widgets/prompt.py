"""The prompt editor: many lines, history, large pastes as chips, slash commands by exact name."""

from dataclasses import dataclass

from textual import events, on
from textual.actions import SkipAction
from textual.message import Message
from textual.widgets import TextArea

from tui_app.ui.commands import SlashCommand, UnknownCommand, complete, is_command, parse
from tui_app.ui.keys import as_bindings
from tui_app.ui.safe_text import clean
from tui_app.ui.widgets.history import PromptHistory
from tui_app.ui.widgets.paste import Chips, normalise
from tui_app.ui.widgets.slash_list import SlashList


class PromptEditor(TextArea):
    """Where the person writes. It knows nothing of models or sessions: it posts what was asked."""

    BINDINGS = as_bindings("prompt")
    HELP = "Enter sends, ctrl+j starts a new line, / lists commands, up brings earlier prompts back."
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

    @dataclass
    class Typed(Message):
        """The draft changed; ``text`` is what would be sent."""

        editor: "PromptEditor"
        text: str

    class NextWanted(Message):
        """Enter was pressed on an empty prompt: send what waits in the queue, if anything does."""

    class HelpWanted(Message):
        """``?`` was pressed on an empty prompt."""

    class QuitWanted(Message):
        """``ctrl+d`` was pressed on an empty prompt."""

    def __init__(self, slash: SlashList, *, prompts: list[str] | None = None, id: str | None = None) -> None:
        """Create the editor.

        Args:
            slash: The list that shows its commands; whoever composes the editor mounts it.
            prompts: Earlier prompts, oldest first.
            id: Textual id.
        """
        super().__init__(id=id, compact=True, highlight_cursor_line=False, tab_behavior="focus")
        self._slash = slash
        self._chips = Chips()
        self._walk = PromptHistory(prompts)
        self._chosen_for: str | None = None
        self._recalled: str | None = None
        self._said_about: str | None = None

    @property
    def prompts(self) -> list[str]:
        """Earlier prompts, oldest first."""
        return self._walk.prompts

    @property
    def draft(self) -> str:
        """What would be sent: the text with its chips expanded."""
        return self._chips.expand(self.text)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is typed."""
        return not self.text

    def give_back(self, text: str) -> None:
        """Put a prompt that was not sent back, before whatever was typed meanwhile; pastes stay chips."""
        folded = self._chips.fold(text)
        self.text = f"{folded}\n{self.text}" if self.text else folded
        self.move_cursor(self.document.end)

    def clear_draft(self) -> bool:
        """Empty the prompt; ``up`` brings the draft back. Returns whether there was one."""
        if self.is_empty:
            return False
        self._walk.add(self.draft)
        self.text = ""
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys to others while they mean nothing here (tab without a list, ``?`` in a text)."""
        if action == "complete":
            return self._slash.choice is not None
        if action == "close_list":
            return self._slash.is_open
        if action == "help":
            return self.is_empty
        return super().check_action(action, parameters)

    def on_key(self, event: events.Key) -> None:
        """Act on the prompt's own keys in the order they were typed.

        A binding runs outside the editor's queue: with a whole line in one write, Enter as a binding
        would overtake the letters before it, or let the ones behind it slip into the message.
        """
        active = self.screen.active_bindings.get(event.key)
        if active is None or active.node is not self or not self._act(active.binding.id):
            return
        event.prevent_default()
        event.stop()

    def _act(self, binding_id: str | None) -> bool:
        match binding_id:
            case "prompt.send":
                self.action_send()
            case "prompt.newline":
                self.action_newline()
            case "prompt.complete":
                self.action_complete()
            case "prompt.close_list":
                self.action_close_list()
            case "prompt.help":
                self.action_help()
            case "prompt.quit":
                self.action_quit_empty()
            case _:
                return False
        return True

    def action_send(self) -> None:
        """Send the draft. An inexact slash command is completed or named, never run."""
        text = self.draft
        if not text.strip():
            self.post_message(self.NextWanted())
            return
        if is_command(text):
            parsed = parse(text)
            if isinstance(parsed, UnknownCommand):
                self._not_exact(parsed)
                return
        self._submit(text)

    def _not_exact(self, unknown: UnknownCommand) -> None:
        typed = self.text.strip()
        found = complete(typed)
        if not found:
            self._said_about = self.text
            self._slash.say(unknown.message)
            return
        marked = self._slash.choice
        if marked is None or self._chosen_for != self.text:
            self._fill_in(found[0])
        elif marked.argument:
            self._fill_in(marked)
        else:  # Arrow keys are a visible choice of one command, unlike the row that happened to be first.
            self._submit(f"/{marked.name}")

    def _submit(self, text: str) -> None:
        self._walk.add(text)
        self.text = ""
        self._slash.close()
        self.post_message(self.Submitted(self, text))

    def _fill_in(self, command: SlashCommand) -> None:
        self.text = f"/{command.name} " if command.argument else f"/{command.name}"
        self.move_cursor(self.document.end)

    def action_newline(self) -> None:
        """Start a new line."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    def action_complete(self) -> None:
        """Fill in the marked command."""
        if self._slash.choice is not None:
            self._fill_in(self._slash.choice)

    def action_close_list(self) -> None:
        """Close the command list; the text stays."""
        self._slash.close()

    def action_help(self) -> None:
        """Ask for help."""
        self.post_message(self.HelpWanted())

    def action_quit_empty(self) -> None:
        """Ask to quit on an empty prompt; in a text the key deletes, as in every editor."""
        if self.is_empty:
            self.post_message(self.QuitWanted())
        else:
            self.action_delete_right()

    def action_cursor_up(self, select: bool = False) -> None:
        """Go up: in the command list, in the text, or on its first line to the prompt before."""
        if not select and self._slash.commands:
            self._move_mark(-1)
        elif not select and self._on_first_row():
            self._recall(self._walk.back(self.draft))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Go down: in the command list, in the text, or on its last line to the prompt after."""
        if not select and self._slash.commands:
            self._move_mark(1)
        elif not select and self._on_last_row():
            self._recall(self._walk.forward())
        else:
            super().action_cursor_down(select)

    def _move_mark(self, step: int) -> None:
        self._slash.move(step)
        self._chosen_for = self.text

    def _on_first_row(self) -> bool:
        return self.wrapped_document.location_to_offset(self.cursor_location).y == 0

    def _on_last_row(self) -> bool:
        return (
            self.wrapped_document.location_to_offset(self.cursor_location).y
            == self.wrapped_document.height - 1
        )

    def _recall(self, text: str | None) -> None:
        if text is not None:
            self._recalled = self._chips.fold(text)
            self.text = self._recalled
            self.move_cursor(self.document.end)

    def action_cursor_page_up(self) -> None:
        """Leave the key to the screen: it scrolls the chat while the prompt keeps the focus."""
        raise SkipAction

    def action_cursor_page_down(self) -> None:
        """Leave the key to the screen: it scrolls the chat while the prompt keeps the focus."""
        raise SkipAction

    def on_paste(self, event: events.Paste) -> None:
        """Insert a paste; a large one as a chip. Line ends in it never send."""
        event.prevent_default()
        event.stop()
        body = normalise(event.text)
        shown = self._chips.add(body) if self._chips.is_large(body) else clean(body)
        self.replace(shown, *self.selection, maintain_selection_offset=False)

    @on(TextArea.Changed)
    def _typed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.text != self._recalled:
            self._walk.stop()
            self._list_commands()
        self.post_message(self.Typed(self, self.draft))

    def _list_commands(self) -> None:
        # A change is reported after the Enter that came with it in one write: keep what Enter said.
        if self.text == self._said_about and self._slash.message:
            return
        typing_command = is_command(self.text) and "\n" not in self.text
        self._slash.show(complete(self.text.strip()) if typing_command else ())
