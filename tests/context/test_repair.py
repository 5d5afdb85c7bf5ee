"""Repair: what every provider accepts, with as little change as possible."""

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.histories import long_conversation
from tests.context.validity import complaints
from tui_app.context.requests.builder import CONTINUE, INTERRUPTED, START, repair, sendable


def said(text: str = "hello") -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def call(*ids: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {"n": 1}, one) for one in ids])


def result(*ids: str, text: str = "found") -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("read", f"{text} {one}", one) for one in ids])


def words(text: str = "well") -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def test_a_valid_history_is_not_touched() -> None:
    history = long_conversation(5)
    repaired = repair(history)
    assert all(a is b for a, b in zip(repaired, history, strict=True))


def test_a_call_without_result_is_answered_as_interrupted() -> None:
    repaired = repair([said(), call("a", "b"), result("b"), said("next")])
    assert complaints(repaired) == []
    part = repaired[2].parts[0]
    assert isinstance(part, ToolReturnPart)
    assert (part.tool_call_id, part.content, part.outcome) == ("a", INTERRUPTED, "interrupted")


def test_a_call_at_the_end_is_answered() -> None:
    repaired = repair([said(), call("a")])
    assert isinstance(repaired[-1], ModelRequest)
    assert complaints(repaired) == []


def test_a_result_without_call_goes_and_what_stood_beside_it_stays() -> None:
    mixed = ModelRequest(parts=[ToolReturnPart("read", "x", "ghost"), UserPromptPart("hello")])
    repaired = repair([mixed, words(), result("ghost")])
    assert [part.part_kind for message in repaired for part in message.parts] == ["user-prompt", "text"]
    assert len(mixed.parts) == 2


def test_a_late_result_moves_behind_its_call() -> None:
    repaired = repair([said(), call("a"), said("still there?"), words(), result("a")])
    assert complaints(repaired, ends_with_request=False) == []
    assert [part.part_kind for part in repaired[2].parts] == ["tool-return", "user-prompt"]
    assert repaired[2].parts[0].content == "found a"


def test_a_reused_id_gets_its_own_result() -> None:
    history = [said(), call("a"), said("stop"), call("a"), result("a", text="second")]
    repaired = repair(history)
    assert complaints(repaired) == []
    assert repaired[2].parts[0].content == INTERRUPTED
    assert repaired[4].parts[0].content == "second a"


def test_a_result_given_twice_is_sent_once() -> None:
    repaired = repair([said(), call("a"), result("a"), result("a", text="again")])
    assert complaints(repaired) == []
    assert [part.content for part in repaired[2].parts] == ["found a"]


def test_an_id_used_twice_in_one_answer_is_called_once() -> None:
    repaired = repair([said(), call("a", "a"), result("a", "a")])
    assert complaints(repaired) == []


@pytest.mark.parametrize(
    "empty",
    [
        ModelRequest(parts=[]),
        said(""),
        said("  \n"),
        ModelRequest(parts=[UserPromptPart(["", " "])]),
        ModelRequest(parts=[SystemPromptPart("")]),
        ModelResponse(parts=[]),
        words(" "),
        ModelResponse(parts=[ThinkingPart("only a thought")]),
    ],
)
def test_empty_messages_go(empty: ModelMessage) -> None:
    repaired = repair([said(), words(), empty, said("next")])
    assert complaints(repaired) == []
    assert len(repaired) == 3


def test_signed_thinking_beside_text_stays() -> None:
    kept = ModelResponse(parts=[ThinkingPart("", signature="sig"), TextPart("x")])
    assert repair([said(), kept])[1] is kept


def test_responses_in_a_row_become_one() -> None:
    repaired = repair([said(), words("a"), words("b"), call("c"), result("c")])
    assert complaints(repaired) == []
    assert [part.part_kind for part in repaired[1].parts] == ["text", "text", "tool-call"]


def test_a_history_never_starts_with_a_response() -> None:
    repaired = repair([words(), said()])
    assert repaired[0].parts[0].content == START
    assert repair(repaired) == repaired


def test_nothing_stays_nothing() -> None:
    assert repair([]) == []
    assert repair([ModelRequest(parts=[])]) == []


def test_what_is_sent_ends_with_a_request_that_says_something() -> None:
    assert sendable([said(), words(), said("")])[-1].parts[0].content == CONTINUE
    assert sendable([])[-1].parts[0].content == CONTINUE


def test_a_run_with_instructions_alone_is_sent_as_it_is() -> None:
    alone = ModelRequest(parts=[], instructions="Greet the user.")
    assert sendable([alone]) == [alone]


def test_repair_is_the_same_every_time() -> None:
    history = [words(), call("a"), said("x")]
    assert repair(history) == repair(history)
