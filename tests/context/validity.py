"""What every provider accepts, checked without any code of the governor."""

from collections import Counter
from collections.abc import Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)


def complaints(messages: Sequence[ModelMessage], *, ends_with_request: bool = True) -> list[str]:
    """Everything a provider would refuse; empty for a valid history."""
    if not messages:
        return ["nothing to send"]
    found: list[str] = []
    if not isinstance(messages[0], ModelRequest):
        found.append("starts with a response")
    if ends_with_request and not isinstance(messages[-1], ModelRequest):
        found.append("ends with a response")
    for place, message in enumerate(messages):
        if not message.parts or all(blank(part) for part in message.parts):
            found.append(f"{place} is empty")
        if place and isinstance(message, ModelResponse) and isinstance(messages[place - 1], ModelResponse):
            found.append(f"{place} is the second response in a row")
    return found + unpaired(messages)


def unpaired(messages: Sequence[ModelMessage]) -> list[str]:
    """Calls that the very next request does not answer exactly once, and answers to no call."""
    found: list[str] = []
    expected: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            expected = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
            if len(set(expected)) != len(expected):
                found.append(f"{place} uses an id twice")
            if expected and place + 1 == len(messages):
                found.append(f"{place} calls and nothing follows")
            continue
        answered = [
            part.tool_call_id
            for part in message.parts
            if isinstance(part, ToolReturnPart) or (isinstance(part, RetryPromptPart) and part.tool_name)
        ]
        if Counter(answered) != Counter(expected):
            found.append(f"{place} answers {answered} where {expected} was called")
        expected = []
    return found


def blank(part: object) -> bool:
    match part:
        case UserPromptPart(content=str(text)) | SystemPromptPart(content=text):
            return not text.strip()
        case UserPromptPart(content=pieces):
            return not [piece for piece in pieces if not isinstance(piece, str) or piece.strip()]
        case ThinkingPart(content=text, signature=signature):
            return not signature and not text.strip()
        case _:
            return False


def prompts(messages: Sequence[ModelMessage]) -> list[str]:
    """What the person said, one text a prompt."""
    return [
        part.content if isinstance(part.content, str) else repr(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


def system_prompts(messages: Sequence[ModelMessage]) -> list[str]:
    return [
        part.content for message in messages for part in message.parts if isinstance(part, SystemPromptPart)
    ]


def as_bytes(messages: Sequence[ModelMessage]) -> bytes:
    return ModelMessagesTypeAdapter.dump_json(list(messages))
