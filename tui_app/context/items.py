"""The unit the governor works on: one message of the agent view with its handle."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)


@dataclass(frozen=True, slots=True)
class Item:
    """One message of the agent view.

    ``key`` is its log number: ``#key`` is the handle by which model and person get it back. A message of
    another program's agent may hold many parts; one of ours holds one prompt, one answer or one result.
    """

    key: int
    message: ModelMessage
    reported: int = 0
    """Input plus output tokens the provider reported for this response; 0 when it reported nothing."""
    model: str = ""
    """Name of the model that wrote this response."""


def calls_of(message: ModelMessage) -> tuple[str, ...]:
    """Ids of the tool calls a message makes, in order."""
    if not isinstance(message, ModelResponse):
        return ()
    return tuple(part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart))


def answers_of(message: ModelMessage) -> tuple[str, ...]:
    """Ids of the tool calls a message answers, in order."""
    if not isinstance(message, ModelRequest):
        return ()
    return tuple(
        part.tool_call_id
        for part in message.parts
        if isinstance(part, ToolReturnPart) or (isinstance(part, RetryPromptPart) and part.tool_name)
    )


def is_prompt(message: ModelMessage) -> bool:
    """Whether a person (or a program in their place) said something here."""
    return isinstance(message, ModelRequest) and any(isinstance(p, UserPromptPart) for p in message.parts)


def is_summary(message: ModelMessage) -> bool:
    """Whether the message is a summary standing for compacted history."""
    return any(isinstance(part, CompactionPart) for part in message.parts)


def is_system(message: ModelMessage) -> bool:
    """Whether the message holds nothing but system prompts."""
    return (
        isinstance(message, ModelRequest)
        and bool(message.parts)
        and all(isinstance(part, SystemPromptPart) for part in message.parts)
    )


def latest_prompt_index(items: Sequence[Item]) -> int | None:
    """Index of the newest user prompt, or None when nobody has said anything."""
    for index in range(len(items) - 1, -1, -1):
        if is_prompt(items[index].message):
            return index
    return None


def to_messages(items: Sequence[Item]) -> list[ModelMessage]:
    """Build the request history: neighbouring tool results of one answer become one request.

    The messages themselves are never changed; a merged request is a new object.
    """
    messages: list[ModelMessage] = []
    for item in items:
        last = messages[-1] if messages else None
        if isinstance(last, ModelRequest) and isinstance(item.message, ModelRequest):
            both_answers = answers_of(last) and answers_of(item.message)
            if both_answers and not is_prompt(last) and not is_prompt(item.message):
                messages[-1] = replace(last, parts=[*last.parts, *item.message.parts])
                continue
        messages.append(item.message)
    return messages
