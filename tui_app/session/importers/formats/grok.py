"""Chats of Grok's command line."""

import re

from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import THOUGHT, USUAL, Shape

GROK = Shape(
    name="grok", program="Grok",
    signs=("type=assistant content !message", "type=tool_result tool_call_id content !message"),
    places=(files_in("GROK_HOME", ".grok", "sessions/*/*/chat_history.jsonl"),), role=("type",),
    roles={**USUAL, "reasoning": THOUGHT, "tool_result": "tool"}, model=("model_id", "model"),
    title=("generated_title", "title", "session_summary"), cwd=("info.cwd", "cwd"),
    models=("current_model_id", "model"), sidecar="summary.json",
    typed=re.compile(r"<(?P<tag>user_query)>"), content=("content", "summary"),
)  # fmt: skip
