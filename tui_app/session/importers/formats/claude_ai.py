"""Exports of Claude.ai."""

from tui_app.session.importers.content import attached
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import block_list, objects_at, text_at, value_at


def _claude_ai(message: Json) -> Json:
    blocks = [*block_list(message.get("content"))]
    if not blocks:
        blocks = block_list(message.get("text"))
    for each in objects_at(message, "attachments"):
        blocks.append(attached(text_at(each, "file_name"), text_at(each, "extracted_content")))
    named = objects_at(message, "files_v2") or objects_at(message, "files")
    blocks += [attached(text_at(each, "file_name"), "") for each in named]
    kept = [
        block for block in blocks if value_at(block, "type") not in ("token_budget", "flag", "voice_note")
    ]
    return {**message, "content": kept}


CLAUDE_AI = Shape(
    name="claude-ai", program="Claude.ai", sign=lambda each: "chat_messages" in each,
    talk=("chat_messages",), role=("sender",), time=("created_at",), title=("name",), models=("model",),
    links=("uuid", "parent_message_uuid", ("current_leaf_message_uuid",)),
    changed=("updated_at", "created_at"), convert=_claude_ai,
)  # fmt: skip
