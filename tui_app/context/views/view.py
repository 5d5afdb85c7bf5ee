"""Items, the unit the governor works on: one message of the agent view with its handle."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.context.message_marks import is_digest, is_inbox_part, is_program_part
from tui_app.context.user_text import only_reminds
from tui_app.records import frozen

_M = TypeVar("_M", ModelRequest, ModelResponse)


@frozen
class Item:
    """One message of the agent view.

    ``key`` is its log number: ``#key`` is the handle by which model and user retrieve it. A message of
    another program's agent may have many parts; one of our own has one prompt, one response or one result.
    """

    key: int
    message: ModelMessage
    reported: int = 0
    """Input plus output tokens the provider reported for this response; 0 if nothing was reported."""
    model: str = ""
    """Name of the model that wrote this response."""
    whole: ModelMessage | None = None
    """The message of an agent's own list of which this is a section; None when it is that message."""


def answer_id(part: ModelRequestPart | ModelResponsePart) -> str | None:
    """Return the id of the call that a request part answers; None if it is not a result."""
    if isinstance(part, ToolReturnPart):
        return part.tool_call_id
    if isinstance(part, RetryPromptPart) and part.tool_name is not None:
        return part.tool_call_id
    return None


def calls_of(message: ModelMessage) -> tuple[str, ...]:
    """Return the ids of the tool calls in a message, in order."""
    if not isinstance(message, ModelResponse):
        return ()
    return tuple(part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart))


def answers_of(message: ModelMessage) -> tuple[str, ...]:
    """Return the ids of the tool calls whose results are in a message, in order."""
    if not isinstance(message, ModelRequest):
        return ()
    return tuple(call_id for part in message.parts if (call_id := answer_id(part)) is not None)


def is_prompt(message: ModelMessage) -> bool:
    """Whether the message is a prompt of the user, or of a program in the user's role."""
    return isinstance(message, ModelRequest) and any(map(_is_message_part, message.parts))


def _is_message_part(part: object) -> bool:
    return isinstance(part, UserPromptPart) and not is_program_part(part)


def is_request(message: ModelMessage) -> bool:
    """Whether a prompt is more than a reminder or a note that a program put among the user's messages."""
    return is_prompt(message) and not is_digest(message) and not all(map(_reminds, message.parts))


def _reminds(part: object) -> bool:
    if not isinstance(part, UserPromptPart) or not _is_message_part(part):
        return True
    pieces = [part.content] if isinstance(part.content, str) else part.content
    return all(isinstance(piece, str) and only_reminds(piece) for piece in pieces)


def is_summary(message: ModelMessage) -> bool:
    """Whether the message is a summary that replaces compacted history."""
    return any(isinstance(part, CompactionPart) for part in message.parts)


def is_sealed(message: ModelMessage) -> bool:
    """Whether the message is a provider's encrypted summary that only the provider can read."""
    return isinstance(message, ModelResponse) and any(
        isinstance(part, CompactionPart) and part.content is None for part in message.parts
    )


def is_system(message: ModelMessage) -> bool:
    """Whether the message has only system prompts, or the context board, which is kept like one."""
    return (
        isinstance(message, ModelRequest)
        and bool(message.parts)
        and all(isinstance(part, SystemPromptPart) or is_inbox_part(part) for part in message.parts)
    )


def latest_prompt_index(items: Sequence[Item]) -> int | None:
    """Return the index of the newest user prompt; None without a prompt.

    A reminder counts only if there is nothing else.
    """
    for asks in (is_request, is_prompt):
        for index in range(len(items) - 1, -1, -1):
            if asks(items[index].message):
                return index
    return None


def to_messages(items: Sequence[Item]) -> list[ModelMessage]:
    """Build the request history.

    Sections of one message become that message again, results of one response become one request. The
    messages themselves are never changed; a merged request is a new object.
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
    """Merge adjacent messages of one kind into one with all their parts; an empty sequence stays empty."""
    if len(row) < 2:
        return row
    return [replace(row[0], parts=[part for message in row for part in message.parts])]


def rejoined(items: Sequence[Item]) -> Iterator[tuple[ModelMessage, tuple[Item, ...]]]:
    """Rejoin the sections of a message where all of them are still adjacent.

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
