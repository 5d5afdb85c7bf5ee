"""Wording of the context screen, as pure functions."""

import re
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from textual.content import Content

from tui_app.conversation.message_actions import Outlook, Share
from tui_app.records import frozen
from tui_app.session.figures.request_ledger import LedgerRow
from tui_app.session.stats_rows import StageRow
from tui_app.ui.context.request_ledger import KINDS, title_of
from tui_app.ui.words.compaction_words import figures
from tui_app.ui.words.cost_words import window_text
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.load import BACKGROUND, BLOCKING, Load
from tui_app.ui.words.text import count, cut_cells, one_line, tokens
from tui_app.usage import ContextUsage, percent_text

if TYPE_CHECKING:
    from tui_app.session.figures.receipts import Receipt

UNMEASURED_YET = "Nothing is measured yet."
MARKED = 2
"""Number of marked items from which it is shown."""
_MANY = 99
"""Turns above which a forecast is not shown as a number."""


@frozen(kw_only=True)
class ContextView:
    """Everything that the screen shows of the next request."""

    usage: ContextUsage | None = None
    """The measured context usage; ``None`` while it is unknown."""
    rows: tuple[LedgerRow, ...] = ()
    background: float = BACKGROUND
    """Share of the window at which compaction starts automatically; 0 for never."""
    blocking: float = BLOCKING
    """Share of the window at which sending waits for compaction; 0 for never."""
    turns_left: int | None = None
    """Estimated turns until compaction; None if unknown."""
    saved: tuple[StageRow, ...] = ()
    """Savings of each stage."""
    compacting: str = ""
    """Description of the running compaction; empty if none runs."""
    locked: bool = False
    """Whether the session is read-only."""
    answer: str = ""
    """The result of the last action, if it is not visible otherwise."""
    asking: bool = False
    """Whether a question of a tool is waiting in the chat."""
    outlook: Outlook = field(default_factory=Outlook)
    """Floor and pins of the view; possible actions on messages are looked up one at a time."""
    shares: tuple[Share, ...] = ()
    """Shares of tool definitions and memory."""
    cache: str = ""
    """The next turn's cost with a warm and a cold cache; empty if unknown."""
    cached: int = 0
    """Tokens of the next request that the provider has cached."""
    guards: tuple[str, ...] = ()
    """Guards against tool calls."""
    receipts: "tuple[Receipt, ...]" = ()
    """The requests of the session, oldest first."""
    bill: str = ""
    """The cost of broken prefixes, in words."""

    @property
    def load(self) -> Load:
        return Load(self.usage, self.background, self.blocking)


def headline(view: ContextView, right: str = "", width: int = 0) -> Content:
    """Return the first row: the gauge in words, and ``right`` at its end if both fit."""
    share, space, rest = view.load.text.partition(" ")
    head = Content.assemble(
        (f"{UNICODE.load_line} ", "$text-accent"),
        ("Context", "bold"),
        (f"  {share}", "not bold"),
        (space + rest, "$text-muted not bold"),
    )
    gap = width - head.cell_length - len(right)
    if not right or gap < _LEAST_GAP:
        return head
    return Content.assemble(head, " " * gap, figures(right, _PRICE).stylize_before("not bold"))


_PRICE = re.compile(r"(<?\$[\d,.]*\d)")
_LEAST_GAP = 4
"""Minimum cells between the gauge in words and the text at the right."""


def facts(view: ContextView) -> list[str]:
    """Return lines about what remains: what must stay, the space before the first mark, and for how long."""
    usage, when = view.usage, forecast(view.turns_left)
    if usage is None or not view.load.threshold:
        return []
    floor = f" · at least {tokens(view.outlook.floor)} always stays" if view.outlook.floor else ""
    free = max(0, int(usage.window.stated * view.background) - usage.total)
    return [
        f"reserve {window_text(usage.window.reserve)}{floor}",
        f"free before the first line {tokens(free)}",
        f"compacts {when}" if when and not view.compacting else "",
    ]


def limits(view: ContextView, *, brief: bool = False) -> str:
    """Word what limits the context: reserve, where and when compaction starts, pins, and the floor.

    Args:
        view: The context.
        brief: Whether :func:`facts` are shown elsewhere.
    """
    usage, outlook = view.usage, view.outlook
    parts = ["a tool waits for your answer: esc goes back to it"] if view.asking else []
    if usage is None:
        return " · ".join([*parts, UNMEASURED_YET])
    if not brief:
        parts.append(count(usage.messages, "message"))
    if usage.window.reserve and not brief:
        parts.append(f"reserve {window_text(usage.window.reserve)}")
    where = view.load.start
    when = forecast(view.turns_left)
    if view.compacting:
        parts.append(view.compacting)
    elif usage.window.stated > 0 and not brief:
        parts.append(f"{where} ({when})" if when else where)
    if outlook.pinned:
        along = f" ({tokens(outlook.pinned_along)} of it goes with them)" if outlook.pinned_along else ""
        parts.append(f"pinned {tokens(outlook.pinned)} of {tokens(outlook.pin_budget)}{along}")
    if out := [row for row in view.rows if row.state == "excluded"]:
        parts.append(f"{len(out)} excluded, {tokens(sum(row.tokens for row in out))}")
    parts += view.guards
    if outlook.floor and not brief:
        parts.append(f"at least {tokens(outlook.floor)} always stays")
    return " · ".join(parts)


def forecast(turns: int | None) -> str:
    """Word when compaction starts, in turns; empty if unknown."""
    if turns is None:
        return ""
    if turns == 0:
        return "with the next request"
    if turns > _MANY:
        return f"in more than {_MANY} turns"
    return f"in about {count(turns, 'turn')}"


def next_lines(view: ContextView, width: int) -> str:
    """List the parts of the next request in order: size, cumulative size, and whether it is cached."""
    usage = view.usage
    if usage is None:
        return UNMEASURED_YET
    parts = [(KINDS[row.kind], row.tokens, title_of(row)) for row in view.rows if row.state != "excluded"]
    if (rest := usage.total - sum(size for _, size, _ in parts)) > 0:
        parts.append(("other", rest, _AROUND))
    roomy, so_far = width >= _ROOMY, 0
    columns = (f"{'tok':>7}", f"  {'so far':>7}" * roomy, f"  {'':<6}" * bool(view.cached), f"  {'kind':<12}")
    lines = [f"{''.join(columns)}  what", ""]
    for kind, size, what in parts:
        so_far += size
        sums = f"  {tokens(so_far):>7}" * roomy
        cached = f"  {'cached' if so_far <= view.cached else '':<6}" * bool(view.cached)
        first = f"{tokens(size):>7}{sums}{cached}  {kind:<12}  "
        lines.append(first + cut_cells(what, max(8, width - len(first))))
    return "\n".join(lines)


_ROOMY = 90
"""Cells of a row from which it has the cumulative size."""


_AROUND = "overhead, counted by the provider and not by message"


def saved_lines(saved: Sequence[StageRow]) -> str:
    """List what each stage has saved in this session."""
    rows = [row for row in saved if row.tokens_removed > 0]
    if not rows:
        return "Nothing was saved yet: the whole conversation is sent."
    lines = [f"{tokens(row.tokens_removed):>7}  {f'{row.count:,}×':>6}  {row.stage}" for row in rows]
    return "\n".join([f"{'tok':>7}  {'times':>6}  stage", "", *lines])


def tool_lines(usage: ContextUsage | None, shares: Sequence[Share]) -> str:
    """List the size of tool definitions in each request, by source."""
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


def outlook_text(usage: ContextUsage | None, outlook: Outlook, together: int) -> str:
    """Word the utilization after each possible action on the marked item; empty if there is none.

    Args:
        usage: The current context usage.
        outlook: The possible actions.
        together: Number of items that are restored together with the marked one.
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
    after = "   ".join(parts)
    if many < MARKED:
        return f"this row   {after}" if after else ""
    return f"{many} marked   {after or 'only p works on them'}"
