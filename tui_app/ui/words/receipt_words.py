"""Wording of request receipts, for the screen and the command line."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_app.ui.words.text import clock, cost, count, counted_text, one_line, tokens
from tui_app.usage import CATEGORIES

if TYPE_CHECKING:
    from tui_app.session.figures.receipts import Cause, Receipt

NONE_YET = "No request was sent yet."
HEADS = ("#", "request", "sent", "from cache", "price", "what broke the prefix")
RIGHT = (2, 3, 4)
_LOST: "Mapping[Cause, str]" = {
    "front": "changed instructions or tools",
    "view": "changed messages",
    "pause": "pauses",
    "model": "other models",
    "unknown": "causes not known",
}


def receipt_row(receipt: "Receipt", cells: int = 60) -> tuple[str, ...]:
    """Return a request's cells: number, what it followed, sizes, price, and what broke its prefix."""
    summary = receipt.kind not in ("answer", "sub-agent")
    title = f"{receipt.title}, {receipt.model}" if summary and receipt.model else receipt.title
    return (
        f"#{receipt.seq}",
        one_line(title, cells),
        tokens(receipt.input_tokens),
        tokens(receipt.cache_read_tokens),
        "?" if receipt.cost_usd is None else cost(receipt.cost_usd),
        one_line(receipt.broken_by, cells),
    )


def receipt_lines(receipt: "Receipt", usage: Mapping[str, Any]) -> list[str]:
    """Return a request's figures by category.

    Args:
        receipt: The receipt.
        usage: Its measured sizes by category; empty if they are unknown.
    """
    price = "price not known" if receipt.cost_usd is None else cost(receipt.cost_usd)
    if receipt.lost_usd and receipt.cost_usd is not None:
        price += f", {cost(max(0.0, receipt.cost_usd - receipt.lost_usd))} had the prefix held"
    sizes = [(name, int(usage.get(name) or 0)) for name in CATEGORIES]
    counted = sum(size for _, size in sizes) or receipt.input_tokens
    sent = counted_text(counted, receipt.input_tokens)
    messages = f" in {count(receipt.messages, 'message')}" if receipt.messages else ""
    head = (
        receipt.model,
        clock(receipt.time),
        f"sent {sent}{messages}",
        f"{tokens(receipt.cache_read_tokens)} from cache",
        price,
    )
    lines = [f"#{receipt.seq}  {' · '.join(filter(None, head))}"]
    if receipt.broken_by:
        line = receipt.broken.line if receipt.broken is not None and receipt.cause == "front" else 0
        at = f", line {line:,}" if line else ""
        lines.append(f"prefix broken by: {one_line(receipt.broken_by, 200)}{at}")
    kept = receipt.prefix_kept
    if kept is not None and not receipt.broken_by:
        lines.append("begins with all of the request before" if kept >= 1.0 else f"{kept:.0%} as before")
    lines += [f"{name.replace('_', ' '):<14}{tokens(size):>7}" for name, size in sizes if size]
    front = [
        f"{one_line(part.name, 40)} {tokens(part.tokens)}{f' ({part.count})' if part.count > 1 else ''}"
        for part in receipt.parts
    ]
    return [*lines, *([f"in front of the messages: {', '.join(front)}"] if front else [])]


def lost_text(lost: "Mapping[Cause, float]") -> str:
    """Word the total cost of broken prefixes by cause; empty if there was none."""
    parts = [f"{cost(usd)} to {_LOST[cause]}" for cause, usd in lost.items() if cause and usd]
    return f"Of this session went {', '.join(parts)}." if parts else ""


def total_text(found: "Sequence[Receipt]") -> str:
    """Word the number of requests, their cost, and the share read from caches."""
    prices = [each.cost_usd for each in found if each.cost_usd is not None]
    sent = sum(each.input_tokens for each in found)
    read = sum(each.cache_read_tokens for each in found)
    parts = [count(len(found), "request"), cost(sum(prices)) if prices else "cost unknown"]
    parts += [f"{len(found) - len(prices)} of unknown price"] if 0 < len(prices) < len(found) else []
    return " · ".join([*parts, f"{read / sent if sent else 0.0:.0%} read from the cache"])
