"""Stage 7, truncate: make one request fit, without touching the view it was built from.

Oldest first and always whole pairs: answers and tool results in front of the latest prompt, then old
prompts, then tool material of the running turn, then the summary, then pinned messages; last, long tool
results are cut. System prompts and the latest prompt never go, nor does the newest message.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from pydantic_ai.messages import (
    BaseToolReturnPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    RetryPromptPart,
    ToolReturnPart,
)

from tui_app.context.items import Item, is_prompt, is_summary, is_system, latest_prompt_index
from tui_app.context.segments import units

CUT = "\n[… cut to fit this request: {length} characters in all …]"
FILES_LEFT_OUT = "\n[… files left out of this request: {count} …]"
_SMALLEST_RESULT = 200
"""Characters a tool result keeps at least when it is cut."""

Weigh = Callable[[ModelMessage], int]


@dataclass(frozen=True, slots=True)
class Truncated:
    """Outcome of fitting one request."""

    items: tuple[Item, ...]
    tokens: int
    """Tokens of the items that are left, instructions and tools not included."""
    fits: bool


def truncate(
    items: Sequence[Item], budget: int, weigh: Weigh, pinned: frozenset[int] = frozenset()
) -> Truncated:
    """Drop or cut the least needed material until the request fits.

    Args:
        items: The agent view, oldest first.
        budget: Tokens the messages may take (instructions and tools already subtracted).
        weigh: Tokens of a message.
        pinned: Keys of messages that go only when everything else has gone.

    Returns:
        What is left, its size, and whether it fits now.
    """
    weights = [weigh(item.message) for item in items]
    total = sum(weights)
    gone: set[int] = set()
    for unit in _droppable(items, pinned):
        if total <= budget:
            break
        gone.update(unit)
        total -= sum(weights[index] for index in unit)
    left = [item for index, item in enumerate(items) if index not in gone]
    if total > budget:
        left, total = _cut_results(left, total, budget, weigh)
    return Truncated(items=tuple(left), tokens=total, fits=total <= budget)


def _droppable(items: Sequence[Item], pinned: frozenset[int]) -> list[list[int]]:
    """Units of indices in the order in which they go."""
    latest = latest_prompt_index(items)
    ranked: list[tuple[int, list[int]]] = []
    for unit in units(items)[:-1]:
        whole = [items[index] for index in unit]
        if latest in unit or any(is_system(item.message) for item in whole):
            continue
        running = latest is not None and unit[0] > latest
        ranked.append((_rank(whole, pinned, running=running), unit))
    return [unit for _, unit in sorted(ranked)]


def _rank(unit: Sequence[Item], pinned: frozenset[int], *, running: bool) -> int:
    """Place in the order of what goes first; units of equal rank go oldest first."""
    if any(item.key in pinned for item in unit):
        return 4
    if any(is_summary(item.message) for item in unit):
        return 3
    if running:
        return 2
    return 1 if any(is_prompt(item.message) for item in unit) else 0


def _cut_results(items: list[Item], total: int, budget: int, weigh: Weigh) -> tuple[list[Item], int]:
    """Halve the longest tool results until the request fits or all of them are short."""
    cut = list(items)
    longest = [(-length, index) for index, item in enumerate(items) if (length := _longest(item.message))]
    heapify(longest)
    while total > budget and longest:
        length, index = heappop(longest)
        limit = max(_SMALLEST_RESULT, -length // 2)
        before = weigh(cut[index].message)
        cut[index] = replace(items[index], message=_shorten(items[index].message, limit))
        total += weigh(cut[index].message) - before
        if limit > _SMALLEST_RESULT:
            heappush(longest, (-limit, index))
    return cut, total


def _longest(message: ModelMessage) -> int:
    """Characters of the longest result in a message; one with files counts as long. 0 if all are short."""
    if not isinstance(message, ModelRequest):
        return 0
    longest = max(map(_length, message.parts), default=0)
    return longest if longest > _SMALLEST_RESULT else 0


def _length(part: ModelRequestPart) -> int:
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return len(part.model_response())
    if not isinstance(part, BaseToolReturnPart):
        return 0
    return max(len(part.model_response_str(wrap_if_error=False)), 2 * _SMALLEST_RESULT if part.files else 0)


def _shorten(message: ModelMessage, limit: int) -> ModelMessage:
    if not isinstance(message, ModelRequest):
        return message
    return replace(message, parts=[_shorten_part(part, limit) for part in message.parts])


def _shorten_part(part: ModelRequestPart, limit: int) -> ModelRequestPart:
    """A result as text of at most ``limit`` characters and a mark; its files go."""
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return ToolReturnPart(
            tool_name=part.tool_name,
            content=_clip(part.model_response(), limit),
            tool_call_id=part.tool_call_id,
            timestamp=part.timestamp,
            outcome="retried",
        )
    if not isinstance(part, BaseToolReturnPart):
        return part
    files, text = len(part.files), part.model_response_str(wrap_if_error=False)
    if not files and len(text) <= limit:
        return part
    left_out = FILES_LEFT_OUT.format(count=files) if files else ""
    return ToolReturnPart(
        tool_name=part.tool_name,
        content=_clip(text, limit) + left_out,
        tool_call_id=part.tool_call_id,
        metadata=part.metadata,
        timestamp=part.timestamp,
        outcome=part.outcome,
    )


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    mark = CUT.format(length=len(text))
    return text[: max(0, limit - len(mark))] + mark
