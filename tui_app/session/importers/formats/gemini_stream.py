"""What Gemini CLI prints as ``stream-json`` while it runs: answers in pieces, calls and results."""

from tui_app.session.importers.shape import TROUBLE, Shape, aside
from tui_app.session.importers.source import Json, shown
from tui_app.session.importers.values import text_at, value_at


def _convert(event: Json) -> Json:
    match event.get("type"):
        case "message":
            return {**event, "more": event.get("delta") is True}
        case "tool_use":
            call = {
                "id": event.get("tool_id"), "name": event.get("tool_name"), "args": event.get("parameters"),
            }  # fmt: skip
            return {**event, "role": "assistant", "more": True, "tool_calls": [call]}
        case "tool_result":
            told = text_at(event, "output", "error.message")
            return {**event, "role": "tool", "tool_call_id": event.get("tool_id"), "content": told}
        case "error":
            return {**event, "role": TROUBLE}
        case "result" if isinstance(value_at(event, "stats.output_tokens"), int):
            # The tokens of all requests, told once.
            return {**event, "role": "assistant", "more": True}
        case "init" | "result":
            return {**event, **aside()}
    return {"unknown": f"unknown event type {shown(event.get('type'))}"}


GEMINI_STREAM = Shape(
    name="gemini-stream", program="Gemini CLI's stream-json",
    signs=("type=tool_use|tool_result tool_id", "type=init session_id model", "type=message role delta"),
    tokens={"total": "stats.input_tokens", "output": "stats.output_tokens", "read": "stats.cached"},
    models=("model",),    convert=_convert,
)  # fmt: skip
