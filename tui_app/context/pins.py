"""Pinned messages: word for word in every request, as far as a budget allows."""

from collections.abc import Callable, Sequence

from tui_app.context.compaction.segments import units
from tui_app.context.items import Item


def with_room(
    items: Sequence[Item], pinned: frozenset[int], tokens: Callable[[Item], int], budget: int
) -> frozenset[int]:
    """The pinned messages that a budget has room for, the newest first.

    Args:
        items: The agent view, oldest first.
        pinned: Keys of pinned messages; those that are not in the view are left out.
        tokens: Cost of one item, in tokens.
        budget: Tokens they may take together. A pinned call or result costs all that stays with it: an answer
            with all its calls and their results.
    """
    kept: set[int] = set()
    for unit in reversed(units(items)) if pinned else ():
        keys = {items[index].key for index in unit}
        cost = sum(tokens(items[index]) for index in unit) if keys & pinned else 0
        if keys & pinned and cost <= budget:
            budget -= cost
            kept |= keys & pinned
    return frozenset(kept)


def cost_of(items: Sequence[Item], pinned: frozenset[int], tokens: Callable[[Item], int]) -> int:
    """Tokens that stay because of pins; see :func:`with_room`."""
    held = (
        [unit for unit in units(items) if any(items[index].key in pinned for index in unit)] if pinned else []
    )
    return sum(tokens(items[index]) for unit in held for index in unit)


def company_of(items: Sequence[Item], key: int) -> int:
    """How many messages a pinned one keeps beside itself; see :func:`with_room`."""
    return next((len(unit) - 1 for unit in units(items) if any(items[index].key == key for index in unit)), 0)
