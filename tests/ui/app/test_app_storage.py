"""A disk that is full, and a sessions file that is none: said on the screen, with what to do."""

from pathlib import Path
from typing import Any

import pytest

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import Desk, shown

LONG = "The sea is below and the sky above. " * 1_000


async def fill(opened: Any) -> None:
    """Leave no room for another page."""
    pages = opened.store._db.execute("PRAGMA page_count").fetchone()[0]
    opened.store._db.execute(f"PRAGMA max_page_count = {pages}")


async def test_full_disk(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = Text("Never asked.")
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.app.chat.session.ask(fill)
        await deck.send(LONG)
        await deck.until(lambda: deck.app.chat.session.state.notices, "a notice")
        await deck.idle()
        assert deck.editor.draft == LONG
        await deck.press("f2")
        await deck.says("The disk is full: the sessions file could not be written.")
        assert "Everything saved before is kept." in deck.text
        assert fake_openai.journal == []


def spoiled(desk: Desk) -> Path:
    """Put something in the place of the sessions file."""
    desk.paths.ensure()
    desk.paths.database.write_text("no database " * 500)
    return desk.paths.database


@pytest.mark.parametrize("resumed", [False, True], ids=["new", "resumed"])
async def test_file_that_is_no_database(served: Desk, resumed: bool) -> None:
    session = served.store(Story().turns(2)) if resumed else ""
    database = spoiled(served)
    async with shown(served.app(session)) as deck:
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.read_only, "a refusal")
        (notice,) = deck.app.chat.session.state.notices
        assert notice.startswith(f"Not a readable Plimsoll database: {database}")
        assert "Nothing was deleted. Move it away" in notice
        assert "Not a readable Plimsoll database" in deck.status
        await deck.send("Is anybody there?")
        assert deck.editor.text == "Is anybody there?"


async def test_sessions_list_of_a_file_that_is_no_database(served: Desk) -> None:
    spoiled(served)
    async with shown(served.app()) as deck:
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.read_only, "a refusal")
        await deck.send("/resume")
        await deck.says("The sessions cannot be read.")
