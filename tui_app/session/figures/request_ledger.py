"""Items of the next request with size, age and form, and the growth of the context."""

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
"""A kind of message, or the tool definitions of each request, which are no message."""

ItemState = FormState | Literal["visible", "latest", "stays", "stand_in", "stale", "gone", "excluded"]
_FORMS: dict[str, FormState] = {kind.TYPE: kind.STATE for kind in REWRITES}
_STAND_INS: frozenset[MessageKind] = frozenset({"summary", "acknowledgement", "tool_summary"})
_TURNS = 5
"""Number of turns averaged for a forecast."""
_FEWEST = 2
"""Minimum number of turns for a forecast."""


@frozen(kw_only=True)
class LedgerRow:
    """One item of the next request."""

    seq: int
    """Log number; negative for what each request carries besides messages."""
    tokens: int
    """Counted tokens in its present form, without a factor unless :func:`scaled`."""
    age: int
    """Turns since it was added, including that turn: 1 in the newest; 0 if it is no message."""
    kind: ItemKind
    title: str
    calls: str = ""
    """The tools that an answer calls, each with its main argument."""
    attached: int = 0
    """Tokens of attachments among them that are no text, to which no factor applies."""
    state: ItemState = "visible"
    pinned: bool = False
    form: tuple[int, int] = (0, 0)
    """Number of the rewrite that gave it its form and the index in it; zeros for the original."""


def ledger(view: AgentView, titles: Mapping[int, str]) -> list[LedgerRow]:
    """List the items of the next request in the order they are sent, with excluded ones in between.

    Args:
        view: The agent view.
        titles: Titles shown to the user by log number, if other than the message's first line.
    """
    rows: list[LedgerRow] = []
    called: dict[str, str] = {}
    age = 0
    excluded = view.excluded
    items = (item for item in view.newest_first() if item.agent or item.head.seq in excluded)
    for item in items if excluded else reversed(view.sent()):
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
        factor: Actual tokens of the model per counted token of the messages.
        names: Title of each for the user.
    """
    tokens = sum_breakdowns(each.tokens for each in view.message_weights())
    sizes = {kind: getattr(parts, kind) - round(getattr(tokens, kind) * factor) for kind in _FIXED}
    return [
        LedgerRow(seq=-place, tokens=sizes[kind], age=0, kind=kind, title=names.get(kind, ""), state="stays")
        for place, kind in enumerate(_FIXED, start=1)
        if sizes[kind] > 0
    ]


def scaled(rows: Sequence[LedgerRow], factor: float) -> list[LedgerRow]:
    """Scale the tokens of items, so that they add up to the scaled figures."""
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
    """Return the number of items that the same rewrite changed, including this one."""
    return sum(each.form[0] == row.form[0] for each in rows) if row.form[0] else 0


def growths(view: AgentView, *, running: bool = False) -> list[int]:
    """Return the tokens that each of the newest answered turns added, in their present form, oldest first.

    Args:
        view: The agent view.
        running: Whether the newest turn is still running: then it is left out.
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
    """Return the number of turns until a mark is reached at the present rate; 0 if it is reached.

    Args:
        grown: Tokens each turn has added, oldest first.
        total: Tokens of the next request.
        mark: Tokens of the mark; 0 for none.

    Returns:
        None without a forecast: too few turns, no mark, or turns that add nothing.
    """
    if mark <= 0:
        return None
    if total >= mark:
        return 0
    newest = grown[-_TURNS:]
    mean = sum(newest) / len(newest) if len(newest) >= _FEWEST else 0.0
    return math.ceil((mark - total) / mean) if mean > 0 else None
