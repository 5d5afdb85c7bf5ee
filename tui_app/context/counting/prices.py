"""Prices of requests and responses by public price lists."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import genai_prices
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.profiles import ModelProfile

from tui_app.providers import GATEWAY, OFFLINE

FREE = frozenset({OFFLINE})
"""Providers whose answers are made in this program."""
LEAST_CACHED = 1_024
"""Minimum tokens of a request that most providers cache."""
_NEWEST = datetime(2100, 1, 1, 12, tzinfo=UTC)
"""A far future date selects the newest price of a model; noon is no discount hour."""


class PricedProfile(ModelProfile, total=False):
    """Profile of a model with prices set by the user, in US dollars per million tokens."""

    price_in: float
    price_out: float


def answer_cost(response: ModelResponse, model: Model[Any] | None = None) -> float | None:
    """Return the price of one answer in US dollars; None if its tokens, its model or the prices are unknown.

    Args:
        response: The answer.
        model: The model that wrote it: prices set by the user take precedence over public lists.
    """
    if response.provider_name in FREE:
        return 0.0
    if not response.usage.input_tokens or not response.model_name:
        return None
    own = model.profile if model is not None else {}
    price_in, price_out = own.get("price_in"), own.get("price_out")
    if isinstance(price_in, int | float) and isinstance(price_out, int | float):
        return (response.usage.input_tokens * price_in + response.usage.output_tokens * price_out) / 1e6
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None


def request_price(
    model: str, *, input_tokens: int, cached_tokens: int, output_tokens: int, written_tokens: int = 0
) -> float | None:
    """Return the price of a request by today's list, in US dollars; None if unknown.

    Args:
        model: Name of the model, after its provider (``openai:gpt-5``) or without.
        input_tokens: Tokens of the request, including cached ones.
        cached_tokens: Tokens of it that are read from the provider's cache.
        output_tokens: Tokens of the answer.
        written_tokens: Tokens of the request that are written to the cache, which some providers charge for.
    """
    provider, colon, name = model.partition(":")
    if provider in FREE:
        return 0.0
    usage = genai_prices.Usage(
        input_tokens=input_tokens,
        cache_read_tokens=cached_tokens,
        cache_write_tokens=written_tokens,
        output_tokens=output_tokens,
    )
    for known in priced_as(provider) if colon else (None,):
        try:
            found = genai_prices.calc_price(
                usage, name if colon else model, provider_id=known, genai_request_timestamp=_NEWEST
            )
        except (LookupError, ValueError):
            continue
        return float(found.total_price)
    return None


def provider_of(name: str) -> str:
    """Return the provider of a model named without one, according to price lists; empty if unknown."""
    try:
        found = genai_prices.calc_price(genai_prices.Usage(input_tokens=1), name)
    except (LookupError, ValueError):
        return ""
    return found.provider.id


def priced_as(prefix: str) -> Sequence[str]:
    """Return the ids that the price data may have for a provider."""
    plain = prefix.removeprefix(f"{GATEWAY}/")
    return (plain, plain.partition("-")[0])
