"""Messages as plain text: the transcript a summariser reads, and the file the user greps."""

from collections.abc import Callable, Iterable

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponsePart,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.context.counting.attachments import file_name
from tui_app.context.message_marks import is_digest_part, is_inbox_part
from tui_app.context.view import Item

RESULT_LIMIT = 1_800
"""Characters of one tool result a summariser is shown."""


def prompt_text(part: UserPromptPart) -> str:
    """What the user typed, with attachments named instead of shown."""
    if isinstance(part.content, str):
        return part.content
    lines: list[str] = []
    for piece in part.content:
        if isinstance(piece, str):
            lines.append(piece)
        else:
            path = file_name(piece)
            lines.append(f"[attached file {path}]" if path else f"[{type(piece).__name__}]")
    return "\n".join(lines)


def clip(text: str, limit: int | None) -> str:
    """Keep head and tail of a long text and say how much is missing.

    Args:
        text: The text.
        limit: Characters to keep, the sentence between them not counted; None keeps all.
    """
    if limit is None or len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit // 3
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"


def fitted(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Clip a text until it has at most so many tokens."""
    limit = len(text)
    while (size := count(shown := clip(text, limit))) > tokens and limit > 1:
        limit = min(limit - 1, limit * tokens // size)
    return shown


def part_text(part: ModelRequestPart | ModelResponsePart, limit: int | None = None) -> str:
    """One part as text with its role in front, empty when it says nothing.

    Args:
        part: Any part of a request or response.
        limit: Characters of a tool result to show; None shows all.
    """
    match part:
        case UserPromptPart():
            return f"User: {prompt_text(part)}"
        case SystemPromptPart(content=text):
            return f"System: {text}"
        case TextPart(content=text):
            return f"Assistant: {text}"
        case CompactionPart(content=text):
            return f"Summary of what came before:\n{text}" if text else ""
        case ThinkingPart():
            return ""
        case ToolCallPart():
            return f"Tool call {part.tool_name}: {part.args_as_json_str()}"
        case ToolReturnPart():
            files = "".join(f"\n[{type(file).__name__}]" for file in part.files)
            text = clip(part.model_response_str() + files, limit)
            return f"Tool result {part.tool_name} ({part.outcome}): {text}"
        case RetryPromptPart():
            return f"Tool error {part.tool_name or ''}: {clip(part.model_response(), limit)}"
        case _:
            return f"[{part.part_kind}]"


def message_text(message: ModelMessage, limit: int | None = None) -> str:
    """A whole message as text, each tool result of ``limit`` characters at most."""
    return "\n".join(text for part in message.parts if (text := part_text(part, limit)))


def transcript_lines(items: Iterable[Item], limit: int | None = RESULT_LIMIT) -> list[str]:
    """One block of text per message, each with its handle in front; silent messages are left out.

    Args:
        items: The messages.
        limit: Characters of each tool result; None keeps all.
    """
    texts = ((item.key, message_text(item.message, limit)) for item in items)
    return [f"#{key} {text}" for key, text in texts if text]


def prompts_of(items: Iterable[Item]) -> list[tuple[int, str]]:
    """Handle and text of every user prompt."""
    said: list[tuple[int, str]] = []
    for item in items:
        if isinstance(item.message, ModelRequest):
            said.extend(
                (item.key, prompt_text(part))
                for part in item.message.parts
                if isinstance(part, UserPromptPart) and not (is_digest_part(part) or is_inbox_part(part))
            )
    return said
