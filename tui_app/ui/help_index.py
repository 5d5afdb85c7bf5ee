"""Every key and slash command of the program, wherever it acts, for help and documentation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.actions import parse as parse_action
from textual.binding import Binding
from textual.dom import DOMNode

from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.dialogs.approvals import ApprovalsScreen
from tui_app.ui.dialogs.base import ConfirmDialog, DetailsScreen, Dialog
from tui_app.ui.dialogs.compaction import CompactionDetail, SummaryEditor
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.dialogs.help import HelpRow, HelpScreen
from tui_app.ui.dialogs.imports import ImportProgressDialog
from tui_app.ui.dialogs.mcp import McpScreen
from tui_app.ui.dialogs.memory import MemoryScreen
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.dialogs.pins import PinsScreen
from tui_app.ui.dialogs.prompts import PromptsScreen
from tui_app.ui.dialogs.queue import QueueScreen
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.search import SearchScreen
from tui_app.ui.dialogs.sessions import SessionsScreen
from tui_app.ui.dialogs.settings import SettingsScreen
from tui_app.ui.keys import KeyBinding, Scope, in_force, key_labels, waits_for_key
from tui_app.ui.long_text import LongText
from tui_app.ui.request_ledger import LedgerList
from tui_app.ui.slash import COMMANDS, CustomCommand, ParsedCommand, SlashCommand, parse
from tui_app.ui.status import QueueView
from tui_app.ui.text import one_line
from tui_app.ui.timeline import Timeline
from tui_app.ui.transcript.find import FindRow
from tui_app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui_app.ui.host import Host

_WHERE: Mapping[Scope, str] = {
    "prompt": "in the prompt",
    "chat": "in the chat",
    "pane": "in the chat",
    "app": "in the chat",
}
"""Where the keys of a scope act, in words."""
_SAME = {"prompt.help": "/help", "prompt.quit": "/quit", "chat.find": "/find", "app.quit": "/quit"}
"""Keys with an action of their own that do what a slash command does."""
_PLACES: tuple[tuple[str, type[DOMNode]], ...] = (
    ("in the conversation", Transcript),
    ("in the timeline", Timeline),
    ("in every dialog", Dialog),
    ("in lists", FilterDialog),
    ("in sessions", SessionsScreen),
    ("in search", SearchScreen),
    ("in memory", MemoryScreen),
    ("in MCP servers", McpScreen),
    ("in settings", SettingsScreen),
    ("in approvals", ApprovalsScreen),
    ("in help", HelpScreen),
    ("in details", DetailsScreen),
    ("in a message", MessageScreen),
    ("in a long text", LongText),
    ("while finding", FindRow.Words),
    ("in the pins", PinsScreen),
    ("in earlier prompts", PromptsScreen),
    ("on a tool's question", ApprovalBox),
    ("on what waits", QueueView),
    ("in the queue", QueueScreen),
    ("in the context", ContextScreen),
    ("in the context's list", LedgerList),
    ("in a review", ReviewScreen),
    ("in a compaction", CompactionDetail),
    ("in a summary's editor", SummaryEditor),
    ("in questions", ConfirmDialog),
    ("during an import", ImportProgressDialog),
)
"""Places with keys that cannot be changed, and who acts on them there."""
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
            where=place(key),
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
    parsed = parse(str(parameters[0]) if name == "slash" else _SAME.get(key.id, "/"))
    return parsed.command if isinstance(parsed, ParsedCommand) else None


def place(key: KeyBinding) -> str:
    """Where a key acts, in words; a dialog keeps all others than those with priority from the application."""
    return "everywhere" if key.priority else _WHERE[key.scope]


def fixed_rows() -> Iterator[HelpRow]:
    """Signs and keys that cannot be changed, place by place."""
    yield from SIGNS
    for where, owner in _PLACES:
        for binding in own_bindings(owner):
            label = key_labels(binding.key)
            yield HelpRow(label=label, text=binding.description, more=binding.tooltip, where=where)


def own_bindings(owner: type[DOMNode]) -> list[Binding]:
    """Keys that a widget of ours, or one of ours it is made from, acts on itself."""
    made_from = [cls for cls in owner.__mro__ if cls.__module__.startswith("tui_app.")]
    # What a dialog or a list of ours brings along is listed for all of them.
    shared = [cls for cls in made_from[1:] if cls in (Dialog, FilterDialog)]
    classes = [cls for cls in made_from if not any(issubclass(base, cls) for base in shared)]
    found = [each for cls in classes for each in cls.__dict__.get("BINDINGS", ())]
    return [each for each in found if isinstance(each, Binding) and not waits_for_key(each)]


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
