"""Keys and commands as rows, for the help screen and the generated page of keys."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.actions import parse as parse_action

from tui_app.chat_keys import KeyBinding, in_force, key_labels
from tui_app.ui.keyboard.keys import PLACES, keys_of
from tui_app.ui.slash import COMMANDS, CustomCommand, ParsedCommand, SlashCommand, parse
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Host
from tui_app.ui.dialogs.help import COMMANDS_TOPIC, HelpRow, HelpScreen

_SIGNS = (
    ("@path", "Attach a text file", "Up to 128 kB; folders and larger files are only named."),
    ('@"a path"', "The same for a path with spaces", "The list after @ adds the quotes."),
    ("!command", "Run a command yourself",
        "It runs as you, and what it prints goes with your next prompt."),
    ("!!command", "The same, kept from the model", "Neither the command nor what it prints is sent."),
    ("/", "Commands", "At the beginning of a prompt; the list narrows while you type."),
)  # fmt: skip
"""Signs with a meaning in a prompt."""


def help_rows(keymap: Mapping[str, str], custom: Sequence[CustomCommand] = ()) -> list[HelpRow]:
    """Return all rows: keys of the chat, commands, keys of other places.

    Args:
        keymap: The user's key mappings.
        custom: Commands that are not built in.
    """
    of_files = [
        HelpRow(
            label=one_line(command.synopsis, 60),
            text=command.summary,
            more=f"It is in {one_line(str(command.file), 200)}.",
            where="command of a file",
            topic="Commands of files",
            how="Type its exact name.",
        )
        for command in custom
    ]
    return [*map(key_row, in_force(keymap)), *map(_command, COMMANDS), *of_files, *fixed_rows()]


async def show_help(app: "Host") -> None:
    """List keys and commands, and run the chosen command."""
    chat = app.chat
    keymap = app.launch.settings.keymap
    rows = help_rows(keymap, chat.pane.prompt.editor.completer.custom)
    if (chosen := await app.push_screen_wait(HelpScreen(rows, keymap))) is not None:
        chat.run(chosen.command)


def command_of(key: KeyBinding) -> SlashCommand | None:
    """Return the slash command that does the same as a key, or None."""
    _, name, parameters = parse_action(key.action)
    parsed = parse(str(parameters[0]) if name == "slash" else key.command or "/")
    return parsed.command if isinstance(parsed, ParsedCommand) else None


def key_row(key: KeyBinding) -> HelpRow:
    """Return the row of a chat key; in dialogs, only keys of the application with priority work."""
    place = "in the prompt" if key.scope == "prompt" else "in the chat"
    return HelpRow(
        label=key_labels(key.key),
        text=key.description,
        more=key.tooltip,
        where="everywhere" if key.priority else place,
        topic=key.topic or place.capitalize(),
        id=key.id,
        how=f"In the settings: keymap.{key.id}",
    )


def fixed_rows() -> Iterator[HelpRow]:
    """Yield the rows of fixed signs and keys, place by place."""
    for sign, text, more in _SIGNS:
        yield HelpRow(label=sign, text=text, more=more, where="in a prompt")
    for name, place in PLACES.items():
        for key in (*keys_of(name), *(keys_of(place.also) if place.also else ())):
            if place.where:
                label = key_labels(key.key)
                yield HelpRow(label=label, text=key.description, more=key.tooltip, where=place.where)


def _command(command: SlashCommand) -> HelpRow:
    also = f"Also {', '.join(f'/{alias}' for alias in command.aliases)}. " if command.aliases else ""
    waits = "Waits for a running answer." if command.busy == "queue" else "Runs at once."
    return HelpRow(
        label=command.synopsis,
        text=command.summary,
        more=f"{also}{waits}",
        where="command",
        topic=COMMANDS_TOPIC,
        command=command,
        how="enter runs it.",
    )
