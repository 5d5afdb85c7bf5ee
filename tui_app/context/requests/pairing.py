"""Which tool result answers which call, also in histories where ids repeat and results come late."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse

from tui_app.context.items import answer_id, calls_of


@dataclass(frozen=True, slots=True)
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
    state = _Open()
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            state.called(index, calls_of(message))
            continue
        for part in message.parts:
            call_id = answer_id(part)
            if call_id is not None and (call := state.take(call_id)) is not None:
                yield Pair(call, index, call_id, part)


@dataclass(slots=True)
class _Open:
    """Calls without a result so far."""

    fresh: dict[str, int] = field(default_factory=dict)
    """Calls of the newest answer."""
    done: set[str] = field(default_factory=set)
    """Ids of the newest answer that have their result."""
    older: defaultdict[str, deque[int]] = field(default_factory=lambda: defaultdict(deque))

    def called(self, index: int, call_ids: Sequence[str]) -> None:
        for call_id, waiting in self.fresh.items():
            self.older[call_id].append(waiting)
        self.fresh = dict.fromkeys(call_ids, index)
        self.done = set()

    def take(self, call_id: str) -> int | None:
        if call_id in self.fresh:
            self.done.add(call_id)
            return self.fresh.pop(call_id)
        if call_id in self.done or not self.older[call_id]:
            return None
        return self.older[call_id].popleft()
