"""What one part of a message costs, and under which heading.

Everything a provider receives is counted as it is sent: tool arguments and results as JSON, text documents as
text, other files by estimate. A kind of part that this version does not know is counted by its JSON.
"""

from typing import Any

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    CachePoint,
    CapabilityLoadDeltaPart,
    CompactionPart,
    FilePart,
    InstructionBaselinePart,
    InstructionDeltaPart,
    ModelSettingsDeltaPart,
    MultiModalContent,
    RetryFeedbackPart,
    RetryPromptPart,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    UserPromptPart,
    is_multi_modal_content,
)
from pydantic_core import to_json

from tui_app.context.counting.attachments import attachment_tokens, file_name, text_of
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.inbox import is_inbox_part
from tui_app.context.stages.marks import is_digest_part

Costs = list[tuple[str, int]]
"""Tokens by category; the first entry is what the part mainly is."""

CALL_OVERHEAD = 4
"""Tokens of the markup around one tool call within an answer."""
SUMMARY_OVERHEAD = 40
"""Tokens of the sentence and tags that pydantic-ai puts around a summary."""

_NEVER_SENT = (InstructionBaselinePart, CapabilityLoadDeltaPart, ModelSettingsDeltaPart)
_DEPTH = 16
_NESTED_FILE = "[file]"


def part_costs(part: object, text: TextCounter, *, unknown: str) -> Costs:
    """Count one part of a request or response. Never fails, whatever a part holds.

    Args:
        part: Any message part, of known or unknown kind.
        text: Counts the text in it.
        unknown: Category for a kind of part that is not known.

    Returns:
        The costs, empty only for records that pydantic-ai keeps in a history but never sends.
    """
    if isinstance(part, _NEVER_SENT):
        return []
    try:
        costs = _request_part(part, text) or _response_part(part, text)
    except (ValueError, TypeError, AttributeError, RecursionError):
        costs = None  # A part that breaks its own type (hand-made, from a newer version) still takes room.
    if costs is None:
        costs = [(unknown, max(1, text.count(to_json_text(part))))]
    return costs


def to_json_text(value: object) -> str:
    """JSON of any value; what JSON cannot hold (cycles, foreign objects) as Python writes it."""
    try:
        return to_json(value, fallback=repr, inf_nan_mode="constants", bytes_mode="base64").decode()
    except (ValueError, TypeError, RecursionError):
        return _repr(value)


def _request_part(part: object, text: TextCounter) -> Costs | None:
    match part:
        case SystemPromptPart():
            return [("system", text.count(part.content))]
        case InstructionDeltaPart():
            return [("system", text.count(part.render()))]
        case UserPromptPart():
            costs = _user_content(part.content, text)
            return [(_said_by(part), costs[0][1]), *costs[1:]]
        case BaseToolReturnPart():
            return _tool_return(part, text)
        case RetryPromptPart() | RetryFeedbackPart():
            # The program's own words on an answer are like those on a call that failed.
            return [("tool_results", text.count(part.model_response()))]
        case CompactionPart():
            return [("summary", _summary(part, text))]
        case _:
            return None


def _said_by(part: UserPromptPart) -> str:
    """What a prompt counts as: notes of the program's own go out in the user's place, too."""
    if is_digest_part(part):
        return "tool_results"
    return "memory" if is_inbox_part(part) else "user"


def _response_part(part: object, text: TextCounter) -> Costs | None:
    match part:
        case TextPart():
            return [("assistant", text.count(part.content))]
        case ThinkingPart():
            return [("thinking", _thinking(part, text))]
        case BaseToolCallPart():
            args = part.args if isinstance(part.args, str) else to_json_text(part.args or {})
            return [("tool_calls", text.count(part.tool_name) + text.count(args) + CALL_OVERHEAD)]
        case FilePart():
            return [("attachments", _file(part.content, text))]
        case SpeechPart():
            spoken = text.count(part.transcript or "") or (_file(part.audio, text) if part.audio else 0)
            return [(part.speaker, spoken)]
        case _:
            return None


def _thinking(part: ThinkingPart, text: TextCounter) -> int:
    if part.content:
        return text.count(part.content)
    return _hidden_tokens(part.signature or "")


def _summary(part: CompactionPart, text: TextCounter) -> int:
    if part.content is not None:
        return text.count(part.content) + SUMMARY_OVERHEAD
    return _hidden_tokens(to_json_text(part.provider_details or {}))


def _hidden_tokens(encrypted: str) -> int:
    """Tokens behind text that a provider hands out encrypted: base64, and 4 bytes to a token."""
    return -(-len(encrypted) * 3 // 16)


def _user_content(content: Any, text: TextCounter) -> Costs:
    if isinstance(content, str):
        return [("user", text.count(content))]
    spoken = attached = 0
    for item in content:
        if isinstance(item, str):
            spoken += text.count(item)
        elif isinstance(item, TextContent) and file_name(item):
            attached += text.count(item.content)
        elif isinstance(item, TextContent):
            spoken += text.count(item.content)
        elif is_multi_modal_content(item):
            attached += _file(item, text)
        elif not isinstance(item, CachePoint):
            spoken += text.count(to_json_text(item))
    return [("user", spoken), ("attachments", attached)]


def _tool_return(part: BaseToolReturnPart[Any], text: TextCounter) -> Costs:
    content: Any = part.content
    if isinstance(content, str):
        return [("tool_results", text.count(part.model_response_str()))]
    files: list[MultiModalContent] = []
    data = _without_files(content, files, _DEPTH)
    tokens = 0 if data is None else text.count(data if isinstance(data, str) else to_json_text(data))
    return [("tool_results", tokens), ("attachments", sum(_file(item, text) for item in files))]


def _without_files(value: Any, files: list[MultiModalContent], depth: int) -> Any:
    """Copy tool data with its files taken out, which would otherwise be counted as base64 text."""
    if is_multi_modal_content(value):
        files.append(value)
        return _NESTED_FILE
    if depth <= 0:
        return value
    if isinstance(value, dict):
        return {key: _without_files(item, files, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_files(item, files, depth - 1) for item in value]
    return value


def _file(item: MultiModalContent, text: TextCounter) -> int:
    content = text_of(item)
    return attachment_tokens(item) if content is None else text.count(content)


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:  # A foreign object's own repr may raise anything at all.
        return f"{type(value).__name__}: {type(error).__name__}"
