"""Conversations of Kimi CLI."""

from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import ASIDE, USUAL, Shape
from tui_app.session.importers.values import object_at, text_at

KIMI = Shape(
    name="kimi", program="Kimi",
    sign=lambda record: (
        text_at(record, "role").startswith("_") or "payload" in object_at(record, "message")
    ),
    places=(files_in("KIMI_SHARE_DIR", ".kimi", "sessions/*/*/context.jsonl"),),
    roles={**USUAL, "_system_prompt": "system", "_checkpoint": ASIDE, "_usage": ASIDE},
    title=("custom_title", "title"), cwd=("work_dir",), sidecar="state.json",
)  # fmt: skip
