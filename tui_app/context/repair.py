"""Stage 2, repair: whatever leaves the governor is a history every provider accepts.

Providers reject a tool call without its result and a result without its call. After repair each call is
answered exactly once in the very next request, no result stands alone, no message is empty, the history
begins with a request, and no two responses stand in a row.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

INTERRUPTED = "Interrupted by user."
"""What a call is answered with when its tool never finished."""
START = "(The conversation starts in the middle.)"
"""Stands in front of a history that would begin with a response."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Synthetic parts carry a fixed time, so the same history gives the same bytes on every request."""

_Answers = dict[tuple[int, str], ModelRequestPart]


def repair(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Return a valid history; messages that need no change are the same objects.

    A history that is already valid comes back equal, so repairing twice changes nothing. A result that
    arrived late is moved behind its call; a call that was never answered gets ``INTERRUPTED``.

    Args:
        messages: Any history: imported, interrupted, rewound or cut.

    Returns:
        A new list, empty only when nothing sendable was left.
    """
    tidy = _merge_responses([kept for kept in map(_without_empty_parts, messages) if kept is not None])
    answers = _pair(tidy)
    repaired: list[ModelMessage] = []
    skip = -1
    for index, message in enumerate(tidy):
        if index == skip:
            continue
        if isinstance(message, ModelRequest):
            kept = _without_answers(message)
            if kept is not None:
                repaired.append(kept)
            continue
        repaired.append(message)
        calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        if calls:
            following = tidy[index + 1] if index + 1 < len(tidy) else None
            if isinstance(following, ModelRequest):
                skip = index + 1
                repaired.extend(_answered(index, calls, following, answers))
            else:
                repaired.append(ModelRequest(parts=_returns(index, calls, answers), timestamp=_EPOCH))
    if repaired and isinstance(repaired[0], ModelResponse):
        repaired.insert(0, ModelRequest(parts=[UserPromptPart(START, timestamp=_EPOCH)], timestamp=_EPOCH))
    return _merge_responses(repaired)


def _pair(messages: Sequence[ModelMessage]) -> _Answers:
    """Give every result to the oldest open call of its id; ids may be used again later."""
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    answers: _Answers = {}
    for index, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                waiting[part.tool_call_id].append(index)
            elif (call_id := answer_id(part)) and waiting[call_id]:
                answers[waiting[call_id].popleft(), call_id] = part
    return answers


def answer_id(part: ModelRequestPart | ModelResponsePart) -> str | None:
    """Id of the call a request part answers, or None when it answers none."""
    if isinstance(part, ToolReturnPart):
        return part.tool_call_id
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return part.tool_call_id
    return None


def _answered(
    index: int, calls: Sequence[ToolCallPart], request: ModelRequest, answers: _Answers
) -> list[ModelMessage]:
    """The request that answers ``calls``, then what else the one behind them said."""
    parts = _returns(index, calls, answers)
    rest = [part for part in request.parts if answer_id(part) is None]
    wanted = [*parts, *rest]
    same = len(wanted) == len(request.parts) and all(
        a is b for a, b in zip(wanted, request.parts, strict=True)
    )
    return [request if same else replace(request, parts=wanted)]


def _returns(index: int, calls: Sequence[ToolCallPart], answers: _Answers) -> list[ModelRequestPart]:
    return [answers.get((index, call.tool_call_id)) or _interrupted(call) for call in calls]


def _interrupted(call: ToolCallPart) -> ToolReturnPart:
    return ToolReturnPart(
        tool_name=call.tool_name,
        content=INTERRUPTED,
        tool_call_id=call.tool_call_id,
        timestamp=_EPOCH,
        outcome="interrupted",
    )


def _without_answers(request: ModelRequest) -> ModelRequest | None:
    """The request less its tool results, or None when nothing else is in it."""
    rest = [part for part in request.parts if answer_id(part) is None]
    if not rest:
        return None
    return request if len(rest) == len(request.parts) else replace(request, parts=rest)


def _without_empty_parts(message: ModelMessage) -> ModelMessage | None:
    """Drop blank parts and a call id used twice within one response; None when nothing is left."""
    if isinstance(message, ModelRequest):
        said = [part for part in message.parts if not _is_blank(part)]
        if not said:
            return None
        return message if len(said) == len(message.parts) else replace(message, parts=said)
    seen: set[str] = set()
    parts: list[ModelResponsePart] = []
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            if part.tool_call_id in seen:
                continue
            seen.add(part.tool_call_id)
        if not _is_blank(part):
            parts.append(part)
    if all(isinstance(part, ThinkingPart) for part in parts):
        return None
    return message if len(parts) == len(message.parts) else replace(message, parts=parts)


def _is_blank(part: ModelRequestPart | ModelResponsePart) -> bool:
    """Whether a part says nothing at all; signed thinking counts as content."""
    match part:
        case TextPart(content=str(text)) | SystemPromptPart(content=str(text)):
            return not text.strip()
        case UserPromptPart(content=content):
            return not (content.strip() if isinstance(content, str) else content)
        case ThinkingPart(content=text, signature=signature):
            return not signature and not text.strip()
        case _:
            return False


def _merge_responses(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Join responses that stand in a row, unless the first still waits for its results."""
    merged: list[ModelMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if (
            isinstance(message, ModelResponse)
            and isinstance(last, ModelResponse)
            and not any(isinstance(part, ToolCallPart) for part in last.parts)
        ):
            merged[-1] = replace(last, parts=[*last.parts, *message.parts])
            continue
        merged.append(message)
    return merged
