"""Sessions of Factory's Droid: records with messages as Anthropic's API has them."""

from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import Shape, aside
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import has_blocks, object_at


def _factory(record: Json) -> Json:
    if record.get("type") != "message":
        return {**record, **aside()}
    return {**object_at(record, "message"), "timestamp": record.get("timestamp")}


def _is_factory(record: Json) -> bool:
    kind = record.get("type")
    return (kind == "session_start" and "id" in record) or (
        kind == "message"
        and "role" in object_at(record, "message")
        and has_blocks(record, "tool_use", "tool_result")
    )


FACTORY = Shape(
    name="factory", program="Factory", sign=_is_factory,
    places=(files_in("", ".factory", "sessions/**/*.jsonl"),), title=("title", "sessionTitle"),
    cwd=("cwd",), models=("model",), sidecar="{stem}.settings.json", convert=_factory,
)  # fmt: skip
