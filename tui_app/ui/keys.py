"""Every key of the chat screen in one table: bindings, footer hints and help are read from it.

Left out on purpose, because terminals, tmux or the editor widget take them: ``ctrl+b``, ``ctrl+n``,
``alt+enter``, ``ctrl+x``, ``ctrl+s`` and every alt+letter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.style import Style
from textual.widget import Widget

from tui_app.settings.keys import own_keys
from tui_app.ui.text import UNICODE, Glyphs

Scope = Literal["chat", "pane", "prompt", "app"]
"""Who acts on a key: the chat screen, its body (scrolling), the prompt editor, or the application."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyBinding:
    """One key and what it does."""

    id: str
    """Name for the key map in the settings file."""
    key: str
    """Keys in Textual's spelling, separated by commas."""
    action: str
    description: str
    """What it does, as a few words for help and palette."""
    tooltip: str
    """One sentence more."""
    label: str
    """The key as a person reads it."""
    scope: Scope = "chat"
    hint: str = ""
    """Word behind the key in the footer; empty when the footer does not show it."""
    rank: int = 0
    """Hints with a higher rank leave the footer first when room is short."""
    priority: bool = False
    """Whether it acts before the focused widget sees the key."""


def _prompt(id: str, key: str, action: str, description: str, tooltip: str, label: str) -> KeyBinding:
    return KeyBinding(
        id=f"prompt.{id}", key=key, action=action, description=description, tooltip=tooltip, label=label,
        scope="prompt",
    )  # fmt: skip


def _chat(id: str, key: str, action: str, description: str, tooltip: str, label: str = "") -> KeyBinding:
    return KeyBinding(
        id=f"chat.{id}", key=key, action=action, description=description, tooltip=tooltip, label=label or key
    )


def _pane(id: str, key: str, description: str, tooltip: str, label: str = "") -> KeyBinding:
    return KeyBinding(
        id=f"chat.{id}", key=key, action=id, description=description, tooltip=tooltip, label=label or key,
        scope="pane",
    )  # fmt: skip


KEYS: tuple[KeyBinding, ...] = (
    _prompt("send", "enter", "send", "Send", "Send, or queue while an answer is written.", "enter"),
    _prompt("newline", "ctrl+j,shift+enter", "newline", "New line", "Start a new line.", "ctrl+j"),
    _prompt("complete", "tab", "complete", "Complete", "Complete the marked command or file.", "tab"),
    _prompt(
        "close_list", "escape", "close_list", "Close the list", "Close the list of commands or files.", "esc"
    ),
    _prompt(
        "expand", "ctrl+o", "expand", "Show a pasted text", "With the cursor at its mark.", "ctrl+o"
    ),
    _prompt("help", "question_mark", "help", "Keys and commands", "Show this help, on an empty prompt.", "?"),
    _prompt("quit", "ctrl+d", "quit_empty", "Quit", "Quit, on an empty prompt.", "ctrl+d"),
    KeyBinding(
        id="prompt.history_back", key="up", action="cursor_up", description="Earlier prompt",
        tooltip="On the first line: the prompt before.", label="up", scope="prompt",
    ),
    KeyBinding(
        id="prompt.history_forward", key="down", action="cursor_down", description="Later prompt",
        tooltip="On the last line: the prompt after.", label="down", scope="prompt",
    ),
    KeyBinding(
        id="chat.compact", key="ctrl+g", action="slash('/compact')", description="Compact the conversation",
        tooltip="Replace old history by a summary; it can be undone.", label="ctrl+g", hint="compact", rank=1,
    ),
    KeyBinding(
        id="chat.models", key="ctrl+l", action="slash('/model')", description="Choose a model",
        tooltip="Pick the model that answers next.", label="ctrl+l", hint="models", rank=2,
    ),
    KeyBinding(
        id="chat.context", key="f3", action="slash('/context')", description="What fills the context",
        tooltip="Tokens by category, and every message.", label="f3", hint="context", rank=3,
    ),
    KeyBinding(
        id="chat.timeline", key="ctrl+t", action="timeline", description="Show or hide the timeline",
        tooltip="Turns, tools and compactions in order.", label="ctrl+t", hint="timeline", rank=4,
        scope="pane",
    ),
    KeyBinding(
        id="app.palette", key="ctrl+p", action="command_palette", description="Command palette",
        tooltip="Find any command by name; in a dialog, what its keys do.", label="ctrl+p", scope="app",
        hint="palette", rank=5, priority=True,
    ),
    KeyBinding(
        id="chat.help", key="f1", action="slash('/help')", description="Keys and commands",
        tooltip="Everything this screen can do.", label="f1",
    ),
    _chat(
        "cancel", "escape", "cancel", "Stop or go back",
        "One step a press; twice when idle: earlier prompts.", "esc",
    ),
    _pane("details", "ctrl+o", "Details of the focused row", "Open the full text of a row."),
    _chat("prompts", "ctrl+r", "slash('/prompts')", "Search earlier prompts", "All of this folder's."),
    _chat("editor", "f4", "slash('/editor')", "Write in $EDITOR", "Open the draft in your own editor."),
    _chat("notices", "f2", "notices", "Notices", "What was reported since the start."),
    KeyBinding(
        id="chat.find", key="ctrl+f", action="find", description="Find in the conversation",
        tooltip="Looks through everything, long tool outputs too.", label="ctrl+f", scope="pane",
    ),
    _pane("answer", "f12", "Answer a tool", "Go to the question of a tool that wants to change something."),
    _pane("page_up", "pageup", "Scroll up a page", "Typing goes on.", "pgup"),
    _pane("page_down", "pagedown", "Scroll down a page", "Typing goes on.", "pgdn"),
    _pane("top", "ctrl+home", "Scroll to the start", "Go to the first message."),
    _pane("bottom", "ctrl+end", "Scroll to the end", "Go to the newest message and follow it."),
    _chat(
        "interrupt", "ctrl+c", "interrupt", "Copy, clear, stop or quit",
        "Copies a selection; else clears the draft; else stops; twice quits.",
    ),
    KeyBinding(
        id="app.quit", key="ctrl+q", action="quit", description="Quit",
        tooltip="Leave; the session can be resumed.", label="ctrl+q", scope="app", priority=True,
    ),
)  # fmt: skip


class Hint(NamedTuple):
    """One entry of the footer: ``ctrl+g compact``."""

    label: str
    text: str
    rank: int = 0
    action: str = ""
    """Textual action run by a click; empty for none."""
    changes: bool = False
    """Whether it does nothing where the session can only be looked at."""

    def __str__(self) -> str:
        return f"{self.label} {self.text}"


MARK_HINTS: tuple[Hint, ...] = (
    Hint("y", "text", 1),
    Hint("c", "code", 2),
    Hint("m", "Markdown", 3),
    Hint("p", "pin", 4, changes=True),
    Hint("o", "offload", 5, changes=True),
    Hint("a", "archive", 6, changes=True),
    Hint("shift+↑↓", "more", 7),
    Hint("esc", "ends", 0),
)
"""What can be done while entries of the conversation are marked."""
TO_MARKS: tuple[Hint, ...] = (Hint("tab", "rows"), Hint("esc", "unmarks"))
"""The ways to marked entries and out of them while the prompt has the focus."""
ROW_HINTS: tuple[Hint, ...] = (
    Hint("up", "to a row", 1, "focused.move(-1)"),
    Hint("enter", "open", 1, "focused.open"),
    Hint("p", "pin", 3, "focused.ask('pin')", changes=True),
    Hint("v", "mark", 2, "focused.mark"),
    Hint("u", "undo", 4, "focused.undo", changes=True),
    Hint("<", "compact up to", 6, "focused.compact_part(True)", changes=True),
    Hint(">", "from here", 7, "focused.compact_part(False)", changes=True),
    Hint("ctrl+o", "details", 5, "focused.details"),
)
"""What can be done with a row while the conversation has the focus."""
TIMELINE_HINTS: tuple[Hint, ...] = (
    Hint("enter", "show it", 1, "focused.select"),
    Hint("f", "rows of one kind", 2, "focused.filter"),
    Hint("home", "first", 4, "focused.first"),
    Hint("end", "last", 5, "focused.last"),
    Hint("esc", "back", 0, "screen.cancel"),
)
"""What can be done while the timeline has the focus."""
Locked = Literal["", "elsewhere", "unusable"]
"""Another window writes the session, or it could not be opened."""
COPY = Hint("/fork", "a copy to write in", 1, "screen.slash('/fork')")
"""The way on where another window writes the session."""
_CHANGES = frozenset({"chat.compact", "chat.models"})
_NO_KEY = "no-key-"
_LABELS = {
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "slash": "/",
}
"""Keys whose names people read otherwise than Textual writes them."""


def in_force(keymap: Mapping[str, str]) -> tuple[KeyBinding, ...]:
    """Every key as it is with a key map of the settings."""
    return tuple(
        replace(key, key=keymap[key.id], label=_label(keymap[key.id])) if key.id in keymap else key
        for key in KEYS
    )


def key_labels(keys: str) -> str:
    """Keys in Textual's spelling, as a person reads them."""
    return " ".join(_LABELS.get(key, key) for key in keys.split(","))


def _label(keys: str) -> str:
    return key_labels(keys.split(",", maxsplit=1)[0])


def as_bindings(scope: Scope) -> list[BindingType]:
    """Textual bindings of one scope, each with the id that a key map refers to.

    Outside of the prompt each stands twice: the second time for keys that a person has chosen, which act
    before the editor sees them. It has none until then.
    """
    keys = [key for key in KEYS if key.scope == scope]
    chosen = [
        replace(key, id=_chosen(key.id), key=_no_key(_chosen(key.id)), priority=True)
        for key in keys
        if scope != "prompt" and not key.priority
    ]
    return [
        Binding(
            key.key, key.action, key.description, show=False, key_display=key.label, priority=key.priority,
            tooltip=key.tooltip, id=key.id,
        )
        for key in (*keys, *chosen)
    ]  # fmt: skip


def textual_keymap(keymap: Mapping[str, str]) -> dict[str, str]:
    """The key map of the settings, with what it brings anew under the bindings that win over the editor.

    Built-in keys keep their place behind the editor: some of them mean something else there first.
    """
    told: dict[str, str] = {}
    for key in KEYS:
        if key.id not in keymap:
            continue
        if key.scope == "prompt" or key.priority:
            told[key.id] = keymap[key.id]
            continue
        built_in, new = own_keys(key.id, keymap[key.id])
        told[key.id] = ",".join(built_in) or _no_key(key.id)
        if new:
            told[_chosen(key.id)] = ",".join(new)
    return told


def _chosen(id: str) -> str:
    return f"{id}.chosen"


def _no_key(id: str) -> str:
    """A name that no key has, and no other binding: Textual takes a binding away with its key."""
    return f"{_NO_KEY}{id}"


def waits_for_key(binding: Binding) -> bool:
    """Whether a binding has no key until a person chooses one."""
    return binding.key.startswith(_NO_KEY)


def fixed_key(id: str, key: str, action: str, description: str, tooltip: str) -> Binding:
    """A key that acts in one place only and cannot be changed."""
    return Binding(key, action, description, show=False, tooltip=tooltip, id=id)


def footer_hints(keymap: Mapping[str, str] | None = None) -> tuple[Hint, ...]:
    """The hints of the chat screen's footer, left to right.

    Args:
        keymap: Keys of the actions that have others than the built-in ones.
    """
    keys = in_force(keymap or {})
    owner: dict[Scope, str] = {"chat": "screen.", "app": "app.", "prompt": "", "pane": ""}
    shown = [
        Hint(key.label, key.hint, key.rank, owner[key.scope] + key.action, key.id in _CHANGES)
        for key in keys
        if key.hint
    ]
    help_key = next(key.label for key in keys if key.id == "prompt.help")
    return (*shown, Hint(help_key, "keys", 0, "screen.slash('/help')"))


# The bottom row: which keys do what, how many notices are unread, and the folded timeline's word.

SEPARATOR = "   "


def fit_hints(hints: Sequence[Hint], width: int) -> list[Hint]:
    """Leave out whole hints, highest rank first, until the row fits ``width`` cells."""
    left = list(hints)
    while left and len(SEPARATOR.join(map(str, left))) > width:
        left.remove(max(left, key=lambda hint: hint.rank))
    return left


def notice_text(notices: int, glyphs: Glyphs = UNICODE) -> str:
    """``⚠ 1 notice · f2``; empty when there is none."""
    if not notices:
        return ""
    sign = "!" if glyphs.gauge_full.isascii() else "⚠"
    return f"{sign} {notices} notice{'s' if notices > 1 else ''} {glyphs.separator} f2"


class HintRow(Widget):
    """Key hints that shorten by leaving out whole ones; a click runs what the key would."""

    DEFAULT_CSS = """
    HintRow { height: 1; width: 1fr; color: $text-muted; }
    """

    hints: reactive[tuple[Hint, ...]] = reactive(footer_hints())
    instead: reactive[tuple[Hint, ...]] = reactive(())
    """What keys do for the moment, in place of the hints with the same labels."""
    notices: reactive[int] = reactive(0)
    folded: reactive[str] = reactive("")
    """Said for a timeline that has no room, for example ``timeline 14``."""
    said: reactive[str] = reactive("")
    """What a key has just done, for example ``copied all``."""
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    def __init__(self, hints: Sequence[Hint] | None = None, *, id: str | None = None) -> None:
        """Create the row; without ``hints`` those of the chat screen."""
        super().__init__(id=id)
        if hints is not None:
            self.hints = tuple(hints)

    def render(self) -> Content:
        """Hints at the left; what was done, the folded timeline and notices at the right."""
        notices = notice_text(self.notices, self.glyphs)
        right = Content("  ").join(
            Content.styled(part, style)
            for part, style in (
                (self.said, "$text-success"),
                (self.folded, "$text-muted"),
                (notices, "$text-warning"),
            )
            if part
        )
        room = self.size.width - (right.cell_length + 2 if right.plain else 0)
        now = {hint.label: hint for hint in self.instead}
        hints = fit_hints([now.get(hint.label, hint) for hint in self.hints], room)
        left = Content(SEPARATOR).join(self._hint(hint) for hint in hints)
        spaces = " " * max(0, self.size.width - left.cell_length - right.cell_length)
        return Content.assemble(left, spaces, right)

    @staticmethod
    def _hint(hint: Hint) -> Content:
        text = Content.assemble((hint.label, "$footer-key-foreground"), f" {hint.text}")
        return text.stylize(Style.from_meta({"hint": hint.action})) if hint.action else text

    async def on_click(self, event: events.Click) -> None:
        """Run the clicked hint's action; one without ``screen.`` or ``app.`` is the parent's."""
        action = event.style.meta.get("hint")
        if action:
            event.stop()
            await self.app.run_action(action, self.parent)
