"""The context screen: tokens by category, every item of the next request, and actions on items."""

import asyncio
import json
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

from textual import work
from textual.app import App, ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tui_app.conversation.message_actions import Outlook, on_scale
from tui_app.conversation.work import Exclude, Pin, Relieve, Restore, Work
from tui_app.events import UsageInfo, ViewRewrite
from tui_app.session.figures.request_ledger import (
    LedgerRow,
    fixed_rows,
    growths,
    ledger,
    scaled,
    together,
    turns_left,
)
from tui_app.session.lock import SessionLocked
from tui_app.session.preview import StatsReader
from tui_app.system.secrets import mask_secrets
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.clipboard import copy
from tui_app.ui.context.context_words import (
    ContextView,
    facts,
    headline,
    limits,
    next_lines,
    outlook_text,
    saved_lines,
    tool_lines,
)
from tui_app.ui.context.receipts import Bill, ReceiptList, read_bill
from tui_app.ui.context.request_ledger import LedgerList, outdated_reads, with_stale
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.extensions.mcp import overview
from tui_app.ui.dialogs.parts import BREAKPOINTS, PartTabs, reading_area
from tui_app.ui.keyboard.keys import Hint, place_hints
from tui_app.ui.panels.gauge import marks
from tui_app.ui.panels.window_bar import category_legend, category_text, fixed_names, window_bar
from tui_app.ui.widgets.lists import RowList
from tui_app.ui.words.compaction_words import figures
from tui_app.ui.words.cost_words import next_turn_text
from tui_app.ui.words.receipt_words import total_text
from tui_app.ui.words.text import one_line, tokens, wrap_spans
from tui_app.usage import CATEGORIES, Breakdown, ContextUsage, ContextWindow

PARTS: Mapping[str, str] = {
    "tab-ledger": "Ledger",
    "tab-next": "Sent next",
    "tab-requests": "Requests",
    "tab-saved": "Saved",
    "tab-tools": "Tools",
}
"""The tabs of the screen, by id."""


ROOMY = 30
"""Rows from which each category has its own row."""
WIDE = 110
"""Cells of a row from which the remaining figures are next to the categories."""
SHORT = 20
"""Rows below which the items take the space of the savings."""
NOTHING_MARKED = "No item is marked: nothing matches the search."
FIXED = "This goes with every request: only messages can be changed."


Deed = Literal["pin", "exclude", "archive", "offload", "restore"]
"""Actions on items."""


class ContextScreen(Dialog[int], place="context", style="context", size="-full"):
    """Dismisses with the log number of the message to show, or ``None``."""

    HORIZONTAL_BREAKPOINTS = BREAKPOINTS

    def __init__(self, source: "SessionContext", view: ContextView) -> None:
        """Show what fills the context.

        Args:
            source: Provides updates.
            view: The current context.
        """
        super().__init__(headline(view))
        self._source, self._view = source, view
        self._version = source.version
        self._known = view.answer
        """The answer to an action that has already been shown."""
        self._refused: tuple[object, ...] = ()
        """The items for which a refusal is shown, until other ones are marked."""
        self._stale: Mapping[int, str] = {}
        self._reading = False
        self.compared = False
        """Whether results of reading files have been compared with the files."""

    def body(self) -> ComposeResult:
        self.set_class(self.app.size.height >= ROOMY, "-roomy", update=False)
        yield Static(id="context-categories", markup=False)
        yield Static(id="context-limits", classes="dialog-note", markup=False)
        parts: dict[str, Widget] = {
            name: reading_area("", id=name.replace("tab", "context"), rows=True) for name in PARTS
        }
        parts["tab-ledger"] = LedgerList(self._view.rows, self._source.note)
        parts["tab-requests"] = ReceiptList()
        yield PartTabs(parts, PARTS)
        yield Static(id="context-cache", classes="dialog-note", markup=False)
        yield Static(id="context-outlook", classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        """Show the figures, and update them from now on."""
        self._write()
        self._compare()
        self.watch(self, "focused", self._name_keys, init=False)
        self._source.follow(self, self._news)
        self._news()

    def on_resize(self) -> None:
        """Lay out the figures for the available space."""
        self.set_class(self.app.size.height >= ROOMY, "-roomy")
        self._write()

    def _news(self) -> None:
        """Read again what has changed; changes during a read are read after it."""
        if not self._reading and self._source.version != self._version:
            self._reading = True
            self._read()

    @work
    async def _read(self) -> None:
        try:
            while self._source.version != self._version:
                self._version = self._source.version
                self._view = await self._source.read()
                self._view = replace(self._view, rows=with_stale(self._view.rows, self._stale))
                self.query_one(LedgerList).show(self._view.rows)
                self._write()
                self._compare()
        finally:
            self._reading = False

    @work(group="stale", exclusive=True)
    async def _compare(self) -> None:
        """Show which results are out of date, after reading their files again."""
        stale = await self._source.stale()
        self.compared = True
        if stale != self._stale:
            self._stale = stale
            self._view = replace(self._view, rows=with_stale(self._view.rows, stale))
            self.query_one(LedgerList).show(self._view.rows)

    def _write(self) -> None:
        """Show all figures except those of the marked item."""
        view = self._view
        self._name_keys()
        right = total_text(view.receipts) if self._part == "tab-requests" else view.cache
        head = headline(view, right, self.app.size.width - 4)
        self.write_head(head)
        width = self._width
        extras = facts(view) if self.has_class("-roomy") and width >= WIDE else []
        text = limits(view, brief=bool(extras))
        if self.app.size.height >= SHORT:
            # In rows that break between two facts; a low screen has one row for them.
            spans = wrap_spans(text, width, " · ")
            text = "\n".join(text[start:stop] for start, stop, _ in spans)
        _say(self, "#context-limits", text)
        self.query_one("#context-limits").display = bool(text)
        self._write_parts()
        _say(self, "#context-cache", view.cache)
        is_new = bool(view.cache) and not head.plain.endswith(view.cache)
        self.query_one("#context-cache").display = is_new and self.app.size.height >= SHORT
        if view.usage is not None:
            roomy = self.has_class("-roomy")
            coloured = self._coloured
            bar = self._bar(view.usage)
            rows = category_legend(view.usage, view.shares, coloured=coloured).split("\n")
            for at, text in enumerate(extras[: len(rows)]):
                fact = f"{text:>{width - rows[at].cell_length}}"
                rows[at] = Content.assemble(rows[at], figures(fact, _HIGHLIGHTED))
            legend = Content("\n").join(rows)
            words = category_text(view.usage, width, view.shares, coloured=coloured)
            # With fewer rows the marks have no names below them; the next row has the position of the first.
            whole = [bar, Content(), legend] if roomy else [*bar.split("\n")[:1], words]
            self.query_one("#context-categories", Static).update(Content("\n").join(whole))

    @property
    def _width(self) -> int:
        return max(8, self.app.size.width - 6)

    @property
    def _coloured(self) -> bool:
        # Sixteen colours are too few for the categories.
        return not (self.app.no_color or self.app.theme_variables["kind-system"].startswith("ansi"))

    def _bar(self, usage: ContextUsage) -> Content:
        load_lines = self._view.background, self._view.blocking
        return window_bar(usage, self._width, load_lines, coloured=self._coloured)

    def _write_parts(self) -> None:
        view, tabs = self._view, self.query_one(PartTabs)
        for part, text in (
            ("next", next_lines(view, self._width - 2)),
            ("saved", saved_lines(view.saved)),
            ("tools", tool_lines(view.usage, view.shares)),
        ):
            area = self.query_one(f"#context-{part}", TextArea)
            area.soft_wrap = False
            if area.text != text:
                area.text = text
        self.query_one(ReceiptList).show(view.receipts)
        saved = sum(row.tokens_removed for row in view.saved if row.tokens_removed > 0)
        tabs.count("tab-requests", len(view.receipts) or "")
        tabs.count("tab-ledger", len(view.rows))
        tabs.count("tab-saved", tokens(saved) if saved else "")
        tabs.count("tab-tools", tokens(view.usage.parts.tools) if view.usage is not None else "")

    @property
    def _part(self) -> str:
        return self.query_one(PartTabs).active.id or ""

    def action_tab(self, step: int) -> None:
        self.query_one(PartTabs).turn(step)

    def on_part_tabs_turned(self) -> None:
        self.set_class(self._part == "tab-requests", "-requests")
        self._write()
        self._look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enable actions on visible items only; "c" cancels a running compaction instead of copying."""
        if action == "do":
            return self._part == "tab-ledger"
        if action == "copy_request":
            return not self._view.compacting
        return super().check_action(action, parameters)

    def _name_keys(self) -> None:
        """Show the keys that work now: in the search box letters are typed."""
        items, view = self.query_one(LedgerList), self._view
        lists = self.query(f"#{self._part} RowList").results(RowList)
        # With less space the keys are more useful.
        self.key_row.meanwhile = tuple(each.place for each in lists if self._width >= WIDE)
        leaves = "end the search" if items.searched else "unmark" if items.has_choice else "close"
        leave = Hint("esc", leaves, 0, "screen.close")
        if items.is_written_in:
            self.key_row.hints = (Hint("enter", "to the items", 1), leave)
            return
        stop, tabs, show, *deeds = place_hints(
            "context", "c", "left/right", "enter", "space", "x", "p", "o", "a", "u", "s", "/"
        )
        shows = {"tab-ledger": (show, *deeds), "tab-requests": (show, *place_hints("requests"))}
        acting = [hint for hint in shows.get(self._part, ()) if not (view.locked and hint.changes)]
        self.key_row.hints = (*([stop] if view.compacting else []), *acting, tabs, leave)

    def on_row_list_moved(self) -> None:
        self._name_keys()
        self._look()
        self._read_sizes()

    @work(group="outlook", exclusive=True)
    async def _look(self) -> None:
        """Show the possible actions on the marked items, and their effect on the context usage."""
        rows = self.query_one(LedgerList).chosen if self._part == "tab-ledger" else []
        outlook = await self._source.outlook(*(row.seq for row in rows)) if rows else Outlook()
        if self._refused and self._refused == _as_they_are(rows):
            return
        self._refused = ()
        count = together(self._view.rows, rows[0]) if len(rows) == 1 else 0
        effect = outlook_text(self._view.usage, outlook, count)
        text = self._view.bill if self._part == "tab-requests" else effect
        if self._view.answer not in ("", self._known):
            text, self._refused = one_line(self._view.answer, 300), _as_they_are(rows)
        self._known = self._view.answer
        _say(self, "#context-outlook", text)

    def on_row_list_selected(self) -> None:
        item, request = self.query_one(LedgerList).marked, self.query_one(ReceiptList).marked
        if (row := request if self._part == "tab-requests" else item) is not None and row.seq > 0:
            self.dismiss(row.seq)
        else:
            _say(self, "#context-outlook", FIXED)

    @work(group="sizes", exclusive=True)
    async def _read_sizes(self) -> None:
        """Show the marked request by category, and as a bar if there is space."""
        requests = self.query_one(ReceiptList)
        if (receipt := requests.marked) is not None:
            sizes = await self._source.sizes(receipt.asked)
            usage = as_sent(self._view.usage, sizes) if self.has_class("-roomy") else None
            requests.explain(receipt, sizes, self._bar(usage) if usage is not None else None)

    def action_show_break(self) -> None:
        """Show what broke the cached prefix of the marked request, if it is a row of the conversation."""
        receipt = self.query_one(ReceiptList).marked
        if receipt is None or not receipt.broken_by:
            self.key_row.said = "nothing broke its prefix"
        elif receipt.source:
            self.dismiss(receipt.source)
        else:
            self.key_row.said = "no row of the conversation broke it"

    @work(group="copy", exclusive=True)
    async def action_copy_request(self) -> None:
        """Copy all data of the marked request, with its measured sizes."""
        if (receipt := self.query_one(ReceiptList).marked) is not None:
            known = {**receipt.to_json(), "sizes": dict(await self._source.sizes(receipt.asked))}
            text = mask_secrets(json.dumps(known, indent=2, ensure_ascii=False))
            self.key_row.said = await copy(self.app, text)

    def action_close(self) -> None:
        """Clear the search or the marks, or close without a decision."""
        items = self.query_one(LedgerList)
        if items.end_search() or items.forget_choice():
            self._name_keys()
            self._look()
        else:
            self.dismiss(None)

    def action_cancel_compaction(self) -> None:
        self._source.cancel_compaction()

    @work(group="ask")
    async def action_do(self, deed: Deed) -> None:
        """Run an action on the marked items, or show why it is not possible."""
        items = self.query_one(LedgerList)
        rows = items.chosen
        if not rows:
            _say(self, "#context-outlook", FIXED if items.marked is not None else NOTHING_MARKED)
            return
        leaving = leaving_of(rows) if deed == "exclude" else ()
        outlook = await self._source.outlook(*(leaving or [row.seq for row in rows]))
        # Including excluded items again is always possible.
        refused = "" if deed == "exclude" and not leaving else getattr(outlook, deed).refused
        for wish in () if refused else wishes_of(deed, rows):
            refused = refused or self._source.submit(wish)
        if not refused:
            items.forget_choice()
        self._refused = _as_they_are(rows) if refused else ()
        _say(self, "#context-outlook", refused or "Queued: it runs when the current work ends.")


def wishes_of(deed: Deed, rows: Sequence[LedgerRow]) -> list[Work]:
    """Return the work for an action; one work for all items reports their results together."""
    first, *others = (row.seq for row in rows)
    match deed:
        case "pin":
            pinned = any(not row.pinned for row in rows)
            return [Pin(row.seq, pinned) for row in rows if row.pinned is not pinned]
        case "exclude":
            # If all of them are excluded, they are included again.
            leaving = leaving_of(rows)
            return [Exclude(leaving or (first, *others), excluded=bool(leaving))]
        case "restore":
            return [Restore(step) for step in dict.fromkeys(row.form[0] for row in rows) if step]
        case _:
            return [Relieve(first, deed, tuple(others))]


def leaving_of(rows: Sequence[LedgerRow]) -> tuple[int, ...]:
    """Return the items that are not excluded yet."""
    return tuple(row.seq for row in rows if row.state != "excluded")


def _as_they_are(rows: Iterable[LedgerRow]) -> tuple[object, ...]:
    """Return the items with the state that decides about the possible actions."""
    return tuple((row.seq, row.form, row.pinned, row.state) for row in rows)


def as_sent(usage: ContextUsage | None, sizes: Mapping[str, Any]) -> ContextUsage | None:
    """Return what a request contained, by its sizes in the log; None if they are unknown."""
    if usage is None or not sizes.get("limit"):
        return None
    parts = Breakdown(**{name: int(sizes.get(name) or 0) for name in CATEGORIES})
    window = ContextWindow(limit=sizes["limit"], source="", reserve=int(sizes.get("reserve") or 0))
    return replace(usage, parts=parts, window=window, unmeasured=int(sizes.get("unmeasured") or 0))


_HIGHLIGHTED = re.compile(r"(\b[oaux](?= (?:frees|adds))|\d[\d.]*[kM%]?)")
"""Keys and figures, which are highlighted in the text."""


def _say(screen: ContextScreen, where: str, text: str) -> None:
    content = figures(text, _HIGHLIGHTED) if where == "#context-outlook" else Content(text)
    screen.query_one(where, Static).update(content)


class SessionContext:
    """Reads one session for the context screen.

    Args:
        session: The session.
    """

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._stats = StatsReader(session.launch.database, session.id)
        self._notes: dict[int, tuple[str, ...]] = {}
        self._bill: Bill = ((), "")
        self._billed = -1
        """Log number of the newest event included in the bill."""

    @property
    def version(self) -> object:
        """Changes with the newest event shown, the usage, the policy, and what is asked or running."""
        state = self._session.state
        under_way = state.turn, compacting_text(self._session), state.waits_for_user
        return self._session.presenter.last, state.usage, state.policy, state.locked, state.answer, *under_way

    def follow(self, screen: Screen[Any], see: Callable[[], None]) -> None:
        self._session.presenter.changed.subscribe(screen, lambda _state: see())

    async def read(self) -> ContextView:
        """Return everything shown, as it is now; figures of the log are read in a thread."""
        outlook = await self.outlook(0)
        stats, cache, cached = self._stats.known, "", 0
        with suppress(sqlite3.Error, OSError):  # the next read may succeed
            stats = await asyncio.to_thread(self._stats.read)
            cache, cached = await asyncio.to_thread(self._cache)
        session = self._session
        if self._billed != self._stats.last:
            # Only new events change the bill.
            self._billed = self._stats.last
            self._bill = await read_bill(session.launch.database, session.id, session.launch.settings)
        receipts, bill = self._bill
        state, view = session.state, session.presenter.agent_view
        titles = {entry.result_seq or entry.seq: entry.title for entry in session.presenter.view.entries}
        background, blocking = marks(session.launch.settings, state.usage, state.policy)
        rows, shares, left = ledger(view, titles), (await overview(session)).shares, None
        if state.usage is not None:
            factor = state.usage.scale
            shares = on_scale(shares, state.usage.parts)
            rows = [*fixed_rows(view, state.usage.parts, factor, fixed_names(shares)), *scaled(rows, factor)]
            grown = [round(turn * factor) for turn in growths(view, running=bool(state.turn))]
            left = turns_left(grown, state.usage.total, int(state.usage.window.stated * background))
        # Notes of rewrites are read once per event.
        rewrites = {row.form[0] for row in rows} - self._notes.keys() - {0}
        for seq, record in (await self._session.bodies.records(sorted(rewrites))).items():
            changes = record.data.changes if isinstance(record.data, ViewRewrite) else ()
            self._notes[seq] = tuple(change.note for change in changes)
        return ContextView(
            usage=state.usage,
            rows=tuple(rows),
            background=background,
            blocking=blocking,
            turns_left=left,
            saved=stats.stages,
            compacting=compacting_text(self._session),
            locked=bool(state.locked),
            asking=state.waits_for_user,
            answer=state.answer,
            outlook=outlook,
            shares=shares,
            cache=cache,
            cached=cached,
            guards=tuple(each.headline() for each in session.guards.values()),
            receipts=receipts,
            bill=bill,
        )

    async def sizes(self, asked: int) -> Mapping[str, Any]:
        """Return the measured sizes of a request by category, by its log number; empty if there are none."""
        records = await self._session.bodies.records([asked] if asked else [])
        return next((each.data.usage for each in records.values() if isinstance(each.data, UsageInfo)), {})

    def _cache(self) -> tuple[str, int]:
        """Return the next turn's cost in words, and its cached tokens; reads log and price lists."""
        from tui_app.session.figures.cache_forecast import read_forecast

        launch, state, now = self._session.launch, self._session.state, time.time()
        if state.usage is None:
            return "", 0
        outlook = read_forecast(
            launch.database, self._session.id, state.model, state.usage, launch.settings, now=now
        )
        return next_turn_text(outlook, now), (outlook.predicted_tokens or 0) if outlook.is_warm(now) else 0

    async def outlook(self, *seqs: int) -> Outlook:
        """Return the possible actions on some items; none in a read-only session."""
        if self._session.read_only:
            return Outlook()
        try:
            return await self._session.ask(lambda opened: opened.conversation.edits.outlook(*seqs))
        except SessionLocked:
            return Outlook()

    async def stale(self) -> Mapping[int, str]:
        """Return the outdated results of reading files; the files are read again in a thread."""
        session = self._session
        shown = {head.seq for head in session.presenter.agent_view.visible()}
        calls = [each for each in session.presenter.view.entries if each.result_seq in shown]
        return await outdated_reads(calls, session.bodies.read, session.launch.cwd)

    def note(self, form: tuple[int, int]) -> str:
        rewrite, place = form
        notes = self._notes.get(rewrite, ())
        return notes[place] if place < len(notes) else ""

    def submit(self, work: Work) -> str:
        return "" if self._session.submit(work) else self._session.read_only

    def cancel_compaction(self) -> None:
        """Cancel the running compaction; a turn continues."""
        if (conversation := self._session.conversation) is not None:
            self._session.engine.call(conversation.cancel_compaction)


def compacting_text(session: ChatSession) -> str:
    """Word the running compaction; empty if none runs."""
    state = session.state
    if state.reviewing:
        return "a summary is waiting for your review"
    if state.compacting:
        return "compacting now: c cancels it"
    return "compacting in the background: c cancels it" if state.background is not None else ""


async def show_context(app: App[Any], session: ChatSession) -> None:
    """Show what fills the context, and then the message that the user chose."""
    source = SessionContext(session)
    choice = await app.push_screen_wait(ContextScreen(source, await source.read()))
    session.presenter.jump_to(choice or 0)
