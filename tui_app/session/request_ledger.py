"""Every item of the next request: what it is, what it costs, how old it is and in what form it stands."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tui_app.events import (
    AssistantMessage,
    ToolArchived,
    ToolNormalised,
    ToolOffloaded,
    ToolPointers,
    ToolTrimmed,
    UserMessage,
)
from tui_app.session.agent_view import AgentView, weighed
from tui_app.session.event_heads import MessageKind, Seen

ItemState = Literal[
    "visible",
    "latest",
    "stays",
    "stand_in",
    "archived",
    "offloaded",
    "trimmed",
    "cut",
    "pointer",
    "stale",
    "gone",
]
_FORMS: dict[str, ItemState] = {
    ToolNormalised.TYPE: "cut",
    ToolOffloaded.TYPE: "offloaded",
    ToolArchived.TYPE: "archived",
    ToolTrimmed.TYPE: "trimmed",
    ToolPointers.TYPE: "pointer",
}
_STAND_INS: frozenset[MessageKind] = frozenset({"summary", "acknowledgement", "tool_summary"})
_TURNS = 5
"""Turns whose mean is taken for a forecast."""
_FEWEST = 2
"""Turns without which nothing is foretold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One item of the next request."""

    seq: int
    """Log number."""
    tokens: int
    """Counted tokens in the form it has, without any factor unless they were :func:`scaled`."""
    age: int
    """Turns since it came, that turn included: 1 in the newest one."""
    kind: MessageKind
    title: str
    state: ItemState = "visible"
    pinned: bool = False
    form: tuple[int, int] = (0, 0)
    """Number of the rewrite that gave it its form and the place in it; zeros while it is as it was said."""


def ledger(view: AgentView, titles: Mapping[int, str]) -> list[LedgerRow]:
    """List what the next request holds, in the order it is sent.

    Args:
        view: The agent view.
        titles: What a person reads for a message, by log number, where that is not its own first line.
    """
    rows: list[LedgerRow] = []
    age = 0
    for item in reversed(view.sent()):
        head = item.head
        prompt = head.type == UserMessage.TYPE
        rows.append(
            LedgerRow(
                seq=head.seq,
                tokens=weighed(head).tokens.total,
                age=age + 1,
                kind=item.kind,
                title=titles.get(head.seq, head.title),
                state="latest" if prompt and not age else _state(item),
                pinned=head.seq in view.pins,
                form=head.form if item.stage else (0, 0),
            )
        )
        age += prompt
    return rows[::-1]


def scaled(rows: Sequence[LedgerRow], factor: float) -> list[LedgerRow]:
    """Items with their tokens on a scale, so that they add up to the figures on it."""
    return [replace(row, tokens=round(row.tokens * factor)) for row in rows]


def _state(item: Seen) -> ItemState:
    if item.stage:
        return _FORMS[item.stage]
    if item.kind in ("system", "memory"):
        return "stays"
    return "stand_in" if item.kind in _STAND_INS else "visible"


def together(rows: Collection[LedgerRow], row: LedgerRow) -> int:
    """How many items came into their form with the same rewrite as one of them, itself included."""
    return sum(each.form[0] == row.form[0] for each in rows) if row.form[0] else 0


def growths(view: AgentView, *, running: bool = False) -> list[int]:
    """Tokens that the newest answered turns have added, each in the form it has now, oldest first.

    Args:
        view: The agent view.
        running: Whether the newest turn is not over: then it is left out.
    """
    turns: list[int] = []
    tokens, answered, over = 0, False, not running
    for item in view.newest_first():
        if item.user:
            tokens += weighed(item.head).tokens.total
            answered |= item.head.type == AssistantMessage.TYPE
        if item.head.type == UserMessage.TYPE:
            turns += [tokens] if answered and over else []
            if len(turns) == _TURNS:
                break
            tokens, answered, over = 0, False, True
    return turns[::-1]


def turns_left(grown: Sequence[int], total: int, mark: int) -> int | None:
    """Turns until a mark is reached if they go on as the newest did; 0 where it is reached.

    Args:
        grown: Tokens each turn has added, oldest first.
        total: Tokens of the next request.
        mark: Tokens of the mark; 0 where there is none.

    Returns:
        None where that cannot be said: too few turns, no mark, or turns that add nothing.
    """
    if mark <= 0:
        return None
    if total >= mark:
        return 0
    newest = grown[-_TURNS:]
    mean = sum(newest) / len(newest) if len(newest) >= _FEWEST else 0.0
    return math.ceil((mark - total) / mean) if mean > 0 else None
