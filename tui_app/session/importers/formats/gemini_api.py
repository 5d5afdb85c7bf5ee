"""Messages of Gemini's API: checkpoints of Gemini CLI, or a request."""

import re
from typing import Any

from tui_app.session.importers.formats.gemini_cli import part_block
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.values import object_at, text_at, value_at


def gemini_block(part: Any) -> Any:
    if call := object_at(part, "functionCall"):
        return {**call, "type": "tool_use", "input": call.get("args")}
    if result := object_at(part, "functionResponse"):
        answer = object_at(result, "response")
        output = answer.get("output", answer.get("error", answer))
        block = {"type": "tool_result", "tool_use_id": result.get("id"), "name": result.get("name")}
        return {**block, "content": output, "is_error": "error" in answer}
    if value_at(part, "thought") is True:
        return {"type": "thinking", "thinking": text_at(part, "text")}
    return part_block(part)


GEMINI_SETUP = re.compile(r"\s*(?:This is the (?:Gemini|Qwen)|<session_context>|My setup is complete\.)")
GEMINI = Shape(
    name="gemini-api", program="Gemini API",
    signs=("role=user|model parts !content !parts.type", "history.parts", "contents.parts"),
    places=(files_in("GEMINI_CLI_HOME", "", ".gemini/tmp/*/checkpoint*.json"),),
    talk=("clientHistory", "history", "contents"), note=GEMINI_SETUP, content=("parts",), block=gemini_block,
)  # fmt: skip
