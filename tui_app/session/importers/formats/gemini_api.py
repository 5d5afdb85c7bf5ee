"""Messages of Gemini's API: checkpoints of Gemini CLI, or a request."""

import re
from typing import Any

from tui_app.session.importers.formats.gemini_cli import part_block
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.values import object_at, text_at, value_at


def gemini_parts(parts: Any) -> list[Any]:
    blocks: list[Any] = []
    for part in parts if isinstance(parts, list) else []:
        call, result = object_at(part, "functionCall"), object_at(part, "functionResponse")
        if call:
            blocks.append({**call, "type": "tool_use", "input": call.get("args")})
        elif result:
            answer = object_at(result, "response")
            told = answer.get("output", answer.get("error", answer))
            block = {"type": "tool_result", "tool_use_id": result.get("id"), "name": result.get("name")}
            blocks.append({**block, "content": told, "is_error": "error" in answer})
        elif value_at(part, "thought") is True:
            blocks.append({"type": "thinking", "thinking": text_at(part, "text")})
        else:
            blocks.append(part_block(part))
    return blocks


GEMINI_SETUP = re.compile(r"\s*(?:This is the (?:Gemini|Qwen)|<session_context>|My setup is complete\.)")
GEMINI = Shape(
    name="gemini-api", program="Gemini API",
    signs=("role=user|model parts !content !parts.type", "history.parts", "contents.parts"),
    places=(files_in("GEMINI_CLI_HOME", "", ".gemini/tmp/*/checkpoint*.json"),),
    talk=("clientHistory", "history", "contents"), note=GEMINI_SETUP,
    convert=lambda record: {**record, "content": gemini_parts(record.get("parts"))},
)  # fmt: skip
