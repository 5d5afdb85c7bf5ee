"""The requests of a session as a list, with what broke the prefix of each; details of the marked one."""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from textual import getters
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui_app.session.stores.database import Database, open_store
from tui_app.settings import Settings
from tui_app.ui.keyboard.keys import place_bindings
from tui_app.ui.widgets.lists import Row, RowList
from tui_app.ui.words.receipt_words import HEADS, NONE_YET, lost_text, receipt_lines, receipt_row
from tui_app.ui.words.text import one_line, padded

if TYPE_CHECKING:
    from tui_app.session.figures.receipts import Receipt

Bill = tuple[tuple["Receipt", ...], str]
"""The requests of a session, and the cost of broken prefixes in words."""
_NARROW = 70
_FIGURES = 38
"""Cells of a row without its title and without what broke the prefix."""
_BROKEN = 3
"""Divisor of a row's width for what broke the prefix, at most."""


class ReceiptList(Vertical):
    """The requests of a session, newest first."""

    BINDINGS = place_bindings("requests")
    _rows = getters.query_one(RowList)

    def __init__(self) -> None:
        super().__init__(id="context-requests")
        self._found: Sequence[Receipt] = ()

    def compose(self) -> ComposeResult:
        yield RowList(
            self._row, head=lambda: self._laid(HEADS)._replace(leads=()), follows=False, id="request-items"
        )
        yield Static(classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        self._rows.set_empty_text(NONE_YET)

    @property
    def marked(self) -> "Receipt | None":
        """The request under the cursor."""
        cursor = self._rows.cursor
        return self._found[cursor] if cursor is not None and cursor < len(self._found) else None

    def show(self, found: "Sequence[Receipt]") -> None:
        """Show the requests of a session; the cursor stays on its request."""
        if found == self._found[::-1]:
            return
        seq = self.marked.seq if self.marked is not None else 0
        self._found = found[::-1]
        self._rows.set_count(len(found))
        places = [place for place, each in enumerate(self._found) if each.seq == seq]
        self._rows.cursor = next(iter(places), 0 if found else None)
        self._rows.post_message(RowList.Moved())

    def explain(self, receipt: "Receipt", sizes: Mapping[str, Any], bar: Content | None) -> None:
        """Show details of a request, with its measured sizes by category, and as a bar."""
        head, *lines = receipt_lines(receipt, sizes)
        rows = [Content(head), *([] if bar is None else [bar]), *map(Content, lines)]
        self.query_one(".dialog-note", Static).update(Content("\n").join(rows))

    def _row(self, index: int) -> Row:
        receipt = self._found[index]
        component = "row-list--warm" if receipt.cause == "front" else "row-list--quiet"
        return self._laid(receipt_row(receipt, 200))._replace(component=component)

    def _laid(self, cells: Sequence[str]) -> Row:
        number, title, sent, read, price, broken = cells
        width = self._rows.scrollable_content_region.width
        room = width // _BROKEN if width >= _NARROW else 0
        why = f"  {one_line(broken, room - 2)}" if room else ""
        sizes = f" {sent:>7} {read:>11} "
        left = max(0, width - room - _FIGURES)
        texts = (f"  {number:<7} ", padded(one_line(title, left), left), sizes, f"{price:>7}")
        kinds = ("row-list--quiet", "row-list--row") * 2
        leads = tuple(zip(accumulate(map(len, texts)), kinds, strict=True))
        return Row("".join((*texts, why)), leads=leads)


async def read_bill(database: Database, session: str, settings: Settings) -> Bill:
    """Return the requests of a session and the cost of broken prefixes; the log is read in a thread."""

    def read() -> Bill:
        # Price lists take a while to load.
        from tui_app.session.figures.receipts import lost_by_cause, read_receipts

        with closing(open_store(database, read_only=True)) as store:
            found = read_receipts(store, session, settings)
        return tuple(found), lost_text(lost_by_cause(found))

    try:
        return await asyncio.to_thread(read)
    except (sqlite3.Error, OSError):
        return (), ""  # the next read may succeed
