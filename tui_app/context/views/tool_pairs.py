"""Pairs of tool calls and results, also in histories with repeated ids and late results."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ToolCallPart

from tui_app.context.views.view import Item, answer_id, answers_of, is_prompt
from tui_app.records import frozen


@frozen
class Pair:
    """A tool call and its result."""

    call: int
    """Index of the message with the call."""
    answer: int
    """Index of the message with the result."""
    made: ToolCallPart
    part: ModelRequestPart


def pairs(messages: Sequence[ModelMessage]) -> Iterator[Pair]:
    """Pair calls with results, in the order of the results.

    A result belongs to the nearest response before it if that made a call with this id; a second result for
    it is a duplicate and belongs to no call. Any other result belongs to the oldest call with its id that is
    still open, because ids may be reused later.
    """
    newest, made = -1, dict[str, ToolCallPart]()
    # Calls without a result so far; those of the newest response are the last of their id.
    waiting: defaultdict[str, deque[tuple[int, ToolCallPart]]] = defaultdict(deque)
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            newest = index
            made = {each.tool_call_id: each for each in message.parts[::-1] if isinstance(each, ToolCallPart)}
            for id, call in made.items():
                waiting[id].append((index, call))
            continue
        for part in message.parts:
            if (call_id := answer_id(part)) is None or not (calls := waiting[call_id]):
                continue
            if call_id not in made or calls[-1][0] == newest:
                place, call = calls.popleft() if call_id not in made else calls.pop()
                yield Pair(place, index, call, part)


def last_messages(items: Sequence[Item], count: int) -> int:
    """Return the index of the first item of the last ``count`` messages as they are sent.

    Results of one response are sent as one message, as are the sections of one message.
    """
    start = len(items)
    for _ in range(count):
        if not start:
            break
        start -= 1
        while start and _sent_together(items[start - 1], items[start]):
            start -= 1
    return start


def _sent_together(first: Item, second: Item) -> bool:
    if first.whole is not None and first.whole is second.whole:
        return True
    return all(bool(answers_of(item.message)) and not is_prompt(item.message) for item in (first, second))
