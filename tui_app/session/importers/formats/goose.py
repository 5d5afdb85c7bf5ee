"""Sessions of Goose, where calls and results are requests and responses. Some messages are model-only."""

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.databases import Row, Rows, Store, parsed
from tui_app.session.importers.places import files_in, stores_in
from tui_app.session.importers.shape import NOTE, SUMMARY, Records, Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import text_at, value_at


def _document(rows: Rows, head: Row) -> Json:
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


def _for_the_model(records: Records, _out: Timeline) -> Records:
    """Mark messages that only the model sees: a summary if it sees nothing earlier, else a note."""
    stands: Records = []
    seen: list[bool] = []
    for number, record in records:
        is_summary = record.get("role") == "user" and bool(seen) and not any(seen)
        hidden = value_at(record, "metadata.userVisible") is False
        stands.append((number, {**record, "role": SUMMARY if is_summary else NOTE} if hidden else record))
        seen += [value_at(record, "metadata.agentVisible") is not False] if "role" in record else []
    return stands


GOOSE = Shape(
    name="goose", store=_STORE, program="Goose",
    signs=(
        "working_dir message_count", "working_dir conversation", "role content.type=toolRequest|toolResponse",
    ),
    places=(
        files_in("XDG_DATA_HOME", ".local/share", "goose/sessions/*.jsonl"),
        stores_in(_STORE, "XDG_DATA_HOME", ".local/share", "goose/sessions/sessions.db"),
    ),
    talk=("conversation", "conversation.messages"), time=("created",), title=("name", "description"),
    cwd=("working_dir",), models=("model", "model_config.model_name"), about=("!role",), order=_for_the_model,
    quiet=("actionRequired", "toolConfirmationRequest", "systemNotification", "frontendToolRequest"),
)  # fmt: skip
