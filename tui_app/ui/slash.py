"""Slash commands: built-in ones, custom ones from files, and parsing of what was typed.

A command needs its exact name (or an alias). Nothing is guessed and run: for a near miss the closest command
is suggested, and the user decides.
"""

import re
from collections.abc import Callable, Collection, Coroutine, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tui_app.text import plain_text

if TYPE_CHECKING:
    from tui_app.agent.mcp.status import McpPrompt
    from tui_app.system.project_files import MayRead

Busy = Literal["now", "queue"]
"""While an answer is being written: run at once, or wait in the queue because it changes the history."""


Opens = Literal["", "alone", "always"]
"""Whether a command opens a screen or row: never, only without an argument, or always."""


class SlashCommand(NamedTuple):
    """A built-in command, declared in :mod:`tui_app.ui.slash_commands`."""

    name: str
    """Without the slash; may contain one space (``session checkpoints``)."""
    summary: str
    handler: Callable[..., Coroutine[Any, Any, None]]
    """Called with the chat screen and the argument."""
    aliases: tuple[str, ...] = ()
    argument: str = ""
    """The argument as shown in help, for example ``[focus]``; empty if it takes none."""
    busy: Busy = "now"
    opens: Opens = ""
    writes: bool = False
    """Whether it is refused at once in a read-only session."""
    leaves: bool = False
    """Whether it switches to another session."""

    @property
    def synopsis(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()

    @property
    def names(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.name, *self.aliases)

    def opens_with(self, argument: str) -> bool:
        """Return whether it opens a screen or row, which then gets what is typed next."""
        return self.opens == "always" or (self.opens == "alone" and not argument)


COMMANDS: list[SlashCommand] = []
"""All built-in commands, in the order of help; filled by :mod:`tui_app.ui.slash_commands`."""


class ParsedCommand(NamedTuple):
    """A command by its exact name, with its argument."""

    command: SlashCommand
    argument: str = ""

    @property
    def refusal(self) -> str:
        """Why it is not run: text after a command that takes no argument may be a prompt."""
        name = self.command.name
        surplus = self.argument and not self.command.argument
        return f"/{name} takes no arguments. Send /{name} alone." if surplus else ""


class UnknownCommand(NamedTuple):
    """An unknown name, and the closest existing one; empty if none is close."""

    name: str
    closest: str

    @property
    def message(self) -> str:
        return f"No command /{self.name}. " + (
            f"Closest: /{self.closest}" if self.closest else "/help lists all."
        )


def is_command(text: str) -> bool:
    """Return whether a prompt is a command: it starts with one slash and no path (``/etc/hosts``)."""
    stripped = text.strip()
    if not stripped.startswith("/"):
        return False
    return "/" not in stripped[1:].split(maxsplit=1)[0] if stripped[1:].strip() else True


def parse(text: str) -> ParsedCommand | UnknownCommand:
    """Parse a prompt that starts with a slash. Names are case-insensitive; nothing is completed."""
    body = text.strip().removeprefix("/").strip()
    for words in (2, 1):
        parts = body.split(maxsplit=words)
        typed = " ".join(parts[:words]).lower()
        command = next((command for command in COMMANDS if typed in command.names), None)
        if command is not None and len(parts) >= words:
            return ParsedCommand(command, parts[words] if len(parts) > words else "")
    name = body.split(maxsplit=1)[0] if body else ""
    names = [known for command in COMMANDS for known in command.names]
    return UnknownCommand(name, next(iter(get_close_matches(name.lower(), names, 1)), ""))


def text_opens(text: str) -> bool:
    """Return whether a prompt is a command that opens a screen or row."""
    parsed = parse(text) if is_command(text) else None
    return isinstance(parsed, ParsedCommand) and parsed.command.opens_with(parsed.argument)


def complete(prefix: str) -> list[SlashCommand]:
    """List commands whose name or alias starts with ``prefix`` (with or without the slash), likeliest first.

    Exact matches come before prefix matches, and names before aliases; ties keep the order of the table.
    """
    typed = prefix.removeprefix("/").lower()
    found = [command for command in COMMANDS if any(name.startswith(typed) for name in command.names)]
    return sorted(
        found,
        key=lambda each: (each.name == typed, typed in each.names, each.name.startswith(typed)),
        reverse=True,
    )


FOLDER = ".plimsoll/commands"
MOST = 100
FILE_CHARS = 100_000
SUMMARY_CHARS = 60
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])(?![0-9])")


class CustomCommand(NamedTuple):
    """A custom command: a file, or a prompt of an MCP server."""

    name: str
    """Without the slash."""
    summary: str
    """Untrusted text."""
    argument: str = ""
    """The argument as shown in help."""
    file: Path = Path()
    root: Path | None = None
    """Folder that the file must not resolve outside of; None for the user's own."""
    prompt: "McpPrompt | None" = None
    """The MCP server's prompt, instead of a file."""

    @property
    def synopsis(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()


def find_commands(
    folder: Path | None, config: Path, taken: Collection[str], may_read: "MayRead"
) -> tuple[CustomCommand, ...]:
    """Find command files. For equal names the one nearest to the working folder wins, then the user's own.

    Args:
        folder: The working folder; None finds the user's own only.
        config: The user's own settings folder.
        taken: Built-in names, which no file can have.
        may_read: What the rules allow to be read.
    """
    from tui_app.system.project_files import Refused, read_document, read_inside, read_nearest

    def read(file: Path, root: Path | None) -> CustomCommand | None:
        name = file.stem.lower()
        if file.suffix.lower() != ".md" or not _NAME.fullmatch(name) or name in taken:
            return None
        try:
            read = read_inside(file, root, FILE_CHARS, may_read)
        except Refused:
            return None
        if read is None or read.cut:
            return None
        document = read_document(read.text)
        first = next((line.strip(" #") for line in document.body.splitlines() if line.strip(" #")), "")
        summary = " ".join((document.values.get("description") or first).split())[:SUMMARY_CHARS]
        hint = " ".join(document.values.get("argument-hint", "").split())[:SUMMARY_CHARS]
        takes = _PLACE.search(document.body) is not None
        return CustomCommand(name, summary, hint or ("[arguments]" if takes else ""), file, root)

    found = read_nearest((folder, config), (FOLDER,), "commands", read, MOST).found
    return tuple(sorted(found, key=lambda command: command.name))


def named(commands: Sequence[CustomCommand], typed: str) -> tuple[CustomCommand, str] | None:
    """Return the command whose exact name is typed, with its argument; None if there is none."""
    words = typed.strip().removeprefix("/").split(maxsplit=1)
    name = words[0].lower() if words else ""
    found = next((command for command in commands if command.name == name), None)
    return (found, words[1] if len(words) > 1 else "") if found is not None else None


def prompt_of(command: CustomCommand, argument: str, may_read: "MayRead") -> str:
    """Return the prompt for a command; its file is read again.

    ``$ARGUMENTS`` is everything after the name, ``$1`` to ``$9`` its words, with quoted words kept together.
    If the file uses neither, the argument is appended.

    Raises:
        Refused: If the file is gone, or may not or cannot be read any more.
    """
    from tui_app.system.project_files import Refused, read_document, read_inside

    read = read_inside(command.file, command.root, FILE_CHARS, may_read)
    if read is None:
        raise Refused("its file is gone")
    body, words = read_document(read.text).body, split_arguments(argument)

    def put(place: re.Match[str]) -> str:
        if place[1] == "ARGUMENTS":
            return argument
        return words[int(place[1]) - 1] if int(place[1]) <= len(words) else ""

    # In a single pass, so that inserted text is not expanded again.
    text, count = _PLACE.subn(put, body)
    return text if count or not argument else f"{text}\n\n{argument}"


def prompt_commands(prompts: "Sequence[McpPrompt]") -> tuple[CustomCommand, ...]:
    """Return slash commands for the prompts that servers offer."""
    return tuple(
        CustomCommand(
            name=prompt.command,
            summary=" ".join(plain_text(prompt.about).split())[:SUMMARY_CHARS],
            argument=" ".join(plain_text(name) for name in prompt.arguments)[:SUMMARY_CHARS],
            prompt=prompt,
        )
        for prompt in prompts
    )


def split_arguments(argument: str) -> Sequence[str]:
    """Split an argument into words, keeping quoted words together."""
    import shlex

    try:
        return shlex.split(argument)
    except ValueError:
        return argument.split()
