"""One changed byte in the session database: reported or harmless, and nothing else is lost."""

import random
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.examples import examples
from tui_app.events import AssistantMessage, Error, Payload, SessionStart, ToolCall, ToolResult, UserMessage
from tui_app.session.damage import Health, examine
from tui_app.session.repair import mend
from tui_app.session.search import search_sessions
from tui_app.session.stores.sqlite_store import SqliteStore

STAMP = "20260101-120000"
Log = dict[tuple[str, int], tuple[str, str | None]]


def message(said: ModelMessage) -> str:
    return ModelMessagesTypeAdapter.dump_json([said]).decode()[1:-1]


def turn(number: int, chance: random.Random) -> list[tuple[Payload, str | None, float]]:
    """Return the events of a prompt, a response with a call, its result, and the final response."""
    long = " ".join(f"word{chance.randrange(900)}" for _ in range(chance.choice((4, 60, 400))))
    call, args = f"call-{number}", '{"path":"notes.txt"}'
    return [
        (
            UserMessage(text=f"prompt {number} {long} é"),
            message(ModelRequest([UserPromptPart(f"prompt {number} {long} é")])),
            2.5,
        ),
        (
            AssistantMessage(text="I look.", call_ids=(call,)),
            message(ModelResponse([TextPart("I look."), ToolCallPart("read_file", args, call)])),
            3.0,
        ),
        (ToolCall(tool_call_id=call, name="read_file", args=args), None, 3.5),
        (
            ToolResult(tool_call_id=call, name="read_file", text=f"lines {long}"),
            message(ModelRequest([ToolReturnPart("read_file", f"lines {long}", call)])),
            4.0,
        ),
        (
            AssistantMessage(text=f"answer {number} {long}"),
            message(ModelResponse([TextPart(f"answer {number} {long}")])),
            5.25,
        ),
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of about a megabyte, from which sessions have been deleted."""
    store = SqliteStore(tmp_path_factory.mktemp("whole") / "sessions.db")
    chance = random.Random(7)
    for number in range(10):
        session = store.create(SessionStart(cwd="/p", model="a:b", title=f"Session {number}"), time=1.0)
        for _ in range(10):
            store.append_many(session, turn(chance.randrange(10_000), chance))
        if number in (3, 7):
            store.delete(session)
    store.close()
    assert 700_000 < store.path.stat().st_size < 1_600_000
    return store.path


def log_of(path: Path) -> Log:
    with closing(SqliteStore(path)) as store:
        return {
            (info.id, record.seq): (str(record.to_json()), text)
            for info in store.sessions()
            for record, text in store.records(info.id)
        }


def listed(path: Path) -> Mapping[str, tuple[object, ...]]:
    with closing(SqliteStore(path)) as store:
        return {info.id: (info.title, info.cwd, info.model, info.messages) for info in store.sessions()}


def found(path: Path) -> set[tuple[str, int]]:
    return {
        (each.session, each.seq)
        for word in ("prompt", "word17", "lines")
        for each in search_sessions(path, word)
    }


def test_a_whole_file_is_read_as_one(whole: Path) -> None:
    assert examine(whole, whole.parent / "sessions") == Health()


@pytest.mark.parametrize("version", [0, 1, 5, 8, 137, 2_000_000_009])
def test_the_number_of_the_version(whole: Path, tmp_path: Path, version: int) -> None:
    """A database already at this version is not migrated."""
    path = tmp_path / "sessions.db"
    path.write_bytes(whole.read_bytes())
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(sqlite3.Error):
        SqliteStore(path)
    mend(examine(path, tmp_path / "sessions"), path, tmp_path / "sessions", stamp=STAMP)
    assert log_of(path) == log_of(whole)


@pytest.mark.parametrize("damage", ["number", "salt", "junk"])
def test_a_page_of_the_log_that_does_not_say_what_it_is(whole: Path, tmp_path: Path, damage: str) -> None:
    """Only pages that exist are read, whatever page number a damaged log gives."""
    path, sessions = tmp_path / "sessions.db", tmp_path / "sessions"
    path.write_bytes(whole.read_bytes())
    log = path.with_name("sessions.db-wal")
    with closing(SqliteStore(path)) as store:
        session = store.sessions()[0].id
        store.append(session, UserMessage(text="One more"), None, time=9.0)
        raw = bytearray(log.read_bytes())
        copied = path.read_bytes()
    if damage == "number":
        raw[32:36] = b"\x7f\xff\xff\xf0"
    elif damage == "salt":
        # The salt of the last frame, which commits.
        raw[-(24 + 4_096) + 8] ^= 1
    log.write_bytes(b"x" * 9_000 if damage == "junk" else raw)
    path.write_bytes(copied)
    health = examine(path, sessions)
    assert health.damage
    mend(health, path, sessions, stamp=STAMP)
    assert examine(path, sessions) == Health()
    assert set(log_of(whole)) <= set(log_of(path))
    assert any("One more" in said for said, _ in log_of(path).values()) is (damage != "junk")


def test_a_start_that_is_lost(whole: Path, tmp_path: Path) -> None:
    """It is rebuilt from the list of sessions, and reported in the log."""
    path = tmp_path / "sessions.db"
    path.write_bytes(whole.read_bytes())
    with closing(SqliteStore(path)) as store:
        session = store.sessions()[2].id
        store._db.execute("UPDATE events SET data = 'x' WHERE session = ? AND seq = 1", (session,))
    mend(examine(path, tmp_path / "sessions"), path, tmp_path / "sessions", stamp=STAMP)
    with closing(SqliteStore(path)) as store:
        (error,) = [r.data.message for r, _ in store.records(session) if isinstance(r.data, Error)]
    assert "#1" in error


@pytest.fixture(scope="module")
def undamaged(whole: Path) -> tuple[Any, Any, Any]:
    """Everything read from the undamaged database."""
    return log_of(whole), listed(whole), found(whole)


@pytest.mark.parametrize("seed", range(examples(500)))
def test_one_byte(whole: Path, undamaged: tuple[Any, Any, Any], tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    raw = bytearray(whole.read_bytes())
    # The first page describes all others, but is one of hundreds, so it is chosen more often.
    at = chance.choice([*range(60), *range(64, 4_096)]) if seed % 5 == 0 else chance.randrange(100, len(raw))
    raw[at] = chance.choice(
        [each for each in (raw[at] ^ 1 << chance.randrange(8), 0, 0xB1, 0xFF, 0x22) if each != raw[at]]
    )
    path = tmp_path / "sessions.db"
    path.write_bytes(raw)
    health = examine(path, tmp_path / "sessions")
    if health == Health():
        assert (log_of(path), listed(path), found(path)) == undamaged
        return
    mend(health, path, tmp_path / "sessions", stamp=STAMP)
    assert examine(path, tmp_path / "sessions") == Health()
    before, after = undamaged[0], log_of(path)
    other = {key for key in before if after.get(key) != before[key]}
    made = set(after) - set(before)
    assert len(other) <= 1, f"byte {at}: {len(other)} events are other ones"
    assert len(made) <= 1, "only a row that says what is damaged is ever made"
    if other or made:
        ((session, _),) = {(session, 0) for session, _ in other | made}
        with closing(SqliteStore(path)) as store:
            errors = [record.data for record, _ in store.records(session) if isinstance(record.data, Error)]
            assert len(errors) == 1
    entries, there = undamaged[1], listed(path)
    assert set(entries) == set(there)
    assert sum(entries[session] != there[session] for session in entries) <= 1
    with closing(SqliteStore(path)) as store:
        for session in there:
            store.agent_view(session)
            texts = [store.message(session, head.seq) for head in store.agent_view(session).visible()]
            ModelMessagesTypeAdapter.validate_json(f"[{','.join(text or 'null' for text in texts)}]")
