"""Exports of Claude.ai."""

from tui_app.session.importers.shape import Shape

CLAUDE_AI = Shape(
    name="claude-ai", program="Claude.ai", signs=("chat_messages",),
    talk=("chat_messages",), role=("sender",), time=("created_at",), title=("name",), models=("model",),
    links=("uuid", "parent_message_uuid", ("current_leaf_message_uuid",)),
    changed=("updated_at", "created_at"), content=("content", "text"),
    files=("attachments", "files_v2", "files"), quiet=("token_budget", "flag", "voice_note"),
)  # fmt: skip
