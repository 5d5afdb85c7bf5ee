"""Chats of Qwen Code: records with messages of Gemini's API."""

from tui_app.session.importers.formats.gemini_api import GEMINI_SETUP, gemini_parts
from tui_app.session.importers.message_lists import ROLES
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import ABOUT, ASIDE, Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import list_at, text_at, value_at


def _qwen(record: Json) -> Json:
    kind = text_at(record, "type")
    title = text_at(record, "systemPayload.customTitle")
    role = "user" if kind in ("user", "tool_result") else kind
    blocks = gemini_parts(value_at(record, "message.parts"))
    if kind == "tool_result" and not any(value_at(block, "type") == "tool_result" for block in blocks):
        call_id, told = (
            text_at(record, "toolCallResult.callId"),
            value_at(record, "toolCallResult.resultDisplay"),
        )
        blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": told}]
    return {
        **record, "role": ASIDE if kind == "system" else role, "left": ABOUT, "title": title,
        "content": blocks,
    }  # fmt: skip


QWEN = Shape(
    name="qwen-code", program="Qwen Code",
    sign=lambda each: each.get("type") in ROLES and bool(list_at(each, "message.parts")),
    places=(files_in("", ".qwen", "projects/*/chats/*.jsonl", "tmp/*/chats/*.jsonl"),),
    tokens={
        "total": ("usageMetadata.promptTokenCount",), "output": ("usageMetadata.candidatesTokenCount",),
        "read": ("usageMetadata.cachedContentTokenCount",), "thought": ("usageMetadata.thoughtsTokenCount",),
    },
    cwd=("cwd",), links=("uuid", "parentUuid", ()), note=GEMINI_SETUP, convert=_qwen,
)  # fmt: skip
