"""The screen in a real browser."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from tests.servers.chromium import chromium
from tests.web.kit import serving
from tui_app.context.events import AssistantMessage
from tui_app.paths import Paths
from tui_app.session.store import Store

pytestmark = [pytest.mark.chromium, pytest.mark.timeout(180)]
SHOWN = "document.body.classList.contains('-first-byte')"


async def test_typing_in_the_browser(tmp_path: Path, plimsoll_home: Path) -> None:
    (tmp_path / "tides.txt").write_text("Low water on Sunday is at nine.\n")
    async with serving(tmp_path) as served, chromium(tmp_path / "profile") as browser:
        await browser.call("Runtime.enable")
        await browser.call("Page.enable")
        await browser.open(served.address)
        await browser.until(SHOWN)
        assert await browser.evaluate("location.href") == served.base, "the token leaves the address"
        await browser.until("document.activeElement?.className.includes('xterm')")
        empty = await browser.screenshot()
        await browser.type("when is low water?")
        await browser.press("Enter")
        answered = await read_from_log(plimsoll_home)
        assert "tides.txt" in answered
        assert len(await browser.screenshot()) > len(empty), "the answer is drawn"


async def read_from_log(home: Path) -> str:
    """The first answer with a text, once it is in the log; the log of another process tells nobody."""
    database = Paths.from_env({"PLIMSOLL_HOME": str(home)}).database
    while True:
        await asyncio.sleep(0.1)
        # The other process may be making its tables this very moment.
        with contextlib.suppress(sqlite3.OperationalError):
            if database.exists() and (text := first_answer(database)):
                return text


def first_answer(database: Path) -> str:
    store = Store(database, read_only=True)
    try:
        records = [record for info in store.sessions() for record, _ in store.records(info.id)]
    finally:
        store.close()
    said = (record.data.text for record in records if isinstance(record.data, AssistantMessage))
    return next((text for text in said if text), "")
