"""Building one request: what is left out, how far below the limit, and what is said about it."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.governor_kit import plain_counter
from tests.context.histories import asked, long_conversation, retry_prompt
from tests.context.validity import complaints, prompts
from tests.examples import examples
from tui_app.context.history import ListHistory
from tui_app.context.policy import PLIMSOLL
from tui_app.context.requests.builder import Outgoing, build
from tui_app.context.window_limits import ContextTooLarge
from tui_app.context.windows import resolve_window
from tui_app.usage import Breakdown, ContextWindow


def said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def called(call_id: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {}, call_id)])


def viewed(messages: Sequence[ModelMessage], window: int | ContextWindow, system: int = 0) -> ListHistory:
    view = ListHistory(plain_counter())
    view.sync(messages)
    resolved = resolve_window(setting=window) if isinstance(window, int) else window
    view.fix(resolved, Breakdown(system=system), "m")
    return view


def counted(messages: Sequence[ModelMessage]) -> int:
    return sum(plain_counter().message(message).total for message in messages)


def built(messages: Sequence[ModelMessage], window: int | ContextWindow) -> Outgoing:
    return build(viewed(messages, window), messages, PLIMSOLL)


@pytest.mark.parametrize("window", [4_000, 128_000, 1_000_000])
def test_a_cut_request_ends_five_per_cent_below_what_fits(window: int) -> None:
    messages = [*long_conversation(window // 600, 800), said("Go on.")]
    effective = resolve_window(setting=window).effective
    assert counted(messages) > effective
    out = built(messages, window)
    assert 0.90 * effective < counted(out.messages) <= 0.95 * effective


def test_what_fits_exactly_is_not_cut_for_the_margin() -> None:
    messages = [*long_conversation(4, 800), said("Go on.")]
    size = counted(messages)
    window = ContextWindow(limit=size, source="setting")
    assert built(messages, window).truncation is None
    assert built(messages, ContextWindow(limit=size - 1, source="setting")).truncation is not None


def test_results_without_a_call_at_the_end_go_also_when_everything_fits() -> None:
    orphan = ModelRequest(parts=[ToolReturnPart("read", "text", "gone")])
    messages = [said("Hello."), ModelResponse(parts=[TextPart("Hi.")]), said("Go on."), orphan]
    out = built(messages, 100_000)
    assert out.messages == messages[:3]
    assert out.truncation is None


def test_a_result_is_cut_also_where_a_prompt_stands_in_the_same_message() -> None:
    """Tools may answer with a result and something for the person's side of the conversation at once."""
    both = ModelRequest(parts=[ToolReturnPart("read", "x " * 50_000, "a"), UserPromptPart("See above.")])
    messages = [said("Read it."), called("a"), both]
    out = built(messages, 4_000)
    assert counted(out.messages) <= 3_750
    assert "cut to fit this request" in str(out.messages[-1].parts[0].content)
    assert prompts(out.messages)[-1] == "See above."
    assert out.truncation is not None
    assert (out.truncation.messages_before, out.truncation.messages_after) == (3, 2)
    assert len(str(both.parts[0].content)) == 100_000


def test_results_beside_the_latest_prompt_go_when_even_cut_they_do_not_fit() -> None:
    calls = ModelResponse(parts=[ToolCallPart("read", {}, f"c{number}") for number in range(60)])
    results = [ToolReturnPart("read", "x " * 500, f"c{number}") for number in range(60)]
    both = ModelRequest(parts=[*results, UserPromptPart("See above.")])
    out = built([said("Read it."), calls, both], 2_000)
    assert [part.content for message in out.messages for part in message.parts] == ["See above."]
    assert counted(out.messages) <= 1_744


def test_what_is_left_of_a_message_stays_one_message() -> None:
    first = ModelRequest(
        parts=[UserPromptPart("old " * 900), SystemPromptPart("Be brief."), UserPromptPart("The latest.")]
    )
    out = built([first], 1_000)
    [message] = out.messages
    assert [part.content for part in message.parts] == ["Be brief.", "The latest."]
    assert out.truncation is not None
    assert (out.truncation.messages_before, out.truncation.messages_removed) == (1, 0)


def test_what_the_run_adds_is_part_of_both_counts() -> None:
    messages = [*long_conversation(10, 800), said("Go on.")]
    feedback = retry_prompt("Not like this. " * 100)
    sent = [*messages[:-1], ModelRequest(parts=[*messages[-1].parts, feedback])]
    view = viewed(messages, 4_000)
    out = build(view, sent, PLIMSOLL)
    assert out.truncation is not None
    assert out.truncation.tokens_before == counted(sent)
    assert out.truncation.tokens_after == counted(out.messages)
    assert feedback in out.messages[-1].parts


@settings(max_examples=examples(200), deadline=None)
@given(asked(), st.sampled_from([256, 512, 1_024, 2_048]), st.integers(0, 200))
def test_the_counts_of_the_event_are_those_of_the_request(
    history: list[ModelMessage], window: int, system: int
) -> None:
    view = viewed(history, window, system)
    try:
        out = build(view, history, PLIMSOLL)
    except ContextTooLarge:
        return
    assert complaints(out.messages) == []
    told = out.truncation
    if told is None:
        return
    assert told.tokens_removed == told.tokens_before - told.tokens_after > 0
    assert told.messages_removed == told.messages_before - told.messages_after >= 0
    assert told.tokens_after <= resolve_window(setting=window).effective
    repaired = counted(out.messages) + system - told.tokens_after
    assert 0 <= repaired <= 16, "a word that repair puts in front is all that is not counted"


def believed(announced: int, effective: int) -> ContextWindow:
    """A window that refusals without numbers have made smaller than announced."""
    return ContextWindow(limit=effective + 256, source="learnt", reserve=256, announced=announced)


def test_a_size_that_is_only_believed_makes_the_request_as_small_as_it_can_be() -> None:
    messages = [*long_conversation(4, 800), said("word " * 400)]
    out = built(messages, believed(100_000, 400))
    assert out.messages == messages[-1:]
    assert out.truncation is not None


def test_a_size_that_is_known_refuses_the_request_before_it_is_sent() -> None:
    messages = [said("word " * 4_000)]
    assert built(messages, believed(100_000, 400)).messages == messages
    with pytest.raises(ContextTooLarge) as error:
        built(messages, believed(4_000, 400))
    assert error.value.limit == 4_000
    assert error.value.requested > 4_000


def test_a_request_that_is_cut_keeps_what_is_pinned() -> None:
    messages = [said("Never touch the pier."), *long_conversation(30, 800), said("Go on.")]
    view = viewed(messages, 4_000)
    assert "Never touch the pier." not in str(build(view, messages, PLIMSOLL).messages)
    view.pins = frozenset({view.items()[0].key})
    assert "Never touch the pier." in str(build(view, messages, PLIMSOLL).messages)
