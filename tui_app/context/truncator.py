"""Stage 7, truncate: make one request fit, without touching the view it was built from.

Oldest first and always whole pairs: answers and tool results in front of the latest prompt, then old
prompts, then tool material of the running turn, then the summary; last, long tool results are cut. System
prompts and the latest prompt never go.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, ToolReturnPart

from tui_app.context.items import Item, is_prompt, is_summary, is_system, latest_prompt_index
from tui_app.context.segments import safe_cuts

CUT = "\n[… cut to fit this request: {length} characters in all …]"
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


def truncate(items: Sequence[Item], budget: int, weigh: Weigh) -> Truncated:
    """Drop or cut the least needed material until the request fits.

    Args:
        items: The agent view, oldest first.
        budget: Tokens the messages may take (instructions and tools already subtracted).
        weigh: Tokens of a message.

    Returns:
        What is left, its size, and whether it fits now.
    """
    weights = [weigh(item.message) for item in items]
    total = sum(weights)
    gone: set[int] = set()
    for unit in _droppable(items):
        if total <= budget:
            break
        gone.update(unit)
        total -= sum(weights[index] for index in unit)
    left = [item for index, item in enumerate(items) if index not in gone]
    if total > budget:
        left, total = _cut_results(left, total, budget, weigh)
    return Truncated(items=tuple(left), tokens=total, fits=total <= budget)


def _droppable(items: Sequence[Item]) -> Iterable[list[int]]:
    """Units of indices in the order in which they go. The last unit of the running turn stays."""
    latest = latest_prompt_index(items)
    units = [unit for unit in _units(items) if not any(is_system(items[i].message) for i in unit)]
    middle = len(items) if latest is None else latest
    before = [unit for unit in units if unit[0] < middle and middle not in unit]
    talk = [u for u in before if any(is_prompt(items[i].message) for i in u)]
    summaries = [u for u in before if any(is_summary(items[i].message) for i in u)]
    material = [u for u in before if u not in talk and u not in summaries]
    running = [u for u in units if u[0] > middle][:-1]
    return [*material, *talk, *running, *summaries]


def _units(items: Sequence[Item]) -> list[list[int]]:
    """Smallest groups of neighbouring indices that keep every call with its results."""
    safe = safe_cuts(items)
    units: list[list[int]] = []
    for index in range(len(items)):
        if safe[index]:
            units.append([])
        units[-1].append(index)
    return units


def _cut_results(items: list[Item], total: int, budget: int, weigh: Weigh) -> tuple[list[Item], int]:
    """Halve the longest tool results until the request fits or all of them are short."""
    limits = [_longest_result(item.message) for item in items]
    cut = list(items)
    while total > budget:
        index = max(range(len(items)), key=limits.__getitem__, default=-1)
        if index < 0 or limits[index] <= _SMALLEST_RESULT:
            break
        limits[index] = max(_SMALLEST_RESULT, limits[index] // 2)
        before = weigh(cut[index].message)
        cut[index] = replace(items[index], message=_shorten(items[index].message, limits[index]))
        total += weigh(cut[index].message) - before
    return cut, total


def _longest_result(message: ModelMessage) -> int:
    if not isinstance(message, ModelRequest):
        return 0
    return max((len(p.model_response_str()) for p in message.parts if isinstance(p, ToolReturnPart)), default=0)


def _shorten(message: ModelMessage, limit: int) -> ModelMessage:
    assert isinstance(message, ModelRequest)
    return replace(message, parts=[_shorten_part(part, limit) for part in message.parts])


def _shorten_part(part: ModelRequestPart, limit: int) -> ModelRequestPart:
    if not isinstance(part, ToolReturnPart):
        return part
    text = part.model_response_str()
    if len(text) <= limit:
        return part
    mark = CUT.format(length=len(text))
    return replace(part, content=text[: max(0, limit - len(mark))] + mark)
