"""Fixtures for tests of the whole app."""

import re
import secrets
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from textual import screen as textual_screen

from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import CHOICES, Scene
from tests.ui.app.story import MODEL, NOON, TODAY, Story
from tests.ui.kit import LIMIT_S, Deck, Desk, write_files
from tests.ui.looks import LOOKS, Look, Looks
from tui_app.agent import catalog as catalogue
from tui_app.agent.catalog import ModelChoice
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.conversation import assembly as opening
from tui_app.conversation.agents import agent_setup as agents
from tui_app.conversation.compactions import manual_edits as by_hand
from tui_app.conversation.requests import project_context
from tui_app.ui import approvals as approval_box
from tui_app.ui.chat import pane as chat_pane
from tui_app.ui.chat import session as chat_session
from tui_app.ui.dialogs import row_keys
from tui_app.ui.keyboard import lone_letter, stray_keys

_SIZE = re.compile(r"\d+x\d+")
FILES = {
    "README.md": "# Ferry timetable\n\nThis project prints the ferry timetable of the harbour.\n",
    "import.py": "def rows(table):\n    return [row for row in table if row.weekday]\n",
}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept keys in a dialog at once. Tests of ``StrayKeys`` restore its delay."""
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)
    monkeypatch.setattr(lone_letter, "ALONE_S", 0.0)
    monkeypatch.setattr(row_keys, "RESTS_S", 0.0)


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the notice that a session began in another folder; tests of the notice restore it."""
    monkeypatch.setattr(chat_session, "folder_notice", lambda *_: "")


@pytest.fixture
def desk(plimsoll_home: Path, tmp_path: Path) -> Desk:
    """A fresh home, a folder with two files, no API keys, and the offline model."""
    folder = tmp_path / "ferry-timetable"
    folder.mkdir()
    write_files(folder, FILES)
    return Desk(home=plimsoll_home, cwd=folder)


@pytest.fixture
def served(desk: Desk, fake_openai: FakeOpenAI) -> Desk:
    """A desk whose model runs on the scripted server."""
    return desk.serve(fake_openai)


@pytest.fixture
def slow_start(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Delay loading of the agent side until this event is set."""
    gate = threading.Event()
    load = opening.open_session

    def wait_and_load(*request: Any) -> Any:
        assert gate.wait(LIMIT_S)
        return load(*request)

    monkeypatch.setattr(opening, "open_session", wait_and_load)
    yield gate
    gate.set()


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove everything from the screen that differs between runs."""
    # Looks include the dimmed screen below a dialog, so it must be painted first.
    monkeypatch.setattr(textual_screen, "UPDATE_PERIOD", 1 / 60)
    # The real instructions name folders of this run, and the gauge counts their tokens.
    monkeypatch.setattr(agents, "system_instructions", lambda *_, **__: "Answer questions about these files.")
    monkeypatch.setattr(project_context, "surroundings_text", lambda *_: "")


@pytest.fixture
def looks(request: pytest.FixtureRequest, still: None) -> Looks:
    """Compares the app with this test's stored looks."""
    node = request.node
    ids = node.callspec.id.split("-") if hasattr(node, "callspec") else []
    state = [node.originalname.removeprefix("test_"), *(each for each in ids if not _SIZE.fullmatch(each))]
    file = LOOKS / f"{node.path.stem.removeprefix('test_')}.txt"
    return Looks(file, "-".join(state), update=request.config.getoption("--update-looks"))


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the same session ids and models in every run."""
    numbers = count(0x885C8680)
    monkeypatch.setattr(secrets, "token_hex", lambda _size: f"{next(numbers):08x}")

    async def list_models(**_: object) -> list[ModelChoice]:
        return CHOICES

    monkeypatch.setattr(catalogue, "list_models", list_models)


@pytest.fixture
def look(desk: Desk, fake_openai: FakeOpenAI, looks: Looks, fixed: None) -> Look:
    """Open a stored session, press keys and compare the look."""
    desk.serve(fake_openai).change(model=MODEL)

    async def compare(story: Story, scene: Scene, *terminal: Sequence[Any]) -> None:
        async def play(deck: Deck) -> None:
            await deck.ready()
            await scene(deck)
            await deck.settle()

        await looks(desk.app(desk.store(story)), play, *terminal)

    return compare


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the clock an hour after the stored events, and make everything random deterministic."""
    monkeypatch.setattr("time.time", lambda: TODAY)
    # Files of offloaded tool results are named after the time.
    noon = datetime.fromtimestamp(NOON, UTC)
    monkeypatch.setattr(by_hand, "WaysBack", lambda _now, taken: WaysBack(noon, taken))
    # The delay of a retry is randomised.
    monkeypatch.setattr("random.random", lambda: 0.0)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.0)
