"""Small readers of the report's own for some formats; only what it needs."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.quality.reading import Json, Reading, text_in
from tests.quality.trajectories import AIDER, aider, read_trajectory


def read_other(path: Path) -> Reading | None:
    """Read a session of another program; None when nobody knows the format."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if text.startswith(AIDER):
        return aider(text)
    try:
        document = json.loads(text)
    except ValueError:
        document = list(_records(text))
    if isinstance(document, dict) and {"info", "messages"} <= document.keys():
        return _opencode(document)
    if (read := read_trajectory(document)) is not None:
        return read
    if not isinstance(document, list) or not document or not isinstance(document[0], dict):
        return None
    first = document[0].get("type")
    if first == "session":
        return _pi(document)
    return _copilot(document) if first == "session.start" else None


def _records(text: str) -> Iterator[Json]:
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def _pi(records: list[Json]) -> Reading:
    read = Reading("pi")
    starts: dict[str, int] = {}
    for record in _path(records):
        starts[str(record.get("id"))] = len(read.messages)
        if record.get("type") == "compaction":
            read.compacted(str(record.get("summary", "")), starts.get(str(record.get("firstKeptEntryId"))))
        message = record.get("message")
        if record.get("type") != "message" or not isinstance(message, dict):
            continue
        match message.get("role"):
            case "user":
                read.user(text_in(message.get("content")))
            case "assistant":
                calls = [part for part in message.get("content", []) if part.get("type") == "toolCall"]
                read.answer(
                    text_in(message.get("content")),
                    [(c["id"], c["name"], c.get("arguments", {})) for c in calls],
                )
            case "toolResult":
                ok = not message.get("isError")
                read.result(message.get("toolCallId", ""), text_in(message.get("content")), ok=ok)
    return read.close()


def _path(records: list[Json]) -> list[Json]:
    """From the last record to the root where records name their parent, else all of them."""
    by_id = {record["id"]: record for record in records if "parentId" in record and "id" in record}
    if not by_id:
        return records
    path: list[Json] = []
    at: Json | None = list(by_id.values())[-1]
    while at is not None:
        path.append(at)
        at = by_id.get(at.get("parentId"))
    return path[::-1]


def _opencode(document: Json) -> Reading:
    read = Reading("opencode")
    for message in document["messages"]:
        parts = message.get("parts", [])
        text = "\n".join(
            part.get("text", "") for part in parts if part.get("type") == "text" and not part.get("synthetic")
        )
        if message.get("info", {}).get("role") == "user":
            read.user(text)
            continue
        tools = [part for part in parts if part.get("type") == "tool"]
        read.answer(text, [(part["callID"], part["tool"], part["state"].get("input", {})) for part in tools])
        for part in tools:
            state = part["state"]
            output = str(state.get("output") or state.get("error") or "")
            read.result(part["callID"], output, ok=state.get("status") == "completed")
    return read.close()


def _copilot(records: list[Json]) -> Reading:
    read = Reading("copilot-cli")
    for record in records:
        data = record.get("data") or {}
        match record.get("type"):
            case "system.message":
                read.system(str(data.get("content", "")))
            case "user.message":
                read.user(str(data.get("content") or ""))
            case "assistant.message":
                calls = data.get("toolRequests") or []
                read.answer(
                    str(data.get("content") or ""),
                    [(c["toolCallId"], c["name"], c.get("arguments") or {}) for c in calls],
                )
            case "tool.execution_complete":
                result = data.get("result") or data.get("error") or {}
                text = str(result.get("content") or result.get("message") or "")
                read.result(data.get("toolCallId", ""), text, ok=bool(data.get("success")))
    return read.close()
