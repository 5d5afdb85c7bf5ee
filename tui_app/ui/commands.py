"""Slash commands: one table for completion, help, palette and dispatch.

A command needs its exact name (or an alias). Nothing is ever guessed and run: a near miss is named, and
the person decides.
"""

from difflib import SequenceMatcher
from enum import Enum, auto
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
