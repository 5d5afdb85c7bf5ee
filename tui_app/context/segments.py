"""Where a view may be cut: never inside a tool call and its result, between turns where possible."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_app.context.items import Item, is_prompt, is_summary, is_system
from tui_app.context.pairing import pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A view cut in three. ``old`` leaves; ``head`` and ``recent`` stay untouched, in this order."""

    head: tuple[Item, ...]
    """System prompts and pinned messages, and the latest prompt when its turn is cut in the middle."""
    old: tuple[Item, ...]
    recent: tuple[Item, ...]


def safe_cuts(items: Sequence[Item]) -> list[bool]:
    """For each index 0..n, whether the view may be cut in front of that item.

    A cut is safe when no call in front of it is answered behind it. Calls that are never answered do not
    block a cut; a result always stays with its call, also when other messages stand between them.
    """
    blocked = [0] * (len(items) + 1)
    for pair in pairs([item.message for item in items]):
        blocked[pair.call + 1] += 1
        blocked[pair.answer + 1] -= 1
    safe: list[bool] = []
    depth = 0
    for change in blocked:
        depth += change
        safe.append(depth == 0)
    return safe


def units(items: Sequence[Item]) -> list[list[int]]:
    """Smallest groups of neighbouring indices that keep every call with its results."""
    safe = safe_cuts(items)
    groups: list[list[int]] = []
    for index in range(len(items)):
        if safe[index]:
            groups.append([])
        groups[-1].append(index)
    return groups


def choose_boundary(items: Sequence[Item], budget: int, tokens: Callable[[Item], int]) -> int:
    """Index of the first item that stays, so that the newest items cost at most ``budget`` tokens.

    A cut in front of a prompt (a whole turn stays) is preferred when it keeps at least half of what the
    budget allows; otherwise the cut falls inside the turn, between complete pairs. At least one safe unit
    stays even when it alone is over the budget.

    Args:
        items: The agent view, oldest first.
        budget: Tokens the recent part may take.
        tokens: Cost of one item, in tokens.

    Returns:
        An index from 0 to ``len(items) - 1``; 0 means nothing can leave.
    """
    safe = safe_cuts(items)
    turn = within = spent = turn_spent = within_spent = 0
    found = False
    for index in range(len(items) - 1, -1, -1):
        spent += tokens(items[index])
        if not safe[index]:
            continue
        if found and spent > budget:
            break
        found, within, within_spent = True, index, spent
        if is_prompt(items[index].message):
            turn, turn_spent = index, spent
    return turn if turn_spent * 2 >= within_spent else within


def split_view(
    items: Sequence[Item], budget: int, tokens: Callable[[Item], int], pinned: frozenset[int] = frozenset()
) -> Split:
    """Cut a view into head, old and recent.

    The latest prompt always stays word for word: when the boundary falls behind it (a long turn of tool
    calls), it moves to the head.

    Args:
        items: The agent view, oldest first.
        budget: Tokens the recent part may take.
        tokens: Cost of one item, in tokens.
        pinned: Keys of messages that must stay; a pinned call or result keeps the whole pair.
    """
    boundary = choose_boundary(items, budget, tokens)
    latest = next((i.key for i in reversed(items) if is_prompt(i.message)), None)
    old_items = items[:boundary]
    stays = pinned | ({latest} if latest is not None else frozenset())
    keys: set[int] = set()
    for unit in units(old_items):
        whole = [old_items[index] for index in unit]
        if any(item.key in stays for item in whole):
            keys.update(item.key for item in whole if not is_summary(item.message))
    keys.update(item.key for item in old_items if is_system(item.message))
    return Split(
        head=tuple(item for item in old_items if item.key in keys),
        old=tuple(item for item in old_items if item.key not in keys),
        recent=tuple(items[boundary:]),
    )
