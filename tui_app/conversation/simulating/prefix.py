"""How much of a request a provider's cache would still hold from the one before."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from operator import is_

from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponsePart

from tui_app.context.parts import to_json_text

_NEVER_SENT = frozenset({"timestamp", "metadata"})


@dataclass(frozen=True, slots=True)
class Sent:
    """One request that went out."""

    messages: Sequence[ModelMessage] = ()
    ends: Sequence[int] = ()
    """Tokens of the request up to the end of each message."""

    @property
    def tokens(self) -> int:
        """Tokens of the whole request."""
        return self.ends[-1] if self.ends else 0


def follow(
    previous: Sent, messages: Sequence[ModelMessage], size: Callable[[ModelMessage], int]
) -> tuple[Sent, int]:
    """Measure a request against the one before; looks at no message that is the same object as before.

    Args:
        previous: The request before.
        messages: What is sent now.
        size: Tokens of a message.

    Returns:
        The request, and how many tokens at its beginning are byte for byte those of the one before.
    """
    same = _same_objects(previous.messages, messages)
    while same < min(len(previous.messages), len(messages)):
        if wire_text(previous.messages[same]) != wire_text(messages[same]):
            break
        same += 1
    before = previous.ends[same - 1] if same else 0
    new = accumulate((size(message) for message in messages[same:]), initial=before)
    next(new)
    return Sent(messages, [*previous.ends[:same], *new]), before + _begun(previous, messages, same, size)


def _same_objects(previous: Sequence[ModelMessage], now: Sequence[ModelMessage]) -> int:
    """How many messages at the beginning of both are the same objects."""
    matches = list(map(is_, previous, now))
    return matches.index(False) if False in matches else len(matches)


def _begun(
    previous: Sent, messages: Sequence[ModelMessage], place: int, size: Callable[[ModelMessage], int]
) -> int:
    """Tokens at the beginning of the first message that differs which are still the same."""
    if place >= min(len(previous.messages), len(messages)):
        return 0
    before, now = wire_text(previous.messages[place]), wire_text(messages[place])
    return size(previous.messages[place]) * shared_length(before, now) // max(1, len(before))


def shared_length(first: str, second: str) -> int:
    """Characters that two texts begin with together."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first.startswith(second[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def wire_text(message: ModelMessage) -> str:
    """What a message says as one text: the same whenever a provider is sent the same bytes."""
    return "\n".join((message.kind, *(f"{part.part_kind} {_said(part)}" for part in message.parts)))


def _said(part: ModelRequestPart | ModelResponsePart) -> str:
    names = [each.name for each in fields(part) if each.name not in _NEVER_SENT]
    return to_json_text({name: getattr(part, name) for name in names})
