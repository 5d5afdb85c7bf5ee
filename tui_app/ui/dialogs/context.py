"""What fills the context: tokens by category, every item of the next request, and what to do with one."""

import asyncio
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Literal

from textual import on, work
from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.types import CSSPathType
from textual.widget import Widget
from textual.widgets import Static, TabPane, TextArea

from tui_app.conversation.message_actions import Move, Outlook, Share, on_scale
from tui_app.conversation.work import Exclude, Pin, Relieve, Restore, Work
from tui_app.events import ViewRewrite
from tui_app.records import frozen
from tui_app.session.lock import SessionLocked
from tui_app.session.preview import StatsReader
from tui_app.session.request_ledger import (
    LedgerRow,
    fixed_rows,
    growths,
    ledger,
    scaled,
    together,
    turns_left,
)
from tui_app.session.stats import StageRow
from tui_app.tool_specs import READ_FILE
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import Dialog, PartTabs, packed, reading_area
from tui_app.ui.dialogs.extensions import overview
from tui_app.ui.gauge import marks
from tui_app.ui.keys import Hint, place_bindings
from tui_app.ui.request_ledger import KINDS, LedgerList, title_of, with_stale
from tui_app.ui.text import (
    BACKGROUND,
    BLOCKING,
    UNICODE,
    Glyphs,
    count,
    gauge_text,
    next_turn_text,
    one_line,
    threshold_text,
    tokens,
    unmarked_text,
    window_text,
    wrap_spans,
)
from tui_app.usage import CATEGORIES, ContextUsage, percent_text

# What stands behind a category of the context, in words: servers, files, skills.

_MOST = 5
"""So many of them are named."""


def in_brackets(category: str, shares: Sequence[Share]) -> str:
    """What a category is made of, by names and sizes, where that is more than the program's own tools."""
    parts = [share for share in shares if NAMES[share.category] == category and share.tokens]
    if len(parts) < 2 and all(share.category == "tools" for share in parts):
        return ""
    return f" ({', '.join(f'{one_line(share.name, 16)} {tokens(share.tokens)}' for share in parts[:_MOST])})"


def fixed_names(shares: Sequence[Share]) -> dict[str, str]:
    """What a user reads for what goes with every request, by category."""
    memory = [one_line(share.name, 24) for share in shares if share.category == "memory" and share.tokens]
    return {
        "tools": "definitions of all tools",
        "system": "system prompt, date and folder",
        "memory": ", ".join(memory[:_MOST]) or "notes on this project",
    }


# The words of the context screen: pure functions over what it shows.

NAMES: dict[str, str] = {
    "system": "system",
    "tools": "tools",
    "memory": "memory",
    "summary": "summary",
    "user": "you",
    "assistant": "answers",
    "thinking": "thinking",
    "tool_calls": "calls",
    "tool_results": "results",
    "attachments": "attachments",
}
"""Categories as a user reads them."""
_COLOURS = {
    "system": "$kind-system", "tools": "$kind-tools", "memory": "$kind-memory", "summary": "$kind-summary",
    "user": "$kind-you", "assistant": "$kind-answers", "thinking": "$kind-answers",
    "tool_calls": "$kind-calls", "tool_results": "$kind-results", "attachments": "$kind-you",
    "": "$text-muted",
}  # fmt: skip
"""By category; what no category explains has none."""
_LEGEND_COLUMNS, _LEGEND_ROWS = 3, 3
UNMEASURED = "not measured"
UNMEASURED_YET = "Nothing is measured yet."
ASKING = "a tool waits for your answer: esc goes back to it"
MARKED = 2
"""From so many items on it is said how many are marked."""
_MANY = 99
"""Turns beyond which a forecast is not given as a number."""


@frozen(kw_only=True)
class ContextView:
    """All that the screen shows of the next request."""

    usage: ContextUsage | None = None
    """The measured context; ``None`` while nothing is known."""
    rows: tuple[LedgerRow, ...] = ()
    background: float = BACKGROUND
    """Share of the window at which compaction starts by itself; 0 for never."""
    blocking: float = BLOCKING
    """Share of the window at which sending waits for it; 0 for never."""
    turns_left: int | None = None
    """Turns until compaction; None where that cannot be said."""
    saved: tuple[StageRow, ...] = ()
    """What each stage has saved."""
    compacting: str = ""
    """What is said of a compaction that is under way; empty where none is."""
    locked: bool = False
    """Whether the session can only be looked at."""
    answer: str = ""
    """What came of the last wish, where that is more than can be seen."""
    asking: bool = False
    """Whether a tool's question waits in the chat."""
    outlook: Outlook = field(default_factory=Outlook)
    """Floor and pins of the view; what may be done with a message is asked for one at a time."""
    shares: tuple[Share, ...] = ()
    """What stands behind tool definitions and memory."""
    cache: str = ""
    """What the next turn costs, with a warm cache and with a cold one; empty where that is not known."""
    cached: int = 0
    """Tokens of the next request that its provider has in its cache."""
    guards: tuple[str, ...] = ()
    """What no call may do."""


@frozen
class CategoryRow:
    """Tokens of one category."""

    name: str
    tokens: int
    category: str = ""


def category_rows(usage: ContextUsage) -> list[CategoryRow]:
    """Categories that hold anything; together with ``not measured`` they sum to the total."""
    held = ((name, getattr(usage.parts, name)) for name in CATEGORIES)
    rows = [CategoryRow(NAMES[name], count, name) for name, count in held if count]
    if usage.unmeasured:
        rows.append(CategoryRow(UNMEASURED, usage.unmeasured))
    return rows


def window_bar(
    usage: ContextUsage, width: int, glyphs: Glyphs, load_lines: tuple[float, float], *, coloured: bool = True
) -> Content:
    """The whole window as one bar: what fills it, where compaction starts and waits, the answer's reserve.

    Args:
        usage: What is measured.
        width: Cells of the bar.
        glyphs: Signs to draw with.
        load_lines: Shares at which a compaction starts in the background and at which sending waits; 0 for
            never.
        coloured: Whether colours tell categories apart; else their signs do.
    """
    limit = max(usage.window.stated, usage.total, 1)
    signs: list[tuple[str, str]] = []
    reached = 0
    for number, row in enumerate(category_rows(usage)):
        reached += row.tokens
        cells = round(width * reached / limit) - len(signs)
        block = glyphs.blocks[0 if coloured else number % len(glyphs.blocks)]
        signs += [(block, _COLOURS[row.category])] * max(0, cells)
    signs += [(glyphs.gauge_empty, "$text-muted")] * (width - len(signs))
    reserve = round(width * usage.window.reserve / limit)
    for at in range(width - reserve, width):
        if signs[at][0] == glyphs.gauge_empty:
            signs[at] = (glyphs.blocks[-1], "$text-muted")
    names, end = "", width
    for share, name in reversed(list(zip(load_lines, ("compacts at", "waits at"), strict=True))):
        if 0 < share <= 1:
            at = min(width - 1, round(width * share))
            signs[at] = (glyphs.load_mark, "$foreground bold")
            said = f"{name} {round(share * 100)}%"
            # Each ends below its mark, two cells in front of the next.
            start = max(0, min(at + 1, end - (2 if names else 0)) - len(said))
            names = f"{said}{' ' * (end - start - len(said))}{names}"
            end = start
    bar = Content("").join(Content.styled(sign, colour) for sign, colour in signs)
    return Content("\n").join([bar, Content.styled(" " * end + names, "$text-muted")])


def category_legend(
    usage: ContextUsage, glyphs: Glyphs, shares: Sequence[Share] = (), *, coloured: bool = True
) -> Content:
    """The categories with their tokens in three columns, and what stands behind tools and memory."""
    rows = category_rows(usage)
    cells = []
    for number, row in enumerate(rows):
        block = glyphs.blocks[0 if coloured else number % len(glyphs.blocks)]
        name, size = (f" {row.name:<13}", "$text-muted"), f"{tokens(row.tokens):>6}   "
        cells.append(Content.assemble((block, _COLOURS[row.category]), name, size))
    cells.append(Content.styled(f"  {'total':<13}{tokens(usage.total):>6}", "bold"))
    high = max(_LEGEND_ROWS, -(-len(cells) // _LEGEND_COLUMNS))
    lines = [Content("").join(cells[at::high]) for at in range(min(high, len(cells)))]
    for row in rows:
        if told := in_brackets(row.name, shares):
            lines.append(Content.styled(f"  {row.name}{told}", "$text-muted"))
    return Content("\n").join(lines)


def category_words(
    usage: ContextUsage, width: int, glyphs: Glyphs, shares: Sequence[Share] = (), *, coloured: bool = True
) -> Content:
    """The categories one behind the other, for a screen without room for columns."""
    return packed(
        (
            Content.assemble(
                (glyphs.blocks[0 if coloured else number % len(glyphs.blocks)], _COLOURS[row.category]),
                (f" {row.name}", "$text-muted"),
                f" {tokens(row.tokens)}",
                (in_brackets(row.name, shares), "$text-muted"),
            )
            for number, row in enumerate(category_rows(usage))
        ),
        width,
        "  ",
    )


def headline(view: ContextView, glyphs: Glyphs = UNICODE, width: int = 0) -> Content:
    """The first row: the gauge in words, and at its end what the next turn costs where both have room."""
    share, space, rest = gauge_text(view.usage, background=view.background, blocking=view.blocking).partition(
        " "
    )
    head = Content.assemble(
        (f"{glyphs.load_line} ", "$text-accent"),
        ("Context", "bold"),
        (f"   {share}", "not bold"),
        (space + rest, "$text-muted not bold"),
    )
    gap = width - head.cell_length - len(view.cache)
    if not view.cache or gap < _LEAST_GAP:
        return head
    return Content.assemble(head, " " * gap, (view.cache, "$text-muted not bold"))


_LEAST_GAP = 4
"""Cells between the gauge in words and what the next turn costs."""


def limits(view: ContextView, glyphs: Glyphs) -> str:
    """What bounds the context: room for the answer, where compaction starts and when, pins, the floor."""
    usage, outlook = view.usage, view.outlook
    parts = [ASKING] if view.asking else []
    if usage is None:
        return f" {glyphs.separator} ".join([*parts, UNMEASURED_YET])
    parts.append(count(usage.messages, "message"))
    if usage.window.reserve:
        parts.append(f"reserve {window_text(usage.window.reserve)}")
    where = threshold_text(view.background) or unmarked_text(view.background, view.blocking)
    when = forecast(view.turns_left)
    if view.compacting:
        parts.append(view.compacting)
    elif usage.window.stated > 0:
        parts.append(f"{where} ({when})" if when else where)
    if outlook.pinned:
        along = f" ({tokens(outlook.pinned_along)} of it goes with them)" if outlook.pinned_along else ""
        parts.append(f"pinned {tokens(outlook.pinned)} of {tokens(outlook.pin_budget)}{along}")
    if out := [row for row in view.rows if row.state == "excluded"]:
        parts.append(f"{len(out)} excluded, {tokens(sum(row.tokens for row in out))}")
    parts += view.guards
    if outlook.floor:
        parts.append(f"at least {tokens(outlook.floor)} always stays")
    return f" {glyphs.separator} ".join(parts)


def forecast(turns: int | None) -> str:
    """When compaction starts, in turns from now; empty where nothing can be said."""
    if turns is None:
        return ""
    if turns == 0:
        return "with the next request"
    if turns > _MANY:
        return f"in more than {_MANY} turns"
    return f"in about {count(turns, 'turn')}"


PARTS: Mapping[str, tuple[str, str]] = {
    "tab-ledger": ("Ledger", "Ledger"),
    "tab-next": ("Sent next", "Next"),
    "tab-saved": ("Saved", "Saved"),
    "tab-tools": ("Tools", "Tools"),
}
"""The parts of the screen, by id: their names, and shorter ones."""


def next_lines(view: ContextView) -> str:
    """The next request part by part, in the order it is sent: size, sum so far, and what is cached."""
    usage = view.usage
    if usage is None:
        return UNMEASURED_YET
    parts = [(KINDS[row.kind], row.tokens, title_of(row)) for row in view.rows if row.state != "excluded"]
    lines, so_far = [f"{'tok':>7}  {'so far':>7}  {'':<6}  {'kind':<12}  what", ""], 0
    for kind, size, what in parts:
        so_far += size
        cached = "cached" if so_far <= view.cached else ""
        lines.append(f"{tokens(size):>7}  {tokens(so_far):>7}  {cached:<6}  {kind:<12}  {what}")
    rest = usage.total - so_far
    if rest > 0:
        lines.append(f"{tokens(rest):>7}  {tokens(usage.total):>7}  {'':<6}  {'other':<12}  {_AROUND}")
    return "\n".join(lines)


_AROUND = "what is not measured message by message"


def saved_lines(saved: Sequence[StageRow]) -> str:
    """What each stage has saved in this session."""
    rows = [row for row in saved if row.tokens_removed > 0]
    if not rows:
        return "Nothing was saved yet: the whole conversation is sent."
    lines = [f"{tokens(row.tokens_removed):>7}  {f'{row.count:,}×':>6}  {row.stage}" for row in rows]
    return "\n".join([f"{'tok':>7}  {'times':>6}  stage", "", *lines])


def tool_lines(usage: ContextUsage | None, shares: Sequence[Share]) -> str:
    """What the definitions of tools take in each request, by whom they are from."""
    rows = sorted((each for each in shares if each.category == "tools"), key=lambda each: -each.tokens)
    if usage is None or not usage.parts.tools:
        return "No tools are sent."
    listed = [(each.tokens, one_line(each.name, 100), each.saved) for each in rows]
    lines = [
        f"{tokens(size):>7}  {name}{f' · {tokens(saved)} saved, found by searching' if saved else ''}"
        for size, name, saved in listed or [(usage.parts.tools, "Plimsoll", 0)]
    ]
    total = f"{tokens(usage.parts.tools):>7}  in each request. /mcp shows the servers and their tools."
    return "\n".join([f"{'tok':>7}  from", "", *lines, "", total])


def outlook_text(usage: ContextUsage | None, outlook: Outlook, together: int, glyphs: Glyphs) -> str:
    """What the gauge would say after each thing that may be done with the marked item; empty for none.

    Args:
        usage: The context as it is.
        outlook: What may be done.
        together: How many items come back when the marked one is undone.
        glyphs: Signs to draw with.
    """
    if usage is None or not outlook.seq:
        return ""
    back = f", all {together} items of that step" if together > 1 else ""
    moves = (
        ("o", outlook.offload, ""), ("a", outlook.archive, ""), ("u", outlook.restore, back),
        ("x", outlook.exclude, ""),
    )  # fmt: skip
    many = len(outlook.seqs)
    parts = []
    for key, move, more in moves:
        if not move.refused:
            what, to = ("adds", "up to") if move.freed < 0 else ("frees", "down to")
            share = percent_text(move.after, usage.window.stated)
            some = f", {move.count} of {many}" if move.count < many else ""
            parts.append(f"{key} {what} {tokens(abs(move.freed))}, {to} {share}{more}{some}")
    after = f" {glyphs.separator} ".join(parts)
    if many < MARKED:
        return f"this row: {after}" if after else ""
    return f"{many} marked: {after or 'only p works on them'}"


# Which keys of the context screen act, for its last row.


def context_hints(
    view: ContextView,
    *,
    searched: bool = False,
    writes: bool = False,
    chosen: bool = False,
    listed: bool = True,
) -> tuple[Hint, ...]:
    """What the last row names.

    Args:
        view: What is shown.
        searched: Whether the search box is there.
        writes: Whether letters are written into it.
        chosen: Whether items are marked, whose marks go first.
        listed: Whether the part with all items is shown.
    """
    leaves = "end the search" if searched else "unmark" if chosen else "close"
    leave = Hint("esc", leaves, 0, "screen.close")
    if writes:
        return (Hint("enter", "to the items", 1), leave)
    stop = (Hint("c", "cancel", 0, "screen.cancel_compaction"),) if view.compacting else ()
    tabs = Hint("left/right", "tabs", 2)
    if not listed:
        return (*stop, tabs, leave)
    changes = (
        Hint("x", "exclude", 1, "screen.exclude"),
        Hint("p", "pin", 1, "screen.pin"),
        Hint("o", "offload", 2, "screen.offload"),
        Hint("a", "archive", 2, "screen.archive"),
        Hint("u", "restore", 3, "screen.restore"),
    )
    mark = Hint("space", "mark", 3)
    return (
        *stop,
        Hint("enter", "show", 4),
        *(() if view.locked else (mark, *changes)),
        Hint("s", "order", 5),
        Hint("/", "search", 6),
        tabs,
        leave,
    )


ROOMY = 30
"""Rows from which each category has one of its own."""
SHORT = 20
"""Rows below which the items get the room of what was saved."""
_WAITS = "Queued: it runs when the current work ends."
NOTHING_MARKED = "No item is marked: nothing matches the search."
FIXED = "This goes with every request: only messages can be changed."


class ContextScreen(Dialog[int]):
    """Dismisses with the log number of the message to show, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/context.tcss"]
    BINDINGS = place_bindings("context")
    HINTS: ClassVar[tuple[Hint, ...]] = context_hints(ContextView())

    def __init__(self, source: "SessionContext", view: ContextView, *, glyphs: Glyphs = UNICODE) -> None:
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
        self._reading = False
        self.compared = False
        """Whether results of reading files have been held against the files."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -full"):
            yield self.heading(headline(self._view, self._glyphs)).add_class("-signed")
            yield Static(id="context-categories", markup=False)
            yield Static(id="context-limits", classes="dialog-note", markup=False)
            parts: dict[str, Widget] = {
                "tab-ledger": LedgerList(self._view.rows, self._source.note, self._glyphs),
                **{
                    name: reading_area("", id=name.replace("tab", "context"), rows=True)
                    for name in list(PARTS)[1:]
                },
            }
            yield PartTabs(*(TabPane("", part, id=name) for name, part in parts.items()), names=PARTS)
            yield Static(id="context-cache", classes="dialog-note", markup=False)
            yield Static(id="context-outlook", classes="dialog-note", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Write the figures, and look for news from now on."""
        self.on_resize()
        self._compare()
        self.watch(self, "focused", self._name_keys, init=False)
        self._source.follow(self, self._news)
        self._news()

    def on_resize(self) -> None:
        """Write the figures as there is room for them."""
        self.set_class(self.app.size.height >= ROOMY, "-roomy")
        self._write()

    def _news(self) -> None:
        """Read again what has changed; while that is read, what comes meanwhile is read behind it."""
        if not self._reading and self._source.version != self._version:
            self._reading = True
            self._read()

    @work(exit_on_error=False)
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
        head = headline(view, self._glyphs, self.app.size.width - 4)
        self.query_one(".dialog-title", Static).update(head)
        said, apart = limits(view, self._glyphs), f" {self._glyphs.separator} "
        if self.app.size.height >= SHORT:
            # In rows that end between two facts; a low screen has one row for them.
            spans = wrap_spans(said, max(8, self.app.size.width - 6), apart)
            said = "\n".join(said[start:stop] for start, stop, _ in spans)
        _say(self, "#context-limits", said)
        self._write_parts()
        _say(self, "#context-cache", view.cache)
        is_new = bool(view.cache) and not head.plain.endswith(view.cache)
        self.query_one("#context-cache").display = is_new and self.app.size.height >= SHORT
        if view.usage is not None:
            roomy = self.has_class("-roomy")
            # Sixteen colours are too few for the categories.
            coloured = not (self.app.no_color or self.app.theme_variables["kind-system"].startswith("ansi"))
            load_lines, width = (view.background, view.blocking), max(8, self.app.size.width - 6)
            bar = window_bar(view.usage, width, self._glyphs, load_lines, coloured=coloured)
            legend = category_legend(view.usage, self._glyphs, view.shares, coloured=coloured)
            words = category_words(view.usage, width, self._glyphs, view.shares, coloured=coloured)
            # With fewer rows the marks have no names below them: the next row says at what the first is.
            whole = [bar, Content(), legend] if roomy else [*bar.split("\n")[:1], words]
            self.query_one("#context-categories", Static).update(Content("\n").join(whole))

    def _write_parts(self) -> None:
        view, tabs = self._view, self.query_one(PartTabs)
        for part, text in (
            ("next", next_lines(view)),
            ("saved", saved_lines(view.saved)),
            ("tools", tool_lines(view.usage, view.shares)),
        ):
            area = self.query_one(f"#context-{part}", TextArea)
            area.soft_wrap = False
            if area.text != text:
                area.text = text
        saved = sum(row.tokens_removed for row in view.saved if row.tokens_removed > 0)
        tabs.count("tab-ledger", len(view.rows))
        tabs.count("tab-saved", tokens(saved) if saved else "")
        tabs.count("tab-tools", tokens(view.usage.parts.tools) if view.usage is not None else "")

    @property
    def _lists(self) -> bool:
        """Whether the part with all items is shown."""
        return self.query_one(PartTabs).active.id == "tab-ledger"

    def action_tab(self, step: int) -> None:
        tabs = self.query_one(PartTabs)
        tabs.turn(step)
        self.set_focus(tabs.active.query("TextArea, RowList").first())
        self._name_keys()
        _say(self, "#context-outlook", "")
        self._look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Act on an item only where it can be seen."""
        if action in ("pin", "exclude", "archive", "offload", "restore"):
            return self._lists
        return super().check_action(action, parameters)

    def _name_keys(self) -> None:
        """Name the keys that act now: in the search box letters are words to look for."""
        items = self.query_one(LedgerList)
        self.key_row.hints = context_hints(
            self._view,
            searched=items.searched,
            writes=items.is_written_in,
            chosen=items.has_choice,
            listed=self._lists,
        )

    @on(LedgerList.Marked)
    def _marked(self, event: LedgerList.Marked) -> None:
        event.stop()
        self._name_keys()
        self._look()

    @work(group="outlook", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        """Say what may be done with the marked item, and what the gauge would say then."""
        rows = self.query_one(LedgerList).chosen if self._lists else []
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

    @on(LedgerList.Rows.Selected)
    def _selected(self, event: LedgerList.Rows.Selected) -> None:
        event.stop()
        row = self.query_one(LedgerList).marked
        if row is not None and row.seq > 0:
            self.dismiss(row.seq)
        else:
            _say(self, "#context-outlook", FIXED)

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

    def action_cancel_compaction(self) -> None:
        self._source.cancel_compaction()

    def action_pin(self) -> None:
        pinned = any(not row.pinned for row in self.query_one(LedgerList).chosen)
        self._ask(lambda row: Pin(row.seq, pinned) if row.pinned is not pinned else None, lambda can: can.pin)

    def action_exclude(self) -> None:
        """Take the marked items out; where all of them are out, bring them back."""
        rows = self.query_one(LedgerList).chosen
        leaving = tuple(row.seq for row in rows if row.state != "excluded")
        wish = Exclude(leaving or tuple(row.seq for row in rows), excluded=bool(leaving))
        self._ask(
            lambda row: wish if row is rows[0] else None,
            lambda can: can.exclude if leaving else Move(),
            leaving,
        )

    def action_archive(self) -> None:
        self._ask(self._relief("archive"), lambda can: can.archive)

    def action_offload(self) -> None:
        self._ask(self._relief("offload"), lambda can: can.offload)

    def _relief(self, stage: Literal["archive", "offload"]) -> Callable[[LedgerRow], Work | None]:
        """One wish for all marked items: what became of them is said together."""
        first, *others = [row.seq for row in self.query_one(LedgerList).chosen] or [0]
        return lambda row: Relieve(first, stage, tuple(others)) if row.seq == first else None

    def action_restore(self) -> None:
        asked: set[int] = set()

        def restore(row: LedgerRow) -> Work | None:
            step = row.form[0]
            new = bool(step) and step not in asked
            asked.add(step)
            return Restore(step) if new else None

        self._ask(restore, lambda can: can.restore)

    @work(group="ask", exit_on_error=False)
    async def _ask(
        self,
        work: Callable[[LedgerRow], Work | None],
        move: Callable[[Outlook], Move],
        asked: Sequence[int] = (),
    ) -> None:
        """Have something done with the marked items, or say why not as things are now.

        Args:
            work: What is to be done for an item.
            move: Which answer says whether it can be done.
            asked: The items that this depends on, where it is not all of them.
        """
        items = self.query_one(LedgerList)
        rows = items.chosen
        if not rows:
            _say(self, "#context-outlook", FIXED if items.marked is not None else NOTHING_MARKED)
            return
        refused = move(await self._source.outlook(*(asked or [row.seq for row in rows]))).refused
        for each in map(work, () if refused else rows):
            refused = refused or (self._source.submit(each) if each is not None else "")
        if not refused:
            items.forget_choice()
        self._refused = _as_they_are(rows) if refused else ()
        _say(self, "#context-outlook", refused or _WAITS)


def _as_they_are(rows: Iterable[LedgerRow]) -> tuple[object, ...]:
    """Which items, and what decides what can be done with them."""
    return tuple((row.seq, row.form, row.pinned, row.state) for row in rows)


_TOLD = re.compile(r"(\b[oaux](?= (?:frees|adds))|\d[\d.]*[kM%]?)")
"""Keys and figures, which stand out from what is said of them."""


def _say(screen: ContextScreen, where: str, text: str) -> None:
    parts = _TOLD.split(text) if where == "#context-outlook" else [text]
    told = ((part, "$foreground" if at % 2 else "") for at, part in enumerate(parts))
    screen.query_one(where, Static).update(Content.assemble(*told))


# What the context screen shows of a session, and what it asks of it.

MOST_READS = 200
"""So many of the newest results are held against their files."""


class SessionContext:
    """Reads one session for the context screen.

    Args:
        session: Which one.
    """

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._stats = StatsReader(session.launch.database, session.id)
        self._notes: dict[int, tuple[str, ...]] = {}

    @property
    def version(self) -> object:
        """The newest event shown, the gauge, the policy, and what is asked or under way."""
        state = self._session.state
        under_way = state.turn, compacting_text(self._session), state.waits_for_user
        return self._session.presenter.last, state.usage, state.policy, state.locked, state.answer, *under_way

    def follow(self, screen: Screen[Any], see: Callable[[], None]) -> None:
        self._session.presenter.changed.subscribe(screen, lambda _state: see())

    async def read(self) -> ContextView:
        """All that is shown, as it is now; the figures of the log are read in a thread."""
        outlook = await self.outlook(0)
        try:
            stats = await asyncio.to_thread(self._stats.read)
        except (sqlite3.Error, OSError):
            stats = self._stats.known  # the next look may succeed
        try:
            cache, cached = await asyncio.to_thread(self._cache)
        except (sqlite3.Error, OSError):
            cache, cached = "", 0
        session = self._session
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
        # What stages have noted is read once for each event.
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
            guards=tuple(each.headline() for each in session.guards),
        )

    def _cache(self) -> tuple[str, int]:
        """What the next turn costs and how much of it is cached; log and price lists are read."""
        from tui_app.session.cache_forecast import read_forecast

        launch, state, now = self._session.launch, self._session.state, time.time()
        if state.usage is None:
            return "", 0
        outlook = read_forecast(
            launch.database, self._session.id, state.model, state.usage, launch.settings, now=now
        )
        return next_turn_text(outlook, now), (outlook.predicted_tokens or 0) if outlook.is_warm(now) else 0

    async def outlook(self, *seqs: int) -> Outlook:
        """What may be done with some items; nothing where the session can only be looked at."""
        if self._session.read_only:
            return Outlook()
        try:
            return await self._session.ask(lambda opened: opened.conversation.outlook(*seqs))
        except SessionLocked:
            return Outlook()

    async def stale(self) -> Mapping[int, str]:
        """Which results of reading a file are out of date; files are read again in a thread."""
        session = self._session
        shown = {head.seq for head in session.presenter.agent_view.visible()}
        held = [each for each in session.presenter.view.entries if each.result_seq in shown]
        reads = [each for each in held if each.title.startswith(READ_FILE.name)][-MOST_READS:]
        bodies = await session.bodies.read(reads)

        def compare() -> Mapping[int, str]:
            # The tools belong to the agent side, which is there by now or is not waited for.
            from tui_app.agent.tools.workspace import Workspace
            from tui_app.conversation.file_snapshots import Read, stale_reads

            pairs = zip(reads, bodies, strict=True)
            read = [Read(each.result_seq, body.args, body.text) for each, body in pairs]
            return stale_reads(read, Workspace(session.launch.cwd))

        return await asyncio.to_thread(compare)

    def note(self, form: tuple[int, int]) -> str:
        rewrite, place = form
        notes = self._notes.get(rewrite, ())
        return notes[place] if place < len(notes) else ""

    def submit(self, work: Work) -> str:
        return "" if self._session.submit(work) else self._session.read_only

    def cancel_compaction(self) -> None:
        """Stop the compaction that is under way; a turn goes on."""
        if (conversation := self._session.conversation) is not None:
            self._session.engine.call(conversation.cancel_compaction)


def compacting_text(session: ChatSession) -> str:
    """What is said of a compaction that is under way; empty where none is."""
    state = session.state
    if state.reviewing:
        return "a summary waits for your decision"
    if state.compacting:
        return "compacting now: c cancels it"
    return "compacting in the background: c cancels it" if state.background is not None else ""


# What fills the context.


async def show_context(app: App[Any], session: ChatSession) -> int:
    """Show what fills the context; the number of the message the user wants to see, 0 for none."""
    source = SessionContext(session)
    wanted = await app.push_screen_wait(ContextScreen(source, await source.read(), glyphs=session.glyphs))
    return wanted or 0
