"""The items of the next request as a sortable, searchable list that paints only visible rows."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from textual import getters, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input

from tui_app.session.figures.request_ledger import ItemKind, ItemState, LedgerRow
from tui_app.session.views.entries import Body, Entry
from tui_app.tool_specs import READ_FILE, RUN_COMMAND
from tui_app.ui.keyboard.keys import place_bindings
from tui_app.ui.transcript.entries import tool_sign
from tui_app.ui.widgets.lists import Row, RowList
from tui_app.ui.widgets.scroll_bars import WrittenLine
from tui_app.ui.words.compaction_words import unmarked
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import one_line, padded, tokens

KINDS: Mapping[ItemKind, str] = {
    **{kind: kind for kinds in get_args(ItemKind) for kind in get_args(kinds) or (kinds,)},
    **{"assistant": "answer", "tool_result": "result", "tool_result_archived": "archived"},
    **{"tool_summary": "digest", "acknowledgement": "for summary", "task": "note", "folder": "instructions"},
}
"""Words for kinds of items."""
STATES: dict[ItemState, str] = {
    "visible": "",
    "latest": "latest, kept",
    "stays": "stays",
    "stand_in": "replaces others",
    "archived": "archived",
    "offloaded": "in a file",
    "superseded": "outdated, left out",
    "trimmed": "trimmed",
    "cut": "cut to size",
    "pointer": "pointer",
    "stale": "stale: file changed",
    "gone": "stale: file gone",
    "excluded": "excluded: not sent",
}
"""Words for an item's form in the request, if it is not the original one."""


def title_of(row: LedgerRow) -> str:
    """Return an item's title; for an answer without text, its calls."""
    return one_line(unmarked(row.title) or (f"calls {row.calls}" if row.calls else "(calls tools)"), 200)


_TEXT_KINDS: frozenset[ItemKind] = frozenset({"user", "assistant"})
"""Kinds of items with text of the user and the model, which are highlighted."""
SORTS: tuple["Sort", ...] = ("tokens", "age", "kind")
_NARROW = 60
_STATE_SHARE = 3

Sort = Literal["tokens", "age", "kind"]
"""Order of the items: largest first, oldest first, or by kind."""
Note = Callable[[tuple[int, int]], str]
"""Returns the result of a rewrite, by the position of the item's form: the path of a file, a length."""


class Columns(NamedTuple):
    """The widths of the columns."""

    width: int
    """Cells of a row."""
    number: int = 0
    """Cells of the longest message number, including its sign."""


def head_row(sort: Sort, query: str, shown: int, count: int, columns: Columns) -> Row:
    """Return the titles of the columns, with the order and the number of search results."""
    kind = "" if columns.width < _NARROW else f"{'kind':<12}    "
    orders = {"tokens": "largest first", "age": "oldest first", "kind": "by kind"}
    found = f"   {shown} of {count} with {one_line(query, 30)!r}" if query.strip() else ""
    names = f"{'tok':>7}  {'age':>4}  {kind}what ({orders[sort]}){found}"
    right = f"state  {'#':>{columns.number}}"
    right = right if kind and len(names) + len(right) + 1 < columns.width else ""
    return Row(names, right, right_component="row-list--quiet")


def arranged(rows: Sequence[LedgerRow], sort: Sort, query: str) -> list[LedgerRow]:
    """Return the items that contain every searched word, in an order."""

    def text_of(row: LedgerRow) -> str:
        pinned = "pinned" if row.pinned else ""
        return f"{KINDS[row.kind]} {title_of(row)} {STATES[row.state]} {pinned} #{row.seq}".casefold()

    words = query.casefold().split()
    found = [row for row in rows if not words or all(word in text_of(row) for word in words)]
    if sort == "age":
        return found
    by_kind = sort == "kind"
    return sorted(found, key=lambda row: (KINDS[row.kind] if by_kind else "", -row.tokens))


MOST_READS = 200
"""Number of the newest results that are compared with their files."""


async def outdated_reads(
    calls: Sequence[Entry], read: Callable[[Sequence[Entry]], Awaitable[Sequence[Body]]], folder: Path
) -> Mapping[int, str]:
    """Return which results of reading a file are out of date; files are read again in a thread.

    Args:
        calls: Tool calls whose results are in the context.
        read: Reads texts.
        folder: The folder they were read in.
    """
    reads = [each for each in calls if each.title.startswith(READ_FILE.name)][-MOST_READS:]
    bodies = await read(reads)

    def compare() -> Mapping[int, str]:
        # The tools belong to the agent side, which is loaded by now, or else is loaded in this thread.
        from tui_app.agent.tools.workspace import Workspace
        from tui_app.conversation.files.files_on_disk import Read, stale_reads

        pairs = zip(reads, bodies, strict=True)
        return stale_reads(
            [Read(each.result_seq, body.args, body.text) for each, body in pairs], Workspace(folder)
        )

    return await asyncio.to_thread(compare)


def with_stale(rows: Sequence[LedgerRow], stale: Mapping[int, str]) -> tuple[LedgerRow, ...]:
    """Mark unmodified results as stale if their file has changed since."""
    states: dict[str, ItemState] = {"changed": "stale", "gone": "gone"}
    return tuple(
        replace(row, state=states[stale[row.seq]])
        if row.seq in stale and row.state in ("visible", "cut")
        else row
        for row in rows
    )


def ledger_row(row: LedgerRow, note: str, columns: Columns, *, chosen: bool = False) -> Row:
    """Return the row of an item, with size and text of user and model highlighted."""
    narrow = columns.width < _NARROW
    kind = "" if narrow else f"{one_line(KINDS[row.kind], 12):<12}  "
    size = f"{UNICODE.check if chosen else ' '}{tokens(row.tokens):>6}"
    figures = f"{size}  {row.age or '':>4}  {kind}"
    # The end of a path is its informative part: its folder is known.
    in_file = row.state == "offloaded" and note
    state = f"in {note.rpartition('/')[2]}" if in_file else STATES[row.state]
    state = ", ".join(filter(None, ("pinned" if row.pinned else "", state)))
    number = f"{'#' + str(row.seq) if row.seq > 0 else '':>{columns.number}}"
    right = number if narrow else f"{one_line(state, max(8, columns.width // _STATE_SHARE))}  {number}"
    title = title_of(row)
    mark = {"user": UNICODE.bar, "summary": UNICODE.load_line}.get(row.kind, "")
    if row.kind == "tool_result":
        mark = tool_sign(title, UNICODE)
        title = title.removeprefix(f"{RUN_COMMAND.name} ")
    text = f"{figures}{'' if narrow else padded(mark, 2)[:2]}{title}"
    is_spoken = row.kind in _TEXT_KINDS and row.title and row.state != "excluded"
    component = "row-list--row" if is_spoken else "row-list--quiet"
    leads = ((len(size), "row-list--row"), (len(figures), "row-list--quiet"))
    return Row(text, right, component, "row-list--quiet", leads)


class LedgerList(Vertical):
    """Column titles, a search box on request, and the rows."""

    BINDINGS = place_bindings("ledger")
    rows = getters.query_one(RowList)

    def __init__(self, rows: Sequence[LedgerRow], note: Note) -> None:
        """Create a list.

        Args:
            rows: The items in the order they are sent.
            note: Returns the result of a rewrite; called for visible rows only.
        """
        super().__init__(id="context-ledger")
        self._all, self._note = rows, note
        self._sort: Sort = "tokens"
        self._wanted = ""
        self._chosen: frozenset[int] = frozenset()
        self._shown = arranged(rows, self._sort, "")

    def compose(self) -> ComposeResult:
        search = WrittenLine(placeholder="words to look for", id="context-search", compact=True)
        search.display = False
        yield search
        yield RowList(self._row, head=self._head, follows=False, id="context-items")

    def on_mount(self) -> None:
        self.rows.set_count(len(self._shown))
        self.rows.cursor = self._first
        self.rows.focus()

    @property
    def _first(self) -> int | None:
        messages = (place for place, row in enumerate(self._shown) if row.seq > 0)
        return next(messages, 0 if self._shown else None)

    @property
    def marked(self) -> LedgerRow | None:
        """The item under the cursor."""
        cursor = self.rows.cursor
        return self._shown[cursor] if cursor is not None and cursor < len(self._shown) else None

    @property
    def chosen(self) -> Sequence[LedgerRow]:
        """The messages that a key acts on: all marked ones, else the one under the cursor."""
        found = [row for row in self._all if row.seq in self._chosen]
        return found or ([self.marked] if self.marked is not None and self.marked.seq > 0 else [])

    @property
    def has_choice(self) -> bool:
        return bool(self._chosen)

    def forget_choice(self) -> bool:
        """Clear all marks; returns whether there were any."""
        had = bool(self._chosen)
        self._chosen = frozenset()
        self.rows.refresh()
        return had

    def action_choose(self) -> None:
        """Mark or unmark the item under the cursor, and move to the next."""
        if self.marked is not None:
            self._chosen ^= {self.marked.seq} if self.marked.seq > 0 else set()
            self.rows.refresh()
            self.rows.action_move(1)
            self.rows.post_message(RowList.Moved())

    def show(self, rows: Sequence[LedgerRow]) -> None:
        """Show other items; the cursor stays on its item."""
        self._all = rows
        self._arrange()

    def _arrange(self) -> None:
        seq = self.marked.seq if self.marked is not None else 0
        self._shown = arranged(self._all, self._sort, self._wanted)
        places = [place for place, row in enumerate(self._shown) if row.seq == seq]
        self.rows.set_count(len(self._shown))
        self.rows.cursor = next(iter(places), self._first)
        self.rows.refresh()
        self.rows.post_message(RowList.Moved())

    def _head(self) -> Row:
        return head_row(self._sort, self._wanted, len(self._shown), len(self._all), self._columns)

    @property
    def _columns(self) -> Columns:
        return Columns(self.size.width, len(f"#{max((row.seq for row in self._all), default=0)}"))

    def _row(self, index: int) -> Row:
        row = self._shown[index]
        chosen = row.seq in self._chosen
        return ledger_row(row, self._note(row.form), self._columns, chosen=chosen)

    def action_sort(self) -> None:
        self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
        self._arrange()

    def action_search(self) -> None:
        search = self.query_one(Input)
        search.display = True
        search.focus()

    @property
    def searched(self) -> bool:
        """Whether the search box is open."""
        return bool(self.query_one(Input).display)

    @property
    def is_written_in(self) -> bool:
        """Whether the search box has the focus."""
        return self.searched and self.screen.focused is self.query_one(Input)

    def end_search(self) -> bool:
        """Close the search box and show all items; returns whether it was open."""
        search = self.query_one(Input)
        searched = bool(search.display)
        search.value, search.display = "", False
        self.rows.focus()
        return searched

    @on(Input.Changed)
    def _searched(self, event: Input.Changed) -> None:
        event.stop()
        self._wanted = event.value
        self._arrange()

    @on(Input.Submitted)
    def _found(self, event: Input.Submitted) -> None:
        event.stop()
        self.rows.focus()
