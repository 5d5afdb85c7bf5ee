"""Threads of Amp."""

from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import text_at


def _is_amp(record: Json) -> bool:
    is_thread = text_at(record, "id").startswith("T-") and "messages" in record
    return is_thread or ("role" in record and type(record.get("messageId")) is int)


AMP = Shape(
    name="amp", program="Amp", sign=_is_amp,
    places=(files_in("XDG_DATA_HOME", ".local/share", "amp/threads/T-*.json"),), talk=("messages",),
    time=("meta.sentAt",), model=("usage.model",),
    tokens={
        "total": ("usage.totalInputTokens",),
        "output": ("usage.outputTokens",),
        "read": ("usage.cacheReadInputTokens",),
    },
    cwd=("env.initial.trees.uri",),
)  # fmt: skip
