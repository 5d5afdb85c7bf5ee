"""What single messages weigh in the tokens of the estimate that they are part of.

A provider's own figure rarely equals our count. Whoever plans with both must use one unit, or a summary that
is half as long as what it replaces looks like growth.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_app.context.counting.usage import ContextUsage
from tui_app.context.items import Item, is_system

Weigh = Callable[[Item], int]
"""Counted tokens of one item."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How the estimate of a request divides into what is always sent and the messages."""

    carried: int
    """Tokens every request carries whatever the view: instructions, tools, memory."""
    scale: float
    """Tokens of the estimate per counted token of a message."""

    def of(self, counted: int) -> int:
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
