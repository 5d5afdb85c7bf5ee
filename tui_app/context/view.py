"""The unit the governor works on: one message of the agent view with its handle."""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby, takewhile
from typing import Literal, TypeVar

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.context.counting.prices import Spent
from tui_app.context.message_marks import (
    is_digest,
    is_digest_part,
    is_given_part,
    is_inbox_part,
    is_shell_part,
    note_kind,
)
from tui_app.context.policy import Recent
from tui_app.context.user_text import only_reminds
from tui_app.events import Stage
from tui_app.records import frozen

_M = TypeVar("_M", ModelRequest, ModelResponse)


@frozen
class Item:
    """One message of the agent view.

    ``key`` is its log number: ``#key`` is the handle by which model and user get it back. A message of
    another program's agent may hold many parts; one of ours holds one prompt, one answer or one result.
    """

    key: int
    message: ModelMessage
    reported: int = 0
    """Input plus output tokens the provider reported for this response; 0 when it reported nothing."""
    model: str = ""
    """Name of the model that wrote this response."""
    whole: ModelMessage | None = None
    """The message of an agent's own list of which this is a section; None when it is that message."""


def answer_id(part: ModelRequestPart | ModelResponsePart) -> str | None:
    """Id of the call a request part answers, or None when it answers none."""
    if isinstance(part, ToolReturnPart):
        return part.tool_call_id
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return part.tool_call_id
    return None


def calls_of(message: ModelMessage) -> tuple[str, ...]:
    """Ids of the tool calls a message makes, in order."""
    if not isinstance(message, ModelResponse):
        return ()
    return tuple(part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart))


def answers_of(message: ModelMessage) -> tuple[str, ...]:
    """Ids of the tool calls a message answers, in order."""
    if not isinstance(message, ModelRequest):
        return ()
    return tuple(call_id for part in message.parts if (call_id := answer_id(part)) is not None)


def is_prompt(message: ModelMessage) -> bool:
    """Whether the message is a prompt of the user, or of a program in their place."""
    return isinstance(message, ModelRequest) and any(map(_is_said, message.parts))


def _is_said(part: object) -> bool:
    return isinstance(part, UserPromptPart) and not is_given_part(part)


def is_request(message: ModelMessage) -> bool:
    """Whether a prompt is more than a reminder or a note that a program put among the user's messages."""
    return is_prompt(message) and not is_digest(message) and not all(map(_reminds, message.parts))


def _reminds(part: object) -> bool:
    if not isinstance(part, UserPromptPart) or not _is_said(part):
        return True
    pieces = [part.content] if isinstance(part.content, str) else part.content
    return all(isinstance(piece, str) and only_reminds(piece) for piece in pieces)


def is_summary(message: ModelMessage) -> bool:
    """Whether the message is a summary standing for compacted history."""
    return any(isinstance(part, CompactionPart) for part in message.parts)


def is_sealed(message: ModelMessage) -> bool:
    """Whether the message is a provider's summary that only the provider can read."""
    return isinstance(message, ModelResponse) and any(
        isinstance(part, CompactionPart) and part.content is None for part in message.parts
    )


def is_system(message: ModelMessage) -> bool:
    """Whether the message holds nothing but system prompts, or the context board, which stays like one."""
    return (
        isinstance(message, ModelRequest)
        and bool(message.parts)
        and all(isinstance(part, SystemPromptPart) or is_inbox_part(part) for part in message.parts)
    )


def latest_prompt_index(items: Sequence[Item]) -> int | None:
    """Index of the newest user prompt, or None when nobody has said anything.

    A reminder counts only where there is nothing else.
    """
    for asks in (is_request, is_prompt):
        for index in range(len(items) - 1, -1, -1):
            if asks(items[index].message):
                return index
    return None


def to_messages(items: Sequence[Item]) -> list[ModelMessage]:
    """Build the request history.

    Sections of one message become that message again, results of one answer become one request. The messages
    themselves are never changed; a merged request is a new object.
    """
    messages: list[ModelMessage] = []
    answers: list[ModelRequest] = []
    for message, _ in rejoined(items):
        if isinstance(message, ModelRequest) and answers_of(message) and not is_prompt(message):
            answers.append(message)
            continue
        messages.extend(as_one(answers))
        answers = []
        messages.append(message)
    messages.extend(as_one(answers))
    return messages


def as_one(row: Sequence[_M]) -> Sequence[_M]:
    """Messages of a kind in a row as one that holds the parts of all; none stays none."""
    if len(row) < 2:
        return row
    return [replace(row[0], parts=[part for message in row for part in message.parts])]


def rejoined(items: Sequence[Item]) -> Iterator[tuple[ModelMessage, tuple[Item, ...]]]:
    """Put sections back together where all of a message are still neighbours.

    Yields:
        Each message to send with the items it consists of.
    """
    start = 0
    while start < len(items):
        end = start + 1
        whole = items[start].whole
        if whole is not None:
            while end < len(items) and items[end].whole is whole:
                end += 1
            group = tuple(items[start:end])
            if sum(len(item.message.parts) for item in group) == len(whole.parts):
                yield whole, group
                start = end
                continue
        for item in items[start:end]:
            yield item.message, (item,)
        start = end


# Which tool result answers which call, also in histories where ids repeat and results come late.


@frozen
class Pair:
    """A tool call and its result."""

    call: int
    """Index of the message that calls."""
    answer: int
    """Index of the message that answers."""
    call_id: str
    part: ModelRequestPart


def pairs(messages: Sequence[ModelMessage]) -> Iterator[Pair]:
    """Pair calls with results, in the order of the results.

    A result belongs to the nearest response in front of it, if that made a call of this id; a second one for
    it is a duplicate and belongs to nothing. Any other result belongs to the oldest call of its id that is
    still open: ids may be used again later.
    """
    newest, called = -1, frozenset[str]()
    # The calls without a result so far; those of the newest response are the last of their id.
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            newest, called = index, frozenset(calls_of(message))
            for id in called:
                waiting[id].append(index)
            continue
        for part in message.parts:
            if (call_id := answer_id(part)) is None or not (calls := waiting[call_id]):
                continue
            if call_id not in called:
                yield Pair(calls.popleft(), index, call_id, part)
            elif calls[-1] == newest:
                yield Pair(calls.pop(), index, call_id, part)


def last_messages(items: Sequence[Item], count: int) -> int:
    """Index of the first item of the last ``count`` messages as they are sent.

    Results of one answer are sent as one message, and so are the sections of one.
    """
    start = len(items)
    for _ in range(count):
        if not start:
            break
        start -= 1
        while start and _sent_together(items[start - 1], items[start]):
            start -= 1
    return start


def _sent_together(first: Item, second: Item) -> bool:
    if first.whole is not None and first.whole is second.whole:
        return True
    return all(bool(answers_of(item.message)) and not is_prompt(item.message) for item in (first, second))


# Where a view may be cut, never inside a tool call and its result, and where a summary then stands.


@frozen(kw_only=True)
class Split:
    """A view cut in three. ``old`` leaves; ``head`` and ``recent`` stay untouched, in this order."""

    head: tuple[Item, ...]
    """System prompts and pinned messages, and the latest prompt when its turn is cut in the middle."""
    old: tuple[Item, ...]
    recent: tuple[Item, ...]
    behind: int = 0
    """Key of the last message that stays in front: the summary stands behind it; 0 where none stays."""


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
        if is_request(items[index].message):
            turn, turn_spent = index, spent
    return turn if turn_spent * 2 >= within_spent else within


def boundary_of(items: Sequence[Item], recent: Recent, tokens: Callable[[Item], int]) -> int:
    """Index of the first item that stays, from 0 to ``len(items)``.

    Args:
        items: The agent view, oldest first.
        recent: How much of the newest stays.
        tokens: Cost of one item, in tokens.
    """
    if recent.tokens:
        return choose_boundary(items, recent.tokens, tokens)
    wanted = last_messages(items, recent.messages) if recent.messages else _unanswered(items)
    safe = safe_cuts(items)
    return next(place for place in range(wanted, -1, -1) if safe[place])


def _unanswered(items: Sequence[Item]) -> int:
    """Index behind the newest answer: what the model has not answered yet, and calls still open, stay."""
    for index in range(len(items) - 1, -1, -1):
        message = items[index].message
        if isinstance(message, ModelResponse):
            answered = {call for item in items[index + 1 :] for call in answers_of(item.message)}
            return index + 1 if answered.issuperset(calls_of(message)) else index
    return 0


def first_run(items: Sequence[Item]) -> int:
    """Index behind the first answer with text and all that belongs to its calls; 0 without such an answer.

    A run that holds a summary is none: summaries are updated, never kept.
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
    """Cut a view into head, old and recent.

    The latest prompt always stays word for word as long as anything behind it does: when the boundary falls
    behind it (a long turn of tool calls), it moves to the head.

    Args:
        items: The agent view, oldest first.
        boundary: Index of the first item of the recent part; a safe cut.
        pinned: Keys of messages that must stay; a pinned call or result keeps the whole pair.
        first: Index behind what stays in front, a first run for example; a safe cut.
    """
    place = latest_prompt_index(items)
    latest = None if place is None else items[place].key
    old_items = items[:boundary]
    lead = min(first, boundary)
    leading = {item.key for item in items[:lead]}
    stays = pinned | leading
    if latest is not None and boundary < len(items):
        stays |= {latest}
    keys: set[int] = set()
    for unit in units(old_items):
        whole = [old_items[index] for index in unit]
        if any(item.key in stays for item in whole):
            keys.update(i.key for i in whole if i.key in leading or not is_summary(i.message))
    keys.update(item.key for item in old_items if is_system(item.message))
    return Split(
        head=tuple(item for item in old_items if item.key in keys),
        old=tuple(item for item in old_items if item.key not in keys),
        recent=tuple(items[boundary:]),
        behind=items[lead - 1].key if lead else 0,
    )


def place_summary(stays: Sequence[Item], new: Sequence[Item], behind: int = 0) -> list[Item]:
    """Insert a summary, with what belongs to it, behind the message of a key.

    Without that message it stands behind the system prompts that lead the view.
    """
    found = next((at for at, item in enumerate(stays, 1) if behind and item.key == behind), 0)
    place = found or len(list(takewhile(lambda item: is_system(item.message), stays)))
    return [*stays[:place], *new, *stays[place:]]


# Pinned messages: word for word in every request, as far as a budget allows.


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
    """Count the messages that a pinned one keeps beside itself; see :func:`with_room`."""
    return next((len(unit) - 1 for unit in units(items) if any(items[index].key == key for index in unit)), 0)


def with_partners(items: Sequence[Item], keys: Collection[int]) -> frozenset[int]:
    """Messages with all that must leave along with them: an answer's calls and their results go together.

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
    """Keys of the turn of a message: a prompt and all that was said until the next one."""
    begins = [place for place, item in enumerate(items) if is_request(item.message)]
    place = next((place for place, item in enumerate(items) if item.key == key), len(items))
    start = max((begin for begin in begins if begin <= place), default=0)
    end = min((begin for begin in begins if begin > place), default=len(items))
    return frozenset(item.key for item in items[start:end])


# Finding the items of messages that an agent hands over again.


class ItemIndex:
    """Finds the items of messages that were in the list before."""

    def __init__(self, items: Sequence[Item], lengths: Mapping[int, int]) -> None:
        self._found = {id(message): group for message, group in rejoined(items)}
        self._lengths = lengths
        self._keys = {
            tuple(map(id, item.message.parts)): item.key
            for item in items
            if item.message.parts and self._is_as_before(item.whole or item.message)
        }

    def key(self, section: ModelMessage) -> int | None:
        """The key of an item with just these parts, whatever message they were in."""
        return self._keys.get(tuple(map(id, section.parts)))

    def find(self, message: ModelMessage) -> Sequence[Item]:
        """The items of a message, none if it is new or has been given other parts since."""
        return self._found.get(id(message), ()) if self._is_as_before(message) else ()

    def _is_as_before(self, message: ModelMessage) -> bool:
        parts = len(message.parts)
        return self._lengths.get(id(message), parts) == parts


# Taking a request apart: an agent's own list may keep system prompt, summary, results and prompt in one.
#
# They do not share a fate: a system prompt stays when the prompt beside it is summarised, an old summary is
# updated when the prompt behind it stays.


def sections(message: ModelMessage) -> Sequence[ModelMessage]:
    """Split a request between parts of different kinds; everything else comes back as it is.

    Returns:
        Requests that together hold the same parts in the same order, or just ``message`` itself.
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


# The decision of a reversible stage: other forms of messages, and the files to write first.


@frozen(kw_only=True)
class Change:
    """The new form of one message. Role, tool names and call ids are those of the old one."""

    key: int
    """Key of the item; its handle stays the same."""
    message: ModelMessage
    note: str = ""
    """What was done, for the user: a path, a length."""


@frozen(kw_only=True)
class SpillFile:
    """A file that must be on disk before the view refers to it."""

    name: str
    """Path relative to the session's folder, such as ``tool_outputs/grep_20260101_120000_ab12cd34.txt``."""
    text: str


@frozen(kw_only=True)
class Digest:
    """The digest of archived results, and what writing it cost."""

    text: str = ""
    """Empty where none was written."""
    performed_by: Literal["model", "heuristic"] = "model"
    model: str = ""
    """Name of the model that was asked, also where it failed; empty when none was."""
    spent: Spent = field(default_factory=Spent)


@frozen(kw_only=True)
class Rewrite:
    """One stage's decision for one pass over the view."""

    stage: Stage
    changes: tuple[Change, ...]
    files: tuple[SpillFile, ...] = ()
    digest: ModelMessage | None = None
    """A message for the model alone that stands for what was archived, behind the last changed one."""
    written: Digest | None = None
    """By whom that message was written; None without one."""
    policy: str = ""
    """Name of the policy that wanted it."""


# A view after a stage's decision has been applied to it.


def rewritten_items(items: Sequence[Item], rewrite: Rewrite, digest_key: int) -> list[Item]:
    """The view with new forms in it; a digest stands at the first place where a cut is safe.

    What answers reported is forgotten: they read another view.
    """
    new = {change.key: change.message for change in rewrite.changes}
    wholes = {id(item.whole) for item in items if item.key in new and item.whole is not None}
    done = [
        # Sections of a message that is no longer whole go their own ways.
        replace(item, message=new.get(item.key, item.message), whole=None, reported=0)
        if item.key in new or id(item.whole) in wholes
        else replace(item, reported=0)
        for item in items
    ]
    if rewrite.digest is None:
        return done
    last = max(place for place, item in enumerate(done) if item.key in new)
    safe = safe_cuts(done)
    place = next(place for place in range(last + 1, len(safe)) if safe[place])
    return [*done[:place], Item(digest_key, rewrite.digest), *done[place:]]
