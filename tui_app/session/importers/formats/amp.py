"""Threads of Amp."""

from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import Shape

AMP = Shape(
    name="amp", program="Amp",
    signs=("messages id^=T-", "role messageId !isCreatedByUser"),
    places=(files_in("XDG_DATA_HOME", ".local/share", "amp/threads/T-*.json"),), talk=("messages",),
    time=("meta.sentAt",), model=("usage.model",), cwd=("env.initial.trees.uri",),
    tokens={
        "total": "usage.totalInputTokens", "fresh": "usage.inputTokens", "output": "usage.outputTokens",
        "read": "usage.cacheReadInputTokens", "written": "usage.cacheCreationInputTokens",
    },
)  # fmt: skip
