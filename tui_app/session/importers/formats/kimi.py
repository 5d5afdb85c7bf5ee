"""Conversations of Kimi CLI."""

from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import ASIDE, USUAL, Shape

KIMI = Shape(
    name="kimi", program="Kimi",
    signs=("role^=_", "message.payload"),
    places=(files_in("KIMI_SHARE_DIR", ".kimi", "sessions/*/*/context.jsonl"),),
    roles={**USUAL, "_system_prompt": "system", "_checkpoint": ASIDE, "_usage": ASIDE},
    continued="<system>Previous context has been compacted",
    title=("custom_title", "title"), cwd=("work_dir",), sidecar="state.json",
)  # fmt: skip
