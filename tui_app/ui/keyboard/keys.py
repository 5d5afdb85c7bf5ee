"""Keys of single widgets and dialogs; bindings and hints of all keys.

Keys of the chat, which settings can change, are in :mod:`tui_app.chat_keys`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from textual.actions import parse as parse_action
from textual.binding import Binding, BindingType
from textual.dom import DOMNode

from tui_app.chat_keys import KEYS, KeyBinding, Scope, in_force
from tui_app.keymap import own_keys


class Hint(NamedTuple):
    """One entry of the bottom row: ``ctrl+g compact``."""

    label: str
    text: str
    rank: int = 0
    action: str = ""
    """Textual action run by a click; empty if there is none."""
    changes: bool = False
    """Whether it has no effect in a read-only session."""

    def __str__(self) -> str:
        return f"{self.label} {self.text}"


Key = KeyBinding
"""A key of a place. Its id is completed with the name of the place, unless it is written in full."""


class Place(NamedTuple):
    """A widget or dialog with fixed keys of its own."""

    where: str
    """Where the keys work, in words for help; empty if help does not list them."""
    keys: tuple[KeyBinding | Hint, ...]
    """The keys, and hints for keys that the widget itself handles, in the order of the bottom row."""
    owner: str = "screen."
    """Namespace of the action that a click on a hint runs."""
    also: str = ""
    """Another place whose keys work here, too."""
    esc: str = ""
    """What esc does, shown last in the bottom row; empty if the keys include it."""


_NO_KEY = "no-key-"
_MOVE = Hint("up/down", "move", 2)
"""The hint for moving the mark, in every list."""


def _with_ids(name: str, place: Place) -> Place:
    named = (
        key._replace(id=f"{name}.{key.id}") if isinstance(key, KeyBinding) and "." not in key.id else key
        for key in place.keys
    )
    return place._replace(keys=(*named, *([_leaving(place.esc)] if place.esc else [])))


def _leaving(esc: str) -> Hint:
    return Hint("esc", esc, 0, "screen.close")


_STEPS = (
    ("up", "up", "Previous row", "One row up."),
    ("down", "down", "Next row", "One row down."),
    ("page_up", "pageup", "Page up", "One page up."),
    ("page_down", "pagedown", "Page down", "One page down."),
    ("home", "home", "First row", "Go to the first row."),
    ("end", "end", "Last row", "Go to the last row."),
)
"""Keys for moving through rows: id, key and description of each."""


def _steps(*actions: str, of: str = "", ends: str = "") -> Iterator[Key]:
    """Yield the keys for moving through rows.

    Args:
        actions: Actions for a row, a page and the ends, each upwards first; possibly fewer, or empty ones.
        of: Prefix of the ids.
        ends: A modifier with which the keys for the ends work as well.
    """
    for (id, key, name, about), action in zip(_STEPS, actions, strict=False):
        keys = f"{key},{ends}{key}" if ends and key in ("home", "end") else key
        if action:
            yield Key(f"{of}{id}", keys, action, name, about)


_TABS = (
    Key("next", "right,right_square_bracket,ctrl+right", "tab(1)", "Next tab", "Show the next part."),
    Key("previous", "left,left_square_bracket,ctrl+left", "tab(-1)", "Previous tab",
        "Show the previous part."),
)  # fmt: skip
"""Keys for changing the tab of a dialog."""
_OF_LINES = (
    Key("check", "n", "check", "Next line to check",
        "Go to the next line that is unchecked, doubtful or not in the log.", "next to check"),
    Key("drop", "d", "drop", "Drop the line", "Leave the marked line out of the notes.", "drop the line"),
)  # fmt: skip
"""Keys for notes whose lines are checked."""
_PLACES = {
    "transcript": Place("in the conversation", (
        Key("up", "up", "move(-1)", "Previous row", "One row up.", "to a row", 1, rows=("none",)),
        *_steps("", "move(1)", "page(-1)", "page(1)", "first", "last", ends="ctrl+"),
        Key("open", "enter", "open", "Open", "Open or close it, or show its details.", "open", 1,
            rows=("live", "any")),
        Key("details", "ctrl+o", "details", "Details", "Open its details.", "details", 5,
            rows=("none", "any")),
        Key("pin", "p", "ask('pin')", "Pin or unpin", "A pinned message stays word for word.", "pin", 3,
            changes=True, rows=("pinnable",)),
        Key("exclude", "x", "ask('exclude')", "Exclude or include",
            "Exclude it from the context, or include it again.", "exclude", 3, changes=True,
            rows=("pinnable",)),
        Key("mark", "v,space", "mark", "Mark", "Mark it, to act on all marked rows.", "mark", 2,
            rows=("any",)),
        Key("extend_up", "shift+up", "extend(-1)", "Mark upwards", "Extend the marks up."),
        Key("extend_down", "shift+down", "extend(1)", "Mark downwards", "Extend the marks down."),
        Key("copy_text", "y", "ask('text')", "Copy as text", "What is marked, without markup."),
        Key("copy_code", "c", "ask('code')", "Copy the code", "Code blocks of what is marked."),
        Key("copy_markdown", "m", "ask('markdown')", "Copy as Markdown", "What is marked."),
        Key("archive", "a", "ask('archive')", "Archive", "Archive marked results with a digest."),
        Key("offload", "o", "ask('offload')", "Offload", "Marked results go to files."),
        Key("undo", "u", "undo", "Undo compaction", "Bring the full history back.", "undo", 4, changes=True,
            rows=("undoable",)),
        Key("compact_up_to", "less_than_sign", "compact_part(True)", "Compact up to here",
            "Summarise what was said up to the marked entry; the rest stays.", "compact up to", 6,
            changes=True, rows=("up_to",)),
        Key("compact_from", "greater_than_sign", "compact_part(False)", "Compact from here",
            "Summarise from the marked entry on; what is before it stays, and so does the newest.",
            "from here", 7, changes=True, rows=("from",)),
    ), owner="focused."),
    "timeline": Place("in the timeline", (
        Hint("enter", "show it", 1, "focused.select"),
        Key("filter", "f", "filter", "Rows of one kind", "Show all rows, or those of one kind.",
            "rows of one kind", 2),
        Hint("home", "first", 4, "focused.first"),
        Hint("end", "last", 5, "focused.last"),
        Hint("esc", "back", 0, "screen.cancel"),
    ), owner="focused.", also="rows"),
    "dialog": Place("in every dialog", (
        Key("close", "escape", "back", "Close",
            "Close without a decision; in a list, clears the filter first."),
    ), esc="close"),
    "list": Place("in lists", (
        *_steps("move(-1)", "move(1)", "move(-10)", "move(10)"),
    )),
    "sessions": Place("in sessions", (
        Hint("enter", "open"),
        _MOVE,
        Key("search", "f7", "ask('search')", "Search", "Search what was said in all sessions.", "search all",
            1),
        Key("rename", "f6", "ask('rename')", "Rename", "Rename the selected session.", "rename", 1),
        Key("delete", "f8", "delete", "Delete", "Delete (asks first).", "delete"),
    ), esc="close"),
    "search": Place("in search", (
        Hint("enter", "open there"),
        _MOVE,
        Key("stop", "ctrl+c", "stop", "Stop searching", "Stop the search; what was found stays.",
            priority=True),
    ), esc="close"),
    "memory": Place("in memory", (
        Hint("enter", "source"),
        Key("edit", "f4", "ask('edit')", "Edit", "Reword the selected entry.", "edit"),
        Key("add", "f6", "ask('add')", "Add", "Add an entry to the board.", "add", 1),
        Key("forget", "f8", "forget", "Forget", "Remove the selected entry (asks first).", "forget"),
    ), esc="close"),
    "picker": Place("in models", (
        Hint("enter", "use"),
        Key("default", "f6", "default", "Default model", "Begin new sessions with the selected model.",
            "default for new sessions", 1),
        _MOVE,
    ), esc="cancel"),
    "mcp": Place("in MCP servers", (
        Key("reload", "f5", "ask('reload')", "Reload", "Restart the selected server.", "restart", 1),
        Key("sign_in", "f6", "ask('sign_in')", "Sign in", "Sign in to the selected server in the browser.",
            "sign in", 3),
        Key("switch", "f8", "ask('switch')", "On or off",
            "Switch the selected server on or off, in this session and in the settings file.", "on or off",
            2),
        _MOVE,
    ), esc="close"),
    "settings": Place("in settings", (
        Hint("enter", "change"),
        _MOVE,
        Key("reset", "f8", "ask('reset')", "Reset to default",
            "Remove it from the file, so that the default applies.", "reset to default", 2),
    ), esc="close"),
    "approvals": Place("in approvals", (
        Key("add", "f7", "ask('add')", "Add a rule", "Write it to your settings, for this repository.",
            "add a rule"),
        Key("remove", "f8", "ask('remove')", "Remove the rule or guard",
            "Remove it from the settings, or from this session; of a guard, lift it.", "remove", 1),
        Key("keep", "f9", "ask('keep')", "Keep in this repository",
            "Write a rule of this session to your settings, for this repository.", "keep here", 2),
        Key("widen", "f6", "ask('widen')", "Keep in all repositories",
            "Write a rule of this session or repository to your settings, for all repositories.",
            "keep everywhere", 3),
        _MOVE,
    ), esc="close"),
    "help": Place("in help", (
        Hint("enter", "run the command", 1),
        _MOVE,
        Hint("?", "close", 3, "screen.close"),
        Key("close", "f1", "close", "Close", "The key that opened it closes it."),
    ), esc="close"),
    "details": Place("in details", (
        Key("copy", "y", "copy_all", "Copy all", "Copy the whole text.", "copy all", 1),
        Hint("ctrl+c", "copy selection", 2),
        Key("close", "ctrl+o", "close", "Close", "The key that opened it closes it."),
    ), esc="close"),
    "message": Place("in a message", (
        Key("raw", "j", "raw", "Text or JSON", "Show its events as they are stored.", "JSON", 1),
        Key("copy", "y", "copy_all", "Copy all", "Copy all that is shown.", "copy all", 1),
        Key("pin", "p", "dismiss('pin')", "Pin or unpin", "A pinned message stays word for word.", "pin", 2),
        Key("exclude", "x", "dismiss('exclude')", "Exclude or include",
            "Exclude it from the context, or include it again.", "exclude", 3),
        Key("restore", "u", "dismiss('restore')", "Undo", "Restore its original form.", "undo", 4),
        Key("rewind", "r", "dismiss('rewind')", "Rewind here", "Go back to before this prompt.",
            "rewind here", 5),
        Key("fork", "f", "dismiss('fork')", "Fork here", "Continue from before it in a new session.",
            "fork here", 6),
        Key("branch", "b", "dismiss('branch')", "Branch here", "Try something else from before it, aside.",
            "branch here", 7),
        Key("close", "ctrl+o", "close", "Close", "The key that opened it closes it."),
    ), esc="close"),
    "text": Place("in a long text", (
        *_steps("scroll_lines(-1)", "scroll_lines(1)", "scroll_pages(-1)", "scroll_pages(1)",
            "scroll_ends(0)", "scroll_ends(1)", ends="ctrl+"),
        Key("space", "space", "scroll_pages(1)", "Page down", "One page down."),
    )),
    "find": Place("while finding", (
        Key("next", "enter,down,ctrl+f", "step(1)", "Next place", "Further down."),
        Key("previous", "up", "step(-1)", "Previous place", "Further up."),
        Key("close", "escape", "stop", "Stop or close", "Close it, and stay where you are."),
    )),
    "pins": Place("in the pins", (
        Hint("enter", "show it", 1),
        # Before the search box, which would clear itself.
        Key("unpin", "ctrl+u", "ask('unpin')", "Unpin", "Unpin the selected message.", "unpin",
            priority=True),
        _MOVE,
    ), esc="close"),
    "agents": Place("in the agents", (
        Hint("enter", "read it", 1),
        # Before the search box, which would clear itself.
        Key("stop", "ctrl+u", "ask('stop')", "Stop", "Stop the selected sub-agent; what it has done stays.",
            "stop", priority=True),
        Key("promote", "ctrl+k", "ask('promote')", "Promote", "Make its session one of your own and open it.",
            "open as a session", 1, priority=True),
        _MOVE,
    ), esc="close"),
    "tasks": Place("in the tasks", (
        Hint("enter", "read its output", 1),
        # Before the search box, which would clear itself.
        Key("stop", "ctrl+u", "ask('stop')", "Stop", "Stop the selected command and everything it started.",
            "stop", priority=True),
        Key("keep", "ctrl+k", "ask('keep')", "Keep", "Keep it running when the session ends, or not.",
            "keep", 1, priority=True),
        _MOVE,
    ), esc="close"),
    "task": Place("in a task", (
        Key("earlier", "p", "page(-1)", "Earlier", "Earlier lines.", "earlier"),
        Key("later", "n", "page(1)", "Later", "Later lines.", "later"),
        Key("stop", "s", "stop", "Stop", "Stop it and everything it started.", "stop"),
        Key("copy", "c", "copy_all", "Copy", "Copy what is shown.", "copy"),
    ), esc="close"),
    "changes": Place("in the changes", (
        _MOVE,
        Key("down", "pagedown", "scroll(1)", "Page down", "Scroll the diff down.", "diff"),
        Key("up", "pageup", "scroll(-1)", "Page up", "Scroll the diff up."),
        Key("first", "ctrl+home", "ends(0)", "Beginning", "Go to the diff's first line."),
        Key("last", "ctrl+end", "ends(1)", "End", "Go to the diff's last line."),
        Hint("enter", "to the prompt as @file", 2),
    ), esc="close"),
    "prompts": Place("in earlier prompts", (
        Hint("enter", "write it again"),
        _MOVE,
        Key("next", "ctrl+r", "move(1)", "Next", "Go to the next match."),
    ), esc="keep the draft"),
    # With priority, so that each letter acts before the next is processed: letters after "n" are the reason.
    "question": Place("on a tool's question", (
        Key("approval.once", "y", "decide('once')", "Allow once", "Allow this call once.", priority=True),
        Key("approval.always", "a", "decide('always')", "Always allow", "Always allow exactly this call.",
            priority=True),
        Key("approval.wider", "w", "decide('wider')", "Always allow this prefix",
            "Always allow what the rule ending in … matches.", priority=True),
        Key("approval.edit", "e", "decide('edit')", "Edit the rule",
            "Change the rule, then allow what it says.", priority=True),
        Key("approval.origin", "o", "decide('origin')", "Where it comes from",
            "Show the text in which its address, path or command first stood.", priority=True),
        Key("approval.no", "n", "refuse", "No", "Say no, and why if you want.", priority=True),
        *_steps("scroll(-1)", "scroll(1)", "scroll(-1, 1)", "scroll(1, 1)", "ends(0)", "ends(1)",
            of="approval."),
        Key("approval.back", "escape", "back", "Back",
            "Close the line for a reason or a rule; pressed again, stop the turn (a no).", priority=True),
    )),
    "asked": Place("on a question", (
        Hint("1-6", "choose"),
        Hint("enter", "choose or send"),
        *_steps("move(-1)", "move(1)"),
        Key("none", "escape", "none", "No answer",
            "Clears what you typed; then the model is told that there is no answer.", priority=True),
    )),
    "waiting": Place("on queued prompts", (
        Key("queue.open", "enter", "open", "Change the queue", "Edit, remove or reorder queued prompts."),
    )),
    "queue": Place("in the queue", (
        Hint("enter", "edit"),
        _MOVE,
        Key("remove", "d,delete", "remove", "Remove", "Remove the marked prompt from the queue.", "remove"),
        Key("earlier", "left_square_bracket", "shift(-1)", "Earlier", "Move it up.", "earlier", 1),
        Key("later", "right_square_bracket", "shift(1)", "Later", "Move it down.", "later", 1),
    ), esc="close"),
    "context": Place("in the context", (
        Key("close", "f3", "dismiss", "Close", "The key that opened it closes it."),
        Key("pin", "p", "do('pin')", "Pin", "Keep the item word for word.", "pin", 1, changes=True),
        Key("exclude", "x", "do('exclude')", "Exclude or include",
            "Exclude the item from the context, or include it again.", "exclude", 1, changes=True),
        Key("archive", "a", "do('archive')", "Archive", "Leave a digest of a result.", "archive", 2,
            changes=True),
        Key("offload", "o", "do('offload')", "Offload", "Move a result to a file.", "offload", 2,
            changes=True),
        Key("restore", "u,r", "do('restore')", "Restore",
            "Restore everything that was rewritten in one step.", "restore", 3, changes=True),
        Key("cancel_compaction", "c", "cancel_compaction", "Cancel the compaction",
            "Stop the running compaction; nothing changes.", "cancel"),
        *_TABS,
        Hint("enter", "show", 4),
        Hint("space", "mark", 3, changes=True),
        Hint("s", "order", 5),
        Hint("/", "search", 6),
        Hint("left/right", "tabs", 2),
    )),
    "requests": Place("in the requests", (
        Key("context.broke", "o", "screen.show_break", "What broke it",
            "Show the row that broke the prefix of the marked request.", hint="what broke it", rank=3),
        Key("context.copy", "c", "screen.copy_request", "Copy as JSON",
            "Copy the marked request as JSON, secrets masked.", hint="copy as JSON", rank=4),
    ), owner=""),
    "ledger": Place("in the context's list", (
        Key("context.sort", "s", "sort", "Order", "By tokens, by age, by kind of item."),
        Key("context.search", "slash", "search", "Search", "Show the items that contain your words."),
        Key("context.mark", "space", "choose", "Mark",
            "Mark the item: keys then act on all that are marked."),
    )),
    "review": Place("in a review", (
        Key("apply", "enter", "apply", "Apply",
            "Apply it; first it leads to the lines that are not in the log.", "apply"),
        Key("down", "down,pagedown", "read(1)", "Read on", "Go down in the text."),
        Key("up", "up,pageup", "read(-1)", "Read back", "Go up in the text."),
        Key("other", "tab", "other", "Text, facts or neither",
            "Go to the text, to the facts at risk, or back.", "next part", 2, priority=True),
        Key("add", "a", "add", "Add a fact", "Put the marked fact at risk into the summary.",
            "add", 1),
        Key("edit", "e", "edit", "Edit", "Change the text of the summary.", "edit", 1),
        Key("focus", "f", "focus_on", "Focus on", "Rewrite it: say what matters most.",
            "focus on …", 2),
        Key("original", "o", "original", "Original text", "Put the first text back.",
            "original text", 2),
        Key("try", "t", "attempt", "Try it",
            "Ask the model that will read it what it can tell of it."),
        *(key._replace(rank=2) for key in _OF_LINES),
        Hint("esc", "discard", 1, "screen.close"),
    )),
    "compaction": Place("in a compaction", (
        *_OF_LINES,
        Key("edit", "e", "edit", "Edit", "Reword the summary.", "edit"),
        Key("undo", "u", "restate(True)", "Undo", "Bring the full history back.", "undo"),
        Key("redo", "r", "restate(False)", "Redo", "Apply the summary again.", "redo"),
        Key("checkpoint", "c", "checkpoint", "Checkpoint", "Show the checkpoint file.", "checkpoint", 1),
        Hint("left/right", "tabs", 2),
        *_TABS,
    ), esc="close"),
    "sent": Place("in the notes", (
        Key("open", "enter", "source", "Source",
            "Open the message the line comes from; pressed again, go to it.", "source"),
        *_steps("line(-1)", "line(1)"),
        _MOVE,
        Hint("pageup/pagedown", "message", 3),
    ), esc="back", owner="focused."),
    "confirm": Place("in questions", (
        Key("yes", "y", "letter(True)", "Yes", "Do it."),
        Key("no", "n", "letter(False)", "No", "Keep everything."),
        Key("other", "left,right,up,down", "other", "Other button", "Go to the other button."),
    )),
    "importing": Place("during an import", (
        Key("import.stop", "ctrl+c", "close", "Stop", "Stop the import.", priority=True),
    ), esc="stop"),
    "imported": Place("behind an import", (
        Hint("enter", "choose"),
        _MOVE,
        Key("compact", "ctrl+g", "dismiss('compact')", "Open and compact", "Open it and compact it.",
            "compact", priority=True),
    ), esc="later"),
    "rows": Place("", (
        *_steps("move(-1)", "move(1)", "page(-1)", "page(1)", "first", "last", of="list."),
        Key("list.select", "enter", "select", "Select", "Show it in the conversation."),
    )),
    "stats": Place("", (
        Hint("up/down", "scroll", 2),
        Key("copy", "y", "copy_all", "Copy all", "Copy all figures.", "copy all", 1),
    ), esc="close"),
}  # fmt: skip
PLACES: Mapping[str, Place] = {name: _with_ids(name, place) for name, place in _PLACES.items()}
"""The places by name, in the order of help."""


def keys_of(place: str) -> list[KeyBinding]:
    """Return the keys that a place handles itself."""
    return [key for key in PLACES[place].keys if isinstance(key, KeyBinding)]


def place_hints(place: str, *labels: str) -> tuple[Hint, ...]:
    """Return the hints of a place for the bottom row.

    Args:
        place: Its name.
        labels: The wanted keys in order; without them all keys, in the order of the table.
    """
    keys, owner = PLACES[place].keys, PLACES[place].owner
    hints = (key if isinstance(key, Hint) else _hint(key, owner) for key in keys)
    found = {hint.label: hint for hint in hints if hint.text}
    return tuple(found[label] for label in labels or found)


def choice_hints(does: str, leaves: str = "close") -> tuple[Hint, ...]:
    """Return the hints of a list from which one row is chosen.

    Args:
        does: What enter does with the row.
        leaves: What esc does.
    """
    return (Hint("enter", does), _MOVE, _leaving(leaves))


def _hint(key: KeyBinding, owner: str) -> Hint:
    return Hint(key.label, key.hint, key.rank, owner + key.action, key.changes)


MARK_HINTS: tuple[Hint, ...] = (
    Hint("y", "text", 1), Hint("c", "code", 2), Hint("m", "Markdown", 3), Hint("p", "pin", 4, changes=True),
    Hint("x", "exclude", 5, changes=True), Hint("o", "offload", 6, changes=True),
    Hint("a", "archive", 7, changes=True), Hint("shift+↑↓", "more", 8), Hint("esc", "ends", 0),
)  # fmt: skip
"""Hints while entries of the conversation are marked."""
TO_MARKS: tuple[Hint, ...] = (Hint("tab", "rows"), Hint("esc", "unmarks"))
"""Hints for marked entries while the prompt has the focus."""
ROW_HINTS = place_hints("transcript", "up", "enter", "p", "x", "v", "u", "<", ">", "ctrl+o")
"""Hints for a row while the conversation has the focus."""
TIMELINE_HINTS = place_hints("timeline")
"""Hints while the timeline has the focus."""
Locked = Literal["", "elsewhere", "unusable"]
"""Why a session is read-only: another window writes it, or it could not be opened."""
COPY = Hint("/fork", "a copy to write in", 1, "screen.slash('/fork')")
"""The hint for continuing while another window writes the session."""


def as_bindings(scope: Scope) -> list[BindingType]:
    """Return Textual bindings of a scope, each with the id that a key map refers to.

    Outside of the prompt each key has a second binding, for keys chosen by the user, which act before the
    editor gets them. Without a user's choice that binding has no key.
    """
    keys = [key for key in KEYS if key.scope == scope]
    chosen = [
        key._replace(id=_chosen(key.id), key=_no_key(_chosen(key.id)), priority=True)
        for key in keys
        if scope != "prompt" and not key.priority
    ]
    return [_binding(key) for key in (*keys, *chosen)]


def place_bindings(place: str) -> list[BindingType]:
    """Return Textual bindings of a place with fixed keys."""
    return [_binding(key) for key in keys_of(place)]


def _binding(key: KeyBinding) -> Binding:
    binding = Binding(key.key, key.action, key.description, show=False, priority=key.priority)
    return replace(binding, tooltip=key.tooltip, id=key.id)


def textual_keymap(keymap: Mapping[str, str]) -> dict[str, str]:
    """Convert the settings' key map, assigning new keys to the bindings with priority over the editor.

    Built-in keys keep their priority below the editor: some of them have another meaning there.
    """
    keys: dict[str, str] = {}
    for key in KEYS:
        if key.id not in keymap:
            continue
        if key.scope == "prompt" or key.priority:
            keys[key.id] = keymap[key.id]
            continue
        built_in, new = own_keys(key.id, keymap[key.id])
        keys[key.id] = ",".join(built_in) or _no_key(key.id)
        if new:
            keys[_chosen(key.id)] = ",".join(new)
    return keys


def _chosen(id: str) -> str:
    return f"{id}.chosen"


def _no_key(id: str) -> str:
    """Return a key name that is never pressed and unique, since Textual drops bindings with their key."""
    return f"{_NO_KEY}{id}"


def is_possible(owner: DOMNode, action: str) -> bool:
    """Return whether an action of a binding or hint has an effect now."""
    _, name, parameters = parse_action(action)
    return owner.check_action(name, parameters) is not False


def waits_for_key(binding: Binding) -> bool:
    """Return whether a binding has no key until the user chooses one."""
    return binding.key.startswith(_NO_KEY)


def accept_hint(keymap: Mapping[str, str]) -> Hint:
    """Return the hint for accepting a plan."""
    key = next(key for key in in_force(keymap) if key.id == "chat.accept")
    return Hint(key.label, "accept plan", 0, f"screen.{key.action}", changes=True)


def footer_hints(keymap: Mapping[str, str] | None = None) -> tuple[Hint, ...]:
    """Return the hints of the chat screen's bottom row, left to right.

    Args:
        keymap: The user's key mappings.
    """
    owner: dict[Scope | None, str] = {"chat": "screen.", "app": "app."}
    keys = in_force(keymap or {})
    help_key = next(key.label for key in keys if key.id == "prompt.help")
    shown = [_hint(key, owner.get(key.scope, "")) for key in keys if key.hint]
    return (*shown, Hint(help_key, "help", 0, "screen.slash('/help')"))
