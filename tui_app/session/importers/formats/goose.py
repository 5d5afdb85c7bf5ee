"""Sessions of Goose: calls and results are requests and responses; some messages are for the model alone."""

from tui_app.session.importers.places import files_in, stores_in
from tui_app.session.importers.shape import NOTE, Shape, aside
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import block_list, has_blocks, value_at


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
    name="goose", program="Goose", sign=_is_goose,
    places=(
        files_in("XDG_DATA_HOME", ".local/share", "goose/sessions/*.jsonl"),
        stores_in("XDG_DATA_HOME", ".local/share", "goose/sessions/sessions.db"),
    ),
    talk=("conversation", "conversation.messages"), time=("created",), title=("description", "name"),
    cwd=("working_dir",), models=("model", "model_config.model_name"), turned=_goose,
)  # fmt: skip
