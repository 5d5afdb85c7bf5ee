"""Work that fails: a sentence on the screen, a traceback in the log file, and nothing written is lost."""

import logging
import sqlite3
import threading

import pytest

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import LIMIT_S, Desk, shown
from tui_app.session.stats import SessionStats
from tui_app.session.stats_reader import StatsReader
from tui_app.ui import persistence
from tui_app.ui.flows import commands
from tui_app.ui.screens import chat, stats


class Mishap(Exception):
    """What no one has thought of."""


async def mishap(*_: object) -> None:
    raise Mishap("inner words")


async def test_a_command_that_fails_says_so(
    served: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(commands, "show_status", mishap)
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.send("/status")
        await deck.says("That did not work: Mishap.")
        assert "inner words" not in deck.text
        assert [record.levelno for record in caplog.records if record.exc_info] == [logging.ERROR]


async def test_work_of_a_dialog_that_fails_says_so(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats.StatsScreen, "_follow", mishap)
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.send("/stats")
        await deck.until(lambda: isinstance(deck.app.screen, stats.StatsScreen), "the dialog")
        await deck.press("escape")
        await deck.says("That did not work: Mishap.")


async def test_what_cannot_be_loaded_ends_the_program_and_keeps_what_was_written(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = threading.Event()

    def fails() -> None:
        typed.wait(LIMIT_S)
        raise Mishap

    monkeypatch.setattr(chat, "_load", fails)
    app = served.app()
    async with shown(app) as deck:
        await deck.pilot.press(*"thought")
        await deck.until(lambda: deck.editor.text or app._held, "the keys")
        typed.set()
        await deck.until(lambda: not app._running or app._exit, "the end")
    assert app.return_code == 1
    assert app.farewell.startswith("1 prompt was not sent")


async def test_a_session_that_cannot_be_shown_ends_the_program(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: StatsReader) -> None:
        raise Mishap

    monkeypatch.setattr(StatsReader, "read", fails)
    app = served.app(served.store(Story().turns(1)))
    async with shown(app) as deck:
        await deck.until(lambda: not app._running or app._exit, "the end")
    assert app.return_code == 1


@pytest.mark.parametrize("times", [1, 9])
async def test_a_log_that_refuses_while_a_turn_runs_hides_no_answer(
    served: Desk,
    fake_openai: FakeOpenAI,
    slow_start: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
) -> None:
    monkeypatch.setattr(persistence, "PAUSES_S", (0.0, 0.0))
    read, refusals = StatsReader.read, [sqlite3.OperationalError("database is locked")] * times

    def fails(reader: StatsReader) -> SessionStats:
        if refusals:
            raise refusals.pop()
        return read(reader)

    monkeypatch.setattr(StatsReader, "read", fails)
    fake_openai.add(Text("Here I am."))
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.until(lambda: deck.app.chat.is_ready, "the chat")
        await deck.send("are you there?")
        slow_start.set()
        if times == 1:
            await deck.says("Here I am.")
        else:
            await deck.says("database is locked")
            await deck.until(lambda: not deck.app.chat.session.link._engine._thread.is_alive(), "its end")
            await deck.send("another")
            await deck.says("database is locked")
            assert deck.editor.text == "another"
