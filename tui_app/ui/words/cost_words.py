"""Costs of turns in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_app.context.counting.prompt_cache import CacheOutlook
    from tui_app.session.figures.costs import Costs
from tui_app.ui.words.text import clock, cost, count, one_line, percent, tokens


def turn_text(costs: "Costs") -> str:
    """Return ``12.3k in, 80% cached · 0.8k out · $0.012``; empty if it was free, or nothing was reported."""
    if not (costs.input_tokens or costs.output_tokens) or costs.usd == 0:
        return ""
    # A share of an incomplete sum would be wrong, such as 120% cached.
    share = costs.cached_tokens and not costs.unmeasured
    cached = f", {percent(costs.cached_tokens / costs.input_tokens)} cached" if share else ""
    cached += f", {tokens(costs.written_tokens)} written" if costs.written_tokens else ""
    cached += f" ({count(costs.unmeasured, 'request')} not reported)" if costs.unmeasured else ""
    sent = f"{tokens(costs.input_tokens)} in{cached}" if costs.input_tokens else "? in"
    return f"{sent} · {tokens(costs.output_tokens)} out · {price_text(costs.usd, costs.unpriced)}"


def next_turn_text(cache: "CacheOutlook", now: float) -> str:
    """Word the next turn's cost with a warm and with a cold cache; empty if neither is known.

    Args:
        cache: What is known about the cache.
        now: Seconds since the epoch.
    """
    if cache.warm_until is None:
        return ""
    cold = cost(cache.cold_usd) if cache.cold_usd else ""
    until = f"until {clock(cache.warm_until)}"
    if not cache.is_warm(now):
        text = f"{f'next turn about {cold}: ' if cold else ''}the prompt cache is cold"
    elif not cold or cache.warm_usd is None:
        text = f"the prompt cache is warm {until}"
    else:
        text = f"next turn {cost(cache.warm_usd)} warm, {cold} cold · warm {until}"
    return f"{text}; the last request missed the cache: {cache.broken_by}" if cache.broken_by else text


def price_text(usd: float | None, unpriced: int) -> str:
    """Return a sum, worded as a minimum or unknown if parts have no price: never a false zero."""
    if usd is None:
        return "cost unknown" if unpriced else cost(0.0)
    return f"at least {cost(usd)}" if unpriced and usd else "cost unknown" if unpriced else cost(usd)


def unpriced_text(requests: int, models: Sequence[str]) -> str:
    """Word which requests of a sum have no price; empty if all have one.

    Args:
        requests: Number of requests without a known price.
        models: The models of those requests.
    """
    if not requests:
        return ""
    names = ", ".join(one_line(name, 60) or "an unnamed model" for name in models)
    return f"{count(requests, 'request')} to {names} came without a price and cannot be added up (/stats)."


def window_text(limit: int) -> str:
    """Write the size of a window in tokens, without a zero decimal (``32k``, ``1M``)."""
    return tokens(limit).replace(".0", "")
