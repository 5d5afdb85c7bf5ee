"""Sessions as the report uses them: readers of all formats, and other products' compactions."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from tui_app.context.views.view import Item, is_system, to_messages
from tui_app.events import CompactionComplete
from tui_app.session.importers.formats import ImportFormatError, import_file

# The result of a reader: messages in order, and where the other product compacted.


Json = dict[str, Any]


@dataclass(slots=True)
class Reading:
    """The messages read so far."""

    format: str
    messages: list[ModelMessage] = field(default_factory=list)
    boundaries: list[tuple[int, str, int]] = field(default_factory=list)
    """Index after the compaction, its summary, and the index of the first message that was kept."""
    names: dict[str, str] = field(default_factory=dict)
    """Tools of calls without a result so far, by call id."""

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
        """Add a result for each call that the file leaves open, directly after the call."""
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


def text_in(content: Any) -> str:
    """The text of a message's content: a string, or the text blocks of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts if part.get("type") == "text")


# Readers for trajectories of agent benchmarks and frameworks, and for aider's history.


AIDER = "# aider chat started at "
_AIDER_LINE = re.compile(r"(####|>) ?(.*)")
Calls = list[tuple[str, str, Any]]


def read_trajectory(document: Any) -> Reading | None:
    """Read SWE-agent, OpenHands, inspect-ai or LangChain; None for other formats."""
    match document:
        case {"history": [*history], "trajectory": _}:
            return _swe_agent(history)
        case {"history": [{"id": _, "source": _}, *_] as events}:
            return _openhands(events)
        case {"samples": [{"messages": [*messages]}, *_]}:
            return _inspect_ai(messages)
        case [{"lc": _, "type": "constructor"}, *_]:
            return _langchain(document)
        case _:
            return None


def _swe_agent(history: Sequence[Json]) -> Reading:
    """Older files store the action as text and the observation as the next user message, without ids."""
    read = Reading("swe-agent")
    waiting: list[str] = []
    for step, message in enumerate(history):
        text = text_in(message.get("content"))
        match message.get("role"):
            case "system":
                read.system(text)
            case "assistant":
                calls: Calls = [
                    (call["id"], call["function"]["name"], call["function"]["arguments"])
                    for call in message.get("tool_calls") or ()
                ]
                action = str(message.get("action") or "").strip()
                if not calls and action:
                    calls = [(f"step-{step}", "command", {"command": action})]
                read.answer(str(message.get("thought") or text) if calls else text, calls)
                waiting = [call_id for call_id, _, _ in calls]
            case _ if waiting:
                call_id = (message.get("tool_call_ids") or waiting)[0]
                waiting.remove(call_id)
                read.result(call_id, text, ok=True)
            case _:
                read.user(text)
    return read.close()


def _openhands(events: Sequence[Json]) -> Reading:
    """An observation names its action; actions without a call do not come from the model."""
    read = Reading("openhands")
    calls: dict[int, str] = {}
    for event in events:
        args = dict(event.get("args") or {})
        made = event.get("tool_call_metadata") or {}
        match event.get("action"):
            case None:
                call_id = calls.get(event.get("cause", -1)) or made.get("tool_call_id", "")
                read.result(call_id, str(event.get("content") or ""), ok=event.get("success") is not False)
            case "system":
                read.system(str(args.get("content", "")))
            case "message" if event.get("source") == "user":
                read.user(str(args.get("content", "")))
            case "message":
                read.answer(str(args.get("content", "")), [])
            case _ if made:
                calls[event["id"]] = made["tool_call_id"]
                thought = str(args.pop("thought", "") or "")
                read.answer(thought, [(made["tool_call_id"], made["function_name"], args)])
            case _:
                pass
    return read.close()


def _inspect_ai(messages: Sequence[Json]) -> Reading:
    """The first sample of a log, because each sample is its own conversation."""
    read = Reading("inspect-ai")
    for message in messages:
        text = text_in(message.get("content"))
        match message.get("role"):
            case "system":
                read.system(text)
            case "user":
                read.user(text)
            case "tool":
                read.result(message.get("tool_call_id", ""), text, ok=not message.get("error"))
            case _:
                calls = message.get("tool_calls") or ()
                read.answer(text, [(call["id"], call["function"], call["arguments"]) for call in calls])
    return read.close()


def _langchain(document: Sequence[Json]) -> Reading:
    read = Reading("langchain")
    for record in document:
        message = record.get("kwargs", {})
        text = text_in(message.get("content"))
        match str(record.get("id", [""])[-1]).removesuffix("Chunk"):
            case "SystemMessage":
                read.system(text)
            case "HumanMessage":
                read.user(text)
            case "ToolMessage":
                read.result(message.get("tool_call_id", ""), text, ok=message.get("status") != "error")
            case "AIMessage":
                calls = message.get("tool_calls") or ()
                read.answer(text, [(call["id"], call["name"], call["args"]) for call in calls])
            case _:
                pass
    return read.close()


def aider(text: str) -> Reading:
    """User lines and answers; aider's own console output was never sent to the model."""
    read = Reading("aider-md")
    speaker, said = "", list[str]()

    def finish() -> None:
        whole = "\n".join(said).strip()
        if speaker == "####":
            read.user(whole)
        elif not speaker:
            read.answer(whole, [])
        said.clear()

    for line in text.splitlines():
        if line.startswith(AIDER):
            continue
        match = _AIDER_LINE.match(line)
        mark = match[1] if match else ""
        if mark != speaker and (mark or line.strip()):
            finish()
            speaker = mark
        said.append(match[2].rstrip() if match else line)
    finish()
    return read


# Minimal readers of the report for some formats.


def read_other(path: Path) -> Reading | None:
    """Read a session of another program; None for an unknown format."""
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
    """The records from the last one to the root where they name their parent, else all records."""
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


# Sessions as the report uses them: messages in order, and where another product compacted.


_OURS = ("claude-code", "pydantic-ai", "openai-chat")
"""Formats read with the product's importers."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A compaction of the other product."""

    index: int
    """Index of the first message after it."""
    summary: str
    kept_from: int
    """Index of the first message kept after the summary; ``index`` if none was."""


@dataclass(frozen=True, slots=True)
class Transcript:
    name: str
    format: str
    messages: tuple[ModelMessage, ...]
    boundaries: tuple[Boundary, ...] = ()


def read_transcript(path: Path) -> Transcript | None:
    """Read a file with our importers, else with a reader of the report; None for an unknown format.

    Formats that the report has readers for use those, because the published figures were measured with them.
    """
    try:
        imported = import_file(path)
    except (ImportFormatError, UnicodeDecodeError):
        imported = None
    if imported is None or imported.format not in _OURS:
        other = read_other(path)
        if imported is None or other is not None:
            return other and _of_reading(path, other)
    read = Reading(imported.format)
    texts = [event.message or "" for event in imported.events]
    parsed = ModelMessagesTypeAdapter.validate_json(f"[{','.join(filter(None, texts))}]")
    messages = iter(parsed)
    for event, text in zip(imported.events, texts, strict=True):
        message = next(messages) if text else None
        if isinstance(event.data, CompactionComplete):
            read.compacted(event.data.summary)
        elif message is not None:
            read.messages.append(message)
    return _of_reading(path, read)


def _of_reading(path: Path, read: Reading) -> Transcript:
    """Join the results of one answer, as a request does, and adjust the boundaries.

    The other program's system prompt is left out: it is not compacted, and ours would replace it.
    """
    cuts = sorted(
        {0, len(read.messages), *(place for index, _, kept in read.boundaries for place in (index, kept))}
    )
    messages: list[ModelMessage] = []
    moved: dict[int, int] = {0: 0}
    for start, end in pairwise(cuts):
        messages += _joined([message for message in read.messages[start:end] if not is_system(message)])
        moved[end] = len(messages)
    boundaries = tuple(
        Boundary(moved[index], summary, moved.get(kept, moved[index]))
        for index, summary, kept in read.boundaries
    )
    return Transcript(path.stem, read.format, tuple(messages), boundaries)


def _joined(messages: list[ModelMessage]) -> list[ModelMessage]:
    return to_messages([Item(key, _unreported(message)) for key, message in enumerate(messages, 1)])


def _unreported(message: ModelMessage) -> ModelMessage:
    """Remove the usage reported by the other program's provider, which belongs to other requests."""
    return replace(message, usage=RequestUsage()) if isinstance(message, ModelResponse) else message


def find_files(paths: list[Path]) -> list[Path]:
    """All files at and below some paths, sorted by name."""
    found = [
        file
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if file.is_file()
    ]
    return [file for file in found if file.suffix in {".json", ".jsonl", ".traj", ".md"}]
