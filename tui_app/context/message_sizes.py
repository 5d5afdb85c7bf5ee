"""Measure lists of messages that grow at their end, at the price of what is new."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import is_

from pydantic_ai.messages import ModelMessage, ModelResponse

from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.view import Item, is_system, to_messages
from tui_app.usage import ContextUsage


def same_objects(first: Sequence[object], second: Sequence[object]) -> int:
    """How many objects at the beginning of two lists are the same ones."""
    matches = list(map(is_, first, second))
    return matches.index(False) if False in matches else len(matches)


@dataclass(slots=True)
class RunningCount:
    """Counts the tokens of one request after another; only new messages are looked at."""

    counter: TokenCounter
    _messages: Sequence[ModelMessage] = ()
    _ends: list[int] = field(default_factory=list)
    """Tokens up to the end of each message."""
    _scale: tuple[bool, float] = (False, 1.0)

    def tokens(self, messages: Sequence[ModelMessage]) -> int:
        """Tokens of the messages, by the counter's factor.

        Args:
            messages: A list that nobody changes afterwards.
        """
        scale = (self.counter.loaded, self.counter.factor)
        same = same_objects(self._messages, messages) if scale == self._scale else 0
        before = self._ends[same - 1] if same else 0
        sizes = (self.counter.message(message).total for message in messages[same:])
        self._ends[same:] = list(accumulate(sizes, initial=before))[1:]
        self._messages, self._scale = messages, scale
        return self._ends[-1] if self._ends else 0


@dataclass(slots=True)
class RunningMessages:
    """Counts the messages that one view after another is sent as."""

    _items: Sequence[Item] = ()
    _answers: list[tuple[int, int]] = field(default_factory=list)
    """Places of answers, and messages in front of each: nothing is joined across an answer."""

    def count(self, items: Sequence[Item]) -> int:
        """Messages of a request with these items, results of one answer as one."""
        same = same_objects(self._items, items)
        while self._answers and self._answers[-1][0] >= same:
            self._answers.pop()
        place, before = self._answers[-1] if self._answers else (0, 0)
        messages = to_messages(items[place:])
        sent = (count for count, message in enumerate(messages, before) if isinstance(message, ModelResponse))
        fresh = (at for at in range(place, len(items)) if isinstance(items[at].message, ModelResponse))
        self._answers[-1:] = zip(fresh, sent, strict=True)
        self._items = list(items)
        return before + len(messages)


# Sizes of single messages in the unit of the estimate of the whole request.
#
# A provider's own figure rarely equals our count. Whoever plans with both must use one unit, or a summary
# that is half as long as what it replaces looks like growth.

Weigh = Callable[[Item], int]
"""Counted tokens of one item."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """An estimate divided into what every request carries and the messages."""

    carried: int
    """Tokens every request carries whatever the view: instructions, tools, memory."""
    scale: float
    """Tokens of the estimate per counted token of a message."""

    def estimate(self, counted: int) -> int:
        """Tokens of the estimate behind a count of messages."""
        return round(counted * self.scale)


def sizes_of(items: Sequence[Item], usage: ContextUsage, weigh: Weigh) -> Sizes:
    """Divide an estimate.

    System prompts that stand in the view are messages; what the provider reported beyond the count is taken
    to be spread over the messages, as it is when its tokenizer is finer than ours.

    Args:
        items: The agent view.
        usage: The estimate of a request with that view.
        weigh: Counted tokens of one item.
    """
    weights = [weigh(item) for item in items]
    counted = sum(weights)
    system = sum(weight for weight, item in zip(weights, items, strict=True) if is_system(item.message))
    standing = usage.parts.system + usage.parts.tools + usage.parts.memory
    said, spoken = usage.parts.total - standing, counted - system
    scale = said / spoken if said > 0 and spoken > 0 else 1.0
    carried = max(0, round(standing - system * scale))
    if counted > 0:
        scale = max(0.0, usage.total - carried) / counted
    return Sizes(carried, scale)
