"""Event logs of GitHub Copilot CLI: JSON lines ``{type, data, id, timestamp, parentId}``."""

from collections.abc import Callable

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import NOTE, SUMMARY, TROUBLE, Records, Shape, aside
from tui_app.session.importers.source import Json, shown
from tui_app.session.importers.values import first_at, object_at, objects_at, text_at


def _order(records: Records, out: Timeline) -> Records:
    seen: set[str] = set()
    stands: Records = []
    asked = {
        text_at(each, "toolCallId")
        for _, record in records
        for each in objects_at(record, "data.toolRequests")
    }
    for number, record in records:
        name, repeats = text_at(record, "id"), text_at(record, "data.toolCallId") in asked
        if name and name in seen:
            out.skip(number, f"event id {shown(name)} was already used in this file")
        elif repeats and record.get("type") == "tool.execution_start":
            out.leave(number, "events that repeat a tool call were left out")
        else:
            stands.append((number, record))
        seen.add(name)
    return stands


def _convert(event: Json) -> Json:
    data, kind = object_at(event, "data"), text_at(event, "type")
    if kind in _EVENTS:
        return {**_EVENTS[kind](data), "timestamp": event.get("timestamp")}
    if isinstance(event.get("data"), dict):
        # New versions tell of more.
        left = "events that are not messages were left out"
        model = text_at(data, "newModel", "selectedModel", "currentModel")
        return aside(left, model=model, title=data.get("title"), cwd=text_at(data, "context.cwd"))
    return {"unknown": f"unknown event type {shown(event.get('type'))}"}


def _prompt(data: Json) -> Json:
    return {**data, "role": "user" if text_at(data, "source") in ("", "user") else NOTE}


def _result(data: Json) -> Json:
    failed = data.get("success") is False
    denied = failed and text_at(data, "error.code") in ("denied", "rejected")
    return {
        "role": "tool", "tool_call_id": data.get("toolCallId"), "model": data.get("model"),
        "content": first_at(data, "result.content", "result", "error.message", "error"),
        "status": "denied" if denied else "error" if failed else "",
    }  # fmt: skip


def _compaction(data: Json) -> Json:
    if data.get("success") is False:
        return aside("compactions that failed were left out")
    tokens = {"before": data.get("preCompactionTokens"), "after": data.get("postCompactionTokens")}
    return {"role": SUMMARY, "content": data.get("summaryContent"), **tokens}


_EVENTS: dict[str, Callable[[Json], Json]] = {
    "user.message": _prompt,
    "assistant.message": lambda data: {
        **data, "role": "assistant", "reasoning": data.get("reasoningText"),
    },
    "tool.execution_start": lambda data: {"role": "assistant", "more": True, "tool_calls": [data]},
    "tool.execution_complete": _result,
    "session.compaction_complete": _compaction,
    "session.error": lambda data: {"role": TROUBLE, "message": data.get("message")},
    "system.message": lambda _: aside("system prompts of the other program were left out"),
}  # fmt: skip


COPILOT_CLI = Shape(
    name="copilot-cli", program="Copilot CLI", models=("model",),
    signs=(f"type={'|'.join(list(_EVENTS)[:4])} data !seq", "type=session.start data.sessionId !seq"),
    places=(files_in("COPILOT_HOME", ".copilot", "session-state/*/events.jsonl", "session-state/*.jsonl"),),
    is_side=lambda record: bool(text_at(record, "data.parentToolCallId", "agentId")),
    calls=("tool_calls", "toolRequests"), files=("attachments",),
    tokens={"output": "outputTokens"}, order=_order, convert=_convert,
)  # fmt: skip
