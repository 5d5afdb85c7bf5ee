"""The session thread: nothing is lost between the two threads, and nothing keeps running."""

import asyncio
import logging
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, UserPromptPart

from tests.conversation.driving import Desk
from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.engine import Engine, EngineStopped
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.work import Prompt
from tui_app.events import AssistantMessage, Record, SessionEnd, TurnEnd, UserMessage
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import SessionNotFound

LIMIT_S = 30.0


class Inbox:
    """Collects what an engine delivers, and signals the end of a turn."""

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


async def begun(engine: Engine) -> OpenSession:
    """Open the session and start the queued work."""
    opened = await asyncio.wait_for(engine.open(), LIMIT_S)
    engine.begin()
    return opened


async def told(engine: Engine) -> str:
    """Look up the session's name through the engine."""
    opened = await engine.session()
    return await asyncio.wait_for(asyncio.wrap_future(engine.call(name_of, opened)), LIMIT_S)


async def test_asked_and_told_before_it_is_ready(desk: Desk) -> None:
    inbox = Inbox()
    engine = Engine(offline(desk), inbox)
    asked = asyncio.create_task(told(engine))
    engine.call(engine.queue.enqueue, Prompt("what is in README.md?"))
    assert engine.queue.labels == ("what is in README.md?",)
    opened = await begun(engine)
    assert await asked == opened.conversation.session
    await inbox.ended.wait()
    await engine.stop()
    answers = [record for record in inbox.records if isinstance(record.data, AssistantMessage)]
    assert answers
    assert engine.queue.labels == ()


async def test_what_waits_for_the_session_belongs_to_the_caller_until_it_begins(desk: Desk) -> None:
    inbox, shown = Inbox(), list[tuple[str, ...]]()
    engine = Engine(offline(desk), inbox)
    engine.queue.report = lambda change: shown.append(change.prompts)
    for text in ("one", "two", "three"):
        engine.call(engine.queue.enqueue, Prompt(text))
    assert engine.call(engine.queue.take, 1, "two").result(0) == "two"
    engine.call(engine.queue.move, 1, "three", -1)
    assert engine.call(engine.queue.take_last).result(0) == "one"
    opened = await asyncio.wait_for(engine.open(), LIMIT_S)
    assert opened.conversation.queue is engine.queue
    assert inbox.records == [], "nothing is done before it begins"
    assert shown[-1] == ("three",)
    engine.begin()
    await inbox.ended.wait()
    await engine.stop()
    assert [record.data.text for record in inbox.records if isinstance(record.data, UserMessage)] == ["three"]


async def test_records_come_in_order_from_the_engines_thread(desk: Desk) -> None:
    inbox = Inbox()
    engine = Engine(offline(desk), inbox)
    opened = await begun(engine)
    engine.call(opened.conversation.submit, Prompt("what is in README.md?"))
    await inbox.ended.wait()
    await engine.stop()
    stored = [record.seq for record in inbox.records if record.seq]
    assert stored == sorted(set(stored))
    assert stored == list(range(stored[0], stored[-1] + 1)), "none is missing"
    assert isinstance(inbox.records[-1].data, SessionEnd), "also what happens while closing"
    assert inbox.threads == {"plimsoll-engine"}


async def test_why_it_could_not_be_opened(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(offline(desk, session="ffffffff"), Inbox())
    asked = asyncio.create_task(told(engine))
    with pytest.raises(SessionNotFound):
        await engine.open()
    with pytest.raises(SessionNotFound):
        await asked
    with pytest.raises(SessionNotFound):
        await told(engine)
    await engine.stop()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_session_that_another_process_writes_can_be_opened_once_it_lets_go(desk: Desk) -> None:
    first = Engine(offline(desk), Inbox())
    session = (await begun(first)).conversation.session
    await asyncio.wrap_future(first.call(kept, first.opened))
    inbox = Inbox()
    engine = Engine(offline(desk, session=session), inbox)
    with pytest.raises(SessionLocked):
        await engine.open()
    assert engine.opened is None
    await first.stop()
    engine.call(engine.queue.enqueue, Prompt("what is in README.md?"))
    await asyncio.wait_for(engine.wait_for_request(), LIMIT_S)
    await begun(engine)
    await inbox.ended.wait()
    await engine.stop()
    assert any(isinstance(record.data, AssistantMessage) for record in inbox.records)


def kept(opened: OpenSession) -> None:
    """Append a message, because closing removes an empty session."""
    opened.conversation.history.append(
        UserMessage(text="hello"), ModelRequest(parts=[UserPromptPart("hello")])
    )


async def test_stop_closes_the_session_and_ends_the_thread(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(HangBeforeHeaders())
    engine = Engine(desk.opening(), Inbox())
    opened = await begun(engine)
    engine.call(opened.conversation.submit, Prompt("Hello"))
    exchange = await fake_openai.request(1)
    await engine.stop()
    await exchange.closed.wait()
    assert "plimsoll-engine" not in {thread.name for thread in threading.enumerate()}
    WriterLock(opened.folder.lock_file).release()
    store = SqliteStore(desk.opening().paths.database)
    assert store.last_of(opened.conversation.session, SessionEnd.TYPE) is not None
    store.close()


async def test_whoever_comes_too_late_is_told(desk: Desk) -> None:
    engine = Engine(offline(desk), Inbox())
    opened = await begun(engine)
    entered = Signal()

    async def endless() -> None:
        entered.set()
        await asyncio.Event().wait()

    waiting: Future[None] = engine.call(endless)
    await entered.wait()
    await engine.stop()
    with pytest.raises(EngineStopped):
        waiting.result(LIMIT_S)
    with pytest.raises(EngineStopped):
        engine.call(name_of, opened).result(LIMIT_S)
    engine.call(opened.conversation.cancel)
    await engine.stop()


async def test_stopped_before_it_started(desk: Desk) -> None:
    engine = Engine(offline(desk), Inbox())
    early = asyncio.create_task(told(engine))
    await asyncio.sleep(0)
    await engine.stop()
    with pytest.raises(EngineStopped):
        await early
    with pytest.raises(EngineStopped):
        await told(engine)
    with pytest.raises(EngineStopped):
        await engine.open()


async def test_who_gives_up_waiting_does_not_end_it_for_others(desk: Desk) -> None:
    engine = Engine(offline(desk), Inbox())
    giving_up = asyncio.create_task(engine.session())
    await asyncio.sleep(0)
    giving_up.cancel()
    early = asyncio.create_task(told(engine))
    assert (await begun(engine)).conversation.session
    assert len(await early) == 8
    cancelled = engine.call(name_of, engine.opened)
    cancelled.cancel()
    assert len(await told(engine)) == 8
    await engine.stop()


async def test_what_goes_wrong_in_a_call_is_logged(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    engine = Engine(offline(desk), Inbox())
    await begun(engine)
    with caplog.at_level(logging.ERROR):
        engine.call(lambda: 1 // 0)
        assert await told(engine), "the next one is served"
    assert "ZeroDivisionError" in caplog.text

    async def wrong() -> None:
        raise ValueError("said to who asked")

    with pytest.raises(ValueError, match="said to who asked"):
        engine.call(wrong).result(LIMIT_S)
    await engine.stop()


async def test_first_prompt_waits_for_the_tokenizer(desk: Desk, fake_openai: FakeOpenAI) -> None:
    """Token counts in the log come from a tokenizer, never from the preliminary estimate."""
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Yes."))
    inbox = Inbox()
    engine = Engine(desk.opening(), inbox)
    engine.call(engine.queue.enqueue, Prompt("aaaaaaaa " * 100))
    await begun(engine)
    await inbox.ended.wait()
    await engine.stop()
    (prompt,) = [record.data for record in inbox.records if record.data.TYPE == "user.message"]
    assert prompt.tokens["user"] > 300, "the estimate would say 229"  # type: ignore[attr-defined]


PROGRAM = """
import asyncio
import sys
from pathlib import Path
from tui_app.api_keys import ApiKeys
from tui_app.conversation.engine import Engine
from tui_app.conversation.requests.open_request import Opening
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


async def main():
    await engine.open()
    engine.begin()
    print("open", flush=True)
    if "loading" in globals():
        loading.wait(60)
    # Nothing is stopped: the process ends all the same.


asyncio.run(main())
"""


def test_thread_never_keeps_the_process_alive(desk: Desk) -> None:
    command = [sys.executable, "-c", PROGRAM, str(desk.home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "open\n", "")


LOADING = """
import threading
import tui_app.agent.model_shelf as shelf

loading = threading.Event()

def endless(*_, **__):
    loading.set()
    threading.Event().wait()

shelf.build_model = endless
"""


def test_quitting_while_a_model_loads_does_not_wait_for_it(desk: Desk) -> None:
    program = f"{LOADING}{PROGRAM}"
    command = [sys.executable, "-c", program, str(desk.home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "open\n", "")
