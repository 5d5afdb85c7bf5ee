"""Tool calls with their results, also in histories where ids repeat and results come late."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse

from tui_app.context.views.view import Item, answer_id, answers_of, calls_of, is_prompt
from tui_app.records import frozen


@frozen
class Pair:
    """A tool call and its result."""

    call: int
    """Index of the message that calls."""
    answer: int
    """Index of the message that answers."""
    call_id: str
    part: ModelRequestPart


def pairs(messages: Sequence[ModelMessage]) -> Iterator[Pair]:
    """Pair calls with results, in the order of the results.

    A result belongs to the nearest response in front of it, if that made a call of this id; a second one for
    it is a duplicate and belongs to nothing. Any other result belongs to the oldest call of its id that is
    still open: ids may be used again later.
    """
    newest, called = -1, frozenset[str]()
    # The calls without a result so far; those of the newest response are the last of their id.
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            newest, called = index, frozenset(calls_of(message))
            for id in called:
                waiting[id].append(index)
            continue
        for part in message.parts:
            if (call_id := answer_id(part)) is None or not (calls := waiting[call_id]):
                continue
            if call_id not in called:
                yield Pair(calls.popleft(), index, call_id, part)
            elif calls[-1] == newest:
                yield Pair(calls.pop(), index, call_id, part)


def last_messages(items: Sequence[Item], count: int) -> int:
    """Index of the first item of the last ``count`` messages as they are sent.

    Results of one answer are sent as one message, and so are the sections of one.
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
