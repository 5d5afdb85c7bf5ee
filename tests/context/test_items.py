"""Items, the sections they may be of, and the messages they become again."""

import pytest
from pydantic_ai.messages import (
    CompactionPart,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.histories import retry_prompt
from tui_app.context.view import (
    Item,
    answers_of,
    calls_of,
    is_prompt,
    is_request,
    is_summary,
    is_system,
    latest_prompt_index,
    pairs,
    sections,
    to_messages,
)


def result(call_id: str) -> ToolReturnPart:
    return ToolReturnPart("read", f"result {call_id}", call_id)


def call(*ids: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {}, one) for one in ids])


def test_what_a_message_is() -> None:
    mixed = ModelRequest(parts=[SystemPromptPart("s"), UserPromptPart("u")])
    assert is_system(ModelRequest(parts=[SystemPromptPart("s")]))
    assert not is_system(mixed)
    assert not is_system(ModelRequest(parts=[]))
    assert is_prompt(mixed)
    assert not is_prompt(ModelResponse(parts=[TextPart("x")]))
    assert is_summary(ModelRequest(parts=[CompactionPart("x")]))
    assert calls_of(call("a", "b")) == ("a", "b")
    assert calls_of(mixed) == ()
    assert answers_of(
        ModelRequest(parts=[result("a"), retry_prompt("no", "read", "b"), retry_prompt("no")])
    ) == (
        "a",
        "b",
    )


def test_the_latest_prompt() -> None:
    items = [
        Item(1, ModelRequest(parts=[UserPromptPart("a")])),
        Item(2, call("a")),
        Item(3, ModelRequest(parts=[result("a")])),
    ]
    assert latest_prompt_index(items) == 0
    assert latest_prompt_index(items[1:]) is None


def test_results_of_one_answer_become_one_request() -> None:
    items = [Item(1, call("a", "b", "c")), *(Item(k, ModelRequest(parts=[result(k_)])) for k, k_ in _three())]
    messages = to_messages([*items, Item(9, ModelRequest(parts=[UserPromptPart("next")]))])
    assert [len(message.parts) for message in messages] == [3, 3, 1]
    assert all(len(item.message.parts) == 1 for item in items[1:])


def _three() -> list[tuple[int, str]]:
    return [(2, "a"), (3, "b"), (4, "c")]


def test_a_request_of_many_kinds_is_taken_apart_and_put_together() -> None:
    whole = ModelRequest(
        parts=[result("a"), result("b"), SystemPromptPart("s"), CompactionPart("c"), UserPromptPart("u")],
        instructions="be kind",
    )
    parts = sections(whole)
    assert [len(part.parts) for part in parts] == [2, 1, 1, 1]
    items = [Item(key, part, whole=whole) for key, part in enumerate(parts)]
    assert to_messages(items) == [whole]
    assert to_messages(items)[0] is whole
    without = to_messages([items[1], items[3]])
    assert [part.part_kind for message in without for part in message.parts] == [
        "system-prompt",
        "user-prompt",
    ]


def test_what_is_of_one_kind_is_left_alone() -> None:
    for message in (call("a", "b"), ModelRequest(parts=[result("a"), result("b")]), ModelRequest(parts=[])):
        assert list(sections(message)) == [message]
        assert sections(message)[0] is message


def pairing(*messages: ModelRequest | ModelResponse) -> list[tuple[int, int]]:
    return [(pair.call, pair.answer) for pair in pairs(messages)]


def test_ids_that_repeat_are_paired_with_the_nearest_call() -> None:
    returned = ModelRequest(parts=[result("a")])
    assert pairing(call("a"), returned, call("a"), returned) == [(0, 1), (2, 3)]
    assert pairing(call("a"), call("a"), returned) == [(1, 2)]
    assert pairing(call("a"), call("a"), returned, returned) == [(1, 2)], "a duplicate is nobody's result"


def test_a_late_result_goes_to_the_oldest_open_call() -> None:
    returned = ModelRequest(parts=[result("a")])
    words = ModelResponse(parts=[TextPart("meanwhile")])
    assert pairing(call("a"), call("a"), returned, words, returned) == [(1, 2), (0, 4)]
    assert pairing(returned, call("a")) == []


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Mend the pier.", True),
        ("<system-reminder>Be brief.</system-reminder>", False),
        ("<system-reminder>Be brief.</system-reminder>\nMend the pier.", True),
        ("<environment_context>linux</environment_context>\n<system-reminder>x</system-reminder>", False),
        ("[Request interrupted by user]", False),
        ("<instructions>Mend the pier.</instructions>", True),
        ("<system-reminder>never closed", True),
        ("", True),
    ],
)
def test_what_a_program_puts_there_is_no_request(text: str, asks: bool) -> None:
    message = ModelRequest(parts=[UserPromptPart(text)])
    assert is_request(message) is asks
    assert is_prompt(message)
    both = [Item(1, ModelRequest(parts=[UserPromptPart("Begin.")])), Item(2, message)]
    assert latest_prompt_index(both) == (1 if asks else 0)
    assert latest_prompt_index(both[1:]) == 0


def test_a_picture_is_a_request_and_a_result_with_a_reminder_is_none() -> None:
    picture = UserPromptPart([ImageUrl("https://example.org/pier.png")])
    reminder = UserPromptPart("<system-reminder>Be brief.</system-reminder>")
    assert is_request(ModelRequest(parts=[picture]))
    assert not is_request(ModelRequest(parts=[result("a"), reminder]))
    assert not is_request(ModelRequest(parts=[result("a")]))
