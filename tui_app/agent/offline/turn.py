"""What the offline assistant needs to know of a history: the question, and what its tools found for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.context.counting.attachments import file_name

INTRODUCTION = (
    "I am an offline retrieval assistant, not a language model: I look for passages and quote them,"
    " I do not reason about them."
)


@dataclass(frozen=True, slots=True)
class Found:
    """One tool call of this turn with its result."""

    tool: str
    args: dict[str, Any]
    text: str
    ok: bool
    denied: bool = False
    """Whether a rule or a person said no to it."""

    def arg(self, name: str) -> str:
        """An argument as text; empty when it was not given."""
        value = self.args.get(name, "")
        return value if isinstance(value, str) else str(value)


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn that the history ends in."""

    question: str
    asked_at: str
    """When the question was put, as ISO text; makes call ids of equal questions differ."""
    found: tuple[Found, ...]
    rounds: int
    """Responses already given to this question."""
    introduced: bool
    """Whether the visible conversation already says what this assistant is."""
    attached: tuple[str, ...] = ()
    """Paths of the files that came with the question."""


def read_turn(messages: Sequence[ModelMessage]) -> Turn:
    """Find the latest user prompt and everything that was done for it since.

    Summaries and system prompts are never taken for the question, wherever they stand.
    """
    at, prompt = _latest_prompt(messages)
    since = messages[at + 1 :]
    return Turn(
        question=_text(prompt) if prompt else "",
        asked_at=prompt.timestamp.isoformat() if prompt else "",
        found=tuple(_found(since)),
        rounds=sum(isinstance(message, ModelResponse) for message in since),
        introduced=any(_says(message, INTRODUCTION) for message in messages),
        attached=_attached(prompt) if prompt else (),
    )


def _latest_prompt(messages: Sequence[ModelMessage]) -> tuple[int, UserPromptPart | None]:
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, ModelRequest):
            for part in reversed(message.parts):
                if isinstance(part, UserPromptPart) and _text(part).strip():
                    return index, part
    return -1, None


def _text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    said = (item for item in part.content if not file_name(item))
    texts = (item.content if isinstance(item, TextContent) else item for item in said)
    return "\n".join(text for text in texts if isinstance(text, str))


def _attached(part: UserPromptPart) -> tuple[str, ...]:
    items = () if isinstance(part.content, str) else part.content
    return tuple(dict.fromkeys(name for item in items if (name := file_name(item))))


def _found(messages: Sequence[ModelMessage]) -> list[Found]:
    calls: dict[str, ToolCallPart] = {}
    found: list[Found] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part
            elif isinstance(part, ToolReturnPart) and part.tool_call_id in calls:
                args = _args(calls[part.tool_call_id])
                ok = part.outcome == "success"
                text = part.model_response_str(wrap_if_error=False)
                found.append(Found(part.tool_name, args, text, ok, part.outcome == "denied"))
    return found


def _args(call: ToolCallPart) -> dict[str, Any]:
    try:
        return call.args_as_dict()
    except ValueError:
        return {}


def _says(message: ModelMessage, sentence: str) -> bool:
    return isinstance(message, ModelResponse) and any(
        isinstance(part, TextPart) and sentence in part.content for part in message.parts
    )
