"""Messages of the AI SDK: UI messages, whose parts have calls with results, and model messages."""

from typing import Any

from tui_app.session.importers.content import picture
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.values import first_at, object_at, text_at

_LONGEST_SCHEME = 20


def _block(part: Any) -> Any:
    kind, call = text_at(part, "type"), object_at(part, "toolInvocation") or part
    if text_at(call, "toolCallId") and kind not in ("tool-call", "tool-result"):
        name, output = text_at(call, "toolName"), first_at(call, "result", "output", "errorText")
        named = {"type": "tool-call", "toolName": name or kind.removeprefix("tool-")}
        return {**call, **named, "output": output, "is_error": call.get("state") == "output-error"}
    if kind not in ("file", "image"):
        return part
    data = first_at(part, "url", "data", "image")
    is_address = isinstance(data, str) and ":" in data[:_LONGEST_SCHEME]
    address = {"type": "image_url", "image_url": data}
    return address if is_address else picture(first_at(part, "mediaType", "mimeType"), data)


_SIGNS = ("role toolInvocations", "role parts.type", "role content.type=tool-call|tool-result")
AI_SDK = Shape(
    name="ai-sdk", program="the AI SDK", is_last=True, talk=("messages",), block=_block,
    content=("parts", "content"), calls=("toolInvocations",),
    quiet=("step-start", "source-url", "source-document", "data-"),
    signs=(*_SIGNS, "messages.role messages.toolInvocations", "messages.role messages.parts.type"),
    time=("createdAt", "metadata.createdAt"), model=("metadata.model", "metadata.modelId"), models=("model",),
    tokens={
        "total": "metadata.totalUsage.inputTokens metadata.usage.inputTokens",
        "output": "metadata.totalUsage.outputTokens metadata.usage.outputTokens",
        "read": "metadata.totalUsage.cachedInputTokens metadata.usage.cachedInputTokens",
    },
)  # fmt: skip
