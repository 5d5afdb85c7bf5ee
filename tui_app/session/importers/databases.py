"""Conversations that programs keep in SQLite: read as they are, also where nothing may be written.

``FILE#SESSION`` names one of several; without it the newest is read.
"""

import importlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

from tui_app.records import frozen
from tui_app.session.importers.source import ImportFormatError, Json, Source, parse_json

Row = dict[str, Any]


@contextmanager
def reading(path: Path, tables: Sequence[str] = ()) -> Iterator[sqlite3.Connection]:
    """Open a database to read it, also in a folder where nothing may be written.

    SQLite keeps files beside one that has a write-ahead log, even to read it. Without a log it is read as it
    is, else from a copy.

    Args:
        path: The database.
        tables: What is read of it: tables with columns that the file holds.

    Raises:
        sqlite3.Error: if it is no database, another program holds it, or one of the tables is none.
    """
    with ExitStack() as stack:
        database = stack.enter_context(closing(_connect(path, "mode=ro")))
        try:
            database.execute("SELECT name FROM sqlite_master LIMIT 1").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise
            log, mode = path.with_name(f"{path.name}-wal"), "mode=ro&immutable=1"
            if log.exists() and log.stat().st_size:
                folder = stack.enter_context(TemporaryDirectory())
                for each in (path, log):
                    copyfile(each, Path(folder) / each.name)
                path, mode = Path(folder) / path.name, "mode=rw"
            database = stack.enter_context(closing(_connect(path, mode)))
        for name in tables:
            pages = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchall()
            columns = database.execute(f"PRAGMA table_xinfo({name})").fetchall()
            # A view or a virtual table has no page, and a column that is worked out is marked.
            if any(not page for (page,) in pages) or any(column[-1] for column in columns):
                raise sqlite3.DatabaseError(f"{name} has no rows of its own")
        database.set_authorizer(_stored_only)
        yield database


def _stored_only(
    action: int, _table: str | None, _column: str | None, _: str | None, inside: str | None
) -> int:
    """Let rows be read that the file holds: a view or an expression in it could make any number of them."""
    made = inside is not None or action not in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ)
    return sqlite3.SQLITE_DENY if made else sqlite3.SQLITE_OK


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=2.0)


def parsed(text: Any) -> Any:
    """A value that a row or a small file keeps as JSON; what is damaged says so where it stands."""
    try:
        return parse_json(text) if isinstance(text, str) else json.dumps(str(text))
    except ValueError:
        return "damaged JSON"


@frozen
class Store:
    """How a program keeps conversations in a database."""

    program: str
    """Name of the format."""
    tables: tuple[str, ...]
    """It is a store of this program when it has all of them."""
    columns: frozenset[str]
    """Of the first of them, which others may have under the same name."""
    sessions: Callable[[sqlite3.Connection], list[Json]]
    """Its conversations, newest first: ``id``, ``title``, ``directory`` and ``time.updated``."""
    document: Callable[[sqlite3.Connection, str], Json]
    """One conversation, as a document of the format."""


def _rows(database: sqlite3.Connection, query: str, *values: str) -> list[Row]:
    cursor = database.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _session(name: Any, title: Any, directory: Any, updated: Any) -> Json:
    return {"id": name, "title": title, "directory": directory, "time": {"updated": updated}}


# Goose: a row for each message, its content as JSON.


def _goose_sessions(database: sqlite3.Connection) -> list[Json]:
    rows = _rows(database, "SELECT * FROM sessions ORDER BY updated_at DESC, id DESC")
    return [
        _session(
            row["id"], row.get("name") or row.get("description"), row.get("working_dir"), row["updated_at"]
        )
        for row in rows
    ]


def _goose_document(database: sqlite3.Connection, session: str) -> Json:
    rows = _rows(database, "SELECT * FROM sessions WHERE id = ?", session)
    head: Row = rows[0] if rows else {}
    messages = _rows(database, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", session)
    listed = [
        {
            "role": row["role"],
            "created": row["created_timestamp"],
            "content": parsed(row["content_json"]),
            "metadata": parsed(row.get("metadata_json") or "{}"),
        }
        for row in messages
    ]
    setting = parsed(head.get("model_config_json") or "{}")
    model = setting.get("model_name") if isinstance(setting, dict) else None
    return {
        "working_dir": head.get("working_dir"), "name": head.get("name") or head.get("description"),
        "model": model, "conversation": listed,
    }  # fmt: skip


# OpenCode: rows for messages and for their parts, as an export has them.


def _opencode_sessions(database: sqlite3.Connection) -> list[Json]:
    rows = _rows(database, "SELECT * FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC")
    return [_session(row["id"], row["title"], row["directory"], row["time_updated"]) for row in rows]


def _opencode_document(database: sqlite3.Connection, session: str) -> Json:
    info = next((each for each in _opencode_sessions(database) if each["id"] == session), {})
    query = "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY message_id, id"
    parts: dict[str, list[Any]] = {}
    for row in _rows(database, query, session):
        parts.setdefault(row["message_id"], []).append(parsed(row["data"]))
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    rows = _rows(database, query, session)
    return {
        "info": info,
        "messages": [{"info": parsed(row["data"]), "parts": parts.get(row["id"], [])} for row in rows],
    }


# Zed: a row for each thread, as JSON or compressed.

_MAX_UNPACKED = 200_000_000
"""Bytes of a thread that are still read: compressed, it may claim any size."""
_MAX_RATIO = 250


def _zed_sessions(database: sqlite3.Connection) -> list[Json]:
    # Not the threads themselves, which may be large. Old versions do not say the folder.
    names = "id, summary, updated_at"
    try:
        rows = _rows(database, f"SELECT {names}, folder_paths FROM threads ORDER BY updated_at DESC")
    except sqlite3.OperationalError:
        rows = _rows(database, f"SELECT {names} FROM threads ORDER BY updated_at DESC")
    return [_session(row["id"], row["summary"], _folder_of(row), row["updated_at"]) for row in rows]


def _folder_of(row: Row) -> str:
    """The first of the folders that were open."""
    folders = row.get("folder_paths")
    return folders.partition("\n")[0] if isinstance(folders, str) else ""


def _zed_document(database: sqlite3.Connection, session: str) -> Json:
    rows = _rows(database, "SELECT * FROM threads WHERE id = ?", session)
    if not rows:
        return {}
    data = rows[0]["data"]
    data = data.encode() if isinstance(data, str) else data if isinstance(data, bytes) else b""
    if rows[0]["data_type"] == "zstd":
        data = _unpacked(data)
    thread = parsed(data.decode("utf-8", "replace"))
    folder = _folder_of(rows[0])
    return {"summary": rows[0]["summary"], "folder": folder, **(thread if isinstance(thread, dict) else {})}


def _unpacked(data: bytes) -> bytes:
    """Data that was compressed with zstd, which Python knows from 3.14 on.

    Raises:
        ImportFormatError: if this Python does not, or the data is damaged.
    """
    limit = min(_MAX_UNPACKED, _MAX_RATIO * len(data))
    try:
        unpacked: bytes = (
            importlib.import_module("compression.zstd").ZstdDecompressor().decompress(data, limit)
        )
    except ImportError:
        raise ImportFormatError(
            "The thread is compressed with zstd, which Python has from 3.14 on: install Plimsoll with it."
        ) from None
    except Exception as error:
        raise ImportFormatError(f"The thread could not be unpacked: {error}.") from error
    return unpacked


# Cursor's command line: blobs under the hash of what they hold; the newest root lists those of the messages.

_LISTED = b"\x0a\x20"
"""How a field of a root begins that holds the id of a message, a hash of 32 bytes."""
_MAX_USES = 50


def _cursor_meta(database: sqlite3.Connection) -> Json:
    for row in _rows(database, "SELECT value FROM meta"):
        try:
            value = parse_json(bytes.fromhex(row["value"]).decode("utf-8", "replace"))
        except (TypeError, ValueError):
            continue
        if isinstance(value, dict):
            return value
    return {}


def _cursor_sessions(database: sqlite3.Connection) -> list[Json]:
    meta = _cursor_meta(database)
    return [_session(str(meta.get("agentId") or "session"), meta.get("name"), "", meta.get("createdAt"))]


def _cursor_document(database: sqlite3.Connection, _session_id: str) -> Json:
    meta = _cursor_meta(database)
    root = _blob(database, str(meta.get("latestRootBlobId")))
    uses: dict[str, int] = {}
    listed: list[Any] = []
    for name in _ids(root):
        uses[name] = uses.get(name, 0) + 1
        if uses[name] <= _MAX_USES:
            listed.append(parsed(_blob(database, name).decode("utf-8", "replace")))
    return {**meta, "messages": listed}


def _blob(database: sqlite3.Connection, name: str) -> bytes:
    row = database.execute("SELECT data FROM blobs WHERE id = ?", (name,)).fetchone()
    data = row[0] if row else b""
    return data.encode() if isinstance(data, str) else data if isinstance(data, bytes) else b""


def _ids(root: bytes) -> Iterator[str]:
    """The hashes that stand in one field of a protocol buffer, the first of it, up to where it is damaged."""
    for at in range(0, len(root), 34):
        if not root.startswith(_LISTED, at) or at + 34 > len(root):
            return
        yield root[at + 2 : at + 34].hex()


STORES: tuple[Store, ...] = (
    Store(
        "goose",
        ("messages", "sessions", "schema_version"),
        frozenset({"session_id", "content_json"}),
        _goose_sessions,
        _goose_document,
    ),
    Store(
        "opencode",
        ("session", "message", "part"),
        frozenset({"parent_id", "title", "directory"}),
        _opencode_sessions,
        _opencode_document,
    ),
    Store("zed", ("threads",), frozenset({"summary", "data_type", "data"}), _zed_sessions, _zed_document),
    Store("cursor", ("blobs", "meta"), frozenset({"id", "data"}), _cursor_sessions, _cursor_document),
)


def columns_of(path: Path) -> dict[str, set[str]]:
    """The tables of a database with their columns; none when it cannot be read."""
    try:
        with reading(path) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            database.set_authorizer(None)
            query = "SELECT name FROM pragma_table_info(?)"
            return {str(name): {row[0] for row in database.execute(query, (name,))} for (name,) in names}
    except sqlite3.Error:
        return {}


def store_of(path: Path) -> Store | None:
    tables = columns_of(path)
    return next(
        (
            each
            for each in STORES
            if tables.keys() >= set(each.tables) and tables[each.tables[0]] >= each.columns
        ),
        None,
    )


def stored_sessions(path: Path) -> list[Json]:
    """What a store says of its conversations, newest first; nothing when it is none or cannot be read."""
    store = store_of(path)
    try:
        if store is not None:
            with reading(path, store.tables) as database:
                return store.sessions(database)
    except (sqlite3.Error, KeyError, AttributeError):
        pass
    return []


def stored_conversation(source: Source) -> Json | None:
    """The conversation that is named, else the newest; None when there is none.

    Raises:
        ImportFormatError: if it is compressed in a way that cannot be undone here.
    """
    store = store_of(source.path)
    newest = next((str(each["id"]) for each in stored_sessions(source.path)), "")
    try:
        if store is not None:
            with reading(source.path, store.tables) as database:
                return store.document(database, source.part or newest)
    except (sqlite3.Error, KeyError, AttributeError):
        pass
    return None
