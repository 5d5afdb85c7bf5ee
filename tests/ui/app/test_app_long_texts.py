"""Texts of megabytes: read beside the screen's loop, shown in part, copied whole."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator

import pytest

from tests.ui.app.story import Story
from tests.ui.kit import LIMIT_S, Deck, Desk, shown
from tui_app.session.entries import Body, Entry
from tui_app.session.preview import StoreBodies
from tui_app.ui.row_bodies import LONG_CHARS, LateBodies

LINES = [f"\x1b[32mline {number}\x1b[0m of a very long log" for number in range(80_000)]
LOG = "\n".join(LINES)
"""More than three million characters."""


class Reading:
    """Holds long texts back until they may be read, and notes on which threads any text is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate = threading.Event()
        self.threads: list[tuple[int, bool]] = []
        self.failure: sqlite3.Error | None = None
        read = StoreBodies.body

        def body(source: StoreBodies, entry: Entry) -> Body:
            here = threading.current_thread() is threading.main_thread()
            self.threads.append((entry.chars, here))
            if not here:
                assert self.gate.wait(LIMIT_S)
                if self.failure is not None:
                    raise self.failure
            return read(source, entry)

        monkeypatch.setattr(StoreBodies, "body", body)


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reading]:
    held = Reading(monkeypatch)
    yield held
    held.gate.set()


@pytest.fixture
def session(served: Desk) -> str:
    story = Story().user("what is in the log?").tool("grep", '{"pattern": "line"}', LOG).answer("Lines.")
    return served.store(story)


async def opened(deck: Deck) -> None:
    """Open the row of the tool."""
    await deck.ready()
    deck.transcript.focus()
    await deck.press("up", "up", "enter")


async def test_a_long_result_is_read_beside_the_loop_and_shown_when_it_is_there(
    served: Desk, session: str, reading: Reading
) -> None:
    assert len(LOG) > 3_000_000
    async with shown(served.app(session)) as deck:
        await opened(deck)
        await deck.says(f"(reading {len(LOG):,} characters …)")
        await deck.press("end")
        assert "Lines." in deck.text, "the screen goes on"
        reading.gate.set()
        await deck.until(lambda: "line 79999 of a very long log" in deck.text, "the end of the log")
        assert "Lines." in deck.text
        assert "reading" not in deck.text
        await deck.press("ctrl+home")
        assert "line 0 of a very long log" in deck.text
        assert [here for chars, here in reading.threads if chars > LONG_CHARS] == [False], "once"
        # Closed and opened again it is still there.
        await deck.press("up", "up", "enter", "enter")
        await deck.settle()
        assert len([chars for chars, _ in reading.threads if chars > LONG_CHARS]) == 1


async def test_how_much_is_left_out_is_said(served: Desk, session: str, reading: Reading) -> None:
    reading.gate.set()
    async with shown(served.app(session)) as deck:
        await opened(deck)
        await deck.until(lambda: "line 79999 of a very long log" in deck.text, "the end of the log")
        for _ in range(20):
            if "are not shown" in deck.text:
                break
            await deck.press("pageup")
        assert "more characters are not shown" in deck.text


async def test_what_cannot_be_read_is_said(served: Desk, session: str, reading: Reading) -> None:
    reading.failure = sqlite3.OperationalError("disk I/O error")
    reading.gate.set()
    async with shown(served.app(session)) as deck:
        await opened(deck)
        await deck.says("This text cannot be read: disk I/O error.")


async def test_short_texts_are_there_at_once_and_whole_ones_for_whoever_copies(
    served: Desk, session: str, reading: Reading
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        assert reading.threads
        assert all(here for _, here in reading.threads)
        bodies = deck.app.chat.session.bodies
        tool = deck.app.chat.session.presenter.view.entries[1]
        assert bodies.body(tool).text == LOG
        assert "reading" in bodies.preview(tool).text
        reading.gate.set()


async def test_leaving_while_a_text_is_read_ends_quietly(
    served: Desk, session: str, reading: Reading
) -> None:
    async with shown(served.app(session)) as deck:
        await opened(deck)
        await deck.says("(reading")
        reading.gate.set()
    assert not [task for task in asyncio.all_tasks() if "reading" in task.get_name()]


def test_without_a_log_there_is_only_the_title() -> None:
    entry = Entry(seq=1, kind="tool", time=0.0, title="grep", chars=LONG_CHARS + 1)
    bodies = LateBodies()
    assert bodies.preview(entry) == bodies.body(entry) == Body(text="grep")
    bodies.close()
