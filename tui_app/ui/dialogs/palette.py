"""The command palette: slash commands and keys of the chat, or those of a dialog."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.actions import parse as parse_action
from textual.binding import Binding
from textual.content import Content
from textual.dom import DOMNode
from textual.fuzzy import Matcher
from textual.screen import Screen

from tui_app.chat_keys import KeyBinding, Scope, in_force, key_labels
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.help_rows import command_of
from tui_app.ui.dialogs.list import ListDialog, ListSpec
from tui_app.ui.host import Chat
from tui_app.ui.keyboard.keys import is_possible, waits_for_key
from tui_app.ui.slash import COMMANDS
from tui_app.ui.transcript.transcript import NO_ROW
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Host

_WALKING = ("move", "page", "first", "last", "extend")
"""Actions of a list that make sense only while it has the focus."""


class PaletteRow(NamedTuple):
    """An action that is possible now."""

    title: str
    purpose: str
    keys: str
    """As shown to the user; empty if there is none."""
    run: Callable[[], object]
    argument: str = ""
    """A command's argument."""


def palette_rows(screen: Screen[Any]) -> Iterable[PaletteRow]:
    """Return the actions possible on a screen, the chat or a dialog, each once."""
    rows: dict[str, PaletteRow] = {}
    if isinstance(screen, Chat | Dialog):
        for row in _chat_rows(screen) if isinstance(screen, Chat) else _dialog_rows(screen):
            rows.setdefault(row.title, row)
    return rows.values()


def _chat_rows(screen: Chat) -> Iterator[PaletteRow]:
    """Yield every command and action that is possible now, with its keys."""
    keys = in_force(screen.app.launch.settings.keymap)
    yield from _commands(screen, keys)
    editor, transcript = screen.pane.prompt.editor, screen.pane.transcript
    owners: dict[Scope | None, DOMNode] = {"chat": screen, "pane": screen.pane, "app": screen.app}
    if screen.focused is editor:
        owners["prompt"] = editor
    for key in keys:
        # The palette is open already, and keys for commands are listed as commands.
        known = key.id == "app.palette" or command_of(key) is not None
        owner = owners.get(key.scope)
        if not known and owner is not None and is_possible(owner, key.action):
            yield _row(owner, key)
    focused = screen.focused.ancestors_with_self if screen.focused is not None else []
    lists = [node for node in focused if node not in (screen, screen.pane, screen.app, editor)]
    for owner in dict.fromkeys((*lists, transcript)):
        for binding in own_bindings(type(owner)):
            walks = parse_action(binding.action)[1] in _WALKING and screen.focused is not owner
            possible = is_possible(owner, binding.action)
            # Actions on rows of the conversation are always listed, so that they can be found.
            if possible if owner is not transcript else not walks:
                row = _row(owner, binding)
                yield row if possible else row._replace(run=partial(screen.session.reply, NO_ROW))


def _dialog_rows(dialog: Dialog[Any]) -> Iterator[PaletteRow]:
    """Yield the actions of a dialog's keys and of its focused widget.

    Commands of the chat are not included: a dialog needs its own answer first.
    """
    focused = dialog.focused.ancestors_with_self if dialog.focused is not None else [dialog]
    for owner in focused:
        for binding in own_bindings(type(owner)):
            known = parse_action(binding.action)[1] in (*_WALKING, "command_palette")
            if not known and is_possible(owner, binding.action):
                yield _row(owner, binding)


def _commands(screen: Chat, keys: Iterable[KeyBinding]) -> Iterator[PaletteRow]:
    keys_of: dict[str, list[str]] = {}
    for key in keys:
        if (command := command_of(key)) is not None:
            keys_of.setdefault(command.name, []).append(key_labels(key.key))
    for each in COMMANDS:
        labels = " ".join(keys_of.get(each.name, ()))
        yield PaletteRow(f"/{each.name}", each.summary, labels, partial(screen.run, each), each.argument)


def own_bindings(owner: type[DOMNode]) -> list[Binding]:
    """Return the bindings that one of the program's own widget classes and its bases declare."""
    made_from = [cls for cls in owner.__mro__ if cls.__module__.startswith("tui_app.")]
    found = [each for cls in made_from for each in cls.__dict__.get("BINDINGS", ())]
    return [each for each in found if isinstance(each, Binding) and not waits_for_key(each)]


def _row(owner: DOMNode, key: Binding | KeyBinding) -> PaletteRow:
    run = partial(owner.app.run_action, key.action, owner)
    return PaletteRow(key.description, key.tooltip, key_labels(key.key), run)


def action_text(row: PaletteRow, cells: int) -> Content:
    """Return the action, and a command's argument if it fits."""
    title = one_line(row.title, cells - 2)
    left = cells - len(title)
    argument = f" {one_line(row.argument, left - 3)}" if left > 4 and row.argument else ""
    return Content.assemble(title, (argument, MUTED))


class PaletteScreen(ListDialog[PaletteRow]):
    """Dismisses with an action, or ``None``. Title matches come before matches in the purpose."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[PaletteRow](
        name="palette",
        search="what to do",
        columns=(
            Column(cells=30, share=2, fitted=action_text),
            Column(lambda row: row.purpose),
            Column(lambda row: one_line(row.keys, 16), 18, right=True, snug=True, leaves_at=70),
        ),
        title=lambda _: "Commands",
        words=lambda row: f"{row.title} {row.purpose}",
        enter="run",
        most_lines=16,
    )

    def fill(self, query: str) -> None:
        """List title matches, best first, then rows that contain all words."""
        if not query.strip():
            self.list_rows(self.rows)
            return
        matcher, words = Matcher(query.strip()), query.lower().split()
        scored = [(matcher.match(row.title), row) for row in self.rows]
        named = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])
        others = [
            row
            for (score, row), text in zip(scored, self._texts, strict=True)
            if score <= 0 and all(word in text for word in words)
        ]
        self.list_rows([*(row for _, row in named), *others])

    def line(self, row: PaletteRow, width: int) -> Content:
        text = super().line(row, width)
        for word in self.written.lower().split():
            at = text.plain.lower().find(word)
            text = text.stylize("$text-accent", at, at + len(word)) if at >= 0 else text
        return text

    def explain(self, row: PaletteRow) -> None:
        self.note("" if self.size.width >= 100 else row.purpose)


def open_palette(app: "Host") -> None:
    """Show the actions possible on the top screen, and run the chosen one."""
    if isinstance(app.screen, PaletteScreen):
        return

    def chosen(row: PaletteRow | None) -> None:
        if row is not None:
            app.call_next(row.run)

    app.push_screen(PaletteScreen(palette_rows(app.screen)), chosen)
