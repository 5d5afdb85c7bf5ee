"""Event logs of GitHub Copilot CLI: JSON lines ``{type, data, id, timestamp, parentId}``."""

from collections.abc import Callable

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import SUMMARY, TROUBLE, Records, Shape, side_record
from tui_app.session.importers.source import Json, shown
from tui_app.session.importers.values import first_at, objects_at, text_at


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
            out.skip(f"event id {shown(name)} was already used in this file", number)
        elif repeats and record.get("type") == "tool.execution_start":
            out.leave("events that repeat a tool call were left out", number)
        else:
            stands.append((number, record))
        seen.add(name)
    return stands


def _convert(event: Json) -> Json:
    # New versions have more types.
    has_data = isinstance(event.get("data"), dict)
    left = "events that are not messages were left out"
    unknown = {"unknown": f"unknown event type {shown(event.get('type'))}"}
    return {**event, **side_record(left)} if has_data else unknown


def _result(data: Json) -> Json:
    failed = data.get("success") is False
    denied = failed and text_at(data, "error.code") in ("denied", "rejected")
    return {
        **data, "role": "tool", "tool_call_id": data.get("toolCallId"),
        "content": first_at(data, "result.content", "result", "error.message", "error"),
        "status": "denied" if denied else "error" if failed else "",
    }  # fmt: skip


_EVENTS: dict[str, Json | Callable[[Json], Json]] = {
    "user.message": {"role": "user"},
    "assistant.message": {"role": "assistant", "reasoning": ".reasoningText"},
    "tool.execution_start": {
        "role": "assistant", "more": True,
        "tool_calls": [{"id": ".toolCallId", "name": ".toolName", "arguments": ".arguments"}],
    },
    "tool.execution_complete": _result,
    "session.compaction_complete": {
        "role": SUMMARY, "content": ".summaryContent", "before": ".preCompactionTokens",
        "after": ".postCompactionTokens",
    },
    "session.error": {"role": TROUBLE},
    "system.message": side_record("system prompts of the other program were left out"),
}  # fmt: skip
COPILOT_CLI = Shape(
    name="copilot-cli", program="Copilot CLI", models=("model", "newModel", "selectedModel", "currentModel"),
    cwd=("context.cwd",), message="data",
    signs=(f"type={'|'.join(list(_EVENTS)[:4])} data !seq", "type=session.start data.sessionId !seq"),
    places=(files_in("COPILOT_HOME", ".copilot", "session-state/*/events.jsonl", "session-state/*.jsonl"),),
    is_side=lambda record: bool(text_at(record, "data.parentToolCallId", "agentId")),
    calls=("tool_calls", "toolRequests"), files=("attachments",),
    tokens={"output": "outputTokens"}, order=_order, kinds=_EVENTS,
    convert=_convert, about=("type=session.compaction_complete data.success=false",),
    noted=("source!=user|",),
)  # fmt: skip
