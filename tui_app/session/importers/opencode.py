"""Exports of OpenCode: ``{info, messages: [{info, parts}]}``; a tool call and its result are one part."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tui_app.events import Error, Trigger
from tui_app.session.importers.databases import parsed, reading
from tui_app.session.importers.event_builder import NOTES, ToolOutcome
from tui_app.session.importers.places import Env, Transcript, folder_of
from tui_app.session.importers.reader import (
    Answer,
    Reader,
    list_at,
    object_at,
    of_type,
    record_text,
    text_at,
    usage,
    value_at,
)
from tui_app.session.importers.source import (
    Imported,
    ImportFormatError,
    Json,
    Source,
    is_database,
    open_regular,
    shown,
)


def opencode_place(env: Env, home: Path, _cwd: Path) -> Iterator[Transcript]:
    root = folder_of(env, "XDG_DATA_HOME", home / ".local" / "share") / "opencode"
    database = root / "opencode.db"
    if database.is_file():
        for session, info in database_sessions(database):
            yield Transcript(database.with_name(f"{database.name}#{session}"), info)
    else:
        yield from map(Transcript, (root / "storage" / "session").glob("*/*.json"))


# Sessions in OpenCode's own store, put together as an export has them.
#
# Old versions keep a folder of small JSON files, new ones a SQLite file. ``FILE#SESSION`` names one session
# of the latter.


_TABLES = ("session", "message", "part")


def stored_document(source: Source) -> Json | None:
    """The export of the session that a file of the store stands for; None when it is none."""
    if is_database(source.raw):
        return _from_database(source.path, source.part)
    if len(source.raw) > 1_000_000 or not text_at(source.document, "projectID"):
        return None
    info: Json = source.document
    root, session = source.path.parents[2], record_text(info, "id")
    # The id becomes part of a path: it must be one name.
    if not session or Path(session).name != session or not (root / "message" / session).is_dir():
        return None
    listed = []
    for file in sorted((root / "message" / session).glob("*.json")):
        parts = [_read(part) for part in sorted((root / "part" / file.stem).glob("*.json"))]
        listed.append({"info": _read(file), "parts": parts})
    return {"info": info, "messages": listed}


def database_sessions(path: Path) -> list[tuple[str, Json]]:
    """Id and data of every session of a store in SQLite, newest first; empty when it is no such file."""
    try:
        with reading(path, _TABLES) as database:
            rows = database.execute(
                "SELECT id, title, directory, time_updated FROM session "
                "WHERE parent_id IS NULL ORDER BY time_updated DESC"
            ).fetchall()
    except sqlite3.Error:
        return []
    return [
        (str(row[0]), {"id": row[0], "title": row[1], "directory": row[2], "time": {"updated": row[3]}})
        for row in rows
    ]


def _from_database(path: Path, session: str) -> Json | None:
    sessions = dict(database_sessions(path))
    session = session or next(iter(sessions), "")
    try:
        with reading(path, _TABLES) as database:
            messages = database.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id", (session,)
            ).fetchall()
            parts = database.execute(
                "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", (session,)
            ).fetchall()
    except sqlite3.Error:
        return None
    by_message: dict[Any, list[Any]] = {}
    for message, data in parts:
        by_message.setdefault(message, []).append(parsed(data))
    listed = [{"info": parsed(data), "parts": by_message.get(number, [])} for number, data in messages]
    return {"info": sessions.get(session, {}), "messages": listed}


def _read(path: Path) -> Any:
    try:
        with open_regular(path) as file:
            return parsed(file.read().decode("utf-8", "replace"))
    except (OSError, ImportFormatError) as error:
        return f"unreadable: {getattr(error, 'strerror', error)}"


_ASIDE = ("agent", "patch", "retry", "snapshot", "step-finish", "step-start")
_FINISH = {"stop": "stop", "length": "length", "tool-calls": "tool_call", "content-filter": "content_filter"}


def is_opencode(source: Source) -> bool:
    """Whether the file is an export, or a session in the program's own store."""
    if stored_document(source) is not None:
        return True
    document = source.document
    return any(map(_is_message, list_at(document, "messages")))


def read_opencode(source: Source) -> Imported:
    stored = stored_document(source)
    return _Reader(source).read(stored if stored is not None else source.document)


def _is_message(item: Any) -> bool:
    info = item.get("info") if isinstance(item, dict) else None
    return isinstance(info, dict) and "role" in info and isinstance(item.get("parts"), list)


class _Reader(Reader):
    def read(self, document: Any) -> Imported:
        self.title, self.cwd = text_at(document, "info.title"), text_at(document, "info.directory")
        messages = list_at(document, "messages")
        self._asked = False
        for number, item in enumerate(messages, 1):
            if _is_message(item):
                self._message(number, item["info"], item["parts"])
            else:
                self.skip_message(number, f"not a message: {shown(item)}")
        return self.finish(range(1, len(messages) + 1))

    def _message(self, number: int, info: Json, parts: list[Any]) -> None:
        self.at(value_at(info, "time.created"))
        known = [part for part in parts if isinstance(part, dict)]
        for part in parts:
            if not isinstance(part, dict):
                self.skip_message(number, f"part that is not an object: {shown(part)}")
        if info.get("role") == "user":
            # Files that the prompt names, as the program read them out to the model.
            self._asked = any(part.get("auto") is False for part in of_type(known, "compaction"))
            read_out = [record_text(part, "text") for part in known if part.get("synthetic") is True]
            typed = [part for part in known if part.get("synthetic") is not True]
            blocks = [block for part in typed if (block := self._block(number, part)) is not None]
            if blocks:
                self.say(blocks, number, [text for text in read_out if text])
            elif read_out:
                self.out.leave(number, NOTES)
            elif known:
                self.out.leave(
                    number, "prompts that only ask for a compaction or another agent were left out"
                )
        elif info.get("role") != "assistant":
            self.skip_message(number, f"unknown role {shown(info.get('role'))}")
        elif info.get("summary") is not True:
            self._assistant(number, info, known)
        elif summary := "\n\n".join(
            filter(None, (text_at(part, "text") for part in of_type(known, "text")))
        ).strip():
            trigger: Trigger = "manual" if self._asked else "blocking"
            self.out.compaction(summary, trigger, (0, 0), self.time, number)
        else:
            self.skip_message(number, "compaction without a summary, not applied")
        self.end_answer()

    def _assistant(self, number: int, info: Json, parts: list[Json]) -> None:
        steps = _steps(parts)
        for place, step in enumerate(steps, 1):
            answer = self.answer(number)
            answer.model = text_at(info, "modelID", "model.modelID")
            if place == len(steps):
                tokens = ("tokens.input", "tokens.output", "tokens.cache.read", "tokens.cache.write")
                answer.usage = usage(*(value_at(info, path) for path in tokens))
                answer.finish = _FINISH.get(record_text(info, "finish"), "")
                cost = info.get("cost")
                answer.cost = float(cost) if isinstance(cost, int | float) and cost else None
            self._step(number, answer, step)
        if object_at(info, "error"):
            text = text_at(info, "error.data.message", "error.name") or "The answer failed."
            self.out.add(Error(kind="provider", message=text), None, self.time, number)

    def _block(self, number: int, part: Json) -> Json | None:
        match part.get("type"):
            case "text":
                return {"type": "text", "text": part.get("text")}
            case "file":
                url = record_text(part, "url")
                if url.startswith("data:image/"):
                    return {"type": "image_url", "image_url": url}
                if url.startswith("data:"):
                    return {"type": "file", "file": {"file_data": url}}
                return {"type": "text", "text": f"[file: {record_text(part, 'filename') or url}]"}
            case "compaction" | "subtask":
                return None
            case kind if kind in _ASIDE:
                self.out.left_out["parts that are not content were left out"] += 1
                return None
            case kind:
                self.skip_message(number, f"part of unknown type {shown(kind)}")
                return None

    def _step(self, number: int, answer: Answer, parts: list[Json]) -> None:
        results: list[tuple[str, Json]] = []
        for part in parts:
            match part.get("type"):
                case "text":
                    answer.text(part.get("text"))
                case "reasoning":
                    answer.thinking(part.get("text"))
                case "tool" if record_text(part, "tool"):
                    state = object_at(part, "state")
                    call_id = record_text(part, "callID")
                    answer.call(self.out.calls, call_id, record_text(part, "tool"), state.get("input"))
                    results.append((call_id, state))
                case kind if kind in (*_ASIDE, "compaction", "subtask", "file"):
                    self.out.left_out["parts that are not content were left out"] += 1
                case kind:
                    self.skip_message(number, f"part of unknown type {shown(kind)}")
        self.end_answer()
        for call_id, state in results:
            if state.get("status") == "completed":
                # The program may have cleared it since to save room.
                output = state.get("output")
                self.result(call_id, "" if output is None else output, "success", number)
            elif state.get("status") == "error":
                error = record_text(state, "error")
                outcome: ToolOutcome = "denied" if "rejected permission" in error else "error"
                self.result(call_id, error, outcome, number)


def _steps(parts: list[Json]) -> list[list[Json]]:
    """The parts of each request to the model: a message may hold several."""
    steps: list[list[Json]] = [[]]
    for part in parts:
        if part.get("type") == "step-start" and any(
            each.get("type") in ("text", "reasoning", "tool") for each in steps[-1]
        ):
            steps.append([])
        steps[-1].append(part)
    return steps
