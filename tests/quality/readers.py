"""Small readers for formats that the product does not import yet; only what the report needs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

Json = dict[str, Any]


@dataclass(slots=True)
class Reading:
    """Messages read so far."""

    format: str
    messages: list[ModelMessage] = field(default_factory=list)
    boundaries: list[tuple[int, str, int]] = field(default_factory=list)
    """Index behind the compaction, its summary, and the index of the first message that stayed."""
    names: dict[str, str] = field(default_factory=dict)
    """Tools that were called and not yet answered, by call id."""

    def compacted(self, summary: str, kept_from: int | None = None) -> None:
        here = len(self.messages)
        self.boundaries.append((here, summary, here if kept_from is None else kept_from))

    def system(self, text: str) -> None:
        self.messages.append(ModelRequest(parts=[SystemPromptPart(text)]))

    def user(self, text: str) -> None:
        if text.strip():
            self.messages.append(ModelRequest(parts=[UserPromptPart(text)]))

    def answer(self, text: str, calls: list[tuple[str, str, Any]]) -> None:
        parts: list[Any] = [TextPart(text)] if text.strip() else []
        parts += [ToolCallPart(tool, args, call_id) for call_id, tool, args in calls]
        self.names.update({call_id: tool for call_id, tool, _ in calls})
        if parts:
            self.messages.append(ModelResponse(parts=parts))

    def result(self, call_id: str, text: str, *, ok: bool) -> None:
        if tool := self.names.pop(call_id, ""):
            outcome = "success" if ok else "failed"
            part = ToolReturnPart(tool, text, call_id, outcome=outcome)
            self.messages.append(ModelRequest(parts=[part]))

    def close(self) -> "Reading":
        """Answer what the file leaves open, behind the call."""
        for index in range(len(self.messages) - 1, -1, -1):
            message = self.messages[index]
            if isinstance(message, ModelResponse):
                late = [
                    ToolReturnPart(part.tool_name, "", part.tool_call_id, outcome="interrupted")
                    for part in message.parts
                    if isinstance(part, ToolCallPart) and part.tool_call_id in self.names
                ]
                self.messages[index + 1 : index + 1] = [ModelRequest(parts=[part]) for part in late]
        return self


def read_other(path: Path) -> Reading | None:
    """Read pi, Copilot CLI or OpenCode; None for anything else."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        document = json.loads(text)
    except ValueError:
        document = list(_records(text))
    if isinstance(document, dict) and {"info", "messages"} <= document.keys():
        return _opencode(document)
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
                read.user(_text(message.get("content")))
            case "assistant":
                calls = [part for part in message.get("content", []) if part.get("type") == "toolCall"]
                read.answer(
                    _text(message.get("content")),
                    [(c["id"], c["name"], c.get("arguments", {})) for c in calls],
                )
            case "toolResult":
                ok = not message.get("isError")
                read.result(message.get("toolCallId", ""), _text(message.get("content")), ok=ok)
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


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts if part.get("type") == "text")
