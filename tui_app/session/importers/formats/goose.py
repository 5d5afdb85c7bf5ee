"""Sessions of Goose: calls and results are requests and responses; some messages are for the model alone."""

from tui_app.session.importers.databases import Row, Rows, Store, parsed
from tui_app.session.importers.places import files_in, stores_in
from tui_app.session.importers.shape import NOTE, Shape, aside
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import block_list, has_blocks, text_at, value_at


def _document(rows: Rows, head: Row) -> Json:
    """A row for each message, its content as JSON."""
    listed = [
        {
            "role": row["role"], "created": row["created_timestamp"], "content": parsed(row["content_json"]),
            "metadata": parsed(row.get("metadata_json") or "{}"),
        }
        for row in rows("SELECT * FROM messages WHERE session_id = ? ORDER BY id", str(head["id"]))
    ]  # fmt: skip
    setting = parsed(head.get("model_config_json") or "{}")
    return {**head, "model": text_at(setting, "model_name"), "conversation": listed}


_STORE = Store(
    tables={
        "messages": frozenset({"session_id", "content_json"}), "sessions": frozenset({"id", "updated_at"}),
        "schema_version": frozenset(),
    },
    heads=lambda rows: rows("SELECT * FROM sessions ORDER BY updated_at DESC, id DESC"),
    title=("name", "description"), folder="working_dir", updated="updated_at", document=_document,
)  # fmt: skip


def _goose(record: Json) -> Json:
    if "role" not in record:
        return {**record, **aside()}
    hidden = value_at(record, "metadata.userVisible") is False
    blocks = [
        block
        for block in block_list(record.get("content"))
        if value_at(block, "type")
        not in ("toolConfirmationRequest", "systemNotification", "frontendToolRequest")
    ]
    typed = not any(value_at(block, "type") == "toolResponse" for block in blocks)
    return {
        **record,
        "role": NOTE if hidden and record["role"] == "user" and typed else record["role"],
        "content": blocks,
    }


def _is_goose(record: Json) -> bool:
    headed = "working_dir" in record and ("message_count" in record or "conversation" in record)
    return headed or ("role" in record and has_blocks(record, "toolRequest", "toolResponse"))


GOOSE = Shape(
    name="goose", store=_STORE, program="Goose", sign=_is_goose,
    places=(
        files_in("XDG_DATA_HOME", ".local/share", "goose/sessions/*.jsonl"),
        stores_in(_STORE, "XDG_DATA_HOME", ".local/share", "goose/sessions/sessions.db"),
    ),
    talk=("conversation", "conversation.messages"), time=("created",), title=("name", "description"),
    cwd=("working_dir",), models=("model", "model_config.model_name"), convert=_goose,
)  # fmt: skip
