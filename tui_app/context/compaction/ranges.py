"""Which messages leave, as ranges of their log numbers."""

from collections.abc import Sequence

from tui_app.context.items import Item


def key_ranges(items: Sequence[Item], left: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Describe which visible messages leave, as inclusive ranges of their numbers.

    A range never covers the number of a message that stays, wherever in the view that stands.
    """
    ranges: list[tuple[int, int]] = []
    open_range = False
    for item in sorted(items, key=_key):
        if item.key not in left:
            open_range = False
        elif open_range:
            ranges[-1] = (ranges[-1][0], item.key)
        else:
            ranges.append((item.key, item.key))
            open_range = True
    return tuple(ranges)


def _key(item: Item) -> int:
    return item.key
