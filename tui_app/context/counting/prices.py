"""Price requests and responses by public price lists."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import genai_prices
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage

from tui_app.providers import GATEWAY, OFFLINE
from tui_app.records import frozen

FREE = frozenset({OFFLINE})
"""Providers whose answers are made in this program."""
LEAST_CACHED = 1_024
"""Tokens below which most providers keep nothing of a request."""
_NEWEST = datetime(2100, 1, 1, 12, tzinfo=UTC)
"""Of a model whose price has changed, the list gives the last one it knows; noon is no discount hour."""


class PricedProfile(ModelProfile, total=False):
    """Profile of a model whose prices the user has set, in US dollars for a million tokens."""

    price_in: float
    price_out: float


def answer_cost(response: ModelResponse, model: Model[Any] | None = None) -> float | None:
    """Price of one answer in US dollars, None where its tokens, its model or the prices are not known.

    Args:
        response: The answer.
        model: The model that gave it: prices that the user has set for it rank above public lists.
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
    """What a request would cost by today's list, in US dollars; None where no price is known.

    Args:
        model: Name of the model, with its provider in front (``openai:gpt-5``) or without.
        input_tokens: Tokens of the request, cached ones included.
        cached_tokens: Those of them that are read from the provider's cache.
        output_tokens: Tokens of the answer.
        written_tokens: Those of them that are written into it, which some providers ask a price for.
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
    """The provider that price lists know a model of, named without one; empty where none is known."""
    try:
        found = genai_prices.calc_price(genai_prices.Usage(input_tokens=1), name)
    except (LookupError, ValueError):
        return ""
    return found.provider.id


def priced_as(prefix: str) -> Sequence[str]:
    """Ids that the price data may know a provider by."""
    plain = prefix.removeprefix(f"{GATEWAY}/")
    return (plain, plain.partition("-")[0])


# The cost of the requests of one compaction, however each of them ends.


@frozen(kw_only=True)
class Spent:
    """Tokens and money, as far as they are known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None where no price is known."""

    def __add__(self, other: "Spent") -> "Spent":
        known = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Spent(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum(known) if known else None,
        )


@dataclass(slots=True)
class Ledger:
    """The cost of a compaction so far, the request under way included.

    The user may stop it at any moment, and a provider may never say what it charges: then the request counts
    as estimated.
    """

    requests: int = 0
    """How often a model was asked."""
    request_id: str = ""
    """The provider's own id of the newest answer."""
    refused: str = ""
    """The first notes that were paid for and cannot be used."""
    _paid: Spent = field(default_factory=Spent)
    _model: Model | None = None
    """Whoever is asked just now."""
    _sent: int = 0
    _heard: int = 0

    @property
    def spent(self) -> Spent:
        """What has been spent until now."""
        if self._model is None:
            return self._paid
        return self._paid + estimated(self._model, self._sent, self._heard)

    def ask(self, model: Model, tokens: int) -> None:
        """Note a request of so many tokens by our own count."""
        self.requests += 1
        self._model, self._sent, self._heard = model, tokens, 0

    def hear(self, tokens: int) -> None:
        """Note how much of the response has arrived, in tokens."""
        self._heard = tokens

    def book(self, reported: Spent, *, answered: bool) -> None:
        """Book a request that has ended.

        Args:
            reported: What its provider said about it, if anything.
            answered: Whether the model took it up: one that was refused costs nothing.
        """
        unsaid = not reported.input_tokens and not reported.output_tokens
        self._paid = self.spent if answered and unsaid else self._paid + reported
        self._model = None


def spent_on(messages: Iterable[ModelMessage], model: Model | None = None) -> Spent:
    """Sum the cost of the responses among some messages by their own reports, those cut off included.

    Args:
        messages: Requests and answers.
        model: The model that gave the answers, for prices that the user has set.
    """
    total = Spent()
    for answer in messages:
        if isinstance(answer, ModelResponse):
            total += Spent(
                input_tokens=answer.usage.input_tokens,
                output_tokens=answer.usage.output_tokens,
                cost_usd=answer_cost(answer, model),
            )
    return total


def estimated(model: Model, input_tokens: int, output_tokens: int) -> Spent:
    """Estimate the cost of a request whose provider has reported nothing yet; sizes by our own count."""
    usage = RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens)
    answer = ModelResponse(parts=[], usage=usage, model_name=model.model_name, provider_name=model.system)
    return spent_on([answer], model)
