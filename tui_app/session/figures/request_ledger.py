"""The items of the next request with cost, age and form; what a compaction changed among them."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from tui_app.events import REWRITES, AssistantMessage, FormState, ToolResult, UserMessage
from tui_app.records import frozen
from tui_app.session.event_rows import MessageKind, Seen
from tui_app.session.views.agent_view import AgentView, message_weight, pictured
from tui_app.usage import Breakdown, Kinds, sum_breakdowns

ItemKind = MessageKind | Literal["tools"]
"""A kind of message, or the definitions that go with each request and are none."""

ItemState = FormState | Literal["visible", "latest", "stays", "stand_in", "stale", "gone", "excluded"]
_FORMS: dict[str, FormState] = {kind.TYPE: kind.STATE for kind in REWRITES}
_STAND_INS: frozenset[MessageKind] = frozenset({"summary", "acknowledgement", "tool_summary"})
_TURNS = 5
"""Turns whose mean is taken for a forecast."""
_FEWEST = 2
"""Turns without which nothing is foretold."""


@frozen(kw_only=True)
class LedgerRow:
    """One item of the next request."""

    seq: int
    """Log number; negative for what each request carries besides messages."""
    tokens: int
    """Counted tokens in the form it has, without any factor unless they were :func:`scaled`."""
    age: int
    """Turns since it came, that turn included: 1 in the newest one; 0 for what is no message."""
    kind: ItemKind
    title: str
    calls: str = ""
    """The tools that an answer calls, each with what it is called on."""
    attached: int = 0
    """Tokens of pictures and the like among them, for which there is no factor."""
    state: ItemState = "visible"
    pinned: bool = False
    form: tuple[int, int] = (0, 0)
    """Number of the rewrite that gave it its form and the place in it; zeros while it is as it was said."""


def ledger(view: AgentView, titles: Mapping[int, str]) -> list[LedgerRow]:
    """List what the next request holds, in the order it is sent, and among it what is excluded.

    Args:
        view: The agent view.
        titles: What the user reads for a message, by log number, where that is not its own first line.
    """
    rows: list[LedgerRow] = []
    called: dict[str, str] = {}
    age = 0
    excluded = view.excluded
    held = (item for item in view.newest_first() if item.agent or item.head.seq in excluded)
    for item in held if excluded else reversed(view.sent()):
        head = item.head
        if head.type == ToolResult.TYPE:
            # Newest first: results come before the answer that called for them.
            called.update(dict.fromkeys(head.ids, titles.get(head.seq, "").partition(" · ")[0]))
        prompt = head.type == UserMessage.TYPE and item.agent
        calls = (called.get(each) for each in head.ids if head.type == AssistantMessage.TYPE)
        rows.append(
            LedgerRow(
                seq=head.seq,
                tokens=message_weight(head).tokens.total,
                attached=pictured(head),
                age=age + 1,
                kind=item.kind,
                title=titles.get(head.seq, head.title),
                calls=", ".join(filter(None, calls)),
                state="excluded" if not item.agent else "latest" if prompt and not age else _state(item),
                pinned=head.seq in view.pins,
                form=head.form if item.stage and item.agent else (0, 0),
            )
        )
        age += prompt
    return rows[::-1]


_FIXED: tuple[Literal["tools", "system", "memory"], ...] = ("tools", "system", "memory")


def fixed_rows(view: AgentView, parts: Breakdown, factor: float, names: Mapping[str, str]) -> list[LedgerRow]:
    """List what each request carries besides its messages, with negative numbers.

    Args:
        view: The agent view.
        parts: The next request by category.
        factor: By how much the model counts more than was counted of the messages.
        names: What a user reads for each.
    """
    held = sum_breakdowns(each.tokens for each in view.message_weights())
    sizes = {kind: getattr(parts, kind) - round(getattr(held, kind) * factor) for kind in _FIXED}
    return [
        LedgerRow(seq=-place, tokens=sizes[kind], age=0, kind=kind, title=names.get(kind, ""), state="stays")
        for place, kind in enumerate(_FIXED, start=1)
        if sizes[kind] > 0
    ]


def scaled(rows: Sequence[LedgerRow], factor: float) -> list[LedgerRow]:
    """Items with their tokens on a scale, so that they add up to the figures on it."""
    return [
        replace(row, tokens=round(Kinds(row.tokens, attached=row.attached).scaled(factor))) for row in rows
    ]


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
            tokens += message_weight(item.head).tokens.total
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
