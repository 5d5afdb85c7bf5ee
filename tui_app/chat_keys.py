"""Keys of the chat, declared once for bindings, hints, help and palette. The settings can change them.

Settings are read before the screen and must not load it. Keys of dialogs and single widgets are in
:mod:`tui_app.ui.keyboard.keys`. Left out on purpose, because terminals, tmux or the editor widget use them:
``ctrl+b``, ``ctrl+n``, ``ctrl+x``, ``ctrl+s`` and every alt+letter. ``alt+enter`` is read as ``shift+enter``.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

Scope = Literal["chat", "pane", "prompt", "app"]
"""Where a changeable key is handled: the chat screen, its body, the prompt, or the application."""
RowState = Literal["none", "live", "any", "pinnable", "undoable", "up_to", "from"]
"""Position of the conversation's cursor.

Nowhere, on the live answer, on any row, or on one that can be pinned, undone, or compacted up to or from.
"""


_LABELS = {
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "question_mark": "?",
    "ctrl+underscore": "ctrl+_",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "slash": "/",
}
"""Labels of keys whose Textual name differs from the usual one."""


def key_labels(keys: str) -> str:
    """Convert keys in Textual's form to labels for the user."""
    return " ".join(_LABELS.get(key, key) for key in keys.split(","))


class KeyBinding(NamedTuple):
    """One key and its action."""

    id: str
    """Its name, also in the settings' key map if it can be changed."""
    key: str
    """Keys in Textual's form, separated by commas."""
    action: str
    description: str
    """A few words for help and palette."""
    tooltip: str
    """One more sentence."""
    hint: str = ""
    """Word after the key in the bottom row; empty if it is not shown there."""
    rank: int = 0
    """Hints with a higher rank are dropped from the bottom row first."""
    scope: Scope | None = None
    """None if it is used in one place only and cannot be changed."""
    priority: bool = False
    """Whether it acts before the focused widget sees the key."""
    changes: bool = False
    """Whether it does nothing in a read-only session."""
    command: str = ""
    """The equivalent slash command, if the action itself does not run one."""
    rows: tuple[RowState, ...] = ()
    """Cursor positions for which the conversation's hints show it."""
    topic: str = ""
    """Its group in help; empty for the default of its scope."""

    @property
    def label(self) -> str:
        return key_labels(self.key.split(",", maxsplit=1)[0])


_TYPING, _LEAVING = "In the prompt", "Stop and leave"
_DECLARED = (
    KeyBinding("prompt.send", "enter", "send", "Send", "Send, or queue while an answer is written."),
    KeyBinding("prompt.newline", "ctrl+j,shift+enter", "newline", "New line", "Start a new line."),
    KeyBinding("prompt.complete", "tab", "complete", "Complete", "Complete the marked command or file."),
    KeyBinding(
        "prompt.close_list", "escape", "close_list", "Close the list", "Close the list of commands or files.",
    ),
    KeyBinding("prompt.expand", "ctrl+o", "expand", "Show a pasted text", "With the cursor at its mark."),
    KeyBinding(
        "prompt.paste", "ctrl+v", "paste_picture", "Paste a picture", "The clipboard's, as [picture 1].",
    ),
    KeyBinding(
        "prompt.help", "question_mark", "help", "Keys and commands", "Show this help, on an empty prompt.",
        command="/help",
    ),
    KeyBinding(
        "prompt.quit", "ctrl+d", "quit_empty", "Quit", "Quit, on an empty prompt.", command="/quit",
        topic=_LEAVING,
    ),
    KeyBinding(
        "prompt.undo", "ctrl+underscore", "undo_typing", "Undo typing", "Undo typing; ctrl+y redoes it.",
    ),
    KeyBinding(
        "prompt.history_back", "up", "cursor_up", "Earlier prompt",
        "On the first line: the previous prompt; on an empty prompt the newest queued one, to edit it.",
    ),
    KeyBinding(
        "prompt.history_forward", "down", "cursor_down", "Later prompt", "On the last line: the next prompt.",
    ),
    KeyBinding(
        "chat.compact", "ctrl+g", "slash('/compact')", "Compact the conversation",
        "Replace old history by a summary; it can be undone.", hint="compact", rank=1, changes=True,
    ),
    KeyBinding(
        "chat.models", "ctrl+l", "slash('/model')", "Choose a model", "Choose the model.",
        hint="models", rank=2, changes=True,
    ),
    KeyBinding(
        "chat.context", "f3", "slash('/context')", "What fills the context",
        "Tokens by category, and every message.", hint="context", rank=3,
    ),
    KeyBinding(
        "chat.timeline", "ctrl+t", "timeline", "Show or hide the timeline",
        "Turns, tools and compactions in order.", scope="pane", hint="timeline", rank=4,
    ),
    KeyBinding(
        "chat.todo", "f8", "slash('/todo')", "Show or hide the todo list",
        "Under the timeline, or above the prompt where there is no room.",
    ),
    KeyBinding(
        "chat.mode", "shift+tab", "mode", "Next mode",
        "ask, edit, plan: what tools may do without asking.", hint="mode", rank=5, changes=True,
        command="/mode",
    ),
    KeyBinding(
        "chat.accept", "f9", "slash('/accept')", "Accept the plan",
        "Leaves plan mode and has the proposed plan carried out.", changes=True,
    ),
    KeyBinding(
        "app.palette", "ctrl+p", "command_palette", "Command palette",
        "Find any command by name; in a dialog, what its keys do.", hint="palette", rank=5, priority=True,
    ),
    KeyBinding("chat.help", "f1", "slash('/help')", "Keys and commands", "Everything this screen can do."),
    KeyBinding(
        "chat.cancel", "escape", "cancel", "Stop or go back",
        "Stop, or go back one step; twice when idle: earlier prompts.", topic=_LEAVING,
    ),
    KeyBinding(
        "chat.details", "ctrl+o", "details", "Details of the focused row", "Open the full text of a row.",
        scope="pane",
    ),
    KeyBinding(
        "chat.prompts", "ctrl+r", "slash('/prompts')", "Search earlier prompts",
        "All prompts of this folder.", topic=_TYPING,
    ),
    KeyBinding(
        "chat.editor", "f4", "slash('/editor')", "Write in $EDITOR", "Open the draft in your own editor.",
        topic=_TYPING,
    ),
    KeyBinding("chat.notices", "f2", "notices", "Notices", "What was reported since the start."),
    KeyBinding(
        "chat.find", "ctrl+f", "find", "Find in the conversation",
        "Searches everything, including long tool output.", scope="pane", command="/find",
    ),
    KeyBinding(
        "chat.answer", "f12", "answer", "Answer a question", "Go to what a tool or the model asks.",
        scope="pane",
    ),
    KeyBinding(
        "chat.page_up", "pageup", "page(-1)", "Scroll up a page", "The prompt keeps focus.", scope="pane",
    ),
    KeyBinding(
        "chat.page_down", "pagedown", "page(1)", "Scroll down a page", "The prompt keeps focus.",
        scope="pane",
    ),
    KeyBinding(
        "chat.top", "ctrl+home", "ends(0)", "Scroll to the start", "Go to the first message.", scope="pane",
    ),
    KeyBinding(
        "chat.bottom", "ctrl+end", "ends(1)", "Scroll to the end", "Go to the newest message and follow it.",
        scope="pane",
    ),
    KeyBinding(
        "chat.interrupt", "ctrl+c", "interrupt", "Copy, clear, stop or quit",
        "Copies a selection; else clears the draft; else stops; twice quits.", topic=_LEAVING,
    ),
    # The prompt and other fields see it first.
    KeyBinding(
        "app.suspend", "ctrl+z", "suspend", "Suspend",
        "To the shell, until fg.", topic=_LEAVING,
    ),
    KeyBinding(
        "app.repaint", "ctrl+f5", "repaint", "Repaint the screen",
        "When another program has written over it.", priority=True,
    ),
    KeyBinding(
        "app.quit", "ctrl+q", "quit", "Quit", "Leave; the session can be resumed.", priority=True,
        command="/quit", topic=_LEAVING,
    ),
)  # fmt: skip
_SCOPES: Mapping[str, Scope] = {"prompt": "prompt", "chat": "chat", "app": "app"}
KEYS = tuple(key._replace(scope=key.scope or _SCOPES[key.id.partition(".")[0]]) for key in _DECLARED)
"""Keys of the chat, which the settings can change.

The first word of a name is its scope, unless the key sets one.
"""
ACTION_KEYS: Mapping[str, str] = {key.id: key.key for key in KEYS}
"""Default keys of each action, separated by commas."""


NO_CHANGES: Mapping[str, str] = MappingProxyType({})
"""The key map of a user without changes."""


def in_force(keymap: Mapping[str, str]) -> tuple[KeyBinding, ...]:
    """Return all keys, with the changes of a key map."""
    return tuple(key._replace(key=keymap.get(key.id, key.key)) for key in KEYS)


def label_of(id: str, keymap: Mapping[str, str]) -> str:
    """Return the label of an action's first key."""
    return next(key.label for key in in_force(keymap) if key.id == id)
