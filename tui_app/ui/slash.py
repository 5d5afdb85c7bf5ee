"""What a prompt that begins with a slash means: a built-in command, one out of a file, or none.

A command needs its exact name (or an alias). Nothing is ever guessed and run: a near miss is named, and
the user decides.
"""

import re
from collections.abc import Callable, Collection, Coroutine, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tui_app.text import plain_text

if TYPE_CHECKING:
    from tui_app.agent.mcp.status import McpPrompt
    from tui_app.system.project_files import MayRead

Busy = Literal["now", "queue"]
"""While an answer is written: run at once, or wait in the queue because it changes the history."""


Opens = Literal["", "alone", "always"]
"""Whether a command shows something: never, when it is not told what to choose, or always."""


class SlashCommand(NamedTuple):
    """A built-in command, declared in :mod:`tui_app.ui.slash_commands`."""

    name: str
    """Without the slash; may hold one space (``session checkpoints``)."""
    summary: str
    handler: Callable[..., Coroutine[Any, Any, None]]
    """Takes the chat screen and the argument."""
    aliases: tuple[str, ...] = ()
    argument: str = ""
    """How the argument is written in help, for example ``[focus]``; empty when it takes none."""
    busy: Busy = "now"
    opens: Opens = ""
    writes: bool = False
    """Whether it is refused at once where the session can only be looked at."""
    leaves: bool = False
    """Whether it leads to another session."""

    @property
    def synopsis(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()

    @property
    def names(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.name, *self.aliases)

    def opens_with(self, argument: str) -> bool:
        """Whether it shows a screen or a row, for which what is typed behind it is meant."""
        return self.opens == "always" or (self.opens == "alone" and not argument)


COMMANDS: list[SlashCommand] = []
"""All built-in commands, in the order of help; :mod:`tui_app.ui.slash_commands` fills it."""


class ParsedCommand(NamedTuple):
    """A command by its exact name, with what was typed behind it."""

    command: SlashCommand
    argument: str = ""

    @property
    def refusal(self) -> str:
        """Why it is not run as it stands: words behind a name that takes none may be a prompt."""
        name = self.command.name
        surplus = self.argument and not self.command.argument
        return f"/{name} takes no arguments. Send /{name} alone." if surplus else ""


class UnknownCommand(NamedTuple):
    """A name that does not exist, and the nearest one that does."""

    name: str
    closest: str

    @property
    def message(self) -> str:
        return f"No command /{self.name}. Closest: /{self.closest}"


def is_command(text: str) -> bool:
    """Whether a prompt is meant as a command: it starts with one slash and no path (``/etc/hosts``)."""
    stripped = text.strip()
    if not stripped.startswith("/"):
        return False
    return "/" not in stripped[1:].split(maxsplit=1)[0] if stripped[1:].strip() else True


def parse(text: str) -> ParsedCommand | UnknownCommand:
    """Read a prompt that starts with a slash. Names are case-insensitive; nothing is completed."""
    body = text.strip().removeprefix("/").strip()
    for words in (2, 1):
        parts = body.split(maxsplit=words)
        wanted = " ".join(parts[:words]).lower()
        command = next((command for command in COMMANDS if wanted in command.names), None)
        if command is not None and len(parts) >= words:
            return ParsedCommand(command, parts[words] if len(parts) > words else "")
    name = body.split(maxsplit=1)[0] if body else ""
    names = [known for command in COMMANDS for known in command.names]
    closest = max(names, key=lambda known: SequenceMatcher(None, name.lower(), known).ratio())
    return UnknownCommand(name, closest)


def text_opens(text: str) -> bool:
    """Whether a prompt is a command that shows something."""
    parsed = parse(text) if is_command(text) else None
    return isinstance(parsed, ParsedCommand) and parsed.command.opens_with(parsed.argument)


def complete(prefix: str) -> list[SlashCommand]:
    """Commands whose name or alias starts with ``prefix`` (with or without the slash), the likeliest first.

    What is typed in full comes before what only begins so, and a name before an alias; among equals the
    order of the table is kept.
    """
    wanted = prefix.removeprefix("/").lower()
    found = [command for command in COMMANDS if any(name.startswith(wanted) for name in command.names)]
    return sorted(
        found,
        key=lambda each: (each.name == wanted, wanted in each.names, each.name.startswith(wanted)),
        reverse=True,
    )


FOLDER = ".plimsoll/commands"
MOST = 100
FILE_CHARS = 100_000
SUMMARY_CHARS = 60
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])(?![0-9])")


class CustomCommand(NamedTuple):
    """One file."""

    name: str
    """Without the slash."""
    summary: str
    """Foreign text."""
    argument: str = ""
    """How its argument is written in help."""
    file: Path = Path()
    root: Path | None = None
    """Folder that the file must not lead out of; None for the user's own."""
    prompt: "McpPrompt | None" = None
    """The prompt of an MCP server that it stands for, instead of a file."""

    @property
    def synopsis(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()


def find_commands(
    folder: Path | None, config: Path, taken: Collection[str], may_read: "MayRead"
) -> tuple[CustomCommand, ...]:
    """Look for files: the nearest to the working folder wins a name, the user's own come last.

    Args:
        folder: The working folder; None looks for the user's own alone.
        config: The user's own folder of settings.
        taken: Names that are built in: no file ever gets one of them.
        may_read: What the rules say of files.
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
    """The command whose exact name is typed, with what stands behind it; None where there is none."""
    words = typed.strip().removeprefix("/").split(maxsplit=1)
    wanted = words[0].lower() if words else ""
    found = next((command for command in commands if command.name == wanted), None)
    return (found, words[1] if len(words) > 1 else "") if found is not None else None


def prompt_of(command: CustomCommand, argument: str, may_read: "MayRead") -> str:
    """The prompt that a command stands for; its file is read anew.

    ``$ARGUMENTS`` is everything behind the name, ``$1`` to ``$9`` its words, quotes kept together. What is
    typed behind a command that names neither is put at the end.

    Raises:
        Refused: if the file is gone, or may not or cannot be read any more.
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

    # In one pass: what was put in is not looked through again.
    text, count = _PLACE.subn(put, body)
    return text if count or not argument else f"{text}\n\n{argument}"


def prompt_commands(prompts: "Sequence[McpPrompt]") -> tuple[CustomCommand, ...]:
    """The slash commands of prompts that servers have ready."""
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
    """The words behind a command, quotes kept together."""
    import shlex

    try:
        return shlex.split(argument)
    except ValueError:
        return argument.split()
