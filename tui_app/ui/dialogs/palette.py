"""What the command palette offers: slash commands and keys of the chat, or those of a dialog."""

from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from typing import Any

from textual.actions import parse as parse_action
from textual.app import SystemCommand
from textual.binding import Binding
from textual.command import Hit
from textual.dom import DOMNode
from textual.system_commands import SystemCommandsProvider

from tui_app.ui.dialogs.base import Dialog
from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.dialogs.help import command_of
from tui_app.ui.host import Chat
from tui_app.ui.keys import KeyBinding, Scope, in_force, key_labels, waits_for_key
from tui_app.ui.slash import COMMANDS
from tui_app.ui.transcript.transcript import NO_ROW

_WALKING = ("move", "page", "first", "last", "extend")
"""Actions of a list that mean something only while it is looked at."""


def palette_rows(screen: Chat) -> Iterator[SystemCommand]:
    """Every command and action that is possible now, each once, with its keys."""
    keys = in_force(screen.app.launch.settings.keymap)
    yield from _commands(screen, keys)
    editor, transcript = screen.pane.prompt.editor, screen.pane.transcript
    owners: dict[Scope | None, DOMNode] = {"chat": screen, "pane": screen.pane, "app": screen.app}
    if screen.focused is editor:
        owners["prompt"] = editor
    told: set[str] = set()
    for key in keys:
        # The palette is open already; what a command does is offered as that.
        known = key.id == "app.palette" or command_of(key) is not None
        owner = owners.get(key.scope)
        if not known and owner is not None and _is_possible(owner, key.action):
            told.add(key.description)
            yield _row(screen, owner, key.description, key.key, key.tooltip, key.action)
    focused = screen.focused.ancestors_with_self if screen.focused is not None else []
    lists = [node for node in focused if node not in (screen, screen.pane, screen.app, editor)]
    if transcript not in lists:
        lists.append(transcript)
    for owner in lists:
        for binding in own_bindings(type(owner)):
            if binding.description not in told and _is_offered(screen, owner, binding.action):
                told.add(binding.description)
                yield _row(screen, owner, binding.description, binding.key, binding.tooltip, binding.action)


def dialog_rows(dialog: Dialog[Any]) -> Iterator[SystemCommand]:
    """What the keys of a dialog and of what has the focus in it do now, each once.

    Commands of the chat are not among them: a dialog waits for its own answer first.
    """
    focused = dialog.focused.ancestors_with_self if dialog.focused is not None else [dialog]
    told: set[str] = set()
    for owner in focused:
        kinds: list[type[DOMNode]] = [type(owner)]
        kinds += [cls for cls in (FilterDialog, Dialog) if isinstance(owner, cls)]
        for binding in (each for kind in kinds for each in own_bindings(kind)):
            name = parse_action(binding.action)[1]
            known = binding.description in told or name in (*_WALKING, "command_palette")
            if not known and _is_possible(owner, binding.action):
                told.add(binding.description)
                text = f"{key_labels(binding.key)} · {binding.tooltip}"
                yield SystemCommand(
                    binding.description, text, partial(dialog.app.run_action, binding.action, owner)
                )


def _commands(screen: Chat, keys: Iterable[KeyBinding]) -> Iterator[SystemCommand]:
    keys_of: dict[str, list[str]] = {}
    for key in keys:
        if (command := command_of(key)) is not None:
            keys_of.setdefault(command.name, []).append(key_labels(key.key))
    for each in COMMANDS:
        said = " ".join(keys_of.get(each.name, ()))
        text = _behind(screen, said, each.summary) if said else each.summary
        yield SystemCommand(f"/{each.name}", text, partial(screen.run, each))


def _is_offered(screen: Chat, owner: DOMNode, action: str) -> bool:
    """Whether to offer an action; those on rows of the conversation always are, so that they are found."""
    if owner is not screen.pane.transcript:
        return _is_possible(owner, action)
    return screen.focused is owner or parse_action(action)[1] not in _WALKING


def _is_possible(owner: DOMNode, action: str) -> bool:
    _, name, parameters = parse_action(action)
    return owner.check_action(name, parameters) is not False


def own_bindings(owner: type[DOMNode]) -> list[Binding]:
    """Keys that a widget of ours, or one of ours it is made from, acts on itself."""
    made_from = [cls for cls in owner.__mro__ if cls.__module__.startswith("tui_app.")]
    # What a dialog or a list of ours brings along is listed for all of them.
    shared = [cls for cls in made_from[1:] if cls in (Dialog, FilterDialog)]
    classes = [cls for cls in made_from if not any(issubclass(base, cls) for base in shared)]
    found = [each for cls in classes for each in cls.__dict__.get("BINDINGS", ())]
    return [each for each in found if isinstance(each, Binding) and not waits_for_key(each)]


def _row(screen: Chat, owner: DOMNode, title: str, keys: str, more: str, action: str) -> SystemCommand:
    text = _behind(screen, key_labels(keys), more)
    if not _is_possible(owner, action):
        return SystemCommand(title, text, partial(screen.session.say, NO_ROW))
    return SystemCommand(title, text, partial(screen.app.run_action, action, owner))


def _behind(screen: Chat, keys: str, text: str) -> str:
    return f"{keys} {screen.pane.glyphs.separator} {text}"


# Finding a command in the palette: by its name, as Textual does, and by the words for its purpose.

_BEHIND = 0.01
"""Share of a name's score that a purpose has: what is named so comes first."""


class PurposeProvider(SystemCommandsProvider):
    """Offers what the application offers."""

    async def search(self, query: str) -> AsyncIterator[Hit]:
        """Yield the commands that a query names, and those whose purpose holds all its words."""
        matcher, words = self.matcher(query), query.lower().split()
        for name, purpose, callback, *_ in self.app.get_system_commands(self.screen):
            score = matcher.match(name)
            told = f"{name} {purpose}".lower()
            if score > 0:
                yield Hit(score, matcher.highlight(name), callback, help=purpose)
            elif words and all(word in told for word in words):
                yield Hit(_BEHIND, name, callback, help=purpose)
