"""Stage 2, repair: whatever leaves the governor is a history every provider accepts.

Providers reject a tool call without its result and a result without its call. After repair each call is
answered exactly once in the very next request, no result stands alone, no message is empty, the history
begins with a request, and no two responses stand in a row.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
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

from tui_app.context.view import answer_id, calls_of, pairs

INTERRUPTED = "Interrupted by user."
"""What a call is answered with when its tool never finished."""
START = "(The conversation starts in the middle.)"
"""Stands in front of a history that would begin with a response."""
CONTINUE = "(Go on.)"
"""Stands at the end of a history whose last prompt is blank."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Synthetic parts carry a fixed time, so the same history gives the same bytes on every request."""

_Answers = dict[tuple[int, str], ModelRequestPart]


def repair(messages: Sequence[ModelMessage], *, begins: bool = True) -> list[ModelMessage]:
    """Return a valid history; messages that need no change are the same objects.

    A history that is already valid comes back equal, so repairing twice changes nothing. A result that
    arrived late is moved behind its call; a call that was never answered gets ``INTERRUPTED``.

    Args:
        messages: Any history: imported, interrupted, rewound or cut.
        begins: Whether nothing is sent in front of it.

    Returns:
        A new list, empty only when nothing sendable was left.
    """
    tidy = _merge_responses([kept for kept in map(_without_blanks, messages) if kept is not None])
    answers: _Answers = {(pair.call, pair.call_id): pair.part for pair in pairs(tidy)}
    repaired: list[ModelMessage] = []
    skip = -1
    for index, message in enumerate(tidy):
        if index == skip:
            continue
        if isinstance(message, ModelRequest):
            repaired.extend(_without_answers(message))
            continue
        repaired.append(message)
        calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        if calls:
            following = tidy[index + 1] if index + 1 < len(tidy) else None
            skip = index + 1 if isinstance(following, ModelRequest) else skip
            repaired.append(_answering(_returns(index, calls, answers), following))
    if begins and repaired and isinstance(repaired[0], ModelResponse):
        repaired.insert(0, _said(START))
    return _merge_responses(repaired)


def sendable(messages: Sequence[ModelMessage], *, begins: bool = True) -> list[ModelMessage]:
    """Repair a history that is about to be sent: it ends with a request that says something.

    A run with instructions alone, which is a single request without parts, stays as it is.

    Args:
        messages: Any history.
        begins: Whether nothing is sent in front of it; what is must end with a request.
    """
    if begins and len(messages) == 1 and isinstance(messages[0], ModelRequest) and not messages[0].parts:
        return list(messages)
    repaired = repair(messages, begins=begins)
    if isinstance(repaired[-1] if repaired else None, ModelRequest) or not (begins or repaired):
        return repaired
    return [*repaired, _said(CONTINUE)]


def _said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text, timestamp=_EPOCH)], timestamp=_EPOCH)


def _answering(returns: list[ModelRequestPart], following: ModelMessage | None) -> ModelRequest:
    """The request behind a response with calls: their results, then what else stands there."""
    if not isinstance(following, ModelRequest):
        return ModelRequest(parts=returns, timestamp=_EPOCH)
    wanted = [*returns, *(part for part in following.parts if answer_id(part) is None)]
    same = len(wanted) == len(following.parts) and all(map(is_, wanted, following.parts))
    return following if same else replace(following, parts=wanted)


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


def _without_answers(request: ModelRequest) -> Sequence[ModelRequest]:
    """The request less its tool results, or nothing when nothing else is in it."""
    rest = [part for part in request.parts if answer_id(part) is None]
    if not rest:
        return ()
    return (request if len(rest) == len(request.parts) else replace(request, parts=rest),)


def _without_blanks(message: ModelMessage) -> ModelMessage | None:
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
        case UserPromptPart(content=str(text)):
            return not text.strip()
        case UserPromptPart(content=pieces):
            return all(isinstance(piece, str) and not piece.strip() for piece in pieces)
        case ThinkingPart(content=text, signature=signature):
            return not signature and not text.strip()
        case _:
            return False


def _merge_responses(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Join responses that stand in a row, unless one of them still waits for its results."""
    merged: list[ModelMessage] = []
    row: list[ModelResponse] = []
    for message in messages:
        if isinstance(message, ModelResponse) and not (row and calls_of(row[-1])):
            row.append(message)
            continue
        merged.extend(_one_response(row))
        row = []
        if isinstance(message, ModelResponse):
            row.append(message)
        else:
            merged.append(message)
    merged.extend(_one_response(row))
    return merged


def _one_response(row: Sequence[ModelResponse]) -> Sequence[ModelResponse]:
    if len(row) < 2:
        return row
    return [replace(row[0], parts=[part for response in row for part in response.parts])]
