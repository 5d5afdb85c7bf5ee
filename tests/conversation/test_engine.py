"""The session on a thread of its own: nothing gets lost between the two threads, nothing keeps running."""

import asyncio
import logging
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import Any

import pytest

from tests.conversation.driving import Desk
from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.engine import Engine, EngineStopped
from tui_app.conversation.open_request import Opening
from tui_app.conversation.work import Prompt
from tui_app.events import AssistantMessage, Record, SessionEnd, TurnEnd
from tui_app.session.lock import WriterLock
from tui_app.session.port import SessionNotFound
from tui_app.session.store import Store

LIMIT_S = 30.0


class Inbox:
    """Keeps what an engine delivers, and says when a turn has ended."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.threads: set[str] = set()
        self.ended = Signal()

    def __call__(self, record: Record) -> None:
        self.threads.add(threading.current_thread().name)
        self.records.append(record)
        if isinstance(record.data, TurnEnd):
            self.ended.set()


def offline(desk: Desk, **more: Any) -> Opening:
    return desk.opening(model="offline:extractive", **more)


async def name_of(opened: OpenSession) -> str:
    return opened.conversation.session


async def test_asked_and_told_before_it_is_ready(desk: Desk) -> None:
    inbox = Inbox()
    engine = Engine(offline(desk), inbox)
    asked = engine.ask(name_of)
    engine.tell(lambda opened: opened.conversation.submit(Prompt("what is in README.md?")))
    opened = engine.start().result(LIMIT_S)
    assert asked.result(LIMIT_S) == opened.conversation.session
    await inbox.ended.wait()
    await engine.stop()
    answers = [record for record in inbox.records if isinstance(record.data, AssistantMessage)]
    assert answers


async def test_records_come_in_order_from_the_engines_thread(desk: Desk) -> None:
    inbox = Inbox()
    engine = Engine(offline(desk), inbox)
    engine.start().result(LIMIT_S)
    engine.tell(lambda opened: opened.conversation.submit(Prompt("what is in README.md?")))
    await inbox.ended.wait()
    await engine.stop()
    stored = [record.seq for record in inbox.records if record.seq]
    assert stored == sorted(set(stored))
    assert stored == list(range(stored[0], stored[-1] + 1)), "none is missing"
    assert isinstance(inbox.records[-1].data, SessionEnd), "also what happens while closing"
    assert inbox.threads == {"plimsoll-engine"}


async def test_why_it_could_not_be_opened(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(offline(desk, session="ffffffff"), Inbox())
    engine.tell(lambda opened: opened.conversation.cancel())
    asked = engine.ask(name_of)
    with pytest.raises(SessionNotFound):
        engine.start().result(LIMIT_S)
    with pytest.raises(SessionNotFound):
        asked.result(LIMIT_S)
    with pytest.raises(SessionNotFound):
        engine.ask(name_of).result(LIMIT_S)
    await engine.stop()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_stop_closes_the_session_and_ends_the_thread(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(HangBeforeHeaders())
    engine = Engine(desk.opening(), Inbox())
    opened = engine.start().result(LIMIT_S)
    engine.tell(lambda opened: opened.conversation.submit(Prompt("Hello")))
    exchange = await fake_openai.request(1)
    await engine.stop()
    await exchange.closed.wait()
    assert "plimsoll-engine" not in {thread.name for thread in threading.enumerate()}
    WriterLock(opened.folder.lock_file).release()
    store = Store(desk.opening().paths.database)
    assert store.last_of(opened.conversation.session, SessionEnd.TYPE) is not None
    store.close()


async def test_whoever_comes_too_late_is_told(desk: Desk) -> None:
    engine = Engine(offline(desk), Inbox())
    engine.start().result(LIMIT_S)
    entered = Signal()

    async def endless(_opened: OpenSession) -> None:
        entered.set()
        await asyncio.Event().wait()

    waiting: Future[None] = engine.ask(endless)
    await entered.wait()
    await engine.stop()
    with pytest.raises(EngineStopped):
        waiting.result(LIMIT_S)
    with pytest.raises(EngineStopped):
        engine.ask(name_of).result(LIMIT_S)
    engine.tell(lambda opened: opened.conversation.cancel())
    await engine.stop()


async def test_stopped_before_it_started(desk: Desk) -> None:
    engine = Engine(offline(desk), Inbox())
    await engine.stop()
    with pytest.raises(EngineStopped):
        engine.ask(name_of).result(LIMIT_S)


async def test_who_gives_up_waiting_does_not_end_it_for_others(desk: Desk) -> None:
    engine = Engine(offline(desk), Inbox())
    opened = engine.start()
    giving_up = asyncio.ensure_future(asyncio.wrap_future(opened))
    await asyncio.sleep(0)
    giving_up.cancel()
    early = engine.ask(name_of)
    early.cancel()
    assert opened.result(LIMIT_S).conversation.session
    assert len(engine.ask(name_of).result(LIMIT_S)) == 8
    await engine.stop()


async def test_what_goes_wrong_in_a_request_is_logged(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(offline(desk), Inbox())
    engine.start().result(LIMIT_S)
    with caplog.at_level(logging.ERROR):
        engine.tell(lambda _opened: 1 // 0)
        assert engine.ask(name_of).result(LIMIT_S), "the next one is served"
    assert "ZeroDivisionError" in caplog.text

    async def wrong(_opened: OpenSession) -> None:
        raise ValueError("said to who asked")

    with pytest.raises(ValueError, match="said to who asked"):
        engine.ask(wrong).result(LIMIT_S)
    await engine.stop()


async def test_first_prompt_waits_for_the_tokenizer(desk: Desk, fake_openai: FakeOpenAI) -> None:
    """Counts in the log are made by a tokenizer, never by the estimate that stands in before."""
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Yes."))
    inbox = Inbox()
    engine = Engine(desk.opening(), inbox)
    engine.tell(lambda opened: opened.conversation.submit(Prompt("aaaaaaaa " * 100)))
    engine.start().result(LIMIT_S)
    await inbox.ended.wait()
    await engine.stop()
    (prompt,) = [record.data for record in inbox.records if record.data.TYPE == "user.message"]
    assert prompt.tokens["user"] > 300, "the estimate would say 229"  # type: ignore[attr-defined]


PROGRAM = """
import sys
from pathlib import Path
from tui_app.api_keys import ApiKeys
from tui_app.conversation.engine import Engine
from tui_app.conversation.open_request import Opening
from tui_app.paths import Paths
from tui_app.settings import Settings
paths = Paths.from_env({"PLIMSOLL_HOME": sys.argv[1]})
engine = Engine(
    Opening(
        settings=Settings(), paths=paths, env={}, keys=ApiKeys({}, paths), cwd=Path(sys.argv[1]),
        model="offline:extractive",
    ),
    lambda record: None,
)
engine.start().result(60)
print("open", flush=True)
"""


def test_thread_never_keeps_the_process_alive(desk: Desk) -> None:
    command = [sys.executable, "-c", PROGRAM, str(desk.home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "open\n", "")


LOADING = """
import threading
import tui_app.agent.catalog as shelf

loading = threading.Event()

def endless(*_, **__):
    loading.set()
    threading.Event().wait()

shelf.build_model = endless
"""


def test_quitting_while_a_model_loads_does_not_wait_for_it(desk: Desk) -> None:
    program = f"{LOADING}{PROGRAM}\nloading.wait(60)"
    command = [sys.executable, "-c", program, str(desk.home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "open\n", "")
