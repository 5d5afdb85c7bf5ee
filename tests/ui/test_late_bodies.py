"""Texts of a session on a remote store: loaded off the UI's event loop, and again after a failure."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from tests.ui.kit import LIMIT_S
from tui_app.events import SessionStart, UserMessage
from tui_app.session import preview
from tui_app.session.preview import StoreBodies, load_preview
from tui_app.session.stores import database as places
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.entries import Entry
from tui_app.settings.spec import SessionServer
from tui_app.ui.row_bodies import LateBodies


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Entry]:
    path = tmp_path / "log.db"
    store = SqliteStore(path)
    session = store.create(SessionStart(cwd="/", model="a:b", policy="off"), time=1.0)
    store.append(session, UserMessage(text="how late is it?"), None, time=2.0)
    store.close()
    [entry] = load_preview(path, session).view.entries

    def opened(_database: SessionServer, *, read_only: bool) -> SqliteStore:
        return SqliteStore(path, read_only=read_only)

    for opener in (places, preview):
        monkeypatch.setattr(opener, "open_store", opened)
    return session, entry


@pytest.mark.parametrize(
    ("error", "why"),
    [(sqlite3.OperationalError("the connection is lost"), "the connection is lost"),
     (RuntimeError("nobody knows"), "RuntimeError")],
    ids=["store", "defect"],
)  # fmt: skip
async def test_what_could_not_be_read_is_said_and_read_again(
    log: tuple[str, Entry], monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    session, entry = log
    bodies, told, read = LateBodies(), asyncio.Event(), StoreBodies.body
    bodies.tell = lambda _entry: told.set()
    await bodies.attach(SessionServer("postgresql://nobody@127.0.0.1/none"), session)

    def fail(_source: StoreBodies, _entry: Entry) -> None:
        raise error

    monkeypatch.setattr(StoreBodies, "body", fail)
    assert bodies.preview(entry).text.startswith("(reading")
    await asyncio.wait_for(told.wait(), LIMIT_S)
    assert bodies.preview(entry).text.startswith(f"This text cannot be read: {why}.")
    monkeypatch.setattr(StoreBodies, "body", read)
    bodies.shed()
    told.clear()
    bodies.preview(entry)
    await asyncio.wait_for(told.wait(), LIMIT_S)
    assert bodies.preview(entry).text == "how late is it?"
    bodies.close()


async def test_events_are_read_in_a_thread_and_their_absence_is_no_error(
    log: tuple[str, Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, entry = log
    threads: list[bool] = []
    record = SqliteStore.record

    def noting(store: SqliteStore, session: str, seq: int) -> object:
        threads.append(threading.current_thread() is threading.main_thread())
        return record(store, session, seq)

    monkeypatch.setattr(SqliteStore, "record", noting)
    for database in (SessionServer("postgresql://nobody@127.0.0.1/none"), Path("here")):
        bodies = LateBodies()
        await bodies.attach(database, session)
        found = await bodies.record(entry.seq)
        assert found is not None
        assert found.data == UserMessage(text="how late is it?")
        assert await bodies.record(99) is None
        bodies.close()
        assert await bodies.record(entry.seq) is None
    assert threads == [False] * 4
