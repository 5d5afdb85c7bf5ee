"""The list of slash commands above the prompt. It shows; the prompt decides."""

from collections.abc import Sequence

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.commands import SlashCommand
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.safe_text import cut_cells, one_line

MAX_ROWS = 8


class SlashList(Widget):
    """Commands that fit what is typed, one of them marked; or one sentence when none does."""

    DEFAULT_CSS = """
    SlashList { height: auto; max-height: 8; padding: 0 2; background: $panel; display: none; }
    SlashList.-open { display: block; }
    """

    commands: reactive[tuple[SlashCommand, ...]] = reactive((), layout=True)
    marked: reactive[int] = reactive(0)
    message: reactive[str] = reactive("", layout=True)
    """Shown instead of commands: ``No command /foo. Closest: /compact``."""
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    @property
    def is_open(self) -> bool:
        """Whether commands or a message are on screen."""
        return bool(self.commands or self.message)

    @property
    def choice(self) -> SlashCommand | None:
        """The marked command."""
        return self.commands[self.marked] if self.commands else None

    def show(self, commands: Sequence[SlashCommand]) -> None:
        """Show the commands, the first one marked; none closes the list."""
        if tuple(commands) != self.commands:
            self.commands = tuple(commands)
            self.marked = 0
        self.message = ""

    def say(self, message: str) -> None:
        """Show one sentence in place of the commands."""
        self.commands = ()
        self.message = message

    def close(self) -> None:
        """Take the list off the screen."""
        self.commands, self.message = (), ""

    def move(self, step: int) -> None:
        """Mark the next or previous command, round the ends."""
        if self.commands:
            self.marked = (self.marked + step) % len(self.commands)

    def watch_commands(self) -> None:
        """Open or close with the content."""
        self.set_class(self.is_open, "-open")

    def watch_message(self) -> None:
        """Open or close with the content."""
        self.set_class(self.is_open, "-open")

    def render(self) -> Content:
        """One row per command: mark, name and argument, summary."""
        if not self.commands:
            return Content.styled(one_line(self.message, max(20, self.size.width)), "$text-warning")
        first = max(0, min(self.marked - MAX_ROWS + 1, len(self.commands) - MAX_ROWS))
        shown = self.commands[first : first + MAX_ROWS]
        return Content("\n").join(self._row(first + at, command) for at, command in enumerate(shown))

    def _row(self, index: int, command: SlashCommand) -> Content:
        name = f"/{command.name} {command.argument}".rstrip()
        aliases = "".join(f" /{alias}" for alias in command.aliases)
        pointer = self.glyphs.prompt if index == self.marked else " "
        style = "bold $text-accent" if index == self.marked else ""
        text = f"{pointer} {name:<24}{command.summary}"
        known_as = f"{text}  ={aliases}"
        if aliases and len(known_as) <= self.size.width:
            text = known_as
        return Content.styled(cut_cells(text, max(1, self.size.width)), style)

    def get_content_height(self, *_: object) -> int:
        """Rows needed, at most eight."""
        return min(MAX_ROWS, max(1, len(self.commands)))
