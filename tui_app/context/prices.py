"""What an answer cost, by public price lists."""

from pydantic_ai.messages import ModelResponse


def answer_cost(response: ModelResponse) -> float | None:
    """Price of one answer in US dollars, None where its tokens, its model or the prices are not known."""
    if not response.usage.input_tokens or not response.model_name:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
