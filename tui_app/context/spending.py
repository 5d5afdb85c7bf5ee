"""What requests have cost, those that failed included."""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelResponse

from tui_app.context.prices import answer_cost


@dataclass(frozen=True, slots=True, kw_only=True)
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


def spent_on(messages: Iterable[ModelMessage]) -> Spent:
    """What the answers among some messages cost, those that were cut off included."""
    total = Spent()
    for answer in messages:
        if isinstance(answer, ModelResponse):
            total += Spent(
                input_tokens=answer.usage.input_tokens,
                output_tokens=answer.usage.output_tokens,
                cost_usd=answer_cost(answer),
            )
    return total
