"""Policies that count messages count them as they are sent: the results of one answer are one message."""

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.governor_kit import Provider, plain_counter, rig, run, tokens
from tests.context.histories import as_items
from tui_app.context.history import ListHistory
from tui_app.context.policy import SLIDING_WINDOW, Recent
from tui_app.context.requests.builder import usage_as_sent
from tui_app.context.view import boundary_of
from tui_app.events import CompactionStart


def fanned(turns: int, calls: int = 5) -> list[ModelMessage]:
    """Turns of four messages, with several results in the third; each result stands alone, as in our log."""
    history: list[ModelMessage] = []
    for turn in range(turns):
        ids = [f"{turn}-{place}" for place in range(calls)]
        history.append(ModelRequest(parts=[UserPromptPart(f"look {turn}")]))
        history.append(ModelResponse(parts=[ToolCallPart("ls", {}, name) for name in ids]))
        history += [ModelRequest(parts=[ToolReturnPart("ls", "x", name)]) for name in ids]
        history.append(ModelResponse(parts=[TextPart(f"seen {turn}")]))
    return history


def test_what_is_counted() -> None:
    view = ListHistory(plain_counter())
    view.sync(fanned(3))
    assert view.usage().messages == 24
    assert usage_as_sent(view).messages == 12


@pytest.mark.parametrize(("messages", "stays"), [(4, 8), (5, 9), (8, 16), (100, 24)])
def test_what_stays(messages: int, stays: int) -> None:
    items = as_items(fanned(3))
    assert len(items) - boundary_of(items, Recent(messages=messages), tokens) == stays


@pytest.mark.parametrize(("turns", "starts"), [(9, 0), (10, 1)])
async def test_when_the_sliding_window_compacts(turns: int, starts: int) -> None:
    made = rig(Provider(100_000), SLIDING_WINDOW)
    await run(made, fanned(turns))
    assert len(made.heard.of(CompactionStart)) == starts
