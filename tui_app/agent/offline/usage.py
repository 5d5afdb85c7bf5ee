"""The offline model's own measure: one token for every four characters of everything it was sent."""

import json
from collections.abc import Iterator, Sequence

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponsePart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters


def text_tokens(text: str) -> int:
    """Tokens of one piece of text: its characters by four, rounded up."""
    return -(-len(text) // 4)


def input_tokens(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
    """Tokens of a whole request: instructions, tool definitions, and every message part."""
    texts = [text for message in messages for part in message.parts for text in _texts(part)]
    texts += [part.content for part in parameters.instruction_parts or []]
    if parameters.instruction_parts is None:
        texts += _instructions(messages)
    for tool in parameters.function_tools:
        texts += [tool.name, tool.description or "", json.dumps(tool.parameters_json_schema)]
    return sum(text_tokens(text) for text in texts)


def _instructions(messages: Sequence[ModelMessage]) -> list[str]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [requests[-1].instructions] if requests and requests[-1].instructions else []


def _texts(part: ModelRequestPart | ModelResponsePart) -> Iterator[str]:
    match part:
        case UserPromptPart():
            content = [part.content] if isinstance(part.content, str) else part.content
            yield from (item for item in content if isinstance(item, str))
            yield from (item.content for item in content if isinstance(item, TextContent))
        case SystemPromptPart() | TextPart() | ThinkingPart():
            yield part.content
        case CompactionPart():
            yield part.content or ""
        case ToolCallPart():
            yield part.tool_name
            yield part.args_as_json_str()
        case ToolReturnPart():
            yield part.tool_name
            yield part.model_response_str()
        case _:
            return  # other parts carry no text this model reads
