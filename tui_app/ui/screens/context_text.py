"""The words of the context screen: pure functions over what it shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from textual.content import Content

from tui_app.context.counting.usage import CATEGORIES, Breakdown, ContextUsage, percent_text, percent_texts
from tui_app.conversation.message_actions import Move, Outlook, Share
from tui_app.session.request_ledger import LedgerRow
from tui_app.session.stats import StageRow
from tui_app.ui.format import count, tokens
from tui_app.ui.glyphs import Glyphs
from tui_app.ui.screens.shares_text import in_brackets, made_of
from tui_app.ui.widgets.gauge_text import (
    BACKGROUND,
    BLOCKING,
    gauge_text,
    threshold_text,
    unmarked_text,
    window_text,
)

NAMES: dict[str, str] = {
    "system": "system prompt",
    "tools": "tool definitions",
    "memory": "memory",
    "summary": "summaries",
    "user": "you",
    "assistant": "answers",
    "thinking": "thinking",
    "tool_calls": "tool calls",
    "tool_results": "tool results",
    "attachments": "attachments",
}
"""Categories as a person reads them."""
UNMEASURED = "not measured"
UNMEASURED_YET = "Nothing is measured yet."
ASKING = "a tool waits for your answer: esc goes back to it"
MARKED = 2
"""From so many items on it is said how many are marked."""
_MANY = 99
"""Turns beyond which a forecast is not given as a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """Tokens of one category."""

    name: str
    tokens: int


def category_rows(usage: ContextUsage) -> list[CategoryRow]:
    """Categories that hold anything; together with ``not measured`` they sum to the total."""
    held = _by_category(usage.parts)
    rows = [CategoryRow(NAMES[name], count) for name, count in held if count]
    if usage.unmeasured:
        rows.append(CategoryRow(UNMEASURED, usage.unmeasured))
    return rows


def _by_category(parts: Breakdown) -> list[tuple[str, int]]:
    figures = (
        parts.system, parts.tools, parts.memory, parts.summary, parts.user, parts.assistant, parts.thinking,
        parts.tool_calls, parts.tool_results, parts.attachments,
    )  # fmt: skip
    return list(zip(CATEGORIES, figures, strict=True))


def category_lines(
    usage: ContextUsage,
    bar_width: int,
    glyphs: Glyphs,
    shares: Sequence[Share] = (),
    marks: tuple[float, float] = (BACKGROUND, BLOCKING),
) -> Content:
    """One row per category: name, exact tokens, share of the window, bar; below it what it is made of."""
    rows = category_rows(usage)
    limit = usage.window.stated
    biggest = max((row.tokens for row in rows), default=1)
    lines = []
    shown = percent_texts([row.tokens for row in rows], limit, marks)
    for row, share in zip(rows, shown, strict=True):
        cells = max(1, round(bar_width * row.tokens / max(1, biggest))) if row.tokens > 0 else 0
        lines.append(
            Content.assemble(
                f"{row.name:<17}{row.tokens:>11,} {share:>5}  ",
                (glyphs.gauge_full * cells, "$text-accent"),
            )
        )
        lines += [Content.styled(text, "$text-muted") for text in made_of(row.name, shares)]
    total = f"{'total':<17}{usage.total:>11,} {percent_text(usage.total, limit, marks):>5}"
    return Content("\n").join([*lines, Content.styled(total, "bold")])


def category_words(usage: ContextUsage, shares: Sequence[Share] = ()) -> Content:
    """The categories in one text, for a screen without room for a row each."""
    return Content("  ").join(
        Content.assemble(
            (row.name, "$text-muted"),
            f"\u00a0{tokens(row.tokens)}",
            (in_brackets(row.name, shares), "$text-muted"),
        )
        for row in category_rows(usage)
    )


def headline(view: ContextView) -> str:
    """The first row: the gauge in words."""
    return f"Context   {gauge_text(view.usage, background=view.background, blocking=view.blocking)}"


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
        along = f" ({tokens(outlook.pinned_along)} of it stays along)" if outlook.pinned_along else ""
        parts.append(f"pinned {tokens(outlook.pinned)} of {tokens(outlook.pin_budget)}{along}")
    if outlook.floor:
        parts.append(f"floor {tokens(outlook.floor)}: cannot go lower")
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


def saved_text(saved: Sequence[StageRow], glyphs: Glyphs) -> str:
    """What each stage saves now, ``saved so far: offload 44k · archive 12k``; empty when nothing was."""
    parts = [f"{row.stage} {tokens(row.tokens_removed)}" for row in saved if row.tokens_removed > 0]
    return f"saved so far: {f' {glyphs.separator} '.join(parts)}" if parts else ""


def outlook_text(usage: ContextUsage | None, outlook: Outlook, together: int, glyphs: Glyphs) -> str:
    """What the gauge would say after each thing that may be done with the marked item; empty for none.

    Args:
        usage: The context as it is.
        outlook: What may be done.
        together: How many items come back when the marked one is taken back.
        glyphs: Signs to draw with.
    """
    if usage is None or not outlook.seq:
        return ""
    back = f", all {together} items of that step" if together > 1 else ""
    moves = (
        ("o", outlook.offload, ""), ("a", outlook.archive, ""), ("u", outlook.restore, back),
    )  # fmt: skip
    many = len(outlook.seqs)
    parts = [
        f"{key}: {_after(usage, move)}{more}{f', {move.count} of {many}' if move.count < many else ''}"
        for key, move, more in moves
        if not move.refused
    ]
    after = f"after {f' {glyphs.separator} '.join(parts)}" if parts else ""
    if many < MARKED:
        return after
    return f"{many} marked{f', {after}' if after else ': nothing but p can be done with them'}"


def _after(usage: ContextUsage, move: Move) -> str:
    change = move.after - usage.total
    limit = usage.window.stated
    sign = "+" if change > 0 else ""
    return f"{percent_text(move.after, limit)} of {window_text(limit)} ({sign}{tokens(change)})"
