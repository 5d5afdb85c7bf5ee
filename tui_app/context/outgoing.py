"""Building one request from the view: repaired, cut if it must be, and with what the run itself has added."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import is_

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart

from tui_app.context.events import Truncation
from tui_app.context.history import History
from tui_app.context.items import Item, answer_id, is_prompt, is_summary, is_system, to_messages
from tui_app.context.limits import ContextTooLarge
from tui_app.context.policy import Policy
from tui_app.context.repair import sendable
from tui_app.context.sections import sections
from tui_app.context.sizes import Sizes, sizes_of
from tui_app.context.truncator import Truncated, truncate

_REPAIR_ROOM = 16
"""Tokens kept free for what repair may have to put in front of a history that was cut."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as it is sent."""

    messages: list[ModelMessage]
    truncation: Truncation | None = None
    """What was left out of this request, if anything."""


def build(
    history: History, sent: Sequence[ModelMessage], policy: Policy, pinned: frozenset[int] = frozenset()
) -> Outgoing:
    """Build the request for the view as it is now; the view is not changed.

    Args:
        history: Owner of the view.
        sent: What the run would send without us; its last request may hold parts that no history knows.
        policy: Says how far below the limit a cut request must be.
        pinned: Keys of messages that are left out last.

    Raises:
        ContextTooLarge: if the request does not fit whatever is left out.
    """
    items = history.items()
    messages = sendable(_with_extras(to_messages(items), sent))
    usage = history.usage()
    if usage.total + _added(items, messages, history) <= usage.window.effective:
        return Outgoing(messages)
    sizes = sizes_of(items, usage, lambda item: history.weigh(item).total)
    view = _sections(messages)
    cut = _cut(view, history, sizes, policy, _pinned(view, items, pinned))
    tokens = sizes.carried + cut.tokens
    if tokens > usage.window.effective:
        raise ContextTooLarge(usage.window.stated, tokens + usage.window.reserve)
    left = to_messages(cut.items)
    if all(map(is_, left, messages)) and len(left) == len(messages):
        return Outgoing(messages)
    truncation = Truncation(
        tokens_before=usage.total,
        tokens_after=tokens,
        messages_before=len(messages),
        messages_after=len(left),
        tokens_removed=usage.total - tokens,
        messages_removed=len(messages) - len(left),
    )
    return Outgoing(sendable(left), truncation)


def _sections(messages: Sequence[ModelMessage]) -> list[Item]:
    """The messages as the truncator takes them: a system prompt stays when the prompt beside it goes."""
    items: list[Item] = []
    for message in messages:
        parts = sections(message)
        whole = message if len(parts) > 1 else None
        items.extend(Item(len(items) + place, part, whole=whole) for place, part in enumerate(parts))
    return items


def _added(items: Sequence[Item], messages: Sequence[ModelMessage], history: History) -> int:
    """Tokens that repair and the run have added to the view."""
    view = {id(part) for item in items for part in item.message.parts}
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    new = [part for request in requests for part in request.parts if id(part) not in view]
    return sum(history.weigh(Item(0, ModelRequest(parts=[part]))).total for part in new)


def _cut(
    view: Sequence[Item], history: History, sizes: Sizes, policy: Policy, pinned: frozenset[int]
) -> Truncated:
    window = history.usage().window
    safe = min(window.effective, int(window.limit * (1 - policy.safety_margin)))

    def weigh(message: ModelMessage) -> int:
        return sizes.of(history.weigh(Item(0, message)).total)

    return truncate(view, safe - sizes.carried - _REPAIR_ROOM, weigh, pinned)


def _pinned(view: Sequence[Item], items: Sequence[Item], pinned: frozenset[int]) -> frozenset[int]:
    """Keys, in the repaired view, of what is pinned in the history."""
    if not pinned:
        return frozenset()
    parts = {id(part) for item in items if item.key in pinned for part in item.message.parts}
    return frozenset(item.key for item in view if any(id(part) in parts for part in item.message.parts))


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
