"""Chats of Grok's command line."""

import re

from tui_app.session.importers.content import text_block
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import THOUGHT, USUAL, Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import objects_at, text_at


def _grok(record: Json) -> Json:
    kind = text_at(record, "type")
    if kind == "reasoning":
        blocks = [text_block(text_at(each, "text")) for each in objects_at(record, "summary")]
        return {**record, "content": blocks}
    return record


def _is_grok(record: Json) -> bool:
    kind = record.get("type")
    if "message" in record or "content" not in record:
        return False
    return kind == "assistant" or (kind == "tool_result" and "tool_call_id" in record)


GROK = Shape(
    name="grok", program="Grok", sign=_is_grok,
    places=(files_in("GROK_HOME", ".grok", "sessions/*/*/chat_history.jsonl"),), role=("type",),
    roles={**USUAL, "reasoning": THOUGHT, "tool_result": "tool"}, model=("model_id", "model"),
    title=("generated_title", "title", "session_summary"), cwd=("info.cwd", "cwd"),
    models=("current_model_id", "model"), sidecar="summary.json",
    typed=re.compile(r"<(?P<tag>user_query)>"), convert=_grok,
)  # fmt: skip
