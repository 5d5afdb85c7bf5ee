"""What an answer cost, where that is known."""

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from tui_app.agent.offline.model import OfflineModel
from tui_app.context.counting.prices import answer_cost


def answer(model: str | None, tokens: int) -> ModelResponse:
    usage = RequestUsage(input_tokens=tokens, output_tokens=tokens)
    return ModelResponse([TextPart("x")], usage=usage, model_name=model, provider_name="openai")


def test_a_listed_model_has_a_price() -> None:
    price = answer_cost(answer("gpt-4o", 1_000_000))
    assert price is not None
    assert price > 1


async def test_the_built_in_assistant_is_free() -> None:
    request = [ModelRequest([UserPromptPart("hi")])]
    parameters = ModelRequestParameters(function_tools=[ToolDefinition(name="grep")])
    model = OfflineModel()
    assert answer_cost(await model.request(request, None, parameters)) == 0.0
    async with model.request_stream(request, None, parameters) as stream:
        async for _ in stream:
            pass
    assert answer_cost(stream.get()) == 0.0


@pytest.mark.parametrize(("model", "tokens"), [("gpt-4o", 0), ("no-such-model", 100), (None, 100)])
def test_unknown_prices_are_no_zero(model: str | None, tokens: int) -> None:
    assert answer_cost(answer(model, tokens)) is None
