"""Help: every key and slash command, wherever it acts, read from the tables they act by."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.actions import parse as parse_action
from textual.content import Content
from textual.types import CSSPathType

from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.keys import PLACES, KeyBinding, in_force, key_labels, keys_of, place_bindings, place_hints
from tui_app.ui.slash import COMMANDS, CustomCommand, ParsedCommand, SlashCommand, parse
from tui_app.ui.text import one_line, padded

if TYPE_CHECKING:
    from tui_app.ui.host import Host

_LABEL_CELLS, _WHERE_CELLS, _GAP = 23, 21, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpRow:
    """A key or a command, as it is told to a user."""

    label: str
    """Keys as a user reads them, or the command with its argument."""
    text: str
    """What it does, in a few words."""
    more: str
    """One sentence more."""
    where: str
    id: str = ""
    """Name for the key map; empty where the key is fixed."""
    command: SlashCommand | None = None
    is_typed: bool = False
    """Whether it is a command that has to be typed."""


def help_line(row: HelpRow, width: int) -> Content:
    """One row: key or command, what it does, where; columns line up, and where gives way first."""
    label_cells = min(_LABEL_CELLS, width // 2)
    where = one_line(row.where, _WHERE_CELLS) if width >= 70 else ""
    room = max(1, width - label_cells - (_WHERE_CELLS if where else 0))
    text = one_line(row.text, max(1, room - _GAP) if where else room)
    gap = " " * (room - Content(text).cell_length) if where else ""
    return Content.assemble(
        (padded(one_line(row.label, label_cells - 1), label_cells), "$footer-key-foreground bold"),
        text,
        gap,
        (where, "$text-muted"),
    )


class HelpScreen(FilterDialog[HelpRow, SlashCommand]):
    """Dismisses with the command to run, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/help.tcss"]
    BINDINGS = place_bindings("help")
    HINTS = place_hints("help")
    NAME = "help"
    PLACEHOLDER = "filter by key, command, purpose or place"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(self, rows: Sequence[HelpRow]) -> None:
        super().__init__()
        self.offer(rows)

    @property
    def title_text(self) -> str:
        return f"Keys and commands{self.narrowed}"

    def fill(self, wanted: str) -> None:
        """List what fits; the sign that opened help closes it."""
        # The search box takes every sign before a binding could.
        if wanted == "?":
            self.action_close()
            return
        super().fill(wanted)
        if not self.shown:
            self.key_row.hints = self.HINTS[1:]

    def text_of(self, row: HelpRow) -> str:
        return f"{row.label} {row.text} {row.more} {row.where} {row.id}"

    def line(self, row: HelpRow, width: int) -> Content:
        return help_line(row, width)

    @property
    def nothing(self) -> str:
        return "No key or command has that in its name or purpose."

    def explain(self, row: HelpRow) -> None:
        if row.command is not None:
            how = "enter runs it."
        elif row.is_typed:
            how = "Type its exact name."
        else:
            how = f"In the settings: keymap.{row.id}" if row.id else "This key is fixed."
        self.note(f"{row.more} {how}")
        self.key_row.hints = self.HINTS if row.command is not None else self.HINTS[1:]

    def use(self, row: HelpRow) -> None:
        if row.command is not None:
            self.dismiss(row.command)


# All there is, as rows: for the list, and for the page of the keys.

SIGNS: tuple[HelpRow, ...] = (
    HelpRow(
        label="@path",
        text="Send a text file along",
        more="Up to 128 kB; folders and larger files are only named.",
        where="in a prompt",
    ),
    HelpRow(
        label='@"a path"',
        text="The same for a path with spaces",
        more="The list behind @ writes the quotes by itself.",
        where="in a prompt",
    ),
)
"""What signs in a prompt mean."""


def help_rows(keymap: Mapping[str, str], custom: Sequence[CustomCommand] = ()) -> list[HelpRow]:
    """All there is: keys of the chat, commands, keys of other places.

    Args:
        keymap: Keys of the actions that have others than the built-in ones.
        custom: Commands that are not built in.
    """
    chat = [
        HelpRow(
            label=key_labels(key.key),
            text=key.description,
            more=key.tooltip,
            where=where_of(key),
            id=key.id,
        )
        for key in in_force(keymap)
    ]
    return [*chat, *map(_command, COMMANDS), *map(_custom, custom), *fixed_rows()]


async def show_help(app: "Host") -> None:
    """List keys and commands, and run the command that is chosen there."""
    chat = app.chat
    rows = help_rows(app.launch.settings.keymap, chat.pane.prompt.editor.custom)
    if (chosen := await app.push_screen_wait(HelpScreen(rows))) is not None:
        chat.run(chosen)


def command_of(key: KeyBinding) -> SlashCommand | None:
    """The slash command that does the same as a key; none where there is none."""
    _, name, parameters = parse_action(key.action)
    parsed = parse(str(parameters[0]) if name == "slash" else key.command or "/")
    return parsed.command if isinstance(parsed, ParsedCommand) else None


def where_of(key: KeyBinding) -> str:
    """Where a key acts, in words; a dialog keeps all others than those with priority from the application."""
    if key.priority:
        return "everywhere"
    return "in the prompt" if key.scope == "prompt" else "in the chat"


def fixed_rows() -> Iterator[HelpRow]:
    """Signs and keys that cannot be changed, place by place."""
    yield from SIGNS
    for name, place in PLACES.items():
        for key in (*keys_of(name), *(keys_of(place.also) if place.also else ())):
            if place.where:
                label = key_labels(key.key)
                yield HelpRow(label=label, text=key.description, more=key.tooltip, where=place.where)


def _custom(command: CustomCommand) -> HelpRow:
    return HelpRow(
        label=one_line(f"/{command.name} {command.argument}".rstrip(), 60),
        text=command.summary,
        more=f"It stands in {one_line(str(command.file), 200)}.",
        where="command of a file",
        is_typed=True,
    )


def _command(command: SlashCommand) -> HelpRow:
    also = f"Also {', '.join(f'/{alias}' for alias in command.aliases)}. " if command.aliases else ""
    waits = "Waits for a running answer." if command.busy == "queue" else "Runs at once."
    return HelpRow(
        label=f"/{command.name} {command.argument}".rstrip(),
        text=command.summary,
        more=f"{also}{waits}",
        where="command",
        command=command,
    )
