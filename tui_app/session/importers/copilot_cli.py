"""Event logs of GitHub Copilot CLI: JSON lines ``{type, data, id, timestamp, parentId}``."""

from tui_app.events import Error
from tui_app.session.importers.event_builder import NOTES, ToolOutcome
from tui_app.session.importers.reader import (
    LineReader,
    block_list,
    count,
    list_at,
    objects_at,
    record_text,
    text_at,
    usage,
)
from tui_app.session.importers.source import Imported, Json, Line, Source, shown

_GROUPS = (
    "abort", "assistant", "command", "commands", "custom", "elicitation", "exit_plan_mode", "external_tool",
    "hook", "mcp", "model", "pending_messages", "permission", "sampling", "session", "skill", "subagent",
    "system", "tool", "user", "user_input",
)  # fmt: skip
"""First words of the event types."""
_TALK = (
    ("user", "message"),
    ("assistant", "message"),
    ("tool", "execution_start"),
    ("tool", "execution_complete"),
)


def is_copilot_cli(source: Source) -> bool:
    records = [line.data for line in source.lines.records if isinstance(line.data.get("data"), dict)]
    return any(
        _kind(record) in _TALK or (_kind(record) == ("session", "start") and "sessionId" in record["data"])
        for record in records
        if "seq" not in record
    )


def read_copilot_cli(source: Source) -> Imported:
    return _Reader(source).read()


def _kind(record: Json) -> tuple[str, str]:
    """Group and name of an event: its type is both with a point between."""
    group, _, name = record_text(record, "type").partition(".")
    return group, name


class _Reader(LineReader):
    def read(self) -> Imported:
        seen: set[str] = set()
        self._asked: dict[str, int] = {}
        for line in self.records:
            self.at(line.data.get("timestamp"))
            data = line.data.get("data")
            event_id = record_text(line.data, "id")
            if not isinstance(data, dict):
                self.out.skip(line.number, "event without data")
            elif event_id and event_id in seen:
                self.out.skip(line.number, f"event id {shown(event_id)} was already used in this file")
            elif record_text(data, "parentToolCallId") or record_text(line.data, "agentId"):
                self.out.leave(line.number, "records of sub-agents were left out")
            else:
                self._event(line, _kind(line.data), data)
            seen.add(event_id)
        return self.close()

    def _event(self, line: Line, kind: tuple[str, str], data: Json) -> None:
        match kind:
            case ("user", "message") if record_text(data, "source") in ("", "user"):
                self._prompt(line, data)
            case ("user", "message"):
                self.out.leave(line.number, NOTES)
            case ("assistant", "message"):
                self.end_answer()
                answer = self.answer(line.number)
                answer.model = record_text(data, "model") or self.model
                answer.thinking(data.get("reasoningText"))
                answer.text(data.get("content"))
                answer.usage = usage(0, data.get("outputTokens"))
                for request in list_at(data, "toolRequests"):
                    self._call(line, request, "name")
            case ("tool", "execution_start") if record_text(data, "toolCallId") in self._asked:
                self.out.leave(line.number, "events that repeat a tool call were left out")
            case ("tool", "execution_start"):
                self._call(line, data, "toolName")
            case ("tool", "execution_complete"):
                self.model = self.model or record_text(data, "model")
                result, error = data.get("result"), data.get("error")
                content = result.get("content") if isinstance(result, dict) else result
                trouble = record_text(error, "message") if isinstance(error, dict) else error
                told = trouble if content is None else content
                failed = data.get("success") is False
                denied = failed and text_at(data, "error.code") in ("denied", "rejected")
                outcome: ToolOutcome = "denied" if denied else "error" if failed else "success"
                self.result(record_text(data, "toolCallId"), told, outcome, line.number)
            case ("session", "compaction_complete"):
                self._compacted(line, data)
            case ("session", "error"):
                self.end_answer()
                text = record_text(data, "message") or "The program reported an error."
                self.out.add(Error(kind="provider", message=text), None, self.time, line.number)
            case _:
                self._aside(line, kind, data)

    def _prompt(self, line: Line, data: Json) -> None:
        """What the user said; pictures belong to it, what was selected or named the model reads beside it."""
        blocks: list[Json] = block_list(data.get("content"))
        beside: list[str] = []
        for each in objects_at(data, "attachments"):
            if "data" in each:
                source = {"type": "base64", "media_type": each.get("mimeType"), "data": each["data"]}
                blocks.append({"type": "image", "source": source})
            else:
                name = text_at(each, "displayName", "filePath", "path") or record_text(each, "type")
                beside.append(f"<attached_files>\n{name}\n{record_text(each, 'text')}\n</attached_files>")
        self.say(blocks, line.number, beside)

    def _aside(self, line: Line, kind: tuple[str, str], data: Json) -> None:
        context = data.get("context")
        if kind == ("session", "start") and isinstance(context, dict):
            self.cwd = record_text(context, "cwd")
        self.model = text_at(data, "newModel", "selectedModel", "currentModel") or self.model
        if kind == ("system", "message"):
            self.out.leave(line.number, "system prompts of the other program were left out")
        elif kind[0] in _GROUPS:
            self.out.leave(line.number, "events that are not messages were left out")
        else:
            self.out.skip(line.number, f"unknown event type {shown(line.data.get('type'))}")

    def _call(self, line: Line, request: object, name_key: str) -> None:
        if not isinstance(request, dict) or not record_text(request, name_key):
            self.out.skip(line.number, f"tool call without a tool's name: {shown(request)}")
            return
        call_id = record_text(request, "toolCallId")
        if call_id and self._asked.get(call_id) == line.number:
            self.out.skip(line.number, f"tool call id {shown(call_id)} occurs twice in one response")
            return
        self._asked[call_id] = line.number
        name = record_text(request, name_key)
        self.answer(line.number).call(self.out.calls, call_id, name, request.get("arguments"))

    def _compacted(self, line: Line, data: Json) -> None:
        self.end_answer()
        summary = record_text(data, "summaryContent")
        if data.get("success") is False:
            self.out.leave(line.number, "compactions that failed were left out")
        elif not summary.strip():
            self.out.skip(line.number, "compaction without a summary, not applied")
        else:
            tokens = count(data.get("preCompactionTokens")), count(data.get("postCompactionTokens"))
            self.out.compaction(summary, "blocking", tokens, self.time, line.number)
