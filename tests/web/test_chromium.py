"""The UI in a real browser."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from tests.servers.chromium import Page, chromium
from tests.web import kit as xterm
from tests.web.kit import serving
from tui_app.events import AssistantMessage
from tui_app.paths import Paths
from tui_app.session.stores.sqlite_store import SqliteStore

pytestmark = [pytest.mark.chromium, pytest.mark.timeout(180)]
SHOWN = "document.body.classList.contains('-first-byte')"


TRANSCRIPT = (0.1, 0.6)
"""Band of the page with prompts and answers, as shares of its height."""


async def test_a_prompt_typed_in_the_browser_is_answered_there(tmp_path: Path, plimsoll_home: Path) -> None:
    (tmp_path / "tides.txt").write_text("Low water on Sunday is at nine.\n")
    async with serving(tmp_path) as served, chromium(tmp_path / "profile") as browser:
        await browser.call("Runtime.enable")
        await browser.call("Page.enable")
        await xterm.watch(browser)
        await browser.open(served.address)
        await browser.until(SHOWN)
        assert "token" not in await browser.evaluate("location.href"), "the token leaves the address"
        await browser.until("document.activeElement?.className.includes('xterm')")
        before = await xterm.says(browser, "built-in search", "of 32k")
        assert "Low water" not in before
        await settled(browser)
        blank = await xterm.pixels(browser, *TRANSCRIPT)
        await browser.type("when is low water?")
        await xterm.says(browser, "▐ when is low water?")
        assert await xterm.pixels(browser, *TRANSCRIPT) == blank, "a draft stands in the prompt alone"
        await browser.press("Enter")
        after = await xterm.says(browser, "Low water on Sunday is at nine.", "tides.txt")
        lines = [line.strip("┃▐ ") for line in after.splitlines()]
        assert any(line.startswith("when is low water?") for line in lines), "the prompt, in the conversation"
        assert "tides.txt" in await read_from_log(plimsoll_home)
        await settled(browser)
        assert await xterm.pixels(browser, *TRANSCRIPT) != blank, "the answer is painted"
        await browser.press("F3")
        assert "compacts at" in await xterm.says(browser, "Context", "esc close")


async def settled(browser: Page) -> None:
    """Wait two browser frames, so that the terminal's content is painted."""
    await browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


async def read_from_log(home: Path) -> str:
    """The first answer with text, polled from the log: another process's log sends no notifications."""
    database = Paths.from_env({"PLIMSOLL_HOME": str(home)}).database
    while True:
        await asyncio.sleep(0.1)
        # The other process may be creating its tables at this moment.
        with contextlib.suppress(sqlite3.OperationalError):
            if database.exists() and (text := first_answer(database)):
                return text


def first_answer(database: Path) -> str:
    store = SqliteStore(database, read_only=True)
    try:
        records = [record for info in store.sessions() for record, _ in store.records(info.id)]
    finally:
        store.close()
    said = (record.data.text for record in records if isinstance(record.data, AssistantMessage))
    return next((text for text in said if text), "")
