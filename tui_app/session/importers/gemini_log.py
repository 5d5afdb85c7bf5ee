"""Replaying a chat log of Gemini CLI: messages are written anew, taken back, or replaced."""

from dataclasses import dataclass, field
from typing import Any

from tui_app.session.importers.fields import record_text
from tui_app.session.importers.source import Json, Line, shown
from tui_app.session.importers.timeline import Timeline

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
    """Fold the lines of a log."""
    chat = Chat()
    places: dict[str, int] = {}
    for line in records:
        patch, target = line.data.get("$set"), line.data.get("$rewindTo")
        if isinstance(target, str):
            _rewind(chat, places, target, line, report)
        elif isinstance(patch, dict):
            _patch(chat, places, patch, line, report)
        elif "sessionId" in line.data and "type" not in line.data:
            chat.title = record_text(line.data, "summary") or chat.title
            report.leave(line.number, "records about the chat were left out")
            for each in _items(line.data):
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


def _rewind(chat: Chat, places: dict[str, int], target: str, line: Line, report: Timeline) -> None:
    report.leave(line.number, "records about the chat were left out")
    if target not in places:
        report.skip(line.number, f"rewind to a message that is not in the file: {shown(target)}")
        return
    _drop(chat, places, places[target], report)


def _drop(chat: Chat, places: dict[str, int], start: int, report: Timeline) -> None:
    for dropped in chat.messages[start:]:
        report.leave(dropped.number, "messages that were taken back (rewinds) were left out")
        places.pop(record_text(dropped.data, "id"), None)
        chat.summaries.pop(dropped.number, None)
    del chat.messages[start:]


def _patch(chat: Chat, places: dict[str, int], patch: Json, line: Line, report: Timeline) -> None:
    chat.title = record_text(patch, "summary") or chat.title
    report.leave(line.number, "records about the chat were left out")
    for each in _items(patch):
        name = record_text(each, "id")
        if name and name in places:
            continue
        new = Line(line.number, each)
        text = _text(each.get("content"))
        if _SNAPSHOT in text and each.get("type") == "user" and line.number not in chat.summaries:
            chat.summaries[line.number] = text
            places[name] = len(chat.messages)
            chat.messages.append(new)
        elif line.number not in chat.summaries:
            _put(chat, places, new, report)


def _items(record: Json) -> list[Json]:
    messages = record.get("messages")
    return [each for each in messages if isinstance(each, dict)] if isinstance(messages, list) else []


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(record_text(part, "text") for part in parts if isinstance(part, dict))
