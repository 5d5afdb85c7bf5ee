"""Keys of single widgets and dialogs, and what Textual and the bottom row are told of all keys.

Those of the chat, which settings can change, stand in :mod:`tui_app.chat_keys`.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from textual.binding import Binding, BindingType

from tui_app.chat_keys import KEYS, KeyBinding, Scope, in_force, own_keys


class Hint(NamedTuple):
    """One entry of the bottom row: ``ctrl+g compact``."""

    label: str
    text: str
    rank: int = 0
    action: str = ""
    """Textual action run by a click; empty for none."""
    changes: bool = False
    """Whether it does nothing where the session can only be looked at."""

    def __str__(self) -> str:
        return f"{self.label} {self.text}"


class Place(NamedTuple):
    """A widget or dialog with keys of its own, which cannot be changed."""

    where: str
    """Where they act, in words for help; empty where they are not listed."""
    keys: tuple[KeyBinding | Hint, ...]
    """The keys, and hints of those that the widget itself acts on, in the order of the bottom row."""
    owner: str = "screen."
    """Whose action a click on a hint runs."""
    also: str = ""
    """Another place whose keys act here as well."""


_NO_KEY = "no-key-"
_CLOSE = Hint("esc", "close", 0, "screen.close")
_MOVE = Hint("up/down", "move", 2)
"""How another row is marked, in every list."""


def _tabs(place: str) -> tuple[KeyBinding, KeyBinding]:
    """The ways between the parts of a dialog."""
    following, previous = "right,right_square_bracket,ctrl+right", "left,left_square_bracket,ctrl+left"
    return (
        KeyBinding(f"{place}.next", following, "tab(1)", "Next tab", "Show the next part."),
        KeyBinding(f"{place}.previous", previous, "tab(-1)", "Previous tab", "Show the previous part."),
    )


PLACES: Mapping[str, Place] = {
    "transcript": Place("in the conversation", (
        KeyBinding("transcript.up", "up", "move(-1)", "Previous entry", "Mark the previous entry.",
            hint="to a row", rank=1, rows=("none",)),
        KeyBinding("transcript.down", "down", "move(1)", "Next entry", "Mark the next entry."),
        KeyBinding("transcript.page_up", "pageup", "page(-1)", "Page up", "Scroll up a page."),
        KeyBinding("transcript.page_down", "pagedown", "page(1)", "Page down", "Scroll down a page."),
        KeyBinding("transcript.home", "home,ctrl+home", "first", "Oldest", "Go to the first message."),
        KeyBinding("transcript.end", "end,ctrl+end", "last", "Newest",
            "Go to the newest message and follow it."),
        KeyBinding("transcript.open", "enter", "open", "Open", "Open or close it, or show its details.",
            hint="open", rank=1, rows=("live", "any")),
        KeyBinding("transcript.details", "ctrl+o", "details", "Details", "Open its details.", hint="details",
            rank=5, rows=("none", "any")),
        KeyBinding("transcript.pin", "p", "ask('pin')", "Pin or unpin",
            "A pinned message stays word for word.", hint="pin", rank=3, changes=True, rows=("pinnable",)),
        KeyBinding("transcript.exclude", "x", "ask('exclude')", "Exclude or include",
            "Exclude it from the context, or include it again.", hint="exclude", rank=3, changes=True,
            rows=("pinnable",)),
        KeyBinding("transcript.mark", "v,space", "mark", "Mark", "Mark it, to act on all marked rows.",
            hint="mark", rank=2, rows=("any",)),
        KeyBinding("transcript.extend_up", "shift+up", "extend(-1)", "Mark upwards", "Extend the marks up."),
        KeyBinding("transcript.extend_down", "shift+down", "extend(1)", "Mark downwards",
            "Extend the marks down."),
        KeyBinding("transcript.copy_text", "y", "ask('text')", "Copy as text",
            "What is marked, without markup."),
        KeyBinding("transcript.copy_code", "c", "ask('code')", "Copy the code",
            "Code blocks of what is marked."),
        KeyBinding("transcript.copy_markdown", "m", "ask('markdown')", "Copy as Markdown", "What is marked."),
        KeyBinding("transcript.archive", "a", "ask('archive')", "Archive",
            "Archive marked results with a digest."),
        KeyBinding("transcript.offload", "o", "ask('offload')", "Offload", "Marked results go to files."),
        KeyBinding("transcript.undo", "u", "undo", "Undo compaction", "Bring the full history back.",
            hint="undo", rank=4, changes=True, rows=("undoable",)),
        KeyBinding("transcript.compact_up_to", "less_than_sign", "compact_part(True)", "Compact up to here",
            "Summarise what was said up to the marked entry; the rest stays.", hint="compact up to", rank=6,
            changes=True, rows=("up_to",)),
        KeyBinding("transcript.compact_from", "greater_than_sign", "compact_part(False)", "Compact from here",
            "Summarise from the marked entry on; what is before it stays, and so does the newest.",
            hint="from here", rank=7, changes=True, rows=("from",)),
    ), owner="focused."),
    "timeline": Place("in the timeline", (
        Hint("enter", "show it", 1, "focused.select"),
        KeyBinding("timeline.filter", "f", "filter", "Rows of one kind",
            "Show all rows, or those of one kind.", hint="rows of one kind", rank=2),
        Hint("home", "first", 4, "focused.first"),
        Hint("end", "last", 5, "focused.last"),
        Hint("esc", "back", 0, "screen.cancel"),
    ), owner="focused.", also="rows"),
    "dialog": Place("in every dialog", (
        KeyBinding("dialog.close", "escape", "back", "Close",
            "Close without a decision; in a list, clears the filter first."),
        _CLOSE,
    )),
    "list": Place("in lists", (
        KeyBinding("list.down", "down", "move(1)", "Next", "Mark the next row."),
        KeyBinding("list.up", "up", "move(-1)", "Previous", "Mark the previous row."),
        KeyBinding("list.page_down", "pagedown", "move(10)", "Next page", "Go ten rows on."),
        KeyBinding("list.page_up", "pageup", "move(-10)", "Previous page", "Go ten rows back."),
    )),
    "sessions": Place("in sessions", (
        Hint("enter", "open"),
        _MOVE,
        KeyBinding("sessions.rename", "f6", "ask('rename')", "Rename", "Rename the selected session.",
            hint="rename", rank=1),
        KeyBinding("sessions.search", "f7", "ask('search')", "Search",
            "Search what was said in all sessions.", hint="search all", rank=1),
        KeyBinding("sessions.delete", "f8", "delete", "Delete", "Delete (asks first).", hint="delete"),
        _CLOSE,
    )),
    "search": Place("in search", (
        Hint("enter", "open there"),
        _MOVE,
        KeyBinding("search.stop", "ctrl+c", "stop", "Stop searching",
            "Stop the search; what was found stays.", priority=True),
        _CLOSE,
    )),
    "memory": Place("in memory", (
        Hint("enter", "source"),
        KeyBinding("memory.edit", "f4", "ask('edit')", "Edit", "Reword the selected entry.", hint="edit"),
        KeyBinding("memory.add", "f6", "ask('add')", "Add", "Add an entry to the board.", hint="add", rank=1),
        KeyBinding("memory.forget", "f8", "forget", "Forget", "Remove the selected entry (asks first).",
            hint="forget"),
        _CLOSE,
    )),
    "mcp": Place("in MCP servers", (
        KeyBinding("mcp.reload", "f5", "reload", "Reload", "Restart the selected server.", hint="restart",
            rank=1),
        KeyBinding("mcp.sign_in", "f6", "sign_in", "Sign in",
            "Sign in to the selected server in the browser.", hint="sign in", rank=3),
        KeyBinding("mcp.switch", "f8", "switch", "On or off",
            "Switch the selected server on or off, in this session and in the settings file.",
            hint="on or off", rank=2),
        _MOVE,
        _CLOSE,
    )),
    "settings": Place("in settings", (
        Hint("enter", "change"),
        _MOVE,
        KeyBinding("settings.reset", "f8", "ask('reset')", "Reset to default",
            "Remove it from the file, so that the default applies.", hint="reset to default", rank=2),
        _CLOSE,
    )),
    "approvals": Place("in approvals", (
        KeyBinding("approvals.add", "f7", "ask('add')", "Add a rule",
            "Write it to your settings, for this repository.", hint="add a rule"),
        KeyBinding("approvals.remove", "f8", "ask('remove')", "Remove the rule or guard",
            "Remove it from the settings, or from this session; of a guard, lift it.", hint="remove", rank=1),
        KeyBinding("approvals.keep", "f9", "ask('keep')", "Keep in this repository",
            "Write a rule of this session to your settings, for this repository.", hint="keep here", rank=2),
        KeyBinding("approvals.widen", "f6", "ask('widen')", "Keep in all repositories",
            "Write a rule of this session or repository to your settings, for all repositories.",
            hint="keep everywhere", rank=3),
        _MOVE,
        _CLOSE,
    )),
    "help": Place("in help", (
        Hint("enter", "run the command", 1),
        _MOVE,
        Hint("?", "close", 3, "screen.close"),
        KeyBinding("help.close", "f1", "close", "Close", "The key that opened it closes it."),
        _CLOSE,
    )),
    "details": Place("in details", (
        KeyBinding("details.copy", "y", "copy_all", "Copy all", "Copy the whole text.", hint="copy all",
            rank=1),
        Hint("ctrl+c", "copy selection", 2),
        KeyBinding("details.close", "ctrl+o", "close", "Close", "The key that opened it closes it."),
        _CLOSE,
    )),
    "message": Place("in a message", (
        KeyBinding("message.raw", "j", "raw", "Text or JSON", "Show its events as they are stored.",
            hint="JSON", rank=1),
        KeyBinding("message.copy", "y", "copy_all", "Copy all", "Copy all that is shown.", hint="copy all",
            rank=1),
        KeyBinding("message.pin", "p", "do('pin')", "Pin or unpin", "A pinned message stays word for word.",
            hint="pin", rank=2),
        KeyBinding("message.exclude", "x", "do('exclude')", "Exclude or include",
            "Exclude it from the context, or include it again.", hint="exclude", rank=3),
        KeyBinding("message.restore", "u", "do('restore')", "Undo", "Restore its original form.", hint="undo",
            rank=4),
        KeyBinding("message.rewind", "r", "do('rewind')", "Rewind here", "Go back to before this prompt.",
            hint="rewind here", rank=5),
        KeyBinding("message.fork", "f", "do('fork')", "Fork here",
            "Continue from before it in a new session.", hint="fork here", rank=6),
        KeyBinding("message.close", "ctrl+o", "close", "Close", "The key that opened it closes it."),
        _CLOSE,
    )),
    "text": Place("in a long text", (
        KeyBinding("text.up", "up", "scroll_lines(-1)", "Up", "Scroll up a line."),
        KeyBinding("text.down", "down", "scroll_lines(1)", "Down", "Scroll down a line."),
        KeyBinding("text.page_up", "pageup", "scroll_pages(-1)", "Page up", "Scroll up a page."),
        KeyBinding("text.page_down", "pagedown,space", "scroll_pages(1)", "Page down", "Scroll down a page."),
        KeyBinding("text.home", "home,ctrl+home", "scroll_ends(0)", "Beginning", "Go to the first line."),
        KeyBinding("text.end", "end,ctrl+end", "scroll_ends(1)", "End", "Go to the last line."),
    )),
    "find": Place("while finding", (
        KeyBinding("find.next", "enter,down,ctrl+f", "step(1)", "Next place", "Further down."),
        KeyBinding("find.previous", "up", "step(-1)", "Previous place", "Further up."),
        KeyBinding("find.close", "escape", "stop", "Stop or close", "Close it, and stay where you are."),
    )),
    "pins": Place("in the pins", (
        Hint("enter", "show it", 1),
        # In front of the search box, which would empty itself.
        KeyBinding("pins.unpin", "ctrl+u", "ask('unpin')", "Unpin", "Unpin the selected message.",
            hint="unpin", priority=True),
        _MOVE,
        _CLOSE,
    )),
    "tasks": Place("in the tasks", (
        Hint("enter", "read its output", 1),
        # In front of the search box, which would empty itself.
        KeyBinding("tasks.stop", "ctrl+u", "ask('stop')", "Stop",
            "Stop the selected command and everything it started.", hint="stop", priority=True),
        KeyBinding("tasks.keep", "ctrl+k", "ask('keep')", "Keep",
            "Keep it running when the session ends, or not.", hint="keep", rank=1, priority=True),
        _MOVE,
        _CLOSE,
    )),
    "task": Place("in a task", (
        KeyBinding("task.earlier", "p", "page(-1)", "Earlier", "Earlier lines.", hint="earlier"),
        KeyBinding("task.later", "n", "page(1)", "Later", "Later lines.", hint="later"),
        KeyBinding("task.stop", "s", "stop", "Stop", "Stop it and everything it started.", hint="stop"),
        KeyBinding("task.copy", "c", "copy_all", "Copy", "Copy what is shown.", hint="copy"),
        _CLOSE,
    )),
    "changes": Place("in the changes", (
        _MOVE,
        KeyBinding("changes.down", "pagedown", "scroll(1)", "Page down", "Scroll the diff down.",
            hint="diff"),
        KeyBinding("changes.up", "pageup", "scroll(-1)", "Page up", "Scroll the diff up."),
        KeyBinding("changes.first", "ctrl+home", "ends(0)", "Beginning", "Go to the diff's first line."),
        KeyBinding("changes.last", "ctrl+end", "ends(1)", "End", "Go to the diff's last line."),
        Hint("enter", "to the prompt as @file", 2),
        _CLOSE,
    )),
    "prompts": Place("in earlier prompts", (
        Hint("enter", "write it again"),
        _MOVE,
        KeyBinding("prompts.next", "ctrl+r", "move(1)", "Next", "Go to the next match."),
        Hint("esc", "keep the draft", 0, "screen.close"),
    )),
    # With priority, so that each letter acts before the next one is looked at: after n they are the reason.
    "question": Place("on a tool's question", (
        KeyBinding("approval.once", "y", "once", "Allow once", "Allow this call once.", priority=True),
        KeyBinding("approval.always", "a", "always", "Always allow", "Always allow exactly this call.",
            priority=True),
        KeyBinding("approval.wider", "w", "widen", "Always allow this prefix",
            "Always allow what the rule ending in … matches.", priority=True),
        KeyBinding("approval.edit", "e", "edit", "Edit the rule", "Change the rule, then allow what it says.",
            priority=True),
        KeyBinding("approval.origin", "o", "origin", "Where it comes from",
            "Show the text in which its address, path or command first stood.", priority=True),
        KeyBinding("approval.no", "n", "refuse", "No", "Say no, and why if you want.", priority=True),
        KeyBinding("approval.up", "up", "scroll(-1)", "Scroll up", "Show what is above."),
        KeyBinding("approval.down", "down", "scroll(1)", "Scroll down", "Show more."),
        KeyBinding("approval.pageup", "pageup", "scroll(-1, 1)", "Page up", "Page up."),
        KeyBinding("approval.pagedown", "pagedown", "scroll(1, 1)", "Page on", "A page."),
        KeyBinding("approval.home", "home", "ends(0)", "Start", "To the first row."),
        KeyBinding("approval.end", "end", "ends(1)", "End", "To the last row."),
        KeyBinding("approval.back", "escape", "back", "Back",
            "Close the line for a reason or a rule; pressed again, stop the turn (a no).", priority=True),
    )),
    "asked": Place("on a question", (
        Hint("1-6", "choose"),
        Hint("enter", "choose or send"),
        KeyBinding("asked.up", "up", "move(-1)", "Previous choice", "Mark the previous choice."),
        KeyBinding("asked.down", "down", "move(1)", "Next choice", "Mark the next choice."),
        KeyBinding("asked.none", "escape", "none", "No answer",
            "Clears what you typed; then the model is told that there is no answer.", priority=True),
    )),
    "waiting": Place("on queued prompts", (
        KeyBinding("queue.open", "enter", "open", "Change the queue",
            "Edit, remove or reorder queued prompts."),
    )),
    "queue": Place("in the queue", (
        Hint("enter", "edit"),
        _MOVE,
        KeyBinding("queue.remove", "d,delete", "remove", "Remove", "Remove the marked prompt from the queue.",
            hint="remove"),
        KeyBinding("queue.earlier", "left_square_bracket", "shift(-1)", "Earlier", "Move it up.",
            hint="earlier", rank=1),
        KeyBinding("queue.later", "right_square_bracket", "shift(1)", "Later", "Move it down.", hint="later",
            rank=1),
        _CLOSE,
    )),
    "context": Place("in the context", (
        KeyBinding("context.close", "f3", "dismiss", "Close", "The key that opened it closes it."),
        KeyBinding("context.pin", "p", "do('pin')", "Pin", "Keep the item word for word.", hint="pin",
            rank=1, changes=True),
        KeyBinding("context.exclude", "x", "do('exclude')", "Exclude or include",
            "Exclude the item from the context, or include it again.", hint="exclude", rank=1, changes=True),
        KeyBinding("context.archive", "a", "do('archive')", "Archive", "Leave a digest of a result.",
            hint="archive", rank=2, changes=True),
        KeyBinding("context.offload", "o", "do('offload')", "Offload", "Move a result to a file.",
            hint="offload", rank=2, changes=True),
        KeyBinding("context.restore", "u,r", "do('restore')", "Restore",
            "Restore everything that was rewritten in one step.", hint="restore", rank=3, changes=True),
        KeyBinding("context.cancel_compaction", "c", "cancel_compaction", "Cancel the compaction",
            "Stop the running compaction; nothing changes.", hint="cancel"),
        *_tabs("context"),
        Hint("enter", "show", 4),
        Hint("space", "mark", 3, changes=True),
        Hint("s", "order", 5),
        Hint("/", "search", 6),
        Hint("left/right", "tabs", 2),
    )),
    "requests": Place("in the context's requests", (
        KeyBinding("context.broke", "o", "screen.show_break", "What broke it",
            "Show the row that broke the prefix of the marked request.", hint="what broke it", rank=3),
        KeyBinding("context.copy", "c", "screen.copy_request", "Copy as JSON",
            "Copy the marked request as JSON, secrets masked.", hint="copy as JSON", rank=4),
    ), owner=""),
    "ledger": Place("in the context's list", (
        KeyBinding("context.sort", "s", "sort", "Order", "By tokens, by age, by kind of item."),
        KeyBinding("context.search", "slash", "search", "Search", "Show the items that contain your words."),
        KeyBinding("context.mark", "space", "choose", "Mark",
            "Mark the item: keys then act on all that are marked."),
    )),
    "review": Place("in a review", (
        KeyBinding("review.apply", "enter", "apply", "Apply",
            "Apply it; first it leads to the lines that are not in the log.", hint="apply"),
        KeyBinding("review.down", "down,pagedown", "read(1)", "Read on", "Go down in the text."),
        KeyBinding("review.up", "up,pageup", "read(-1)", "Read back", "Go up in the text."),
        KeyBinding("review.other", "tab", "other", "Text, facts or neither",
            "Go to the text, to the facts at risk, or back.", hint="next part", rank=2, priority=True),
        KeyBinding("review.add", "a", "add", "Add a fact", "Put the marked fact at risk into the summary.",
            hint="add", rank=1),
        KeyBinding("review.edit", "e", "edit", "Edit", "Change the text of the summary.", hint="edit",
            rank=1),
        KeyBinding("review.focus", "f", "focus_on", "Focus on", "Rewrite it: say what matters most.",
            hint="focus on …", rank=2),
        KeyBinding("review.original", "o", "original", "Original text", "Put the first text back.",
            hint="original text", rank=2),
        KeyBinding("review.try", "t", "attempt", "Try it",
            "Ask the model that will read it what it can tell of it."),
        KeyBinding("review.check", "n", "check", "Next line to check",
            "Go to the next line that is unchecked, doubtful or not in the log.", hint="next to check",
            rank=2),
        KeyBinding("review.drop", "d", "drop", "Drop the line", "Leave the marked line out of the notes.",
            hint="drop the line", rank=2),
        Hint("esc", "discard", 1, "screen.close"),
    )),
    "compaction": Place("in a compaction", (
        KeyBinding("compaction.check", "n", "check", "Next line to check",
            "Go to the next line that is unchecked, doubtful or not in the log.", hint="next to check"),
        KeyBinding("compaction.drop", "d", "drop", "Drop the line", "Leave the marked line out of the notes.",
            hint="drop the line"),
        KeyBinding("compaction.edit", "e", "edit", "Edit", "Reword the summary.", hint="edit"),
        KeyBinding("compaction.undo", "u", "undo", "Undo", "Bring the full history back.", hint="undo"),
        KeyBinding("compaction.redo", "r", "redo", "Redo", "Apply the summary again.", hint="redo"),
        KeyBinding("compaction.checkpoint", "c", "checkpoint", "Checkpoint", "Show the checkpoint file.",
            hint="checkpoint", rank=1),
        Hint("left/right", "tabs", 2),
        *_tabs("compaction"),
        _CLOSE,
    )),
    "sent": Place("in the notes", (
        KeyBinding("sent.open", "enter", "source", "Source",
            "Open the message the line comes from; pressed again, go to it.", hint="source"),
        KeyBinding("sent.up", "up", "line(-1)", "Previous line", "Mark the previous line with a source."),
        KeyBinding("sent.down", "down", "line(1)", "Next line", "Mark the next line with a source."),
        _MOVE,
        Hint("pageup/pagedown", "message", 3),
        Hint("esc", "back", 0, "screen.close"),
    ), owner="focused."),
    "confirm": Place("in questions", (
        KeyBinding("confirm.yes", "y", "letter(True)", "Yes", "Do it."),
        KeyBinding("confirm.no", "n", "letter(False)", "No", "Keep everything."),
        KeyBinding("confirm.other", "left,right,up,down", "other", "Other button", "Go to the other button."),
    )),
    "importing": Place("during an import", (
        KeyBinding("import.stop", "ctrl+c", "close", "Stop", "Stop the import.", priority=True),
        Hint("esc", "stop", 0, "screen.close"),
    )),
    "imported": Place("behind an import", (
        Hint("enter", "choose"),
        _MOVE,
        KeyBinding("imported.compact", "ctrl+g", "compact", "Open and compact", "Open it and compact it.",
            hint="compact", priority=True),
        Hint("esc", "later", 0, "screen.close"),
    )),
    "rows": Place("", (
        KeyBinding("list.up", "up", "move(-1)", "Previous row", "Mark the previous row."),
        KeyBinding("list.down", "down", "move(1)", "Next row", "Mark the next row."),
        KeyBinding("list.page_up", "pageup", "page(-1)", "Page up", "Scroll up a page."),
        KeyBinding("list.page_down", "pagedown", "page(1)", "Page down", "Scroll down a page."),
        KeyBinding("list.home", "home", "first", "First row", "Go to the first row."),
        KeyBinding("list.end", "end", "last", "Last row", "Go to the last row."),
        KeyBinding("list.select", "enter", "select", "Select", "Show it in the conversation."),
    )),
    "stats": Place("", (
        Hint("up/down", "scroll", 2),
        KeyBinding("stats.copy", "y", "copy_all", "Copy all", "Copy all figures.", hint="copy all", rank=1),
        _CLOSE,
    )),
}  # fmt: skip
"""The places by name, in the order of help."""


def keys_of(place: str) -> list[KeyBinding]:
    """The keys that a place acts on itself."""
    return [key for key in PLACES[place].keys if isinstance(key, KeyBinding)]


def place_hints(place: str, *labels: str) -> tuple[Hint, ...]:
    """What the bottom row shows of a place.

    Args:
        place: Its name.
        labels: The keys in the order that is wanted; without them all, in the order of the table.
    """
    keys, owner = PLACES[place].keys, PLACES[place].owner
    hints = (key if isinstance(key, Hint) else _hint(key, owner) for key in keys)
    found = {hint.label: hint for hint in hints if hint.text}
    return tuple(found[label] for label in labels or found)


def choice_hints(does: str, leaves: str = "close") -> tuple[Hint, ...]:
    """What the bottom row shows of a list from which one row is chosen.

    Args:
        does: What enter does with the row.
        leaves: What esc does.
    """
    return (Hint("enter", does), _MOVE, Hint("esc", leaves, 0, "screen.close"))


def _hint(key: KeyBinding, owner: str) -> Hint:
    return Hint(key.label, key.hint, key.rank, owner + key.action, key.changes)


MARK_HINTS: tuple[Hint, ...] = (
    Hint("y", "text", 1), Hint("c", "code", 2), Hint("m", "Markdown", 3), Hint("p", "pin", 4, changes=True),
    Hint("x", "exclude", 5, changes=True), Hint("o", "offload", 6, changes=True),
    Hint("a", "archive", 7, changes=True), Hint("shift+↑↓", "more", 8), Hint("esc", "ends", 0),
)  # fmt: skip
"""What can be done while entries of the conversation are marked."""
TO_MARKS: tuple[Hint, ...] = (Hint("tab", "rows"), Hint("esc", "unmarks"))
"""The ways to marked entries and out of them while the prompt has the focus."""
ROW_HINTS = place_hints("transcript", "up", "enter", "p", "x", "v", "u", "<", ">", "ctrl+o")
"""What can be done with a row while the conversation has the focus."""
TIMELINE_HINTS = place_hints("timeline")
"""What can be done while the timeline has the focus."""
Locked = Literal["", "elsewhere", "unusable"]
"""Another window writes the session, or it could not be opened."""
COPY = Hint("/fork", "a copy to write in", 1, "screen.slash('/fork')")
"""The way on where another window writes the session."""


def as_bindings(scope: Scope) -> list[BindingType]:
    """Textual bindings of one scope, each with the id that a key map refers to.

    Outside of the prompt each stands twice: the second time for keys that a user has chosen, which act
    before the editor sees them. It has none until then.
    """
    keys = [key for key in KEYS if key.scope == scope]
    chosen = [
        key._replace(id=_chosen(key.id), key=_no_key(_chosen(key.id)), priority=True)
        for key in keys
        if scope != "prompt" and not key.priority
    ]
    return [_binding(key) for key in (*keys, *chosen)]


def place_bindings(place: str) -> list[BindingType]:
    """Textual bindings of a place whose keys cannot be changed."""
    return [_binding(key) for key in keys_of(place)]


def _binding(key: KeyBinding) -> Binding:
    return Binding(
        key.key,
        key.action,
        key.description,
        show=False,
        priority=key.priority,
        tooltip=key.tooltip,
        id=key.id,
    )


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
    """Whether a binding has no key until a user chooses one."""
    return binding.key.startswith(_NO_KEY)


def accept_hint(keymap: Mapping[str, str]) -> Hint:
    """The hint of a plan that can be accepted."""
    key = next(key for key in in_force(keymap) if key.id == "chat.accept")
    return Hint(key.label, "accept plan", 0, f"screen.{key.action}", changes=True)


def footer_hints(keymap: Mapping[str, str] | None = None) -> tuple[Hint, ...]:
    """The hints of the chat screen's footer, left to right.

    Args:
        keymap: Keys of the actions that have others than the built-in ones.
    """
    owner: dict[Scope | None, str] = {"chat": "screen.", "app": "app."}
    keys = in_force(keymap or {})
    help_key = next(key.label for key in keys if key.id == "prompt.help")
    shown = [_hint(key, owner.get(key.scope, "")) for key in keys if key.hint]
    return (*shown, Hint(help_key, "help", 0, "screen.slash('/help')"))
