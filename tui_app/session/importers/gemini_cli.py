"""Chats of Gemini CLI: one JSON document, or in newer versions a log of messages and of changes to them."""

from dataclasses import dataclass, field
from typing import Any

from tui_app.session.importers.event_builder import Timeline, ToolOutcome
from tui_app.session.importers.reader import (
    Reader,
    block_list,
    count,
    list_at,
    object_at,
    objects_at,
    record_text,
    text_at,
    usage,
    value_at,
)
from tui_app.session.importers.source import Imported, Json, Line, Source, shown

# Replaying a chat log of Gemini CLI: messages are written anew, undone, or replaced.

_SNAPSHOT = "<state_snapshot>"
"""How the program's summary of a compressed history begins."""


@dataclass
class Chat:
    """What a log adds up to."""

    messages: list[Line] = field(default_factory=list)
    """The messages that stand, each with the line that wrote it last."""
    summaries: dict[int, str] = field(default_factory=dict)
    """By line: the summary of a compression that stands in the place of a message."""
    title: str = ""


def replay(records: tuple[Line, ...], report: Timeline) -> Chat:
    chat = Chat()
    places: dict[str, int] = {}
    for line in records:
        patch, target = line.data.get("$set"), line.data.get("$rewindTo")
        if isinstance(target, str):
            report.leave(line.number, "records about the chat were left out")
            start = places.get(target, len(chat.messages))
            if target not in places:
                report.skip(line.number, f"rewind to a message that is not in the file: {shown(target)}")
            for dropped in chat.messages[start:]:
                report.leave(dropped.number, "messages that were undone (rewinds) were left out")
                places.pop(record_text(dropped.data, "id"), None)
                chat.summaries.pop(dropped.number, None)
            del chat.messages[start:]
        elif isinstance(patch, dict):
            _patch(chat, places, patch, line, report)
        elif "sessionId" in line.data and "type" not in line.data:
            chat.title = record_text(line.data, "summary") or chat.title
            report.leave(line.number, "records about the chat were left out")
            for each in objects_at(line.data, "messages"):
                _put(chat, places, Line(line.number, each), report)
        else:
            _put(chat, places, line, report)
    return chat


def _put(chat: Chat, places: dict[str, int], line: Line, report: Timeline) -> None:
    name = record_text(line.data, "id")
    if name and name in places:
        earlier = chat.messages[places[name]]
        report.leave(earlier.number, "messages that were written again when they changed count once")
        chat.messages[places[name]] = line
        return
    if name:
        places[name] = len(chat.messages)
    chat.messages.append(line)


def _patch(chat: Chat, places: dict[str, int], patch: Json, line: Line, report: Timeline) -> None:
    chat.title = record_text(patch, "summary") or chat.title
    report.leave(line.number, "records about the chat were left out")
    for each in objects_at(patch, "messages"):
        name = record_text(each, "id")
        if name and name in places:
            continue
        new = Line(line.number, each)
        text = "\n".join(
            record_text(part, "text") for part in block_list(each.get("content")) if isinstance(part, dict)
        )
        if _SNAPSHOT in text and each.get("type") == "user" and line.number not in chat.summaries:
            chat.summaries[line.number] = text
            places[name] = len(chat.messages)
            chat.messages.append(new)
        elif line.number not in chat.summaries:
            _put(chat, places, new, report)


_FILES, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"
"""What stands around files that a prompt names."""
_TALK = ("user", "gemini")
_ASIDE = ("info", "error", "warning", "system")
_OUTCOMES: dict[str, ToolOutcome] = {"success": "success", "cancelled": "denied", "error": "error"}


def is_gemini_cli(source: Source) -> bool:
    document = source.document
    if isinstance(document, dict) and "sessionId" in document:
        messages = [each for each in list_at(document, "messages") if _is_message(each)]
        return any("projectHash" in document or each["type"] == "gemini" for each in messages)
    records = [line.data for line in source.lines.records]
    if any(record.get("type") == "gemini" and "content" in record for record in records):
        return True
    headed = any("sessionId" in record and "projectHash" in record for record in records)
    return headed and any(_is_message(each) or isinstance(each.get("$set"), dict) for each in records)


def read_gemini_cli(source: Source) -> Imported:
    return _Reader(source).read()


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in _TALK and "content" in item


class _Reader(Reader):
    def read(self) -> Imported:
        document = self.source.document
        if isinstance(document, dict) and isinstance(document.get("messages"), list):
            self.title = record_text(document, "summary")
            for number, item in enumerate(document["messages"], 1):
                if isinstance(item, dict):
                    self._message(Line(number, item))
                else:
                    self.skip_message(number, f"not an object: {shown(item)}")
            return self.finish(range(1, len(document["messages"]) + 1))
        lines = self.source.lines
        self.out.skipped.extend(lines.skipped)
        self.out.left_out["lines held bytes that are not UTF-8, shown as U+FFFD"] += lines.replaced
        chat: Chat = replay(lines.records, self.out)
        self.title = chat.title
        for line in chat.messages:
            if summary := chat.summaries.get(line.number):
                self.at(line.data.get("timestamp"))
                self.end_answer()
                self.out.compaction(summary, "blocking", (0, 0), self.time, line.number)
            else:
                self._message(line)
        return self.finish(line.number for line in lines.records)

    def _message(self, line: Line) -> None:
        record = line.data
        self.at(record.get("timestamp"))
        match record.get("type"):
            case "user":
                said, read_out = _files_apart(_blocks(record.get("content")))
                text = self.text(read_out, line.number)
                self.say(said, line.number, [f"<attached_files>\n{text}\n</attached_files>"] if text else ())
            case "gemini":
                self._answer_of(line)
            case kind if kind in _ASIDE:
                self.out.leave(line.number, "messages of the program (not the model) were left out")
            case kind:
                self.out.skip(line.number, f"unknown message type {shown(kind)}")

    def _answer_of(self, line: Line) -> None:
        record = line.data
        self.end_answer()
        answer = self.answer(line.number)
        answer.model = record_text(record, "model") or self.model
        for thought in list_at(record, "thoughts"):
            subject, text = text_at(thought, "subject"), text_at(thought, "description")
            told = f"**{subject}**\n{text}" if subject and text else subject or text
            answer.thinking(thought if isinstance(thought, str) else told)
        answer.text(self.text(_blocks(record.get("content")), line.number))
        tokens = object_at(record, "tokens")
        cached = count(tokens.get("cached"))
        fresh = max(0, count(tokens.get("input")) - cached)
        answer.usage = usage(fresh, count(tokens.get("output")) + count(tokens.get("thoughts")), cached)
        made: list[Json] = []
        for each in list_at(record, "toolCalls"):
            if text_at(each, "name"):
                answer.call(self.out.calls, record_text(each, "id"), each["name"], each.get("args"))
                made.append(each)
            else:
                self.out.skip(line.number, f"tool call without a tool's name: {shown(each)}")
        self.end_answer()
        for each in made:
            outcome = _OUTCOMES.get(record_text(each, "status"))
            if outcome is not None:
                self.result(record_text(each, "id"), _output(each), outcome, line.number)


def _files_apart(blocks: list[Any]) -> tuple[list[Any], list[Any]]:
    """What the user said, and the files that were named in it, as the program read them out."""
    marks = [text_at(block, "text").strip() for block in blocks]
    if _FILES not in marks:
        return blocks, []
    first = marks.index(_FILES)
    last = marks.index(_FILES_END, first) if _FILES_END in marks[first:] else len(blocks)
    return [*blocks[:first], *blocks[last + 1 :]], blocks[first + 1 : last]


def _blocks(content: Any) -> list[Any]:
    """Gemini's parts as the reader of blocks knows them."""
    parts = content if isinstance(content, list) else [content]
    return [part_block(part) for part in parts if part is not None]


def part_block(part: Any) -> Any:
    if not isinstance(part, dict):
        return part if isinstance(part, str) else {"type": shown(part)}
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    inline = part.get("inlineData")
    if isinstance(inline, dict):
        source = {"type": "base64", "media_type": inline.get("mimeType"), "data": inline.get("data")}
        return {"type": "document", "source": source}
    file = part.get("fileData")
    if isinstance(file, dict):
        return {"type": "text", "text": f"[file: {record_text(file, 'fileUri')}]"}
    return part


def _output(call: Json) -> Any:
    """What a tool answered: the text inside of its function responses, else what was shown."""
    result = call.get("result")
    parts = result if isinstance(result, list) else [result]
    blocks: list[Any] = []
    for part in parts:
        response = value_at(part, "functionResponse.response")
        if isinstance(response, dict):
            value = response.get("output", response.get("error", response))
            blocks.append(value if isinstance(value, str) else str(value))
        elif part is not None:
            blocks.append(part_block(part))
    if blocks:
        return blocks
    display = call.get("resultDisplay")
    return display if isinstance(display, str) else ""
