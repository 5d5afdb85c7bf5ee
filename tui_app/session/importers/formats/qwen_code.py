"""Chats of Qwen Code: records with messages of Gemini's API."""

from tui_app.session.importers.formats.gemini_api import GEMINI_SETUP, gemini_block
from tui_app.session.importers.message_lists import ROLES
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import SUMMARY, Shape, side_record
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import list_at, object_at, objects_at, text_at, value_at


def _qwen(record: Json) -> Json:
    kind = text_at(record, "type")
    if history := objects_at(record, "systemPayload.compressedHistory"):
        info = object_at(record, "systemPayload.info")
        return {
            **record, "role": SUMMARY, "content": history[0].get("parts"),
            "before": info.get("originalTokenCount"), "after": info.get("newTokenCount"),
        }  # fmt: skip
    if kind == "system":
        return {**record, **side_record(), "title": text_at(record, "systemPayload.customTitle")}
    role = "user" if kind == "tool_result" else kind
    blocks = list_at(record, "message.parts")
    if kind == "tool_result" and not any(object_at(block, "functionResponse") for block in blocks):
        call_id = text_at(record, "toolCallResult.callId")
        result = value_at(record, "toolCallResult.resultDisplay")
        blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": result}]
    return {**record, "role": role, "content": blocks}


QWEN = Shape(
    name="qwen-code", program="Qwen Code",
    signs=(f"type={'|'.join(ROLES)} message.parts",),
    places=(files_in("", ".qwen", "projects/*/chats/*.jsonl", "tmp/*/chats/*.jsonl"),),
    tokens={
        "total": "usageMetadata.promptTokenCount", "output": "usageMetadata.candidatesTokenCount",
        "read": "usageMetadata.cachedContentTokenCount", "thought": "usageMetadata.thoughtsTokenCount",
    },
    is_side=lambda record: record.get("isSidechain") is True or bool(text_at(record, "agentId")),
    cwd=("cwd",), links=("uuid", "parentUuid", ()), note=GEMINI_SETUP, convert=_qwen, block=gemini_block,
    noted=("subtype=notification|cron|goal_runtime",),
)  # fmt: skip
