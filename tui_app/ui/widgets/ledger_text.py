"""The words of the items of the next request: pure functions from the ledger to rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tui_app.session.event_heads import MessageKind
from tui_app.session.request_ledger import ItemState, LedgerRow
from tui_app.ui.format import tokens
from tui_app.ui.safe_text import one_line
from tui_app.ui.widgets.row_list import Row

KINDS: dict[MessageKind, str] = {
    "user": "you",
    "assistant": "answer",
    "tool_result": "tool result",
    "tool_result_archived": "archived",
    "system": "system",
    "tool_summary": "tool digest",
    "summary": "summary",
    "acknowledgement": "for summary",
    "memory": "memory",
}
"""What a person reads for a kind of message."""
STATES: dict[ItemState, str] = {
    "visible": "visible",
    "latest": "latest: stays",
    "stays": "stays",
    "stand_in": "stands for others",
    "archived": "archived",
    "offloaded": "in a file",
    "trimmed": "trimmed",
    "cut": "cut to size",
    "pointer": "pointer",
    "stale": "stale: the file has changed since",
    "gone": "stale: the file is gone",
}
"""What a person reads for the form an item stands in."""
CALLS_ONLY = "(calls tools)"
"""Stands for an answer without text."""
SORTS: tuple["Sort", ...] = ("tokens", "age", "kind")
_NARROW = 60
_STATE_SHARE = 3

Sort = Literal["tokens", "age", "kind"]
"""What the items are ordered by: the largest, the oldest, or those of one kind first."""
Note = Callable[[tuple[int, int]], str]
"""What was done to an item, by the place of its form: the path of a file, a length."""


@dataclass(frozen=True, slots=True)
class Columns:
    """How much room the columns have."""

    width: int
    """Cells of a row."""
    number: int = 0
    """Cells of the longest number of a message, with its sign."""

    @property
    def narrow(self) -> bool:
        """Whether what an item is leaves no room for its kind and state."""
        return self.width < _NARROW

    @property
    def state(self) -> int:
        """Cells that a state may take."""
        return max(8, self.width // _STATE_SHARE)


def head_text(sort: Sort, wanted: str, shown: int, count: int, columns: Columns) -> str:
    """Names of the columns, what they are ordered by, and how many of them a search has left."""
    kind = "" if columns.narrow else f"{'kind':<12}  "
    names = f"{'tok':>7}  {'age':>4}  {kind}what"
    found = f"   {shown} of {count} with {one_line(wanted, 30)!r}" if wanted.strip() else ""
    return f"{names}   by {sort}{found}"


def arranged(rows: Sequence[LedgerRow], sort: Sort, wanted: str) -> list[LedgerRow]:
    """The items that hold every word that was typed, in an order."""
    words = wanted.casefold().split()
    found = [row for row in rows if all(word in _searched(row) for word in words)] if words else list(rows)
    match sort:
        case "tokens":
            return sorted(found, key=lambda row: -row.tokens)
        case "age":
            return found
        case "kind":
            return sorted(found, key=lambda row: (KINDS[row.kind], -row.tokens))


def _searched(row: LedgerRow) -> str:
    pinned = "pinned" if row.pinned else ""
    return f"{KINDS[row.kind]} {row.title or CALLS_ONLY} {STATES[row.state]} {pinned} #{row.seq}".casefold()


def with_stale(rows: Sequence[LedgerRow], stale: Mapping[int, str]) -> tuple[LedgerRow, ...]:
    """Say of results that are shown as they came that their file holds something else by now."""
    states: dict[str, ItemState] = {"changed": "stale", "gone": "gone"}
    return tuple(
        replace(row, state=states[stale[row.seq]])
        if row.seq in stale and row.state in ("visible", "cut")
        else row
        for row in rows
    )


def ledger_row(row: LedgerRow, note: str, columns: Columns, sign: str = "") -> Row:
    """One item as it is painted; ``sign`` marks it."""
    kind = "" if columns.narrow else f"{one_line(KINDS[row.kind], 12):<12}  "
    figures = f"{sign or ' '}{tokens(row.tokens):>6}  {row.age:>4}  {kind}"
    number = f"{'#' + str(row.seq):>{columns.number}}"
    right = number if columns.narrow else f"{one_line(_state(row, note), columns.state)}  {number}"
    return Row(f"{figures}{one_line(row.title, 200) or CALLS_ONLY}", right)


def _state(row: LedgerRow, note: str) -> str:
    # A path says where it is by its end: its folder is known.
    state = note.rpartition("/")[2] if row.state == "offloaded" and note else STATES[row.state]
    state = f"in {state}" if row.state == "offloaded" and note else state
    return f"pinned, {state}" if row.pinned else state
