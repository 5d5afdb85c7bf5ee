"""Where OpenCode keeps its sessions: rows of a database, in old versions a file for each message and part."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui_app.session.importers.databases import Row, Rows, Store, parsed
from tui_app.session.importers.message_lists import Found
from tui_app.session.importers.places import Env, LocalTranscript, folder_of, stores_in, told
from tui_app.session.importers.source import ImportFormatError, Json, Source, open_regular
from tui_app.session.importers.values import text_at


def document(rows: Rows, head: Row) -> Json:
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


STORE = Store(
    tables={
        "session": frozenset({"parent_id", "title", "directory"}),
        "message": frozenset({"session_id", "data"}), "part": frozenset({"message_id", "data"}),
    },
    heads=lambda rows: rows("SELECT * FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC"),
    title=("title",), folder="directory", updated="time_updated", document=document,
)  # fmt: skip


def place(env: Env, home: Path, cwd: Path) -> Iterator[LocalTranscript]:
    root = folder_of(env, "XDG_DATA_HOME", home / ".local" / "share") / "opencode"
    if (root / "opencode.db").is_file():
        yield from stores_in(STORE, "XDG_DATA_HOME", ".local/share", "opencode/opencode.db")(env, home, cwd)
        return
    for path in (root / "storage" / "session").glob("*/*.json"):
        if not text_at(info := _read(path), "parentID"):
            yield told(path, info if isinstance(info, dict) else {})


def stored(source: Source) -> Found | None:
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
