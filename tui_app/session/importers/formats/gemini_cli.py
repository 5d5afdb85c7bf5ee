"""Chats of Gemini CLI: one JSON document, or in newer versions a log of messages and changes."""

from collections.abc import Mapping
from typing import Any

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.content import attached, picture, text_block
from tui_app.session.importers.message_lists import Found
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import SUMMARY, Records, Shape, side_record
from tui_app.session.importers.source import Json, Source, shown
from tui_app.session.importers.values import (
    block_list,
    list_at,
    object_at,
    objects_at,
    text_at,
    value_at,
)  # fmt: skip

_SNAPSHOT = "<state_snapshot>"
"""Prefix of the program's summary of a compressed history."""
_FILES, _FILES_END = "--- Content from referenced files ---", "--- End of content ---"
"""What is written around files that a prompt names."""
_QUIET = side_record("messages of the program (not the model) were left out")


def _order(records: Records, out: Timeline) -> Records:
    """Replay the log, in which messages are rewritten, undone or replaced."""
    stands: dict[Any, tuple[int, Json]] = {}
    """The messages by id, each with the line that last wrote it."""
    for number, record in records:
        target = record.get("$rewindTo")
        if isinstance(target, str):
            if target not in stands:
                out.skip(f"rewind to a message that is not in the file: {shown(target)}", number)
            names = list(stands)
            for name in names[names.index(target) :] if target in stands else []:
                if isinstance(name, str):
                    out.leave("messages that were undone (rewinds) were left out", stands.pop(name)[0])
        for message in [record] if "type" in record else _written(record, stands):
            name = text_at(message, "id") or (number, len(stands))
            if name in stands:
                out.leave("messages that were written again when they changed count once", stands[name][0])
            stands[name] = number, message
    return list(stands.values())


def _written(record: Json, known: Mapping[Any, Any]) -> list[Json]:
    """Return the messages in a record about the chat, and its title."""
    patch = object_at(record, "$set")
    listed = objects_at(patch or record, "messages")
    new = [each for each in listed if not patch or text_at(each, "id") not in known]
    # Messages listed after a summary were there before it.
    at = next((at for at, each in enumerate(new) if patch and _is_snapshot(each)), len(new))
    messages = [*new[:at], *({**each, "type": SUMMARY} for each in new[at : at + 1])]
    return [*messages, {"title": text_at(patch, "summary") or text_at(record, "summary")}]


def _is_snapshot(message: Json) -> bool:
    texts = (text_at(part, "text") for part in block_list(message.get("content")))
    return message.get("type") == "user" and any(_SNAPSHOT in text for text in texts)


def _prompt(record: Json) -> Json:
    return {**record, "role": record["type"], "content": _split_files(block_list(record.get("content")))}


def _answer(record: Json) -> Json:
    thoughts = [{"type": "thinking", "thinking": _thought(each)} for each in list_at(record, "thoughts")]
    return {**record, "role": "assistant", "content": [*thoughts, *block_list(record.get("content"))]}


def _thought(thought: Any) -> str:
    subject, text = text_at(thought, "subject"), text_at(thought, "description")
    content = f"**{subject}**\n{text}" if subject and text else subject or text
    return thought if isinstance(thought, str) else content


def _split_files(blocks: list[Any]) -> list[Any]:
    """What the user said, and after it the files that were named in it, as the program read them out."""
    marks = [text_at(block, "text").strip() for block in blocks]
    if _FILES not in marks:
        return blocks
    first = marks.index(_FILES)
    last = marks.index(_FILES_END, first) if _FILES_END in marks[first:] else len(blocks)
    read_out = "\n\n".join(text_at(block, "text") for block in blocks[first + 1 : last])
    return [*blocks[:first], *blocks[last + 1 :], attached(read_out)]


def part_block(part: Any) -> Any:
    if not isinstance(part, dict) or "type" in part:
        return text_block(part) if isinstance(part, str) else part
    if "text" in part:
        return text_block(part["text"])
    if inline := object_at(part, "inlineData"):
        return picture(inline.get("mimeType"), inline.get("data"), "document")
    if file := object_at(part, "fileData"):
        return text_block(f"[file: {text_at(file, 'fileUri')}]")
    # A tool's result is inside of its function response.
    response = value_at(part, "functionResponse.response")
    return response.get("output", response.get("error", response)) if isinstance(response, dict) else part


def _document(source: Source) -> Found | None:
    listed = list_at(source.document, "messages")
    return Found(listed, source.document) if listed else None


_CHATS = (f".gemini/tmp/*/chats/session-*.{end}" for end in ("json", "jsonl"))
GEMINI_CLI = Shape(
    name="gemini-cli", program="Gemini CLI", find=_document, title=("title", "summary"),
    signs=("type=gemini content", "sessionId projectHash", "messages.type=gemini messages.content"),
    places=(files_in("GEMINI_CLI_HOME", "", *_CHATS),), order=_order, block=part_block, about=("!type",),
    kinds={
        "gemini": _answer, **dict.fromkeys(("user", SUMMARY), _prompt),
        **{kind: _QUIET for kind in ("info", "error", "warning", "system")},
    },
    tokens={
        "total": "tokens.input", "output": "tokens.output", "read": "tokens.cached",
        "apart": "tokens.thoughts",
    },
)  # fmt: skip
