"""Sessions of Continue, in which the states of calls are stored with the message that makes them."""

from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import object_at, objects_at, text_at


def _continue(item: Json) -> Json:
    results: list[Json] = []
    for state in objects_at(item, "toolCallStates") or [object_at(item, "toolCallState")]:
        outputs = [text_at(each, "content") for each in objects_at(state, "output")]
        if outputs or state.get("status") in ("errored", "canceled"):
            results.append({**state, "content": "\n".join(outputs)})
    logs = objects_at(item, "promptLogs")
    model = text_at(logs[-1], "modelTitle", "modelProvider") if logs else ""
    return {**item, "results": results, "model": model or None}


CONTINUE = Shape(
    name="continue", program="Continue",
    signs=("sessionId history.message",),
    places=(files_in("CONTINUE_GLOBAL_DIR", ".continue", "sessions/*-*.json"),), talk=("history",),
    cwd=("workspaceDirectory",), models=("chatModelTitle",), convert=_continue, message="message",
    files=("contextItems",),
)  # fmt: skip
