"""Counting one request after the other looks only at what is new."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from tests.context.governor_kit import plain_counter
from tests.context.histories import as_items, long_conversation, messages
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import ListHistory, RunningCount, RunningMessages, same_objects
from tui_app.context.view import to_messages
from tui_app.usage import Breakdown


class Asked(TokenCounter):
    """Counts how often it is asked for a message."""

    times = 0

    def message(self, message: ModelMessage) -> Breakdown:
        self.times += 1
        return super().message(message)


def said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def counted(messages: list[ModelMessage]) -> int:
    return sum(plain_counter().message(message).total for message in messages)


def test_same_objects_are_told_from_equal_ones() -> None:
    one, other = said("a"), said("a")
    assert one is not other
    assert same_objects([one, one], [one, other]) == 1
    assert same_objects([one], [one, other]) == 1
    assert same_objects([], [one]) == same_objects([other], [one]) == 0


def test_only_what_is_new_is_counted() -> None:
    counter = Asked(plain_counter()._text)
    count = RunningCount(counter)
    history = long_conversation(30)
    assert count.tokens(history) == counted(history)
    before = counter.times
    longer = [*history, said("one more")]
    assert count.tokens(longer) == counted(longer)
    assert counter.times == before + 1


def test_a_request_that_was_cut_is_counted_again_from_where_it_differs() -> None:
    count = RunningCount(plain_counter())
    history = long_conversation(10)
    count.tokens(history)
    cut = [history[0], *history[7:]]
    assert count.tokens(cut) == counted(cut)
    assert count.tokens([]) == 0
    assert count.tokens(history) == counted(history)


@given(messages(max_size=16), messages(max_size=8), st.integers(0, 16))
def test_messages_are_counted_as_they_are_sent(
    first: list[ModelMessage], second: list[ModelMessage], shared: int
) -> None:
    view = ListHistory(plain_counter())
    view.sync(first)
    begun, other = list(view.items()), as_items(second)
    count = RunningMessages()
    grown = [begun[:end] for end in range(len(begun) + 1)]
    rewritten = [[*begun[:shared], *other[:end]] for end in range(len(other) + 1)]
    for items in [*grown, *rewritten, begun, []]:
        assert count.count(items) == len(to_messages(items))


def test_another_scale_counts_everything_again() -> None:
    counter = plain_counter()
    count = RunningCount(counter)
    history = long_conversation(10)
    plain = count.tokens(history)
    counter.factor = 2.0
    assert count.tokens(history) == 2 * plain
    counter.factor = 1.0
    counter._text.load()
    assert count.tokens(history) != plain
