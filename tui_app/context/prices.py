"""What an answer cost, by public price lists."""

from pydantic_ai.messages import ModelResponse

FREE = frozenset({"offline"})
"""Providers whose answers are made in this program."""


def answer_cost(response: ModelResponse) -> float | None:
    """Price of one answer in US dollars, None where its tokens, its model or the prices are not known."""
    if response.provider_name in FREE:
        return 0.0
    if not response.usage.input_tokens or not response.model_name:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
