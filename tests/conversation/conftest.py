"""Fixtures for conversation tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conversation.driving import Desk
from tests.conversation.logged import opened
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import Record, SessionStart
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.settings import Endpoint


@pytest.fixture
def desk(plimsoll_home: Path, tmp_path: Path) -> Desk:
    """A home folder and a workspace with a few files."""
    cwd = tmp_path / "workspace"
    cwd.mkdir()
    (cwd / "README.md").write_text("# Sea and sky\n\nThe sea is below, the sky is above.\n")
    return Desk(plimsoll_home, cwd)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """An empty log."""
    store = SqliteStore(tmp_path / "sessions.db")
    yield store
    store.close()


@pytest.fixture
def records() -> list[Record]:
    """Records published by the ``history`` fixture."""
    return []


@pytest.fixture
def history(store: SqliteStore, records: list[Record], tmp_path: Path) -> SessionHistory:
    """A new session's history, publishing to ``records``."""
    session = store.create(SessionStart(cwd="/", model="a:b"), time=1.0)
    return opened(store, session, records, tmp_path)


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    """A fake server, reachable as a Responses API (``local``) and as a chat completions API (``chat``)."""
    address = fake_openai.base_url
    desk.endpoints["local"] = Endpoint(name="local", protocol="openai", base_url=address, window=32_000)
    desk.server("chat", address, window=32_000)
    return fake_openai
