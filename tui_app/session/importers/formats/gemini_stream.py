"""Output of Gemini CLI's ``stream-json``: answers in pieces, calls and results."""

from tui_app.session.importers.shape import TROUBLE, Shape, side_record

GEMINI_STREAM = Shape(
    name="gemini-stream", program="Gemini CLI's stream-json",
    signs=("type=tool_use|tool_result tool_id", "type=init session_id model", "type=message role delta"),
    tokens={"total": "stats.input_tokens", "output": "stats.output_tokens", "read": "stats.cached"},
    models=("model",), about=("type=result !stats.output_tokens",),
    kinds={
        "message": {"more": ".delta"}, "error": {"role": TROUBLE}, "init": side_record(),
        "tool_use": {"role": "assistant", "more": True, "tool_calls": [
            {"id": ".tool_id", "name": ".tool_name", "args": ".parameters"},
        ]},
        "tool_result": {"role": "tool", "tool_call_id": ".tool_id", "content": ".output .error.message"},
        # The tokens of all requests together.
        "result": {"role": "assistant", "more": True},
    },
)  # fmt: skip
