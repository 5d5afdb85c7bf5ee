"""Building one request from the view: repaired, cut if it must be, and with what the run itself has added."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import is_

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, ModelResponse, ToolReturnPart

from tui_app.context.history import History
from tui_app.context.message_sizes import RunningMessages, Sizes, same_objects, sizes_of
from tui_app.context.overflow.truncator import Truncated, truncate
from tui_app.context.policy import Policy
from tui_app.context.requests.repair import repair, sendable
from tui_app.context.view import Item, answer_id, is_prompt, is_summary, is_system, sections, to_messages
from tui_app.context.window_limits import ContextTooLarge, most
from tui_app.events import Truncation
from tui_app.usage import ContextUsage

# From the items of a view to the messages of a request, again and again, at the price of what is new.
#
# Repair looks at a whole history, but what stands in front of an answer and has no call left open comes out
# the same whatever follows. That part is kept from request to request.

_STEP = 16
"""Items that are taken in together at most, or a little more: that much is built again after a rewrite."""


@dataclass(slots=True)
class Assembly:
    """Builds the requests of one conversation, one after the other."""

    _items: list[Item] = field(default_factory=list)
    """The part of the view that is settled."""
    _messages: list[ModelMessage] = field(default_factory=list)
    """The messages it becomes; the last one is a request."""
    _added: list[ModelRequestPart] = field(default_factory=list)
    """What repair has put into them."""
    _places: list[tuple[int, int, int]] = field(default_factory=list)
    """Lengths of the three after each step: a rewrite goes back to the last one in front of it."""

    def request(
        self, items: Sequence[Item], sent: Sequence[ModelMessage]
    ) -> tuple[list[ModelMessage], list[ModelRequestPart]]:
        """The whole view as a request that every provider accepts.

        Args:
            items: The view.
            sent: What a run would send without us; its last request may hold parts that no history knows.

        Returns:
            The messages, and the parts in them that stand nowhere in the view.
        """
        self._settle(items)
        rest = items[len(self._items) :]
        messages = sendable(_with_extras(to_messages(rest), sent), begins=not self._messages)
        return [*self._messages, *messages], [*self._added, *_new_parts(rest, messages)]

    def _settle(self, items: Sequence[Item]) -> None:
        """Take in what can change no more, behind what a rewrite of the view has left alone."""
        self._go_back(same_objects(self._items, items))
        places = _answers(items, len(self._items))
        step, tried = _STEP, len(self._items)
        for answer in places:
            if answer >= tried + step or answer == places[-1]:
                tried = answer
                # A call that stays open must not have every piece behind it looked at again and again.
                step = _STEP if self._step(items[len(self._items) : answer]) else 2 * step

    def _step(self, chunk: Sequence[Item]) -> bool:
        """Take in a piece that ends in front of an answer, if nothing that follows could change it."""
        messages = repair(to_messages(chunk), begins=not self._messages)
        added = list(_new_parts(chunk, messages))
        closed = not any(isinstance(part, ToolReturnPart) for part in added)
        # Behind an answer another one would be joined to it, and a call left open may be answered yet.
        settled = closed and bool(messages) and isinstance(messages[-1], ModelRequest)
        if settled:
            self._items.extend(chunk)
            self._messages.extend(messages)
            self._added.extend(added)
            self._places.append((len(self._items), len(self._messages), len(self._added)))
        return settled

    def _go_back(self, same: int) -> None:
        """Forget what was built of all but the first items."""
        while self._places and self._places[-1][0] > same:
            self._places.pop()
        items, messages, added = self._places[-1] if self._places else (0, 0, 0)
        del self._items[items:], self._messages[messages:], self._added[added:]


def _answers(items: Sequence[Item], start: int) -> list[int]:
    """Indices of the answers that stand behind a request, and not at the very start."""
    return [
        index
        for index in range(start + 1, len(items))
        if isinstance(items[index].message, ModelResponse)
        and isinstance(items[index - 1].message, ModelRequest)
    ]


def _new_parts(items: Sequence[Item], messages: Sequence[ModelMessage]) -> Iterator[ModelRequestPart]:
    """Parts of requests that stand in none of the items."""
    view = {id(part) for item in items for part in item.message.parts}
    for message in messages:
        if isinstance(message, ModelRequest):
            yield from (part for part in message.parts if id(part) not in view)


def _with_extras(messages: list[ModelMessage], sent: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Keep what a run put into its last request and no history knows: feedback, deltas, reminders."""
    last, own = (sent[-1] if sent else None), (messages[-1] if messages else None)
    if not isinstance(last, ModelRequest):
        return messages
    extras = [part for part in last.parts if _is_extra(part)]
    if not isinstance(own, ModelRequest):
        return [*messages, replace(last, parts=extras)] if extras or not messages else messages
    missing = [part for part in extras if not any(part is known for known in own.parts)]
    return [*messages[:-1], replace(own, parts=[*own.parts, *missing])] if missing else messages


def _is_extra(part: ModelRequestPart) -> bool:
    alone = ModelRequest(parts=[part])
    known = is_prompt(alone) or is_system(alone) or is_summary(alone)
    return not known and answer_id(part) is None


_REPAIR_ROOM = 16
"""Tokens kept free for what repair may have to put in front of a history that was cut."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it is sent."""

    messages: list[ModelMessage]
    truncation: Truncation | None = None
    """What was left out of this request, if anything."""


def build(
    history: History,
    sent: Sequence[ModelMessage],
    policy: Policy,
    assembly: Assembly | None = None,
) -> Outgoing:
    """Build the request for the view as it is now; the view is not changed. What is pinned is left out last.

    Args:
        history: Owner of the view.
        sent: What the run would send without us; its last request may hold parts that no history knows.
        policy: Says how far below the limit a cut request must be.
        assembly: Keeps what it has built for the next request; None begins anew.

    Raises:
        ContextTooLarge: if the request does not fit whatever is left out.
    """
    items = history.items()
    messages, added = (assembly or Assembly()).request(items, sent)
    usage = history.usage()
    before = usage.total + sum(history.weigh(Item(0, ModelRequest(parts=[part]))).total for part in added)
    if before <= usage.window.effective:
        return Outgoing(messages)
    sizes = sizes_of(items, usage, lambda item: history.weigh(item).total)
    view = _sections(messages)
    cut = _cut(view, history, sizes, policy, _pinned(view, items, history.pinned()))
    left = to_messages(_rejoined(cut.items))
    tokens, known = sizes.carried + cut.tokens, most(usage.window)
    smallest = tokens + (_REPAIR_ROOM if isinstance(left[0], ModelResponse) else 0)
    # Above a size that is only believed a request is sent as small as it can be: the provider decides.
    if smallest > known:
        raise ContextTooLarge(usage.window.stated, smallest + usage.window.stated - known)
    if all(map(is_, left, messages)) and len(left) == len(messages):
        return Outgoing(messages)
    return Outgoing(sendable(left), _truncation(before, tokens, len(messages), len(left)))


def usage_as_sent(history: History, messages: RunningMessages | None = None) -> ContextUsage:
    """The estimate of the next request, messages counted as they are sent: results of one answer are one.

    Args:
        history: Owner of the view.
        messages: Keeps its count for the next request; None begins anew.
    """
    return replace(history.usage(), messages=(messages or RunningMessages()).of(history.items()))


def _truncation(tokens_before: int, tokens_after: int, before: int, after: int) -> Truncation:
    return Truncation(
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        messages_before=before,
        messages_after=after,
        tokens_removed=tokens_before - tokens_after,
        messages_removed=before - after,
    )


def _rejoined(items: Sequence[Item]) -> list[Item]:
    """What is left of each message as one message again; one that has lost nothing is the message itself."""
    joined: list[Item] = []
    for _, group in groupby(items, lambda item: id(item.whole or item)):
        first, *others = group
        if not isinstance(first.whole, ModelRequest):
            joined.extend((first, *others))
            continue
        messages = [item.message for item in (first, *others) if isinstance(item.message, ModelRequest)]
        parts = [part for message in messages for part in message.parts]
        same = len(parts) == len(first.whole.parts) and all(map(is_, parts, first.whole.parts))
        message = first.whole if same else replace(first.whole, parts=parts)
        joined.append(Item(first.key, message))
    return joined


def _sections(messages: Sequence[ModelMessage]) -> list[Item]:
    """The messages as the truncator takes them: a system prompt stays when the prompt beside it goes."""
    items: list[Item] = []
    for message in messages:
        parts = sections(message)
        whole = message if len(parts) > 1 else None
        items.extend(Item(len(items) + place, part, whole=whole) for place, part in enumerate(parts))
    return items


def _cut(
    view: Sequence[Item], history: History, sizes: Sizes, policy: Policy, pinned: frozenset[int]
) -> Truncated:
    effective = history.usage().window.effective
    room = sizes.carried + _REPAIR_ROOM
    safe = int(effective * (1 - policy.safety_margin))

    def weigh(message: ModelMessage) -> int:
        return sizes.of(history.weigh(Item(0, message)).total)

    return truncate(view, safe - room, weigh, pinned, limit=effective - room)


def _pinned(view: Sequence[Item], items: Sequence[Item], pinned: frozenset[int]) -> frozenset[int]:
    """Keys, in the repaired view, of what is pinned in the history."""
    if not pinned:
        return frozenset()
    parts = {id(part) for item in items if item.key in pinned for part in item.message.parts}
    return frozenset(item.key for item in view if any(id(part) in parts for part in item.message.parts))
