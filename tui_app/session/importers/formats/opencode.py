"""Sessions of OpenCode: ``{info, messages: [{info, parts}]}``; a tool call and its result are one part.

They are exports, rows of its database, or in old versions a file for each message and part.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.content import BESIDE, text_block
from tui_app.session.importers.databases import Row, Rows, Store, parsed
from tui_app.session.importers.message_lists import Found
from tui_app.session.importers.places import Env, LocalTranscript, folder_of, stores_in, transcript_at
from tui_app.session.importers.shape import SUMMARY, TROUBLE, Records, Shape
from tui_app.session.importers.source import ImportFormatError, Json, Source, open_regular
from tui_app.session.importers.values import list_at, object_at, objects_at, of_type, text_at, value_at


def _document(rows: Rows, head: Row) -> Json:
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


def _place(env: Env, home: Path, cwd: Path) -> Iterator[LocalTranscript]:
    root = folder_of(env, "XDG_DATA_HOME", home / ".local" / "share") / "opencode"
    if (root / "opencode.db").is_file():
        yield from stores_in(_STORE, "XDG_DATA_HOME", ".local/share", "opencode/opencode.db")(env, home, cwd)
        return
    for path in (root / "storage" / "session").glob("*/*.json"):
        if not text_at(info := _read(path), "parentID"):
            yield transcript_at(path, info if isinstance(info, dict) else {})


def _stored(source: Source) -> Found | None:
    """Return the session of the old store that a file belongs to; its messages are separate files."""
    info: Json = source.document
    if len(source.raw) > 1_000_000 or not text_at(info, "projectID"):
        return None
    root, session = source.path.parents[2], text_at(info, "id")
    # The id becomes part of a path: it must be a single name.
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


_QUIET = ("agent", "patch", "retry", "snapshot", "step-finish", "step-start", "compaction", "subtask")


def _with_triggers(records: Records, _out: Timeline) -> Records:
    """Mark each summary that the preceding prompt requested."""
    manual = [any(part.get("auto") is False for part in objects_at(each, "parts")) for _, each in records]
    asked = [False, *manual]
    return [(number, {**each, "manual": asked[at]}) for at, (number, each) in enumerate(records)]


def _prompt(message: Json) -> Json:
    # Contents of files named in the prompt, added by the program for the model.
    blocks = [
        {**part, "type": BESIDE} if value_at(part, "synthetic") is True else part
        for part in list_at(message, "parts")
    ]
    return {"role": "user", "content": blocks}


def _block(part: Any) -> Any:
    url = text_at(part, "url")
    if value_at(part, "type") != "file":
        # A text instead of a part is the reason why it could not be read.
        return part if isinstance(part, dict) else [part]
    if url.startswith("data:"):
        return {"type": "file", "file": {"file_data": url}}
    return text_block(f"[file: {text_at(part, 'filename') or url}]")


def _answers(message: Json) -> list[Json]:
    """Return one answer for each request: a message may contain several."""
    if message.get("summary") is True:
        return [{**message, "role": SUMMARY, "content": of_type(list_at(message, "parts"), "text")}]
    steps: list[list[Any]] = [[]]
    for part in list_at(message, "parts"):
        is_begun = any(value_at(each, "type") not in _QUIET for each in steps[-1])
        if is_begun and value_at(part, "type") == "step-start":
            steps.append([])
        steps[-1].append(part)
    model = text_at(message, "modelID", "model.modelID") or None
    answers = [{"role": "assistant", "model": model, **_content(step)} for step in steps]
    answers[-1] |= {key: message.get(key) for key in ("tokens", "finish", "cost")}
    if text_at(message, "error.name") == "MessageAbortedError":
        answers[-1]["state"] = "interrupted"
    elif object_at(message, "error"):
        text = text_at(message, "error.data.message", "error.name") or "The answer failed."
        answers.append({"role": TROUBLE, "message": text})
    return answers


def _content(step: list[Any]) -> Json:
    calls: list[Json] = []
    for part in of_type(step, "tool"):
        # The program may have cleared the result since, to save space.
        state = object_at(part, "state")
        if files := list_at(state, "attachments"):
            state = {**state, "output": [text_block(state.get("output")), *files]}
        calls.append({**state, "id": text_at(part, "callID"), "name": part.get("tool")})
    return {"content": [part for part in step if value_at(part, "type") != "tool"], "tool_calls": calls}


OPENCODE = Shape(
    name="opencode", store=_STORE, program="OpenCode",
    signs=("messages.info.role messages.parts",),
    fits=lambda source: _stored(source) is not None, find=_stored, places=(_place,), talk=("messages",),
    time=("info.time.created",), title=("info.title",), cwd=("info.directory",),
    tokens={
        "fresh": "tokens.input", "output": "tokens.output", "read": "tokens.cache.read",
        "written": "tokens.cache.write", "apart": "tokens.reasoning",
    },
    tells_trigger=True, denied=("the user rejected permission",), stopped=("tool execution aborted",),
    order=_with_triggers, quiet=_QUIET, block=_block, message="info", kind=("info.role",),
    kinds={"user": _prompt, "assistant": _answers},
)  # fmt: skip
