"""Histories of pydantic-ai: a JSON list of messages, or an object that contains one.

A request is split, because the log has one event for each prompt and each tool result.
"""

import json
from typing import Any

from tui_app.session.importers import books
from tui_app.session.importers.books import Timeline, ToolOutcome
from tui_app.session.importers.message_lists import Found, is_pydantic_message
from tui_app.session.importers.reader import Reader
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json, Source
from tui_app.session.importers.values import list_at, value_at

_OUTCOMES: dict[str, ToolOutcome] = {
    "success": "success", "failed": "error", "retried": "error", "denied": "denied",
    "interrupted": "interrupted",
}  # fmt: skip
_TIMED = ("system-prompt", "user-prompt", "tool-return", "retry-prompt")


def _runs(source: Source) -> Found | None:
    """Return the conversation of a file with a run's messages per line, either new ones or all so far."""
    lists = [data for _, data in source.lines.records if isinstance(data, list)]
    runs = [run for run in lists if any(map(is_pydantic_message, run))]
    if source.document is not None or not runs:
        return None
    history, others = runs[0], 0
    for run in runs[1:]:
        if run[: len(history)] == history:
            history = run
        elif any(value_at(part, "part_kind") == "system-prompt" for part in list_at(run[0], "parts")):
            # Only the first run of a conversation has a system prompt.
            others += 1
        else:
            history = [*history, *run]
    return Found(history, {}, others)


def _turn(reader: Reader, item: Json) -> None:
    out = reader.out
    try:
        message: Json = json.loads(books.canonical(_completed(item, out.time)))
    except books.MessageRefusedError as error:
        return out.skip(str(error), unknown=not is_pydantic_message(item))
    reader.set_clock(message)
    if message["kind"] == "response":
        for part in message["parts"]:
            if part["part_kind"] == "tool-call":
                part["tool_call_id"] = out.calls.begin(part["tool_call_id"], part["tool_name"])
        if out.response(message):
            reader.model = message.get("model_name") or reader.model
    elif not message["parts"]:
        out.leave("requests without any content were left out")
    else:
        for part in message["parts"]:
            _part(out, part, {**message, "parts": [part]})
    return None


def _part(out: Timeline, part: Json, alone: Json) -> None:
    match part["part_kind"]:
        case "system-prompt":
            out.system(part["content"], alone)
        case "tool-return" if call := out.calls.finish(part["tool_call_id"], part["tool_name"]):
            part["tool_call_id"] = call.call_id
            out.result(call, "", _OUTCOMES[part["outcome"]], alone)
        case "tool-return":
            out.skip(out.calls.why_not(part["tool_call_id"]))
        case "compaction":
            out.compaction(part["content"], "manual")
        case _:
            out.user(part.get("content") or "", alone)


def _completed(item: Json, time: float) -> Json:
    """Fill in the times and ids that pydantic-ai would generate differently at every reading."""
    parts = item.get("parts")
    if not isinstance(parts, list):
        return item
    moment = item.get("timestamp") or books.iso(time)
    filled: list[Any] = []
    for part in parts:
        kind, missing = value_at(part, "part_kind"), {}
        if kind in _TIMED and not part.get("timestamp"):
            missing["timestamp"] = moment
        if kind in ("tool-call", "tool-return") and not part.get("tool_call_id"):
            missing["tool_call_id"] = ""
        filled.append({**part, **missing} if missing else part)
    return {**item, "timestamp": moment, "parts": filled}


PYDANTIC_AI = Shape(
    name="pydantic-ai", program="pydantic-ai", is_message=is_pydantic_message, find=_runs, take=_turn,
)  # fmt: skip
