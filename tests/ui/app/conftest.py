"""Fixtures of the tests that run the whole app."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, TextArea

from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import LIMIT_S, Desk, write_files
from tui_app.conversation import assembly as opening
from tui_app.ui import row_keys
from tui_app.ui import type_ahead as lone_letter
from tui_app.ui import type_ahead as stray_keys
from tui_app.ui.chat import session as chat_session

FILES = {
    "README.md": "# Ferry timetable\n\nThis project prints the ferry timetable of the harbour.\n",
    "import.py": "def rows(table):\n    return [row for row in table if row.weekday]\n",
}


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing blinks, so that a screen is the same at any moment."""
    monkeypatch.setattr(TextArea, "cursor_blink", False)
    monkeypatch.setattr(Input, "cursor_blink", False)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys for a question count at once; tests of its own tell them apart by time."""
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)
    monkeypatch.setattr(lone_letter, "ALONE_S", 0.0)
    monkeypatch.setattr(row_keys, "RESTS_S", 0.0)


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stories are told of a folder of Ada's, wherever tests run; tests of its own say where one goes on."""
    monkeypatch.setattr(chat_session, "begun_elsewhere", lambda *_: "")


@pytest.fixture
def desk(plimsoll_home: Path, tmp_path: Path) -> Desk:
    """A home of its own, a folder with two files, no keys, and the offline model."""
    folder = tmp_path / "ferry-timetable"
    folder.mkdir()
    write_files(folder, FILES)
    return Desk(home=plimsoll_home, cwd=folder)


@pytest.fixture
def served(desk: Desk, fake_openai: FakeOpenAI) -> Desk:
    """A desk whose model is the scripted server."""
    return desk.serve(fake_openai)


@pytest.fixture
def slow_start(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The agent side does not load before this event is set."""
    gate = threading.Event()
    load = opening.open_session

    def wait_and_load(*request: Any) -> Any:
        assert gate.wait(LIMIT_S)
        return load(*request)

    monkeypatch.setattr(opening, "open_session", wait_and_load)
    yield gate
    gate.set()
