"""Message counting: every part type, by category, once each."""

import gc
from dataclasses import replace

import pytest
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition

from tests.context.word_counter import WordCounter
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import (
    MESSAGE_OVERHEAD,
    REQUEST_OVERHEAD,
    TOOL_OVERHEAD,
    TokenCounter,
    part_costs,
    to_json_text,
)
from tui_app.usage import CATEGORIES, Breakdown, sum_breakdowns

FRAME = MESSAGE_OVERHEAD


@pytest.fixture
def words() -> WordCounter:
    return WordCounter()


@pytest.fixture
def counter(words) -> TokenCounter:
    return TokenCounter(words)


def nonzero(breakdown: Breakdown) -> dict[str, int]:
    return {name: getattr(breakdown, name) for name in CATEGORIES if getattr(breakdown, name)}


def test_parts_of_a_request_are_framed_each_and_of_a_response_once(counter) -> None:
    request = ModelRequest(
        parts=[ToolReturnPart("a", "x", tool_call_id="1"), ToolReturnPart("b", "y", tool_call_id="2")]
    )
    response = ModelResponse(parts=[ThinkingPart("x"), TextPart("y")])
    assert nonzero(counter.message(request)) == {"tool_results": 2 * (1 + FRAME)}
    assert nonzero(counter.message(response)) == {"thinking": 1 + FRAME, "assistant": 1}
    assert counter.message(ModelResponse(parts=[])) == Breakdown()


def test_metadata_and_instructions_of_a_message_are_not_counted(counter, words) -> None:
    bare = ModelRequest(parts=[UserPromptPart("hello there")])
    laden = replace(bare, metadata={"plimsoll": {"seq": 7, "note": "never sent"}}, instructions="be brief")
    result = ToolReturnPart("grep", "x", tool_call_id="1", metadata={"huge": "y " * 500})
    assert counter.message(laden) == counter.message(bare)
    assert counter.message(ModelRequest(parts=[result])).total == 1 + FRAME
    assert not any("never" in text or "brief" in text for text in words.asked)


def test_a_message_is_counted_once(counter, words) -> None:
    message = ModelRequest(parts=[UserPromptPart("one two")])
    twin = ModelRequest(parts=[UserPromptPart("one two")])
    first = counter.message(message)
    assert counter.message(message) is first
    assert words.asked == ["one two"]
    counter.message(twin)
    assert words.asked == ["one two"] * 2


def test_loading_the_tokenizer_counts_anew(counter, words) -> None:
    message = ModelRequest(parts=[UserPromptPart("one two")])
    tool = ToolDefinition(name="grep", description="find it")
    before = counter.message(message).user, counter.instructions("be brief"), counter.tools([tool])
    words.ready = True
    after = counter.message(message).user, counter.instructions("be brief"), counter.tools([tool])
    assert before[0] == 2 + FRAME
    assert after[0] == 20 + FRAME
    assert all(new > old for new, old in zip(after, before, strict=True))


def test_the_cache_keeps_no_message_alive(counter) -> None:
    kept = ModelRequest(parts=[UserPromptPart("stay")])
    counter.message(kept)
    for number in range(500):
        counter.message(ModelRequest(parts=[UserPromptPart(f"message {number}")]))
    gc.collect()
    assert list(counter._messages) == [id(kept)]


def test_a_reused_identity_is_not_mistaken(counter) -> None:
    for number in range(200):
        message = ModelRequest(parts=[UserPromptPart("word " * number)])
        assert counter.message(message).user == number + FRAME
        del message


def test_factor_scales_and_may_change_without_counting_again(words) -> None:
    counter = TokenCounter(words, factor=2.0)
    message = ModelRequest(parts=[UserPromptPart("one two three")])
    assert counter.message(message).user == 2 * (3 + FRAME)
    assert counter.text("one two") == 4
    assert counter.instructions("one two") == 2 * (2 + FRAME)
    asked = len(words.asked)
    counter.factor = 1.5
    assert counter.message(message).user == round(1.5 * (3 + FRAME))
    assert len(words.asked) == asked
    assert counter.unscaled(30) == 20


def test_tools_count_their_schemas_once(counter, words) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "where it is"}}}
    small = ToolDefinition(name="ls")
    large = ToolDefinition(name="ls", description="list", parameters_json_schema=schema)
    assert counter.tools([]) == 0
    assert counter.tools([large]) > counter.tools([small]) > TOOL_OVERHEAD
    asked = len(words.asked)
    assert counter.tools([small, replace(large)]) == counter.tools([small]) + counter.tools([large])
    assert len(words.asked) == asked
    assert any("where it is" in text for text in words.asked)


def test_a_request_is_the_sum_of_all(counter) -> None:
    messages = [ModelRequest(parts=[UserPromptPart("one")]), ModelResponse(parts=[TextPart("two")])]
    tool = ToolDefinition(name="ls")
    request = counter.request(messages, instructions="be brief", tools=[tool])
    assert request.system == 2 + FRAME + REQUEST_OVERHEAD
    assert request.tools == counter.tools([tool])
    assert request.total == request.system + request.tools + sum(counter.message(m).total for m in messages)
    assert counter.request([]).total == REQUEST_OVERHEAD
    assert sum_breakdowns([]) == Breakdown()


def test_exact_only_with_the_models_own_tokenizer() -> None:
    own, foreign = TextCounter("o200k_base"), TextCounter(None)
    assert not TokenCounter(own).exact
    own.load()
    foreign.load()
    assert TokenCounter(own).exact
    assert not TokenCounter(foreign).exact


def test_real_counts_of_other_scripts() -> None:
    text = TextCounter("o200k_base")
    text.load()
    message = ModelRequest(parts=[ToolReturnPart("read", {"text": "今天天气很好 — ça va"}, tool_call_id="1")])
    [(_, tokens), _] = part_costs(message.parts[0], text, unknown="user")
    assert tokens == text.count('{"text":"今天天气很好 — ça va"}')
    assert to_json_text({"a": "é"}) == '{"a":"é"}'


def test_what_every_request_carries_is_counted_without_any_factor(words) -> None:
    tool = ToolDefinition(name="read", description="Read a file.")
    plain, scaled = TokenCounter(words), TokenCounter(words, 2.0)
    carried = plain.carried("be brief " * 20, [tool])
    assert (carried.system, carried.tools) == (plain.instructions("be brief " * 20), plain.tools([tool]))
    assert scaled.carried("be brief " * 20, [tool]) == carried


def test_a_total_is_the_sum_of_all_categories() -> None:
    parts = Breakdown(**{name: 2**place for place, name in enumerate(CATEGORIES)})
    assert parts.total == 2 ** len(CATEGORIES) - 1
