"""Exports of OpenCode: ``{info, messages: [{info, parts}]}``; a tool call and its result are one part."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.content import BESIDE, text_block
from tui_app.session.importers.databases import Row, Rows, Store, parsed
from tui_app.session.importers.message_lists import Found
from tui_app.session.importers.places import Env, Transcript, folder_of, stores_in
from tui_app.session.importers.shape import NOTE, SUMMARY, TROUBLE, Records, Shape, aside
from tui_app.session.importers.source import ImportFormatError, Json, Source, open_regular, shown
from tui_app.session.importers.values import (
    object_at,
    objects_at,
    of_type,
    text_at,
    value_at,
)  # fmt: skip

_ASIDE = ("agent", "patch", "retry", "snapshot", "step-finish", "step-start", "compaction", "subtask")


def _document(rows: Rows, head: Row) -> Json:
    """Rows for messages and for their parts, as an export has them."""
    session = str(head["id"])
    parts: dict[str, list[Any]] = {}
    for row in rows(
        "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id", session
    ):
        parts.setdefault(row["message_id"], []).append(parsed(row["data"]))
    found = rows("SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", session)
    listed = [{"info": parsed(row["data"]), "parts": parts.get(row["id"], [])} for row in found]
    return {"info": head, "messages": listed}


_STORE = Store(
    tables={
        "session": frozenset({"parent_id", "title", "directory"}),
        "message": frozenset({"session_id", "data"}), "part": frozenset({"message_id", "data"}),
    },
    heads=lambda rows: rows("SELECT * FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC"),
    title=("title",), folder="directory", updated="time_updated", document=_document,
)  # fmt: skip


def _place(env: Env, home: Path, cwd: Path) -> Iterator[Transcript]:
    root = folder_of(env, "XDG_DATA_HOME", home / ".local" / "share") / "opencode"
    if (root / "opencode.db").is_file():
        yield from stores_in(_STORE, "XDG_DATA_HOME", ".local/share", "opencode/opencode.db")(env, home, cwd)
        return
    for path in (root / "storage" / "session").glob("*/*.json"):
        if not text_at(info := _read(path), "parentID"):
            yield Transcript(path, info if isinstance(info, dict) else {})


def _stored(source: Source) -> Found | None:
    """The session that a file of the old store stands for, whose messages are files of their own."""
    info: Json = source.document
    if len(source.raw) > 1_000_000 or not text_at(info, "projectID"):
        return None
    root, session = source.path.parents[2], text_at(info, "id")
    # The id becomes part of a path: it must be one name.
    if not session or Path(session).name != session or not (root / "message" / session).is_dir():
        return None
    listed = []
    for file in sorted((root / "message" / session).glob("*.json")):
        parts = [_read(part) for part in sorted((root / "part" / file.stem).glob("*.json"))]
        listed.append({"info": _read(file), "parts": parts})
    return Found(listed, {"info": info})


def _read(path: Path) -> Any:
    try:
        with open_regular(path) as file:
            return parsed(file.read().decode("utf-8", "replace"))
    except (OSError, ImportFormatError) as error:
        return f"unreadable: {getattr(error, 'strerror', error)}"


def _is_message(item: Any) -> bool:
    return isinstance(value_at(item, "info.role"), str) and isinstance(value_at(item, "parts"), list)


def _with_triggers(records: Records, _out: Timeline) -> Records:
    """Each summary with whether the prompt before it asked for one."""
    manual = [any(part.get("auto") is False for part in objects_at(each, "parts")) for _, each in records]
    asked = [False, *manual]
    return [(number, {**each, "manual": asked[at]}) for at, (number, each) in enumerate(records)]


def _convert(message: Json) -> Json | list[Json]:
    if not _is_message(message):
        return {"unknown": f"not a message: {shown(message)}"}
    info, parts = object_at(message, "info"), objects_at(message, "parts")
    moment, role = {"time": value_at(info, "time.created")}, text_at(info, "role")
    damaged = [
        {"unknown": f"part that is not an object: {shown(part)}"}
        for part in message["parts"]
        if not isinstance(part, dict)
    ]
    if role not in ("assistant", "user"):
        return {"unknown": f"unknown role {shown(info.get('role'))}"}
    if role == "user":
        return [*damaged, {**moment, **_prompt(parts)}]
    if info.get("summary") is True:
        texts = [text_at(part, "text") for part in of_type(parts, "text")]
        summary = {"role": SUMMARY, "content": "\n\n".join(filter(None, texts))}
        return [*damaged, {**moment, **summary, "manual": message["manual"]}]
    return [*damaged, *_answers(info, parts, moment)]


def _prompt(parts: list[Json]) -> Json:
    # Files that the prompt names, as the program read them out to the model.
    synthetic = [part for part in parts if part.get("synthetic") is True]
    read_out = [{"type": BESIDE, "text": text} for part in synthetic if (text := text_at(part, "text"))]
    typed = [_block(part) for part in parts if part not in synthetic and not _is_aside(part)]
    if typed or read_out:
        return {"role": "user" if typed else NOTE, "content": [*typed, *read_out]}
    return aside("prompts that only ask for a compaction or another agent were left out")


def _is_aside(part: Json) -> bool:
    return part.get("type") in _ASIDE


def _block(part: Json) -> Json:
    url = text_at(part, "url")
    if part.get("type") != "file":
        return part
    if url.startswith("data:image/"):
        return {"type": "image_url", "image_url": url}
    if url.startswith("data:"):
        return {"type": "file", "file": {"file_data": url}}
    return text_block(f"[file: {text_at(part, 'filename') or url}]")


def _answers(info: Json, parts: list[Json], moment: Json) -> list[Json]:
    """An answer for each request to the model: a message may hold several."""
    steps: list[list[Json]] = [[]]
    for part in parts:
        if part.get("type") == "step-start" and not all(map(_is_aside, steps[-1])):
            steps.append([])
        steps[-1].append(part)
    model = text_at(info, "modelID", "model.modelID") or None
    told = [{**moment, "role": "assistant", "model": model, **_content(step)} for step in steps]
    told[-1] |= {key: info.get(key) for key in ("tokens", "finish", "cost")}
    if object_at(info, "error"):
        text = text_at(info, "error.data.message", "error.name") or "The answer failed."
        told.append({**moment, "role": TROUBLE, "message": text})
    return told


def _content(step: list[Json]) -> Json:
    calls = [
        # The program may have cleared a result since to save room.
        {**object_at(part, "state"), "id": text_at(part, "callID"), "name": part.get("tool")}
        for part in of_type(step, "tool")
    ]
    told = [part for part in step if part.get("type") != "tool" and not _is_aside(part)]
    return {"content": list(map(_block, told)), "tool_calls": calls}


OPENCODE = Shape(
    name="opencode", store=_STORE, program="OpenCode",
    signs=("messages.info.role messages.parts",),
    fits=lambda source: _stored(source) is not None, find=_stored, places=(_place,), talk=("messages",),
    time=("time",), title=("info.title",), cwd=("info.directory",),
    tokens={
        "fresh": "tokens.input", "output": "tokens.output", "read": "tokens.cache.read",
        "written": "tokens.cache.write", "thought": "tokens.reasoning",
    },
    tells_trigger=True, denied=("the user rejected permission",), order=_with_triggers, convert=_convert,
)  # fmt: skip
