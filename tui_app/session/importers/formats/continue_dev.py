"""Sessions of Continue: the states of calls stand beside the message that makes them."""

from tui_app.session.importers.content import attached
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import block_list, has_items, object_at, objects_at, text_at


def _continue(item: Json) -> Json:
    message = object_at(item, "message")
    blocks = [*block_list(message.get("content"))]
    results: list[Json] = []
    if message.get("role") == "user":
        for each in objects_at(item, "contextItems"):
            blocks.append(attached(text_at(each, "name"), text_at(each, "content")))
    for state in objects_at(item, "toolCallStates") or [object_at(item, "toolCallState")]:
        told = [text_at(each, "content") for each in objects_at(state, "output")]
        if told or state.get("status") in ("errored", "canceled"):
            call_id, status = text_at(state, "toolCallId"), state.get("status")
            results.append({"tool_use_id": call_id, "content": "\n".join(told), "status": status})
    logs = objects_at(item, "promptLogs")
    model = text_at(logs[-1], "modelTitle", "modelProvider") if logs else ""
    reasoning = text_at(item, "reasoning.text")
    return {**message, "content": blocks, "results": results, "model": model or None, "reasoning": reasoning}


CONTINUE = Shape(
    name="continue", program="Continue",
    sign=lambda each: "sessionId" in each and has_items(each, "history", "message"),
    places=(files_in("CONTINUE_GLOBAL_DIR", ".continue", "sessions/*-*.json"),), talk=("history",),
    cwd=("workspaceDirectory",), models=("chatModelTitle",), convert=_continue,
)  # fmt: skip
