"""What is said of a request that is too long: never that a number does not fit a larger one."""

import pytest
from pydantic_ai.exceptions import ModelHTTPError

from tui_app.agent.errors import describe_error
from tui_app.context.window_limits import ContextTooLarge

MODEL = "openai:gpt-5"


def test_both_numbers_where_they_explain_it() -> None:
    said = describe_error(ContextTooLarge(2_048, 12_608), model=MODEL)
    assert said.message == (
        "The conversation (12,608 tokens) is longer than the 2,048 tokens openai:gpt-5 takes."
    )


@pytest.mark.parametrize("requested", [1_900, 2_048])
def test_numbers_that_explain_nothing_are_not_made_a_reason(requested: int) -> None:
    said = describe_error(ContextTooLarge(2_048, requested), model=MODEL)
    assert said.message == (
        "The provider says the conversation is too long for openai:gpt-5, "
        f"although {requested:,} of 2,048 tokens would fit by the numbers known here."
    )
    assert "ctrl+g" in said.hint
    assert (said.kind, said.limit, said.requested) == ("context_overflow", 2_048, requested)


def test_a_limit_that_no_model_has_is_not_told() -> None:
    body = {"message": "This model's maximum context length is 1 tokens. However, you requested 900 tokens."}
    said = describe_error(ModelHTTPError(400, "m", body), model=MODEL)
    assert said.message == "The conversation (900 tokens) is longer than what openai:gpt-5 takes."
    assert (said.kind, said.limit) == ("context_overflow", None)
