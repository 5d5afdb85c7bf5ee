"""The message that gives a new session the board: what has room, never in words that pass for the user's."""

from collections.abc import Callable, Sequence

from tui_app.context.message_marks import inbox_text
from tui_app.memory.board import rank
from tui_app.memory.entries import KINDS, PERSON, Entry
from tui_app.memory.scope import Scope
from tui_app.records import frozen

_HEADINGS = {
    "rule": "Rules of the user",
    "decision": "Decisions",
    "command": "Commands that worked",
    "file": "Files that mattered",
    "note": "Notes",
}


@frozen
class ReadOut:
    """A board as a message."""

    text: str
    entries: tuple[Entry, ...]
    """What had room, in its order."""
    left_out: int = 0


def read_out(
    entries: Sequence[Entry], scope: Scope, budget: int, count: Callable[[str], int]
) -> ReadOut | None:
    """Word the board within a budget.

    Args:
        entries: Its entries.
        scope: Whose board it is.
        budget: Tokens that the whole message may take.
        count: Tokens of a text.

    Returns:
        The weightiest entries that have room together; None where not even one has, or there are none.
    """
    chosen: list[Entry] = []
    room = budget - count(_worded((), scope))
    for entry in sorted(entries, key=rank, reverse=True):
        # A heading may come with it; what adds up wrongly is taken away below.
        cost = count(_line(entry)) + 1
        if cost <= room:
            chosen.append(entry)
            room -= cost
    while chosen:
        text = _worded(chosen, scope)
        if count(text) <= budget:
            told = tuple(entry for kind in KINDS for entry in chosen if entry.kind == kind)
            return ReadOut(text, told, len(entries) - len(chosen))
        chosen.pop()
    return None


def _worded(entries: Sequence[Entry], scope: Scope) -> str:
    blocks: list[str] = []
    for kind in KINDS:
        lines = [_line(entry) for entry in entries if entry.kind == kind]
        if lines:
            blocks.append("\n".join([f"{_HEADINGS[kind]}:", *lines]))
    return inbox_text(scope.label, "\n".join(blocks))


def _line(entry: Entry) -> str:
    source = f" [{entry.source}]" if entry.source and entry.made_by != PERSON else ""
    return f"- {entry.text}{source}"
