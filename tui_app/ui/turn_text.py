"""What a turn has cost, in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_app.ui.format import cost, count, percent, tokens
from tui_app.ui.safe_text import one_line

# The header names prices in the first frame; the events that costs are made of come behind it.
if TYPE_CHECKING:
    from tui_app.session.stats import Costs


def turn_text(costs: "Costs") -> str:
    """``12.3k in, 80 % cached · 0.8k out · $0.012``; empty where it cost nothing, or nothing was reported."""
    if not (costs.input_tokens or costs.output_tokens) or costs.usd == 0:
        return ""
    cached = f", {percent(costs.cached_tokens / costs.input_tokens)} cached" if costs.cached_tokens else ""
    sizes = f"{_sent(costs)} in{cached} · {tokens(costs.output_tokens)} out"
    return f"{sizes} · {price_text(costs.usd, costs.unpriced)}"


def _sent(costs: "Costs") -> str:
    """Tokens sent, with a sign where parts of them are not known."""
    if not costs.unmeasured:
        return tokens(costs.input_tokens)
    return f"{tokens(costs.input_tokens)} + ?" if costs.input_tokens else "?"


def price_text(usd: float | None, unpriced: int) -> str:
    """A sum, with a word where parts of it are not known: never a false zero."""
    if usd is None:
        return "price unknown" if unpriced else cost(0.0)
    return f"{cost(usd)} + unknown" if unpriced else cost(usd)


def unpriced_text(requests: int, models: Sequence[str]) -> str:
    """Whose price is missing in a sum, and what can be done about it; empty where none is.

    Args:
        requests: How many have no known price.
        models: Whom they went to.
    """
    if not requests:
        return ""
    names = ", ".join(one_line(name, 60) or "an unnamed model" for name in models)
    return (
        f"The price of {names} is not known: {count(requests, 'request')} not in the sum. /stats tells more."
    )
