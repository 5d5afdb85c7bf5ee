"""Limits of a response: characters and calls."""

from typing import Any

import pytest
from pydantic_ai.messages import (
    AgentStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from tui_app.agent.errors import describe_error
from tui_app.agent.turn import Recorder
from tui_app.events import Payload
from tui_app.wires.event_streams import MOST_CALLS, MOST_CHARS, AnswerTooLong

PIECE = "word " * 4_000


class Log:
    def __init__(self) -> None:
        self.events: list[Payload] = []

    def append(self, payload: Payload, message: Any = None) -> None:
        self.events.append(payload)


async def several(recorder: Any, event: AgentStreamEvent) -> None:
    for _ in range(3):
        await recorder.on_event(None, event=event)


@pytest.mark.parametrize(
    ("begin", "more", "times"),
    [
        (TextPart("a"), PartDeltaEvent(index=0, delta=TextPartDelta(PIECE)), MOST_CHARS // len(PIECE)),
        (
            ThinkingPart("a"),
            PartDeltaEvent(index=0, delta=ThinkingPartDelta(content_delta=PIECE)),
            MOST_CHARS // len(PIECE),
        ),
        (
            ToolCallPart("ls", "", "c"),
            PartDeltaEvent(index=0, delta=ToolCallPartDelta(args_delta=PIECE)),
            MOST_CHARS // len(PIECE),
        ),
        (TextPart("a"), PartStartEvent(index=1, part=ToolCallPart("ls", {}, "c")), MOST_CALLS),
    ],
)
async def test_an_answer_without_end_is_stopped(begin: Any, more: AgentStreamEvent, times: int) -> None:
    recorder: Any = Recorder(Log())  # type: ignore[arg-type]
    await recorder.on_event(None, event=PartStartEvent(index=0, part=begin))
    for _ in range(times - 1):
        await recorder.on_event(None, event=more)
    with pytest.raises(AnswerTooLong):
        await several(recorder, more)
    told = describe_error(AnswerTooLong(), model="openai:gpt")
    assert told.message == (
        "The answer of openai:gpt was stopped: it did not end, or made too many calls at once."
    )
    assert not told.retryable
