"""Slash commands: one table for completion, help, palette and dispatch.

A command needs its exact name (or an alias). Nothing is ever guessed and run: a near miss is named, and
the person decides.
"""

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from enum import Enum, auto
from pathlib import Path
from typing import Literal, NamedTuple

Busy = Literal["now", "queue"]
"""While an answer is written: run at once, or wait in the queue because it changes the history."""


class CommandId(Enum):
    """What a command asks for; the application matches on it."""

    COMPACT = auto()
    UNDO = auto()
    REDO = auto()
    REWIND = auto()
    RETRY = auto()
    FORK = auto()
    CLEAR = auto()
    HISTORY = auto()
    CONTEXT = auto()
    MODEL = auto()
    POLICY = auto()
    RESUME = auto()
    NEW = auto()
    STATUS = auto()
    STATS = auto()
    COPY = auto()
    FIND = auto()
    PIN = auto()
    UNPIN = auto()
    PROMPTS = auto()
    EXPORT = auto()
    IMPORT = auto()
    EDITOR = auto()
    CHECKPOINTS = auto()
    APPROVALS = auto()
    SETTINGS = auto()
    THEME = auto()
    HELP = auto()
    QUIT = auto()
    QUEUE = auto()
    MEMORY = auto()
    SUBCONSCIOUS = auto()
    MCP = auto()
    SKILLS = auto()


class SlashCommand(NamedTuple):
    """One row of the table."""

    id: CommandId
    name: str
    """Without the slash; may hold one space (``session checkpoints``)."""
    summary: str
    aliases: tuple[str, ...] = ()
    argument: str = ""
    """How the argument is written in help, for example ``[focus]``; empty when it takes none."""
    busy: Busy = "now"

    @property
    def names(self) -> tuple[str, ...]:
        """The name, then the aliases."""
        return (self.name, *self.aliases)


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(
        id=CommandId.COMPACT, name="compact", aliases=("summarize", "offload"), argument="[focus]",
        summary="Summarise old history; --review, --up-to #N, --from #N", busy="queue",
    ),
    SlashCommand(
        id=CommandId.UNDO, name="undo", busy="queue",
        summary="Take the last compaction, rewind or /clear back",
    ),
    SlashCommand(id=CommandId.REDO, name="redo", summary="Apply an undone compaction again", busy="queue"),
    SlashCommand(
        id=CommandId.REWIND, name="rewind", argument="[#number]", busy="queue",
        summary="Go back to before an earlier prompt",
    ),
    SlashCommand(id=CommandId.RETRY, name="retry", summary="Send the last prompt once more", busy="queue"),
    SlashCommand(
        id=CommandId.FORK, name="fork", argument="[#number]",
        summary="Go on from an earlier prompt in a new session",
    ),
    SlashCommand(id=CommandId.CLEAR, name="clear", summary="Empty the context; the log stays", busy="queue"),
    SlashCommand(id=CommandId.HISTORY, name="history", summary="Count turns and messages"),
    SlashCommand(
        id=CommandId.CONTEXT, name="context", aliases=("tokens",), summary="Show what fills the context"
    ),
    SlashCommand(
        id=CommandId.MODEL, name="model", argument="[name]", busy="queue", summary="Choose a model"
    ),
    SlashCommand(
        id=CommandId.POLICY, name="policy", argument="[name]", busy="queue",
        summary="Show or change what governs the context",
    ),
    SlashCommand(
        id=CommandId.RESUME, name="resume", aliases=("sessions", "threads"), argument="[words|ID]",
        summary="Open another session",
    ),
    SlashCommand(id=CommandId.NEW, name="new", summary="Start a new session"),
    SlashCommand(id=CommandId.STATUS, name="status", summary="Model, policy, context and session in words"),
    SlashCommand(id=CommandId.STATS, name="stats", summary="What was done, what it cost, what was saved"),
    SlashCommand(
        id=CommandId.COPY, name="copy", argument="[text|code] [n|#number]",
        summary="Copy the last answer as Markdown",
    ),
    SlashCommand(
        id=CommandId.FIND, name="find", argument="[words]", summary="Find words in the conversation"
    ),
    SlashCommand(
        id=CommandId.PIN, name="pin", argument="[#number|last]", summary="Keep a message word for word"
    ),
    SlashCommand(
        id=CommandId.UNPIN, name="unpin", argument="[#number|last]", summary="Take a message's pin away"
    ),
    SlashCommand(id=CommandId.PROMPTS, name="prompts", summary="Search earlier prompts"),
    SlashCommand(id=CommandId.EXPORT, name="export", argument="[file]", summary="Write it to a file"),
    SlashCommand(
        id=CommandId.IMPORT, name="import", argument="[file]",
        summary="Go on with a conversation of another program",
    ),
    SlashCommand(
        id=CommandId.EDITOR, name="editor", argument="[text]", summary="Write the prompt in $EDITOR"
    ),
    SlashCommand(id=CommandId.CHECKPOINTS, name="session checkpoints", summary="List the checkpoint files"),
    SlashCommand(id=CommandId.APPROVALS, name="approvals", summary="What tools may do, and what was decided"),
    SlashCommand(
        id=CommandId.SETTINGS, name="settings", argument="[words]",
        summary="Show and change settings and keys",
    ),
    SlashCommand(id=CommandId.THEME, name="theme", argument="[name]", summary="Choose the colours"),
    SlashCommand(id=CommandId.HELP, name="help", summary="Keys and commands"),
    SlashCommand(id=CommandId.QUIT, name="quit", aliases=("exit",), summary="Leave; it can be resumed"),
    SlashCommand(id=CommandId.QUEUE, name="queue", summary="Edit, remove or move what waits"),
    SlashCommand(id=CommandId.MEMORY, name="memory", summary="See and change what is remembered here"),
    SlashCommand(
        id=CommandId.SUBCONSCIOUS, name="subconscious run", summary="Read this session for the memory now"
    ),
    SlashCommand(
        id=CommandId.MCP, name="mcp", argument="[reload [name]]",
        summary="MCP servers: state, tools, tokens",
    ),
    SlashCommand(id=CommandId.SKILLS, name="skills", summary="List what the model can load"),
)  # fmt: skip


_OPENING = frozenset({
    CommandId.APPROVALS, CommandId.CHECKPOINTS, CommandId.CLEAR, CommandId.CONTEXT, CommandId.FIND,
    CommandId.FORK, CommandId.HELP, CommandId.HISTORY, CommandId.IMPORT, CommandId.MEMORY,
    CommandId.PROMPTS, CommandId.QUEUE, CommandId.RESUME, CommandId.REWIND, CommandId.SETTINGS,
    CommandId.SKILLS, CommandId.STATS, CommandId.STATUS,
})  # fmt: skip
"""Commands that show something, a session among it."""
_OPENING_ALONE = frozenset({
    CommandId.MCP, CommandId.MODEL, CommandId.PIN, CommandId.POLICY, CommandId.THEME, CommandId.UNPIN,
})  # fmt: skip
"""Commands that show a choice when they are not told what to choose."""


class ParsedCommand(NamedTuple):
    """A command by its exact name, with what was typed behind it."""

    command: SlashCommand
    argument: str = ""

    @property
    def id(self) -> CommandId:
        """What to match on."""
        return self.command.id

    @property
    def refusal(self) -> str:
        """Why it is not run as it stands: words behind a name that takes none may be a prompt."""
        name = self.command.name
        surplus = self.argument and not self.command.argument
        return f"/{name} takes no words behind it. Send /{name} alone." if surplus else ""


class UnknownCommand(NamedTuple):
    """A name that does not exist, and the nearest one that does."""

    name: str
    closest: str

    @property
    def message(self) -> str:
        """The sentence that the person reads."""
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
        command = _by_name(" ".join(parts[:words]))
        if command is not None and len(parts) >= words:
            return ParsedCommand(command, parts[words] if len(parts) > words else "")
    name = body.split(maxsplit=1)[0] if body else ""
    return UnknownCommand(name, _closest(name))


def opens(command: CommandId, argument: str) -> bool:
    """Whether a command shows a screen or a row, for which what is typed behind it is meant."""
    return command in _OPENING or (command in _OPENING_ALONE and not argument)


def text_opens(text: str) -> bool:
    """Whether a prompt is a command that shows something."""
    parsed = parse(text) if is_command(text) else None
    return isinstance(parsed, ParsedCommand) and opens(parsed.id, parsed.argument)


def complete(prefix: str) -> list[SlashCommand]:
    """Commands whose name or alias starts with ``prefix`` (with or without the slash), the likeliest first.

    What is typed in full comes before what only begins so, and a name before an alias; among equals the
    order of the table is kept.
    """
    wanted = prefix.removeprefix("/").lower()
    found = [command for command in COMMANDS if any(name.startswith(wanted) for name in command.names)]
    return sorted(found, key=lambda command: _likeness(command, wanted), reverse=True)


def _likeness(command: SlashCommand, wanted: str) -> tuple[bool, bool, bool]:
    """Whether this is the command's name, one of its names, or at least how its name begins."""
    return command.name == wanted, wanted in command.names, command.name.startswith(wanted)


def _by_name(name: str) -> SlashCommand | None:
    wanted = name.lower()
    return next((command for command in COMMANDS if wanted in command.names), None)


def _closest(name: str) -> str:
    wanted = name.lower()
    names = [known for command in COMMANDS for known in command.names]
    return max(names, key=lambda known: SequenceMatcher(None, wanted, known).ratio())


# Slash commands that a person or a project has written as Markdown files, and the prompts they stand for.
#
# The prompt editor knows the type before the first frame; what reads files is imported by what reads them.

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
    """Folder that the file must not lead out of; None for the person's own."""


def find_commands(folder: Path, config: Path, taken: Collection[str]) -> tuple[CustomCommand, ...]:
    """Look for files: the nearest to the working folder wins a name, the person's own come last.

    Args:
        folder: The working folder.
        config: The person's own folder of settings.
        taken: Names that are built in: no file ever gets one of them.
    """
    from tui_app.files import entries, folders_of

    places = folders_of(folder)
    wanted: list[tuple[Path, Path | None]] = [(place / FOLDER, places[0]) for place in reversed(places)]
    found: dict[str, CustomCommand] = {}
    for parent, root in (*wanted, (config / "commands", None)):
        for file in entries(parent, root):
            command = _read(file, root)
            if command is not None and command.name not in taken and len(found) < MOST:
                found.setdefault(command.name, command)
    return tuple(sorted(found.values(), key=lambda command: command.name))


def _read(file: Path, root: Path | None) -> CustomCommand | None:
    from tui_app.files import Refused, read_inside
    from tui_app.front_matter import read_document

    name = file.stem.lower()
    if file.suffix.lower() != ".md" or not _NAME.fullmatch(name):
        return None
    try:
        read = read_inside(file, root, FILE_CHARS)
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


def named(commands: Sequence[CustomCommand], typed: str) -> tuple[CustomCommand, str] | None:
    """The command whose exact name is typed, with what stands behind it; None where there is none."""
    words = typed.strip().removeprefix("/").split(maxsplit=1)
    wanted = words[0].lower() if words else ""
    found = next((command for command in commands if command.name == wanted), None)
    return (found, words[1] if len(words) > 1 else "") if found is not None else None


def prompt_of(command: CustomCommand, argument: str) -> str:
    """The prompt that a command stands for; its file is read anew.

    ``$ARGUMENTS`` is everything behind the name, ``$1`` to ``$9`` its words, quotes kept together. What is
    typed behind a command that names neither is put at the end.

    Raises:
        Refused: if the file is gone, or cannot be read any more.
    """
    from tui_app.files import Refused, read_inside
    from tui_app.front_matter import read_document

    read = read_inside(command.file, command.root, FILE_CHARS)
    if read is None:
        raise Refused("its file is gone")
    body, words = read_document(read.text).body, _words(argument)

    def put(place: re.Match[str]) -> str:
        if place[1] == "ARGUMENTS":
            return argument
        return words[int(place[1]) - 1] if int(place[1]) <= len(words) else ""

    # In one pass: what was put in is not looked through again.
    text, count = _PLACE.subn(put, body)
    return text if count or not argument else f"{text}\n\n{argument}"


def _words(argument: str) -> Sequence[str]:
    import shlex

    try:
        return shlex.split(argument)
    except ValueError:
        return argument.split()
