"""Keys and commands, read from their tables, so that help cannot drift from what the keys do."""

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Static

from tui_app.ui.commands import COMMANDS, SlashCommand
from tui_app.ui.keys import KEYS, Hint, KeyBinding
from tui_app.ui.screens.dialog import Dialog

BREAKPOINTS: list[tuple[int, str]] | None = [(0, "-narrow"), (100, "-wide")]
"""Columns from which keys and commands stand side by side."""


def key_rows(keys: Iterable[KeyBinding] = KEYS) -> Content:
    """One row per key: the key, what it does."""
    return Content("\n").join(
        Content.assemble((f"{key.label:<10} ", "$footer-key-foreground bold"), key.description)
        for key in keys
    )


def command_rows(commands: Iterable[SlashCommand] = COMMANDS) -> Content:
    """One row per command: name and argument, what it does, its other names."""
    rows: list[Content] = []
    for command in commands:
        name = f"/{command.name} {command.argument}".rstrip()
        aliases = " ".join(f"/{alias}" for alias in command.aliases)
        row = Content.assemble((f"{name:<21} ", "$footer-key-foreground bold"), command.summary)
        rows.append(row)
        if aliases:
            rows.append(Content.styled(f"{'':<21}   = {aliases}", "$text-muted"))
    return Content("\n").join(rows)


SIGNS = (
    ("/name", "At the start of a prompt: a command"),
    ("@path", "Send a text file along, up to 128 kB;"),
    ("", "folders and larger files are only named"),
    ('@"a path"', "The same for a path with spaces"),
)
"""What signs in a prompt mean."""


def sign_rows() -> Content:
    """One row per sign: how it is written, what it does."""
    return Content("\n").join(
        Content.assemble((f"{sign:<10} ", "$footer-key-foreground bold"), meaning) for sign, meaning in SIGNS
    )


class HelpScreen(Dialog[None]):
    """Two columns where there is room, one below the other where there is not."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/help.tcss"]
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "close", "Close", show=False, id="help.close"),
        Binding("q", "close", "Close", show=False, id="help.quit"),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("up/down", "scroll", 1),
        Hint("?", "close", 2, "screen.close"),
        Hint("esc", "close", 0, "screen.close"),
    )

    def compose(self) -> ComposeResult:
        """Keys, commands, and how to close."""
        with Vertical(classes="dialog -full"):
            with VerticalScroll(id="help-scroll"), Horizontal(id="help-columns"):
                with Vertical(classes="help-column"):
                    yield self.heading("Keys")
                    yield Static(key_rows(), markup=False)
                    yield self.heading("In a prompt")
                    yield Static(sign_rows(), markup=False)
                with Vertical(classes="help-column"):
                    yield self.heading("Commands")
                    yield Static(command_rows(), markup=False)
            yield self.hints()
