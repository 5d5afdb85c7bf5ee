"""The items of the next request with cost, age and form; what a compaction changed among them."""

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, Literal

from tui_app.events import (
    REWRITES,
    AssistantMessage,
    CompactionAcknowledged,
    FormState,
    Origin,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.records import frozen
from tui_app.session.agent_view import AgentView, pictured, weighed
from tui_app.session.event_heads import Head, MessageKind, Seen
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
                tokens=weighed(head).tokens.total,
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
    held = sum_breakdowns(each.tokens for each in view.weighed())
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


# What a compaction did to the agent view, message by message.


@frozen
class Difference:
    """One message of the view before or after."""

    sign: Literal["-", "+", " "]
    """Whether it left, came, or stayed."""
    head: Head
    title: str = ""
    """What it says, and which tool it calls or answers on what; empty where it says nothing."""
    full: int = 0
    """Tokens it had when it was written; a stage may have made it smaller since."""


def title_of(head: Head, calls: Mapping[str, str]) -> str:
    """What a message says, in one line.

    Args:
        head: The message.
        calls: What each tool call is called on, by its id.
    """
    called = ", ".join(calls[each] for each in head.ids if each in calls)
    if head.type == ToolResult.TYPE or not called:
        return " · ".join(filter(None, (called, head.title)))
    return f"{head.title} (calls {called})" if head.title else f"calls {called}"


def compaction_diff(heads: Iterable[Head], compaction: int) -> list[Difference]:
    """Compare the view in front of a compaction with the one behind it.

    Args:
        heads: The log, in order; what comes after the compaction is not read.
        compaction: Its log number.

    Returns:
        Every message of both views, in their order; what left stands before what came in its place.
    """
    view, before = AgentView(), list[Head]()
    calls: dict[str, str] = {}
    sizes: dict[int, int] = {}
    for head in heads:
        if head.seq == compaction:
            before = view.visible()
        elif head.seq > compaction and head.type != CompactionAcknowledged.TYPE:
            break
        if head.type == ToolCall.TYPE:
            calls.update(dict.fromkeys(head.ids, head.title))
        sizes[head.seq] = sum(head.tokens.values())
        view.apply(head)
    after = view.visible()

    def line(sign: Literal["-", "+", " "], head: Head) -> Difference:
        return Difference(sign, head, title_of(head, calls), sizes.get(head.seq, 0))

    # What tells one form of a message from every other.
    old, new = ([(head.seq, head.form) for head in heads] for heads in (before, after))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    lines: list[Difference] = []
    for tag, start, stop, first, last in matcher.get_opcodes():
        lines += [line(" " if tag == "equal" else "-", head) for head in before[start:stop]]
        lines += [line("+", head) for head in after[first:last] if tag != "equal"]
    return lines


# Who the passages of a replacement are by.

BY: dict[Origin, str] = {"model": "written by the model", "user": "your words", "code": "added by Plimsoll"}


def passages(message: str | None) -> list[tuple[Origin, str]]:
    """The replacement of a compaction as the model gets it, in passages by who they are from.

    Args:
        message: The message as JSON text; None where the log holds none.

    Returns:
        Origin and text of each; empty where the message does not say, as in logs of earlier versions.
    """
    parts = json.loads(message)["parts"] if message else []
    if len(parts) != 1:
        return []
    return by_origin(str(parts[0].get("content") or ""), parts[0].get("metadata"))


def by_origin(text: str, metadata: Mapping[str, Any] | None) -> list[tuple[Origin, str]]:
    """The same of the one part of such a message: its text, and what is noted beside it."""
    start = 0
    found: list[tuple[Origin, str]] = []
    for origin, length in ((metadata or {}).get("plimsoll") or {}).get("origins") or ():
        passage = text[start : start + length].strip("\n")
        start += length
        if not passage.strip() or origin not in BY:
            continue
        if found and found[-1][0] == origin:
            found[-1] = origin, f"{found[-1][1]}\n\n{passage}"
        else:
            found.append((origin, passage))
    return found if start == len(text) else []
