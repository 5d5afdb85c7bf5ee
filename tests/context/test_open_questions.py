"""What awaits the person outlives every compaction, whatever its policy and its writer leave out."""

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from tests.context.governor_kit import Writer, plain_counter
from tests.context.histories import long_conversation
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.history import ListHistory
from tui_app.context.policy import PRESETS, Policy
from tui_app.context.summaries.prompt import message_text
from tui_app.context.view import to_messages
from tui_app.usage import Breakdown, ContextWindow

QUESTION = "Shall I deploy the site now, or wait for the review?"
ASKED: list[ModelMessage] = [
    ModelRequest(parts=[UserPromptPart("Make the site ready.")]),
    ModelResponse(parts=[TextPart(f"It is ready. {QUESTION}")]),
]


async def left_of(policy: Policy, *more: ModelMessage) -> str:
    """Everything the model is given after a compaction by hand."""
    view = ListHistory(plain_counter())
    view.sync([*long_conversation(40, size=400), *ASKED, *more])
    view.fix(ContextWindow(limit=32_000, source="setting"), Breakdown(), "m")
    compactor = Compactor(view, policy, PlainHost((Writer(),)))
    compactor.start("manual")
    complete = await compactor.finish()
    assert complete is not None
    assert complete.outcome == "success", complete.reason
    return "\n".join(message_text(message) for message in to_messages(view.items()))


@pytest.mark.parametrize("name", PRESETS)
async def test_a_question_to_the_person_stays(name: str) -> None:
    assert QUESTION in await left_of(PRESETS[name])


async def test_one_that_was_answered_is_not_asked_again() -> None:
    answered: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("Wait for it.")]),
        ModelResponse(parts=[TextPart("I wait.")]),
    ]
    assert QUESTION not in await left_of(PRESETS["background"], *answered)
