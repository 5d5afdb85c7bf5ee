"""A session as the model reads it that keeps the board: data between markers, in parts that fit it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_app.context.message_marks import is_inbox
from tui_app.context.secrets import mask_secrets
from tui_app.context.summaries.prompt import inert, transcript
from tui_app.context.summaries.transcript import fitted
from tui_app.context.view import Item, is_summary, is_system
from tui_app.memory.entries import Entry

MOST_PARTS = 8
"""Parts that are read of one session, the newest; what is before them is left to the rules."""
_RESULT_LIMIT = 600
"""Characters of a tool result that are shown: it bears no entry, it only says what was going on."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a session."""

    text: str
    first: int
    """Log number of its first message."""
    last: int
    """Log number of its last message."""


def parts_of(items: Sequence[Item], budget: int, count: Callable[[str], int]) -> list[Part]:
    """Cut what was said into parts.

    Args:
        items: The messages to read, oldest first; the board, system prompts and summaries are left out.
        budget: Tokens a part may take.
        count: Tokens of a text.

    Returns:
        The newest parts, oldest first; every message is in one of them whole, or clipped in its middle.
    """
    parts: list[Part] = []
    texts: list[str] = []
    keys: list[int] = []
    room = budget
    for item in items:
        if is_inbox(item.message) or is_system(item.message) or is_summary(item.message):
            continue
        for block in transcript([item], mask_secrets, _RESULT_LIMIT):
            text = fitted(block, budget, count)
            cost = count(text) + 1
            if texts and cost > room:
                parts.append(Part("\n".join(texts), keys[0], keys[-1]))
                texts, keys, room = [], [], budget
            texts.append(text)
            keys.append(item.key)
            room -= cost
    if texts:
        parts.append(Part("\n".join(texts), keys[0], keys[-1]))
    return parts[-MOST_PARTS:]


def fitted_board(board: Sequence[Entry], budget: int, count: Callable[[str], int]) -> list[Entry]:
    """The entries that have room, the weightiest first.

    Args:
        board: All entries, the weightiest first.
        budget: Tokens that they may take.
        count: Counts the tokens of a text.
    """
    chosen: list[Entry] = []
    for entry in board:
        budget -= count(_line(entry)) + 1
        if budget < 0:
            break
        chosen.append(entry)
    return chosen


def _line(entry: Entry) -> str:
    return f"{entry.id} {entry.kind}: {entry.text}"


def request_for(part: Part, board: Sequence[Entry]) -> str:
    """What the model is asked about one part."""
    standing = "\n".join(map(_line, board)) or "(nothing yet)"
    return (
        f"<board>\n{_safe(standing)}\n</board>\n"
        f"<transcript>\n{_safe(part.text)}\n</transcript>\n"
        "Bring the board up to date with this stretch of a session that is over, then say done."
    )


def _safe(text: str) -> str:
    """Text that can neither close nor open the markers around it."""
    return inert(text).replace("<board", "<\\board").replace("</board", "<\\/board")
