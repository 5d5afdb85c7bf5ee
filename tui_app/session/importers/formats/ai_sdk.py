"""Messages of the AI SDK: those of a chat, in parts where a call holds its result, and those of a model."""

from typing import Any

from tui_app.session.importers.content import picture
from tui_app.session.importers.shape import Shape, aside
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import (
    block_list,
    first_at,
    has_blocks,
    has_items,
    list_at,
    object_at,
    objects_at,
    text_at,
)

_LONGEST_SCHEME = 20
_QUIET = ("step-start", "source-url", "source-document")


def _convert(message: Json) -> Json:
    parts = list_at(message, "parts") or block_list(message.get("content"))
    if "parts" not in message:
        parts = [*parts, *({"toolInvocation": each} for each in objects_at(message, "toolInvocations"))]
    blocks: list[Any] = []
    results: list[Json] = []
    for part in parts:
        kind = text_at(part, "type")
        call = object_at(part, "toolInvocation") or (part if text_at(part, "toolCallId") else {})
        if call and kind not in ("tool-call", "tool-result"):
            name, call_id = (
                text_at(call, "toolName") or kind.removeprefix("tool-"),
                text_at(call, "toolCallId"),
            )
            blocks.append({**call, "type": "tool-call", "toolName": name})
            told, failed = (
                first_at(call, "result", "output", "errorText"),
                call.get("state") == "output-error",
            )
            result = {"type": "tool_result", "tool_use_id": call_id, "content": told, "is_error": failed}
            results += [result] if told is not None else []
            continue
        # The model goes on when all calls of a step are answered.
        blocks, results = blocks + results, []
        if kind in ("file", "image"):
            held, media = first_at(part, "url", "data", "image"), first_at(part, "mediaType", "mimeType")
            is_address = isinstance(held, str) and ":" in held[:_LONGEST_SCHEME]
            address = {"type": "image_url", "image_url": held}
            blocks.append(address if is_address else picture(media, held))
        elif kind not in _QUIET and not kind.startswith("data-"):
            blocks.append(part)
    return {**message, "content": blocks + results} if blocks or not parts else aside()


def _is_message(record: Json) -> bool:
    parts = "toolInvocations" in record or has_items(record, "parts", "type")
    return "role" in record and (parts or has_blocks(record, "tool-call", "tool-result"))


AI_SDK = Shape(
    name="ai-sdk", program="the AI SDK", is_last=True, talk=("messages",), convert=_convert,
    sign=lambda record: any(map(_is_message, [record, *objects_at(record, "messages")])),
    time=("createdAt", "metadata.createdAt"), model=("metadata.model", "metadata.modelId"), models=("model",),
    tokens={
        "total": ("metadata.totalUsage.inputTokens", "metadata.usage.inputTokens"),
        "output": ("metadata.totalUsage.outputTokens", "metadata.usage.outputTokens"),
        "read": ("metadata.totalUsage.cachedInputTokens", "metadata.usage.cachedInputTokens"),
    },
)  # fmt: skip
