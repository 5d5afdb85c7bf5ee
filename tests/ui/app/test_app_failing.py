"""Work that fails: a sentence on the screen, a traceback in the log file, and nothing written is lost."""

import logging
import sqlite3
import threading

import pytest

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import LIMIT_S, Desk, shown
from tui_app.session.preview import StatsReader
from tui_app.session.stats import SessionStats
from tui_app.session.store import SessionNotFound
from tui_app.ui import screen as chat
from tui_app.ui.chat import log_reader as persistence
from tui_app.ui.chat.presenter import Presenter
from tui_app.ui.dialogs import session_info as stats
from tui_app.ui.prompt import row as prompt_row
from tui_app.ui.prompt.completion import FileFinder


class Mishap(Exception):
    """What no one has thought of."""


async def mishap(*_: object) -> None:
    raise Mishap("inner words")


def mishap_at_once(*_: object) -> None:
    raise Mishap


async def test_a_command_that_fails_says_so(
    served: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stats, "show_status", mishap)
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
    monkeypatch.setattr(StatsReader, "read", mishap_at_once)
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
            await deck.until(lambda: not deck.app.chat.session.engine._thread.is_alive(), "its end")
            await deck.send("another")
            await deck.says("database is locked")
            assert deck.editor.text == "another"


async def test_files_behind_an_at_that_cannot_be_listed_are_said(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileFinder, "find", mishap)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press("@", "R")
        await deck.says("That did not work: Mishap.")
        assert deck.editor.text == "@R"


async def test_a_failure_before_there_is_a_session_is_said_and_ends_nothing(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr(chat, "_load", lambda: gate.wait(LIMIT_S))
    monkeypatch.setattr(prompt_row, "weigh", mishap_at_once)
    app = served.app()
    async with shown(app) as deck:
        await deck.type("look at @README.md please")
        await deck.says("That did not work: Mishap.")
        assert not app.chat.is_ready
        gate.set()
        await deck.ready()
        assert deck.editor.text == "look at @README.md please"


async def test_a_session_that_fails_later_did_start(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    app = served.app(served.store(Story().turns(1)))
    async with shown(app) as deck:
        await deck.ready()
        monkeypatch.setattr(Presenter, "present", mishap_at_once)
        await deck.send("Is anybody there?")
        await deck.until(lambda: not app._running or app._exit, "the end")
    assert app.return_code == 1
    assert app.ended_by.startswith("Plimsoll has ended: this session can no longer be shown.")
    assert "--resume" in app.farewell


async def test_a_reason_that_anyone_may_meet_is_told_in_words(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> None:
        raise SessionNotFound("There is no session with the id 'abc'.")

    monkeypatch.setattr(stats, "show_status", refused)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/status")
        await deck.says("That did not work: There is no session with the id 'abc'.")
        assert "SessionNotFound" not in deck.text
