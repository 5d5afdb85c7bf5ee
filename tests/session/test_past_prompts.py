"""Earlier prompts in a folder: across sessions, newest first, long ones truncated."""

from pathlib import Path

import pytest

from tui_app.events import Payload, SessionStart, UserMessage
from tui_app.session import prompts as module
from tui_app.session.prompts import SEARCHED_CHARS, PastPrompt, full_prompt, past_prompts
from tui_app.session.stores.sqlite_store import SqliteStore

HERE = Path("/home/ada/ferry")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


def say(database: Path, cwd: Path, *said: tuple[str, float]) -> str:
    store = SqliteStore(database)
    try:
        session = store.create(SessionStart(cwd=str(cwd), model="m", policy="p"), time=1.0)
        events: list[tuple[Payload, str | None, float]] = [
            (UserMessage(text=text), None, time) for text, time in said
        ]
        store.append_many(session, events)
        return session
    finally:
        store.close()


def test_all_sessions_of_the_folder_newest_first_and_each_text_once(database: Path) -> None:
    say(database, HERE, ("one", 10.0), ("two", 20.0))
    say(database, HERE, ("one", 30.0), ("three", 15.0))
    say(database, Path("/elsewhere"), ("not here", 40.0))
    found = past_prompts(database, HERE)
    assert [(prompt.text, prompt.time) for prompt in found] == [("one", 30.0), ("two", 20.0), ("three", 15.0)]


def test_a_long_prompt_is_read_when_it_is_wanted(database: Path) -> None:
    long = "tide " * SEARCHED_CHARS
    session = say(database, HERE, (long, 10.0))
    (found,) = past_prompts(database, HERE)
    assert found == PastPrompt(text=long[:SEARCHED_CHARS], time=10.0, session=session, seq=2)
    assert full_prompt(database, found) == long
    store = SqliteStore(database)
    store.delete(session)
    store.close()
    assert full_prompt(database, found) == long[:SEARCHED_CHARS]


def test_no_more_than_the_newest(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LISTED", 2)
    say(database, HERE, ("a", 1.0), ("b", 2.0), ("c", 3.0))
    assert [prompt.text for prompt in past_prompts(database, HERE)] == ["c", "b"]


def test_nothing_before_the_first_session(database: Path) -> None:
    assert past_prompts(database, HERE) == []
