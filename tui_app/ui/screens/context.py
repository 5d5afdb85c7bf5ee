"""What fills the context: tokens by category, every item of the next request, and what to do with one."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import ClassVar, Literal, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Static

from tui_app.conversation.message_actions import Move, Outlook
from tui_app.conversation.work import Pin, Relieve, Restore, Work
from tui_app.session.request_ledger import LedgerRow, together
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.context_keys import context_hints
from tui_app.ui.screens.context_text import (
    ContextView,
    category_lines,
    category_words,
    headline,
    limits,
    outlook_text,
    saved_text,
)
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.ledger_list import LedgerList
from tui_app.ui.widgets.ledger_text import with_stale
from tui_app.ui.widgets.row_list import RowList

LOOK_S = 0.2
"""Seconds between two looks at whether anything has changed while the screen is open."""
ROOMY = 30
"""Rows from which each category has one of its own."""
SHORT = 20
"""Rows below which the items get the room of what was saved."""
_WAITS = "Asked for: it is done when what runs has ended."
NOTHING_MARKED = "No item is marked: none passes the filter or the search."


class ContextSource(Protocol):
    """Where the screen gets what it shows, and what does what is asked for."""

    @property
    def version(self) -> object:
        """Changes with everything that the screen shows."""
        ...

    async def read(self) -> ContextView:
        """All that is shown, as it is now."""
        ...

    async def outlook(self, *seqs: int) -> Outlook:
        """What may be done with some items; one without a number where that is not known."""
        ...

    async def stale(self) -> Mapping[int, str]:
        """Results of reading a file that holds something else by now, or is gone, by their numbers."""
        ...

    def note(self, form: tuple[int, int]) -> str:
        """What was done to an item, by the place of its form."""
        ...

    def submit(self, work: Work) -> str:
        """Ask for something; why it cannot be done, empty when it was asked for."""
        ...

    def cancel_compaction(self) -> None:
        """Stop the compaction that is under way."""
        ...


class StopsCompaction(Dialog[int]):
    """The way out of a compaction from where it is shown."""

    _source: ContextSource

    def action_cancel_compaction(self) -> None:
        """Stop the compaction that is under way; the screen stays."""
        self._source.cancel_compaction()


class ContextScreen(StopsCompaction):
    """Dismisses with the log number of the message to show, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/context.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "f3", "dismiss", "Close", show=False, id="context.close",
            tooltip="The key that opened it closes it.",
        ),
        Binding("p", "pin", "Pin", show=False, id="context.pin", tooltip="Keep the item word for word."),
        Binding(
            "a", "archive", "Archive", show=False, id="context.archive", tooltip="Leave a digest of a result."
        ),
        Binding(
            "o", "offload", "Offload", show=False, id="context.offload", tooltip="Put a result in a file."
        ),
        Binding(
            "u,r", "restore", "Take back", show=False, id="context.restore",
            tooltip="Give all that was rewritten in one step its old form back.",
        ),
        Binding(
            "x", "cancel_compaction", "Cancel the compaction", show=False, id="context.cancel_compaction",
            tooltip="Stop the compaction that is under way; nothing changes then.",
        ),
    ]  # fmt: skip
    HINTS: ClassVar[tuple[Hint, ...]] = context_hints(ContextView())

    def __init__(self, source: ContextSource, view: ContextView, *, glyphs: Glyphs = UNICODE) -> None:
        """Show what fills the context.

        Args:
            source: Where news come from.
            view: The context as it is.
            glyphs: Signs to draw with.
        """
        super().__init__()
        self._source, self._view, self._glyphs = source, view, glyphs
        self._version = source.version
        self._known = view.answer
        """What was answered to a wish and is said already."""
        self._refused: tuple[object, ...] = ()
        """The items of which was said why something cannot be done; it stands until other ones are marked."""
        self._stale: Mapping[int, str] = {}
        self.compared = False
        """Whether results of reading files have been held against the files."""

    def compose(self) -> ComposeResult:
        """Figures, categories, items, what was saved and what could be, keys."""
        with Vertical(classes="dialog -full"):
            yield self.heading(headline(self._view))
            yield Static(id="context-limits", classes="dialog-note", markup=False)
            yield Static(id="context-categories", markup=False)
            yield LedgerList(self._view.rows, self._source.note, self._glyphs.check)
            yield Static(id="context-saved", classes="dialog-note", markup=False)
            yield Static(id="context-outlook", classes="dialog-note", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Write the figures, and look for news from now on."""
        self.set_class(self.app.size.height >= ROOMY, "-roomy")
        self._write()
        self._compare()
        self._follow()
        self.watch(self, "focused", self._name_keys, init=False)

    @work(exit_on_error=False)
    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if self._source.version != self._version:
                self._version = self._source.version
                self._view = await self._source.read()
                self._view = replace(self._view, rows=with_stale(self._view.rows, self._stale))
                self.query_one(LedgerList).show(self._view.rows)
                self._write()
                self._compare()

    @work(group="stale", exclusive=True, exit_on_error=False)
    async def _compare(self) -> None:
        """Say which results are out of date, once their files have been read again."""
        stale = await self._source.stale()
        self.compared = True
        if stale != self._stale:
            self._stale = stale
            self._view = replace(self._view, rows=with_stale(self._view.rows, stale))
            self.query_one(LedgerList).show(self._view.rows)

    def _write(self) -> None:
        """Put all figures on the screen but those of the marked item."""
        view = self._view
        self._name_keys()
        saved = saved_text(view.saved, self._glyphs)
        self.query_one(".dialog-title", Static).update(Content(headline(view)))
        _say(self, "#context-limits", limits(view, self._glyphs))
        _say(self, "#context-saved", saved)
        self.query_one("#context-saved").display = bool(saved) and self.app.size.height >= SHORT
        if view.usage is not None:
            width = max(8, self.app.size.width - 44)
            lines = category_lines(
                view.usage, width, self._glyphs, view.shares, (view.background, view.blocking)
            )
            words = lines if self.has_class("-roomy") else category_words(view.usage, view.shares)
            self.query_one("#context-categories", Static).update(words)

    def _name_keys(self) -> None:
        """Name the keys that act now: in the search box letters are words to look for."""
        items = self.query_one(LedgerList)
        self.key_row.hints = context_hints(
            self._view, searched=items.searched, writes=items.is_written_in, chosen=items.has_choice
        )

    @on(LedgerList.Marked)
    def _marked(self, event: LedgerList.Marked) -> None:
        event.stop()
        self._name_keys()
        self._look()

    @work(group="outlook", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        """Say what may be done with the marked item, and what the gauge would say then."""
        rows = self.query_one(LedgerList).chosen
        outlook = await self._source.outlook(*(row.seq for row in rows)) if rows else Outlook()
        if self._refused and self._refused == _as_they_are(rows):
            return
        self._refused = ()
        count = together(self._view.rows, rows[0]) if len(rows) == 1 else 0
        text = outlook_text(self._view.usage, outlook, count, self._glyphs)
        if self._view.answer not in ("", self._known):
            text, self._refused = one_line(self._view.answer, 300), _as_they_are(rows)
        self._known = self._view.answer
        _say(self, "#context-outlook", text)

    @on(RowList.Selected)
    def _selected(self, event: RowList.Selected) -> None:
        event.stop()
        row = self.query_one(LedgerList).marked
        if row is not None:
            self.dismiss(row.seq)

    def action_close(self) -> None:
        """End the search, or close without a decision."""
        items = self.query_one(LedgerList)
        if items.end_search():
            self._name_keys()
            return
        if items.forget_choice():
            self._name_keys()
            self._look()
        else:
            self.dismiss(None)

    def action_pin(self) -> None:
        """Pin the marked item, or take its pin away."""
        pinned = any(not row.pinned for row in self.query_one(LedgerList).chosen)
        self._ask(lambda row: Pin(row.seq, pinned) if row.pinned is not pinned else None, lambda can: can.pin)

    def action_archive(self) -> None:
        """Archive the marked item."""
        self._ask(self._relief("archive"), lambda can: can.archive)

    def action_offload(self) -> None:
        """Put the marked item in a file."""
        self._ask(self._relief("offload"), lambda can: can.offload)

    def _relief(self, stage: Literal["archive", "offload"]) -> Callable[[LedgerRow], Work | None]:
        """One wish for all marked items: what became of them is said together."""
        first, *others = [row.seq for row in self.query_one(LedgerList).chosen] or [0]
        return lambda row: Relieve(first, stage, tuple(others)) if row.seq == first else None

    def action_restore(self) -> None:
        """Take back what the marked item was rewritten with."""
        asked: set[int] = set()

        def restore(row: LedgerRow) -> Work | None:
            step = row.form[0]
            new = bool(step) and step not in asked
            asked.add(step)
            return Restore(step) if new else None

        self._ask(restore, lambda can: can.restore)

    @work(group="ask", exit_on_error=False)
    async def _ask(self, work: Callable[[LedgerRow], Work | None], move: Callable[[Outlook], Move]) -> None:
        """Have something done with the marked items, or say why not as things are now."""
        items = self.query_one(LedgerList)
        rows = items.chosen
        if not rows:
            _say(self, "#context-outlook", NOTHING_MARKED)
            return
        refused = move(await self._source.outlook(*(row.seq for row in rows))).refused
        for each in map(work, () if refused else rows):
            refused = refused or (self._source.submit(each) if each is not None else "")
        if not refused:
            items.forget_choice()
        self._refused = _as_they_are(rows) if refused else ()
        _say(self, "#context-outlook", refused or _WAITS)


def _as_they_are(rows: Iterable[LedgerRow]) -> tuple[object, ...]:
    """Which items, and what decides what can be done with them."""
    return tuple((row.seq, row.form, row.pinned) for row in rows)


def _say(screen: ContextScreen, where: str, text: str) -> None:
    screen.query_one(where, Static).update(Content(text))
