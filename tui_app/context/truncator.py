"""Stage 7, truncation: make one request fit, without changing the view it was built from.

Oldest first and always whole pairs: responses and tool results before the latest prompt, then old prompts,
then tool material of the running turn, then the summary. Then long tool results are cut, and if that is not
enough, results that came together with the latest prompt are dropped, and pinned messages last. System
prompts, the latest prompt and the newest message are never dropped.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from heapq import heapify, heappop, heappush

from pydantic_ai.messages import (
    BaseToolReturnPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    RetryPromptPart,
    ToolReturnPart,
)

from tui_app.context.views.cuts import units
from tui_app.context.views.view import Item, answers_of, is_prompt, is_summary, is_system, latest_prompt_index
from tui_app.records import frozen

CUT = "\n[… cut to fit this request: {length} characters in all …]"
FILES_LEFT_OUT = "\n[… files left out of this request: {count} …]"
_SMALLEST_RESULT = 200
"""Minimum characters that a cut tool result keeps."""

Weigh = Callable[[ModelMessage], int]


@frozen
class Truncated:
    """Result of fitting one request."""

    items: tuple[Item, ...]
    tokens: int
    """Tokens of the remaining items, without instructions and tools."""
    fits: bool


def truncate(
    items: Sequence[Item],
    budget: int,
    weigh: Weigh,
    pinned: frozenset[int] = frozenset(),
    *,
    limit: int | None = None,
) -> Truncated:
    """Drop or cut the least needed material until the request fits.

    Args:
        items: The agent view, oldest first.
        budget: Tokens the messages should take (instructions and tools already subtracted).
        weigh: Tokens of a message.
        pinned: Keys of messages that are dropped only after everything else.
        limit: Maximum tokens of the messages: between budget and limit, no result is cut and no pinned
            message dropped. None is the budget itself.

    Returns:
        The remaining items, their size, and whether that is within the limit.
    """
    most = budget if limit is None else max(budget, limit)
    weights = [weigh(item.message) for item in items]
    total = sum(weights)
    plain, last = _droppable(items, pinned)
    left = dict(enumerate(items))
    for unit in plain:
        if total <= budget:
            break
        total -= _without(left, unit, weights)
    if total <= most:
        return Truncated(items=tuple(left.values()), tokens=total, fits=True)
    # Drop what does not fit even with the shortest results; pinned messages are never cut.
    spared = {index for unit in last if _has_pin(items, unit, pinned) for index in unit}
    shortest = {
        index: _shorten(item.message, _SMALLEST_RESULT)
        for index, item in left.items()
        if index not in spared and _longest(item.message)
    }
    short = {index: weigh(shortest.get(index, item.message)) for index, item in left.items()}
    smallest = sum(short.values())
    for unit in last:
        if smallest <= most:
            break
        _without(left, unit, weights)
        smallest -= sum(short[index] for index in unit)
    total = sum(weights[index] for index in left)
    left, total = _cut_results(left, total, budget, weigh, spared)
    return Truncated(items=tuple(left.values()), tokens=total, fits=total <= most)


def _without(items: dict[int, Item], unit: Sequence[int], weights: Sequence[int]) -> int:
    """Remove a unit, and return the tokens that frees."""
    for index in unit:
        del items[index]
    return sum(weights[index] for index in unit)


def _droppable(items: Sequence[Item], pinned: frozenset[int]) -> tuple[list[list[int]], list[list[int]]]:
    """Return units of indices in the order of dropping: before results are cut, and after that."""
    latest, newest = latest_prompt_index(items), items[-1].whole if items else None
    ranked: list[tuple[int, list[int]]] = []
    fresh: list[list[int]] = []
    pins: list[list[int]] = []
    for unit in units(items)[:-1]:
        whole = [items[index] for index in unit]
        if latest in unit or any(is_system(item.message) for item in whole):
            continue
        if pinned and _has_pin(items, unit, pinned):
            pins.append(unit)
        elif newest is not None and any(each.whole is newest and answers_of(each.message) for each in whole):
            # Results that the newest message brings together with something else.
            fresh.append(unit)
        elif any(is_summary(item.message) for item in whole):
            ranked.append((3, unit))
        else:
            is_after = latest is not None and unit[0] > latest
            ranked.append((2 if is_after else any(is_prompt(item.message) for item in whole), unit))
    return [unit for _, unit in sorted(ranked)], [*fresh, *pins]


def _has_pin(items: Sequence[Item], unit: Sequence[int], pinned: frozenset[int]) -> bool:
    return any(items[index].key in pinned for index in unit)


def _cut_results(
    items: Mapping[int, Item], total: int, budget: int, weigh: Weigh, spared: Set[int]
) -> tuple[dict[int, Item], int]:
    """Halve the longest tool results until the request fits or all of them are short."""
    cut = dict(items)
    lengths = {index: _longest(item.message) for index, item in items.items() if index not in spared}
    longest = [(-length, index) for index, length in lengths.items() if length]
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
    """Return the characters of a message's longest result, or 0; one with files counts as long."""
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
    """Return a result as text of at most ``limit`` characters and a mark; its files are dropped."""
    files, metadata = 0, None
    if isinstance(part, BaseToolReturnPart):
        files, metadata = len(part.files), part.metadata
        text = part.model_response_str(wrap_if_error=False)
        if not files and len(text) <= limit:
            return part
    elif isinstance(part, RetryPromptPart) and part.tool_name is not None:
        text = part.model_response()
    else:
        return part
    return ToolReturnPart(
        tool_name=part.tool_name or "",
        content=_clip(text, limit) + (FILES_LEFT_OUT.format(count=files) if files else ""),
        tool_call_id=part.tool_call_id,
        metadata=metadata,
        timestamp=part.timestamp,
        outcome=part.outcome if isinstance(part, BaseToolReturnPart) else "retried",
    )


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    mark = CUT.format(length=len(text))
    return text[: max(0, limit - len(mark))] + mark
