"""How much of a request a provider's cache would still hold."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.conversation.simulating_kit import prompt, words
from tui_app.conversation.simulating.prefix import Sent, follow, shared_length, wire_text

FIRST, SECOND, THIRD = prompt("a" * 40), words("b" * 40), prompt("c" * 40)


def size(message: ModelMessage) -> int:
    return len(str(getattr(message.parts[0], "content", "")))


def sent(messages: Sequence[ModelMessage]) -> Sent:
    return follow(Sent(), messages, size)[0]


def test_a_first_request_has_nothing_before_it() -> None:
    first, kept = follow(Sent(), [FIRST, SECOND], size)
    assert (kept, first.tokens, list(first.ends)) == (0, 80, [40, 80])
    assert Sent().tokens == 0


def test_what_was_only_added_keeps_everything() -> None:
    now, kept = follow(sent([FIRST, SECOND]), [FIRST, SECOND, THIRD], size)
    assert (kept, now.tokens) == (80, 120)


def test_equal_messages_count_like_the_same_ones() -> None:
    later = datetime(2030, 1, 1, tzinfo=UTC)
    copy = ModelRequest(parts=[UserPromptPart("a" * 40, timestamp=later)], metadata={"own": 1})
    assert follow(sent([FIRST, SECOND]), [copy, SECOND], size)[1] == 80


def test_a_message_that_changed_ends_the_prefix_within_it() -> None:
    shortened = prompt("c" * 20 + "d" * 20)
    _, kept = follow(sent([FIRST, SECOND, THIRD]), [FIRST, SECOND, shortened, SECOND], size)
    assert 80 < kept < 120
    other = ModelResponse(parts=[TextPart("b" * 40)])
    assert follow(sent([FIRST, SECOND, THIRD]), [other, SECOND, THIRD], size)[1] < 10


def test_a_cut_request_keeps_what_is_in_front_of_the_cut() -> None:
    now, kept = follow(sent([FIRST, SECOND, THIRD]), [FIRST, THIRD], size)
    assert 40 <= kept < 60
    assert list(now.ends) == [40, 80]


def test_only_what_is_new_is_weighed() -> None:
    weighed: list[ModelMessage] = []

    def noted(message: ModelMessage) -> int:
        weighed.append(message)
        return size(message)

    before = follow(Sent(), [FIRST, SECOND], noted)[0]
    weighed.clear()
    follow(before, [FIRST, SECOND, THIRD], noted)
    assert weighed == [THIRD]


def test_calls_and_results_differ_by_what_is_sent() -> None:
    call = ModelResponse(parts=[ToolCallPart("read", {"path": "a"}, "1")])
    assert wire_text(call) == wire_text(replace(call, timestamp=datetime(2030, 1, 1, tzinfo=UTC)))
    assert wire_text(call) != wire_text(ModelResponse(parts=[ToolCallPart("read", {"path": "b"}, "1")]))
    result = ModelRequest(parts=[ToolReturnPart("read", "x", "1")])
    assert wire_text(result) != wire_text(ModelRequest(parts=[ToolReturnPart("read", "x", "2")]))


@given(st.text("ab", max_size=30), st.text("ab", max_size=30))
def test_shared_length(first: str, second: str) -> None:
    length = shared_length(first, second)
    assert first[:length] == second[:length]
    assert first[length : length + 1] != second[length : length + 1] or first == second
