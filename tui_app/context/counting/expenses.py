"""Cost of the requests of one compaction, however each of them ends."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

from tui_app.context.counting.prices import answer_cost
from tui_app.records import frozen


@frozen(kw_only=True)
class Spent:
    """Tokens and money, as far as known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None if no price is known."""

    def __add__(self, other: "Spent") -> "Spent":
        known = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Spent(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost_usd=sum(known) if known else None,
        )


@dataclass(slots=True)
class Ledger:
    """Cost of a compaction so far, including the current request.

    The user may stop it at any moment, and a provider may not report usage: the request is estimated then.
    """

    requests: int = 0
    request_id: str = ""
    """The provider's own id of the newest answer."""
    refused: str = ""
    """The first notes that were paid for but unusable."""
    _paid: Spent = field(default_factory=Spent)
    _model: Model | None = None
    """Model of the current request."""
    _sent: int = 0
    _heard: int = 0

    @property
    def spent(self) -> Spent:
        """Cost until now."""
        if self._model is None:
            return self._paid
        return self._paid + estimated(self._model, self._sent, self._heard)

    def ask(self, model: Model, tokens: int) -> None:
        """Record a request of so many tokens by our own count."""
        self.requests += 1
        self._model, self._sent, self._heard = model, tokens, 0

    def hear(self, tokens: int) -> None:
        """Record how much of the response has arrived, in tokens."""
        self._heard = tokens

    def book(self, reported: Spent, *, answered: bool) -> None:
        """Book a finished request.

        Args:
            reported: Usage reported by its provider, if any.
            answered: Whether the model accepted it: a refused one costs nothing.
        """
        unsaid = not reported.input_tokens and not reported.output_tokens
        self._paid = self.spent if answered and unsaid else self._paid + reported
        self._model = None


def spent_on(messages: Iterable[ModelMessage], model: Model | None = None) -> Spent:
    """Sum the reported cost of the responses among some messages, including incomplete ones.

    Args:
        messages: Requests and responses.
        model: The model that wrote the responses, for prices set by the user.
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
    """Estimate the cost of a request without reported usage, by our own count."""
    usage = RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens)
    answer = ModelResponse(parts=[], usage=usage, model_name=model.model_name, provider_name=model.system)
    return spent_on([answer], model)
