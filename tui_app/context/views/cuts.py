"""Safe places to cut a view, never between a tool call and its result."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, takewhile

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)

from tui_app.context.message_marks import is_digest_part, is_inbox_part, is_shell_part, note_kind
from tui_app.context.policy import Recent
from tui_app.context.views.tool_pairs import last_messages, pairs
from tui_app.context.views.view import (
    Item,
    answer_id,
    answers_of,
    calls_of,
    is_request,
    is_summary,
    is_system,
    latest_prompt_index,
    rejoined,
)
from tui_app.records import frozen


@frozen(kw_only=True)
class Split:
    """A view divided in three: ``old`` is removed; ``head`` and ``recent`` stay unchanged, in this order."""

    head: tuple[Item, ...]
    """System prompts and pinned messages, and the latest prompt when its turn is cut in the middle."""
    old: tuple[Item, ...]
    recent: tuple[Item, ...]
    behind: int = 0
    """Key of the last kept message before the summary; 0 if none is kept there."""


def safe_cuts(items: Sequence[Item]) -> list[bool]:
    """Return, for each index 0..n, whether the view may be cut before that item.

    A cut is safe when no call before it has its result after it. Calls without a result do not block a cut; a
    result always stays with its call, even if other messages are between them.
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
    """Return the smallest groups of neighbouring indices that keep every call with its results."""
    safe = safe_cuts(items)
    groups: list[list[int]] = []
    for index in range(len(items)):
        if safe[index]:
            groups.append([])
        groups[-1].append(index)
    return groups


def choose_boundary(items: Sequence[Item], budget: int, tokens: Callable[[Item], int]) -> int:
    """Return the index of the first item to keep, so that the newest items cost at most ``budget`` tokens.

    A cut before a prompt (a whole turn is kept) is preferred if it keeps at least half of what the budget
    allows; otherwise the cut falls inside the turn, between complete pairs. At least one safe unit is kept
    even if it alone exceeds the budget.

    Args:
        items: The agent view, oldest first.
        budget: Tokens the recent part may take.
        tokens: Cost of one item, in tokens.

    Returns:
        An index from 0 to ``len(items) - 1``; 0 means nothing can be removed.
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
        if is_request(items[index].message):
            turn, turn_spent = index, spent
    return turn if turn_spent * 2 >= within_spent else within


def boundary_of(items: Sequence[Item], recent: Recent, tokens: Callable[[Item], int]) -> int:
    """Return the index of the first item to keep, from 0 to ``len(items)``.

    Args:
        items: The agent view, oldest first.
        recent: How much of the newest to keep.
        tokens: Cost of one item, in tokens.
    """
    if recent.tokens:
        return choose_boundary(items, recent.tokens, tokens)
    target = last_messages(items, recent.messages) if recent.messages else _unanswered(items)
    safe = safe_cuts(items)
    return next(place for place in range(target, -1, -1) if safe[place])


def _unanswered(items: Sequence[Item]) -> int:
    """Return the index after the newest response, or of that response while it has open calls.

    What the model has not responded to yet is kept.
    """
    for index in range(len(items) - 1, -1, -1):
        message = items[index].message
        if isinstance(message, ModelResponse):
            answered = {call for item in items[index + 1 :] for call in answers_of(item.message)}
            return index + 1 if answered.issuperset(calls_of(message)) else index
    return 0


def first_run(items: Sequence[Item]) -> int:
    """Return the index after the first response with text and the results of its calls; 0 without one.

    A run that contains a summary does not count: summaries are updated, never kept.
    """
    safe = safe_cuts(items)
    for index, item in enumerate(items):
        if is_summary(item.message):
            return 0
        texts = (part for part in item.message.parts if isinstance(part, TextPart))
        if any(text.content.strip() for text in texts):
            end = next(place for place in range(index + 1, len(safe)) if safe[place])
            return 0 if any(is_summary(each.message) for each in items[:end]) else end
    return 0


def split_at(
    items: Sequence[Item], boundary: int, pinned: frozenset[int] = frozenset(), *, first: int = 0
) -> Split:
    """Divide a view into head, old and recent.

    The latest prompt is kept word for word as long as anything after it is: when the boundary falls after it
    (a long turn of tool calls), it moves to the head.

    Args:
        items: The agent view, oldest first.
        boundary: Index of the first item of the recent part; a safe cut.
        pinned: Keys of messages to keep; a pinned call or result keeps the whole pair.
        first: Index after the messages kept before the summary, for example a first run; a safe cut.
    """
    place = latest_prompt_index(items)
    latest = None if place is None else items[place].key
    old_items = items[:boundary]
    lead = min(first, boundary)
    leading = {item.key for item in items[:lead]}
    kept = pinned | leading
    if latest is not None and boundary < len(items):
        kept |= {latest}
    keys: set[int] = set()
    for unit in units(old_items):
        whole = [old_items[index] for index in unit]
        if any(item.key in kept for item in whole):
            keys.update(i.key for i in whole if i.key in leading or not is_summary(i.message))
    keys.update(item.key for item in old_items if is_system(item.message))
    return Split(
        head=tuple(item for item in old_items if item.key in keys),
        old=tuple(item for item in old_items if item.key not in keys),
        recent=tuple(items[boundary:]),
        behind=items[lead - 1].key if lead else 0,
    )


def place_summary(kept: Sequence[Item], new: Sequence[Item], after: int = 0) -> list[Item]:
    """Insert a summary and its acknowledgement after the message with a key.

    Without that message they are inserted after the leading system prompts.
    """
    found = next((at for at, item in enumerate(kept, 1) if after and item.key == after), 0)
    place = found or len(list(takewhile(lambda item: is_system(item.message), kept)))
    return [*kept[:place], *new, *kept[place:]]


def with_room(
    items: Sequence[Item], pinned: frozenset[int], tokens: Callable[[Item], int], budget: int
) -> frozenset[int]:
    """Return the pinned messages that fit into a budget, preferring the newest.

    Args:
        items: The agent view, oldest first.
        pinned: Keys of pinned messages; those that are not in the view are ignored.
        tokens: Cost of one item, in tokens.
        budget: Tokens they may take together. A pinned call or result costs all that is kept with it: a
            response with all its calls and their results.
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
    """Return the tokens kept because of pins; see :func:`with_room`."""
    kept = (
        [unit for unit in units(items) if any(items[index].key in pinned for index in unit)] if pinned else []
    )
    return sum(tokens(items[index]) for unit in kept for index in unit)


def company_of(items: Sequence[Item], key: int) -> int:
    """Return the number of messages that a pinned one keeps with it; see :func:`with_room`."""
    return next((len(unit) - 1 for unit in units(items) if any(items[index].key == key for index in unit)), 0)


def with_partners(items: Sequence[Item], keys: Collection[int]) -> frozenset[int]:
    """Add the messages that have to be removed together: the calls of a response and their results.

    Args:
        items: The agent view, oldest first.
        keys: Keys of messages.
    """
    linked: defaultdict[int, set[int]] = defaultdict(set)
    for pair in pairs([item.message for item in items]):
        call, answer = items[pair.call].key, items[pair.answer].key
        linked[call].add(answer)
        linked[answer].add(call)
    reached, new = set(keys), list(keys)
    while new:
        fresh = linked[new.pop()] - reached
        reached |= fresh
        new += fresh
    return frozenset(reached)


def turn_of(items: Sequence[Item], key: int) -> frozenset[int]:
    """Return the keys of a message's turn: a prompt and everything until the next one."""
    begins = [place for place, item in enumerate(items) if is_request(item.message)]
    place = next((place for place, item in enumerate(items) if item.key == key), len(items))
    start = max((begin for begin in begins if begin <= place), default=0)
    end = min((begin for begin in begins if begin > place), default=len(items))
    return frozenset(item.key for item in items[start:end])


class ItemIndex:
    """Index of known messages to find their items again."""

    def __init__(self, items: Sequence[Item], lengths: Mapping[int, int]) -> None:
        self._found = {id(message): group for message, group in rejoined(items)}
        self._lengths = lengths
        self._keys = {
            tuple(map(id, item.message.parts)): item.key
            for item in items
            if item.message.parts and self._is_as_before(item.whole or item.message)
        }

    def key(self, section: ModelMessage) -> int | None:
        """Return the key of the item with exactly these parts, in whichever message they were."""
        return self._keys.get(tuple(map(id, section.parts)))

    def find(self, message: ModelMessage) -> Sequence[Item]:
        """Return the items of a message; none if it is new or its parts have changed."""
        return self._found.get(id(message), ()) if self._is_as_before(message) else ()

    def _is_as_before(self, message: ModelMessage) -> bool:
        parts = len(message.parts)
        return self._lengths.get(id(message), parts) == parts


def sections(message: ModelMessage) -> Sequence[ModelMessage]:
    """Split a request between parts of different kinds; everything else is returned unchanged.

    Returns:
        Requests that together have the same parts in the same order, or just ``message`` itself.
    """
    if not isinstance(message, ModelRequest) or len(message.parts) < 2:
        return (message,)
    groups = [list(parts) for _, parts in groupby(message.parts, _kind)]
    if len(groups) == 1:
        return (message,)
    return [replace(message, parts=parts) for parts in groups]


def _kind(part: ModelRequestPart) -> str:
    if isinstance(part, SystemPromptPart):
        return "system"
    if isinstance(part, CompactionPart):
        return "summary"
    if isinstance(part, UserPromptPart):
        if kind := note_kind(part):
            return kind
        if is_shell_part(part):
            return "shell"
        return "digest" if is_digest_part(part) else "inbox" if is_inbox_part(part) else "prompt"
    return "other" if answer_id(part) is None else "answer"
