"""Sessions of Factory's Droid: records with messages of Anthropic's API."""

from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import Shape

FACTORY = Shape(
    name="factory", program="Factory",
    signs=(
        "type=session_start id", "type=message message.role message.content.type=tool_use|tool_result",
    ),
    places=(files_in("", ".factory", "sessions/**/*.jsonl"),), title=("title", "sessionTitle"),
    cwd=("cwd",), models=("model",), sidecar="{stem}.settings.json",
    about=("!type", "type!=message"), message="message",
)  # fmt: skip
