"""The cost of the requests of one compaction, however each of them ends."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

from tui_app.context.counting.prices import answer_cost
from tui_app.records import frozen


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
