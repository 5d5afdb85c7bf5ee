"""What fills the context window, as a bar with a legend: categories, shares, marks and reserve."""

from collections.abc import Sequence

from textual.content import Content

from tui_app.conversation.message_actions import Share
from tui_app.records import frozen
from tui_app.ui.widgets.tables import packed
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import one_line, tokens
from tui_app.usage import CATEGORIES, ContextUsage

_MOST = 5
"""Maximum number of shares that are named."""


def in_brackets(row: "CategoryRow", shares: Sequence[Share]) -> str:
    """Word the shares of a category, if they add to what its size shows."""
    parts = [share for share in shares if NAMES[share.category] == row.name and share.tokens]
    alike = all(tokens(share.tokens) == tokens(row.tokens) for share in parts)
    if len(parts) < 2 and (row.name == NAMES["tools"] or alike):
        return ""
    return f" ({', '.join(f'{one_line(share.name, 16)} {tokens(share.tokens)}' for share in parts[:_MOST])})"


def fixed_names(shares: Sequence[Share]) -> dict[str, str]:
    """Return descriptions of what is part of every request, by category."""
    memory = [one_line(share.name, 24) for share in shares if share.category == "memory" and share.tokens]
    return {
        "tools": "definitions of all tools",
        "system": "system prompt, date and folder",
        "memory": ", ".join(memory[:_MOST]) or "notes on this project",
    }


NAMES = {
    **{name: name for name in CATEGORIES},
    **{"assistant": "answers", "tool_calls": "calls", "tool_results": "results"},
}
"""Names of categories on the screen."""
_COLOURS = {
    "system": "$kind-system", "tools": "$kind-tools", "memory": "$kind-memory", "summary": "$kind-summary",
    "user": "$kind-you", "assistant": "$kind-answers", "thinking": "$kind-answers",
    "tool_calls": "$kind-calls", "tool_results": "$kind-results", "attachments": "$kind-you",
    "": "$text-muted",
}  # fmt: skip
"""By category; unmeasured tokens have no colour of their own."""
_LEGEND_COLUMNS, _LEGEND_ROWS = 3, 3


@frozen
class CategoryRow:
    """Tokens of one category."""

    name: str
    tokens: int
    sign: tuple[str, str]
    """The character and the colour of its bar."""


def category_rows(usage: ContextUsage, *, coloured: bool = True) -> list[CategoryRow]:
    """Return the non-empty categories; together with ``not measured`` they sum to the total."""
    sizes = [*((name, getattr(usage.parts, name)) for name in CATEGORIES), ("", usage.unmeasured)]
    return [
        CategoryRow(NAMES.get(name, "not measured"), size, (_block(number, coloured), _COLOURS[name]))
        for number, (name, size) in enumerate((name, size) for name, size in sizes if size)
    ]


def _block(number: int, coloured: bool) -> str:
    """Return the character of a category's bar: without colours it distinguishes neighbours."""
    return UNICODE.blocks[0 if coloured else number % len(UNICODE.blocks)]


def window_bar(
    usage: ContextUsage, width: int, load_lines: tuple[float, float], *, coloured: bool = True
) -> Content:
    """Draw the window as one bar: categories, marks for compaction and waiting, and the reserve.

    Args:
        usage: The measured usage.
        width: Cells of the bar.
        load_lines: Shares at which a background compaction starts and at which sending waits; 0 for never.
        coloured: Whether colours distinguish categories; else characters do.
    """
    limit = max(usage.window.stated, usage.total, 1)
    signs: list[tuple[str, str]] = []
    reached = 0
    for row in category_rows(usage, coloured=coloured):
        reached += row.tokens
        signs += [row.sign] * max(0, round(width * reached / limit) - len(signs))
    signs += [(UNICODE.gauge_empty, "$line-strong")] * (width - len(signs))
    reserve = round(width * usage.window.reserve / limit)
    for at in range(width - reserve, width):
        if signs[at][0] == UNICODE.gauge_empty:
            signs[at] = (_block(-1, coloured), "$surface" if coloured else "$line-strong")
    names, end = "", width
    for share, name in reversed(list(zip(load_lines, ("compacts at", "waits at"), strict=True))):
        if 0 < share <= 1:
            at = min(width - 1, round(width * share))
            signs[at] = (UNICODE.load_mark, "$foreground bold")
            label = f"{name} {round(share * 100)}%"
            # Each ends below its mark, two cells before the next one.
            start = max(0, min(at + 1, end - (2 if names else 0)) - len(label))
            names = f"{label}{' ' * (end - start - len(label))}{names}"
            end = start
    bar = Content("").join(Content.styled(sign, colour) for sign, colour in signs)
    return Content("\n").join([bar, Content.styled(" " * end + names, "$text-muted")])


def category_legend(usage: ContextUsage, shares: Sequence[Share] = (), *, coloured: bool = True) -> Content:
    """Return the categories with their tokens in three columns, and the shares of tools and memory."""
    rows = category_rows(usage, coloured=coloured)
    cells = []
    for row in rows:
        name, size = (f" {row.name:<13}", "$text-muted"), f"{tokens(row.tokens):>6}   "
        cells.append(Content.assemble(row.sign, name, size))
    cells.append(Content.styled(f"  {'total':<13}{tokens(usage.total):>6}", "bold"))
    high = max(_LEGEND_ROWS, -(-len(cells) // _LEGEND_COLUMNS))
    lines = [Content("").join(cells[at::high]) for at in range(min(high, len(cells)))]
    for row in rows:
        if detail := in_brackets(row, shares):
            lines.append(Content.styled(f"  {row.name}{detail}", "$text-muted"))
    return Content("\n").join(lines)


def category_text(
    usage: ContextUsage, width: int, shares: Sequence[Share] = (), *, coloured: bool = True
) -> Content:
    """Return the categories one after the other, for a screen too narrow for columns."""
    parts = []
    for row in category_rows(usage, coloured=coloured):
        name, detail = (f" {row.name}", "$text-muted"), (in_brackets(row, shares), "$text-muted")
        parts.append(Content.assemble(row.sign, name, f" {tokens(row.tokens)}", detail))
    return packed(parts, width, "  ")
