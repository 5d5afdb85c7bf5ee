"""Building requests from the view: repair, truncation and the parts the run added.

Providers reject a tool call without its result and a result without its call. After repair each call is
answered exactly once in the very next request, no result is without a call, no message is empty, the history
begins with a request, and no two responses are adjacent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby, pairwise
from operator import is_

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.context.history import History, same_objects, sizes_of, with_parts
from tui_app.context.message_marks import is_program_part
from tui_app.context.policy import Policy
from tui_app.context.truncator import truncate
from tui_app.context.views.cuts import sections
from tui_app.context.views.tool_pairs import pairs
from tui_app.context.views.view import (
    Item,
    answer_id,
    as_one,
    calls_of,
    is_prompt,
    is_summary,
    is_system,
    to_messages,
)
from tui_app.context.windows.window_limits import ContextTooLarge, most
from tui_app.events import Truncation
from tui_app.records import frozen
from tui_app.usage import ContextUsage

INTERRUPTED = "Interrupted by user."
"""Result for a call whose tool never finished."""
START = "(The conversation starts in the middle.)"
"""Prompt inserted before a history that would begin with a response."""
CONTINUE = "(Go on.)"
"""Prompt appended to a history whose last prompt is blank."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Fixed time of synthetic parts, so that the same history gives the same bytes in every request."""

_Answers = dict[tuple[int, str], ModelRequestPart]


def repair(messages: Sequence[ModelMessage], *, begins: bool = True) -> list[ModelMessage]:
    """Repair a history so that every provider accepts it; messages that need no change stay the same objects.

    Repair is idempotent: a valid history comes back equal. A late result is moved directly after its call; a
    call without a result gets ``INTERRUPTED``.

    Args:
        messages: Any history: imported, interrupted, rewound or truncated.
        begins: Whether this is the beginning of the request.

    Returns:
        A new list, empty only when nothing sendable was left.
    """
    tidy = _merge_responses([kept for kept in map(_without_blanks, messages) if kept is not None])
    answers: _Answers = {(pair.call, pair.made.tool_call_id): pair.part for pair in pairs(tidy)}
    repaired: list[ModelMessage] = []
    skip = -1
    for index, message in enumerate(tidy):
        if index == skip:
            continue
        if isinstance(message, ModelRequest):
            if rest := [part for part in message.parts if answer_id(part) is None]:
                repaired.append(message if len(rest) == len(message.parts) else replace(message, parts=rest))
            continue
        repaired.append(message)
        calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        if calls:
            following = tidy[index + 1] if index + 1 < len(tidy) else None
            skip = index + 1 if isinstance(following, ModelRequest) else skip
            repaired.append(_answering(index, calls, answers, following))
    if begins:
        # System prompts are sent separately by some providers, so the rest must not begin with a response.
        answer = next((at for at, each in enumerate(repaired) if not _is_prompt_alone(each)), len(repaired))
        if answer < len(repaired) and isinstance(repaired[answer], ModelResponse):
            repaired.insert(answer, _prompt_of(START))
    return _merge_responses(repaired)


def sendable(messages: Sequence[ModelMessage], *, begins: bool = True) -> list[ModelMessage]:
    """Repair a history that is about to be sent, so that it ends with a non-empty request.

    A run with instructions only, which is a single request without parts, is left as it is.

    Args:
        messages: Any history.
        begins: Whether this is the beginning of the request; otherwise what precedes it must end with a
            request.
    """
    if begins and len(messages) == 1 and isinstance(messages[0], ModelRequest) and not messages[0].parts:
        return list(messages)
    repaired = repair(messages, begins=begins)
    if isinstance(repaired[-1] if repaired else None, ModelRequest) or not (begins or repaired):
        return repaired
    return [*repaired, _prompt_of(CONTINUE)]


def _is_prompt_alone(message: ModelMessage) -> bool:
    return all(isinstance(part, SystemPromptPart) for part in message.parts)


def _prompt_of(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text, timestamp=_EPOCH)], timestamp=_EPOCH)


def _answering(
    index: int, calls: Sequence[ToolCallPart], answers: _Answers, following: ModelMessage | None
) -> ModelRequest:
    """Return the request after a response with calls: their results first, then its other parts."""
    returns = [
        answers.get((index, call.tool_call_id))
        or ToolReturnPart(
            tool_name=call.tool_name,
            content=INTERRUPTED,
            tool_call_id=call.tool_call_id,
            timestamp=_EPOCH,
            outcome="interrupted",
        )
        for call in calls
    ]
    if not isinstance(following, ModelRequest):
        return ModelRequest(parts=returns, timestamp=_EPOCH)
    parts = [*returns, *(part for part in following.parts if answer_id(part) is None)]
    same = len(parts) == len(following.parts) and all(map(is_, parts, following.parts))
    return following if same else replace(following, parts=parts)


def _without_blanks(message: ModelMessage) -> ModelMessage | None:
    """Drop blank parts and call ids repeated within one response; None when nothing is left."""
    seen: set[str] = set()
    parts: list[ModelRequestPart | ModelResponsePart] = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            if part.tool_call_id in seen:
                continue
            seen.add(part.tool_call_id)
        if not _is_blank(part):
            parts.append(part)
    if all(isinstance(part, ThinkingPart) for part in parts):
        return None
    return message if len(parts) == len(message.parts) else with_parts(message, parts)


def _is_blank(part: ModelRequestPart | ModelResponsePart) -> bool:
    """Whether a part has no content; signed thinking counts as content."""
    match part:
        case (
            TextPart(content=str(text))
            | SystemPromptPart(content=str(text))
            | UserPromptPart(content=str(text))
        ):
            return not text.strip()
        case UserPromptPart(content=pieces):
            return all(isinstance(piece, str) and not piece.strip() for piece in pieces)
        case ThinkingPart(content=text, signature=signature):
            return not signature and not text.strip()
        case _:
            return False


def _merge_responses(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Join adjacent responses, unless one of them still has calls to be answered."""
    merged: list[ModelMessage] = []
    row: list[ModelResponse] = []
    for message in messages:
        if isinstance(message, ModelResponse) and not (row and calls_of(row[-1])):
            row.append(message)
            continue
        merged += as_one(row)
        row = [message] if isinstance(message, ModelResponse) else []
        if not row:
            merged.append(message)
    return [*merged, *as_one(row)]


_STEP = 16
"""Items settled per step, roughly: the most that is rebuilt after a rewrite."""


@dataclass(slots=True)
class Assembly:
    """Incremental builder of one conversation's requests."""

    _items: list[Item] = field(default_factory=list)
    """The part of the view that later messages cannot change."""
    _messages: list[ModelMessage] = field(default_factory=list)
    """The messages built from it; the last one is a request."""
    _added: list[ModelRequestPart] = field(default_factory=list)
    """Parts that repair added to them."""
    _places: list[tuple[int, int, int]] = field(default_factory=list)
    """Lengths of the three lists after each step; a rewrite falls back to the last step before it."""

    def request(
        self, items: Sequence[Item], sent: Sequence[ModelMessage]
    ) -> tuple[list[ModelMessage], list[ModelRequestPart]]:
        """Build the whole view as a request that every provider accepts.

        Args:
            items: The view.
            sent: What the run would send on its own; its last request may have parts that are in no history.

        Returns:
            The messages, and those of their parts that are not in the view.
        """
        # Fall back to what a rewrite of the view left unchanged.
        same = same_objects(self._items, items)
        while self._places and self._places[-1][0] > same:
            self._places.pop()
        settled, messages, added = self._places[-1] if self._places else (0, 0, 0)
        del self._items[settled:], self._messages[messages:], self._added[added:]
        # Settle what can no longer change, in steps that end before a response that follows a request.
        answers = [
            at
            for at, (before, item) in enumerate(pairwise(items[settled:]), settled + 1)
            if isinstance(before.message, ModelRequest) and isinstance(item.message, ModelResponse)
        ]
        step, tried = _STEP, settled
        for answer in answers:
            if answer >= tried + step or answer == answers[-1]:
                tried = answer
                # An open call must not cause everything after it to be repaired again with each step.
                step = _STEP if self._take_in(items[len(self._items) : answer]) else 2 * step
        rest = items[len(self._items) :]
        built = sendable(_with_extras(to_messages(rest), sent), begins=not self._messages)
        return [*self._messages, *built], [*self._added, *_new_parts(rest, built)]

    def _take_in(self, chunk: Sequence[Item]) -> bool:
        """Settle a chunk that ends before a response, if nothing later could change it."""
        messages = repair(to_messages(chunk), begins=not self._messages)
        added = list(_new_parts(chunk, messages))
        closed = not any(isinstance(part, ToolReturnPart) for part in added)
        # A leading response could be joined to another one, and an open call may still get its result.
        is_begun = bool(self._messages) or not all(map(_is_prompt_alone, messages))
        settled = closed and is_begun and bool(messages) and isinstance(messages[-1], ModelRequest)
        if settled:
            self._items.extend(chunk)
            self._messages.extend(messages)
            self._added.extend(added)
            self._places.append((len(self._items), len(self._messages), len(self._added)))
        return settled


def _new_parts(items: Sequence[Item], messages: Sequence[ModelMessage]) -> Iterator[ModelRequestPart]:
    """Yield the parts of requests that are in none of the items."""
    view = {id(part) for item in items for part in item.message.parts}
    for message in messages:
        if isinstance(message, ModelRequest):
            yield from (part for part in message.parts if id(part) not in view)


def _with_extras(messages: list[ModelMessage], sent: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Keep the parts that a run added to its last request and no history has: feedback, deltas, reminders."""
    last, own = (sent[-1] if sent else None), (messages[-1] if messages else None)
    if not isinstance(last, ModelRequest):
        return messages
    alone = ((part, ModelRequest(parts=[part])) for part in last.parts if answer_id(part) is None)
    extras = [
        part
        for part, request in alone
        if not (is_prompt(request) or is_system(request) or is_summary(request) or is_program_part(part))
    ]
    if not isinstance(own, ModelRequest):
        return [*messages, replace(last, parts=extras)] if extras or not messages else messages
    missing = [part for part in extras if not any(part is each for each in own.parts)]
    return [*messages[:-1], replace(own, parts=[*own.parts, *missing])] if missing else messages


_REPAIR_ROOM = 16
"""Tokens reserved for the prompt that repair may have to insert before a truncated history."""


@frozen
class Outgoing:
    """A request as it is sent."""

    messages: list[ModelMessage]
    truncation: Truncation | None = None
    """What was dropped from this request, if anything."""


def build(
    history: History, sent: Sequence[ModelMessage], policy: Policy, assembly: Assembly | None = None
) -> Outgoing:
    """Build the request for the current view without changing the view. Pinned messages are dropped last.

    Args:
        history: Owner of the view.
        sent: What the run would send on its own; its last request may have parts that are in no history.
        policy: Its safety margin sets how far below the limit a truncated request must be.
        assembly: Reuses what it built for earlier requests; None builds from scratch.

    Raises:
        ContextTooLarge: if the request does not fit whatever is dropped.
    """
    items = history.items()
    messages, added = (assembly or Assembly()).request(items, sent)
    usage = history.usage()
    before = usage.total + sum(history.tokens(Item(0, ModelRequest(parts=[part]))) for part in added)
    if before <= usage.window.effective:
        return Outgoing(messages)
    sizes = sizes_of(items, usage, history.tokens)
    # A system prompt stays when the prompt in the same message is dropped.
    view: list[Item] = []
    for message in messages:
        parts = sections(message)
        whole = message if len(parts) > 1 else None
        view.extend(Item(len(view) + place, part, whole=whole) for place, part in enumerate(parts))
    pinned = history.pinned()
    pins = {id(part) for item in items if item.key in pinned for part in item.message.parts}
    room = sizes.carried + _REPAIR_ROOM
    cut = truncate(
        view,
        int(usage.window.effective * (1 - policy.safety_margin)) - room,
        lambda message: sizes.estimate(history.tokens(Item(0, message))),
        frozenset(item.key for item in view if any(id(part) in pins for part in item.message.parts)),
        limit=usage.window.effective - room,
    )
    left = to_messages(_rejoined(cut.items))
    tokens, known = sizes.carried + cut.tokens, most(usage.window)
    smallest = tokens + (_REPAIR_ROOM if isinstance(left[0], ModelResponse) else 0)
    # Above an unconfirmed limit, send the smallest possible request and let the provider decide.
    if smallest > known:
        raise ContextTooLarge(usage.window.stated, smallest + usage.window.stated - known)
    if all(map(is_, left, messages)) and len(left) == len(messages):
        return Outgoing(messages)
    # Repair again: the history may now need a leading prompt, and adjacent responses are joined.
    sent = sendable(left)
    items = [Item(place, message) for place, message in enumerate(left)]
    tokens += sum(
        sizes.estimate(history.tokens(Item(0, ModelRequest(parts=[part]))))
        for part in _new_parts(items, sent)
    )
    truncation = Truncation(
        tokens_before=before,
        tokens_after=tokens,
        messages_before=_joined(messages),
        messages_after=_joined(sent),
        tokens_removed=before - tokens,
        messages_removed=_joined(messages) - _joined(sent),
    )
    return Outgoing(sent, truncation)


def _joined(messages: Sequence[ModelMessage]) -> int:
    """Count messages as they are sent: adjacent requests, such as results and a prompt, are one."""
    return sum(1 for _ in groupby(messages, type))


def usage_as_sent(history: History, policy: Policy) -> ContextUsage:
    """Return the estimate of the next request, with messages counted as sent if their number matters.

    All results of one response are one message then.

    Args:
        history: Owner of the view.
        policy: May limit the number of messages.
    """
    usage = history.usage()
    if policy.limit is None and usage.total < policy.background_mark(usage.window):
        return usage
    return replace(usage, messages=len(to_messages(history.items())))


def _rejoined(items: Sequence[Item]) -> list[Item]:
    """Rejoin the sections of each message; a message that lost nothing is the original object."""
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
