"""Where a view is cut when a person has named the part that a summary is to replace."""

from collections.abc import Callable, Sequence

from tui_app.context.compaction.segments import Split, safe_cuts, split_at
from tui_app.context.compaction.span import Span
from tui_app.context.items import Item, is_summary, latest_prompt_index
from tui_app.context.stages.marks import is_acknowledgement, is_digest

_LEAST = 2
"""Messages below which a summary of them is no gain to anybody."""


def split_span(items: Sequence[Item], span: Span, recent: int, pinned: frozenset[int]) -> Split | str:
    """Cut a view so that only the messages of a span leave, or say why that is not possible.

    An end that falls between a call and its results moves outwards: what a person points at is included.
    Pins, system prompts and the latest prompt stay, also where the last message of all is named: a person
    would not find it again. What stands in front of the span stays where it is, an earlier summary too.

    Args:
        items: The agent view, oldest first.
        span: What a person has named.
        recent: Index of the first message that stays where no last one is named; a safe cut.
        pinned: Keys of messages that must stay.
    """
    if beyond := next((each for each in (span.first, span.last) if each > _newest(items)), 0):
        return f"There is no message #{beyond} in the model's view."
    safe = safe_cuts(items)
    start, end = 0, recent
    if span.first:
        wanted = _place(items, span.first, _first_from)
        start = next(place for place in range(wanted, -1, -1) if safe[place])
    if span.last:
        wanted = _place(items, span.last, _behind_last)
        end = next(place for place in range(wanted, len(safe)) if safe[place])
    elif start >= recent:
        return f"Nothing to compact {span.words}: these are the newest messages, which stay as they are."
    split = split_at(items, max(start, end), pinned | _latest_prompt(items), first=start)
    if sum(map(_is_said, split.old)) < _LEAST:
        return f"Nothing to compact {span.words}: fewer than two messages there may leave."
    return split


def _latest_prompt(items: Sequence[Item]) -> frozenset[int]:
    place = latest_prompt_index(items)
    return frozenset() if place is None else frozenset({items[place].key})


def _place(items: Sequence[Item], key: int, near: Callable[[Sequence[Item], int], int]) -> int:
    """An index beside the message of a key, or where it would be; summaries have late numbers."""
    found = next((at for at, item in enumerate(items) if item.key == key), None)
    if found is None:
        return near(items, key)
    return found + 1 if near is _behind_last else found


def _first_from(items: Sequence[Item], key: int) -> int:
    return next((at for at, item in enumerate(items) if _is_said(item) and item.key >= key), len(items))


def _behind_last(items: Sequence[Item], key: int) -> int:
    return next((at for at in range(len(items), 0, -1) if _is_before(items[at - 1], key)), 0)


def _is_before(item: Item, key: int) -> bool:
    return _is_said(item) and item.key <= key


def _newest(items: Sequence[Item]) -> int:
    return max((item.key for item in items), default=0)


def _is_said(item: Item) -> bool:
    """Whether somebody said or returned it, and it does not stand for something else."""
    message = item.message
    return not (is_summary(message) or is_digest(message) or is_acknowledgement(message))
