"""Building one request from the view: repaired, cut if it must be, and with what the run itself has added."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import is_

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from tui_app.context.counting.running import RunningMessages
from tui_app.context.counting.sizes import Sizes, sizes_of
from tui_app.context.counting.usage import ContextUsage
from tui_app.context.fitting.truncator import Truncated, truncate
from tui_app.context.history import History
from tui_app.context.items import Item, to_messages
from tui_app.context.policy import Policy
from tui_app.context.requests.assembling import Assembly
from tui_app.context.requests.repair import sendable
from tui_app.context.requests.sections import sections
from tui_app.context.windows.limits import ContextTooLarge, most
from tui_app.events import Truncation

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
