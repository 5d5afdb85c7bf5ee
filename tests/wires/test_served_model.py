"""A paused answer is bounded, costs all its requests, and is as large as the last of them."""

from collections.abc import Iterator

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart

from tests.servers.strict import Strict, strict_server
from tests.wires.test_wire_form import drain
from tui_app.context import ContextGovernor
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import Limits
from tui_app.wires.answer_end import PAUSED, context_input, incomplete_reason
from tui_app.wires.served_model import MOST_PAUSES


@pytest.fixture
def strict() -> Iterator[Strict]:
    with strict_server() as made:
        yield made


def pausing(strict: Strict, times: int, *, own_ids: bool) -> None:
    def manner(answer: object, text: str) -> tuple[str, str]:
        number = len(strict.bodies)
        sent = text.replace('"end_turn"', '"pause_turn"') if number <= times else text
        sent = sent.replace('"id": "', f'"id": "{number}_', 1) if own_ids else sent
        return ("text/event-stream" if text.startswith(("event", "data")) else "application/json"), sent

    strict.manner, strict.text = manner, "Tides. " * 9


@pytest.mark.parametrize("streamed", [True, False])
async def test_its_size_is_that_of_its_last_request(strict: Strict, streamed: bool) -> None:
    pausing(strict, 3, own_ids=True)
    limits = Limits(LearntModels(None))
    model = strict.model("anthropic")
    agent = Agent(model, capabilities=[ContextGovernor(limits=limits)])
    result = await agent.run("Look. " * 2_000, event_stream_handler=drain if streamed else None)
    answer = result.all_messages()[-1]
    assert isinstance(answer, ModelResponse)
    assert answer.usage.input_tokens == sum(strict.reported)
    assert context_input(answer) == strict.reported[-1]
    assert limits.factor(model) < 1.6


@pytest.mark.parametrize("own_ids", [True, False])
async def test_pauses_end(strict: Strict, own_ids: bool) -> None:
    pausing(strict, 1_000, own_ids=own_ids)
    agent = Agent(strict.model("anthropic"), capabilities=[ContextGovernor()])
    result = await agent.run("Look.", event_stream_handler=drain)
    answer = result.all_messages()[-1]
    assert isinstance(answer, ModelResponse)
    assert len(strict.bodies) == MOST_PAUSES
    assert incomplete_reason(answer) == PAUSED
    assert any(isinstance(part, TextPart) for part in answer.parts), "what was said counts"
    assert answer.usage.input_tokens > 0


def test_the_library_s_own_mark_is_read() -> None:
    marked = ModelResponse(
        parts=[TextPart("Aye.")], metadata={"__pydantic_ai__": {"context_input_tokens": 7}}
    )
    assert context_input(marked) == 7
