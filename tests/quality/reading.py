"""What the readers of foreign formats fill: messages in order, and where the other product compacted."""

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

Json = dict[str, Any]


@dataclass(slots=True)
class Reading:
    """Messages read so far."""

    format: str
    messages: list[ModelMessage] = field(default_factory=list)
    boundaries: list[tuple[int, str, int]] = field(default_factory=list)
    """Index behind the compaction, its summary, and the index of the first message that stayed."""
    names: dict[str, str] = field(default_factory=dict)
    """Tools that were called and not yet answered, by call id."""

    def compacted(self, summary: str, kept_from: int | None = None) -> None:
        here = len(self.messages)
        self.boundaries.append((here, summary, here if kept_from is None else kept_from))

    def system(self, text: str) -> None:
        self.messages.append(ModelRequest(parts=[SystemPromptPart(text)]))

    def user(self, text: str) -> None:
        if text.strip():
            self.messages.append(ModelRequest(parts=[UserPromptPart(text)]))

    def answer(self, text: str, calls: list[tuple[str, str, Any]]) -> None:
        parts: list[Any] = [TextPart(text)] if text.strip() else []
        parts += [ToolCallPart(tool, args, call_id) for call_id, tool, args in calls]
        self.names.update({call_id: tool for call_id, tool, _ in calls})
        if parts:
            self.messages.append(ModelResponse(parts=parts))

    def result(self, call_id: str, text: str, *, ok: bool) -> None:
        if tool := self.names.pop(call_id, ""):
            outcome = "success" if ok else "failed"
            part = ToolReturnPart(tool, text, call_id, outcome=outcome)
            self.messages.append(ModelRequest(parts=[part]))

    def close(self) -> "Reading":
        """Answer what the file leaves open, behind the call."""
        for index in range(len(self.messages) - 1, -1, -1):
            message = self.messages[index]
            if isinstance(message, ModelResponse):
                late = [
                    ToolReturnPart(part.tool_name, "", part.tool_call_id, outcome="interrupted")
                    for part in message.parts
                    if isinstance(part, ToolCallPart) and part.tool_call_id in self.names
                ]
                self.messages[index + 1 : index + 1] = [ModelRequest(parts=[part]) for part in late]
        return self


def text_in(content: Any) -> str:
    """The text of a message's content: a string, or a list of blocks of which some are text."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts if part.get("type") == "text")
