"""Drive real conversations in tests: open a session against a server, run a turn, wait for a state."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from pydantic_ai.messages import ModelMessagesTypeAdapter

import tests.tool_schemas  # noqa: F401
from tui_app.api_keys import ApiKeys
from tui_app.context.requests.builder import repair
from tui_app.context.views.view import to_messages
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.conversation import Conversation
from tui_app.conversation.history.event_bus import EventBus
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.work import Prompt, Work
from tui_app.events import Payload, Record, SessionEnd, TurnEnd
from tui_app.paths import Paths
from tui_app.session.views.agent_view import ALONE
from tui_app.settings import Endpoint, Settings
from tui_app.system.trust import TRUST_VARIABLE

QUIET: dict[str, object] = {
    "retries": 0,
    "memory_limit_mb": 0,
    "explore": {"enabled": False},
    "tell_fullness": False,
}
"""Defaults for tests, unless a test overrides them.

No retries, no memory limit (one process runs all tests), no subagents, and no notes to the model about
context usage.
"""
SOON_S = 0.01
"""Seconds before the first retry. Tests of the delays themselves set their own."""
IDLE_S = 0.1
"""Seconds within which everything must be idle after a cancel."""


@dataclass
class Desk:
    """What a test needs to open sessions: a home folder, a workspace and named servers."""

    home: Path
    cwd: Path
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=lambda: {TRUST_VARIABLE: "/"})

    @property
    def own(self) -> Path:
        """The settings folder, which is also the working directory of hooks."""
        folder = self.home / "config"
        folder.mkdir(exist_ok=True)
        return folder

    def server(self, name: str, base_url: str, window: int | None = None) -> None:
        """Add a server that speaks OpenAI's chat protocol."""
        self.endpoints[name] = Endpoint(name=name, base_url=base_url, window=window)

    def opening(self, *, session: str = "", model: str = "local:scripted", **settings: object) -> Opening:
        """Return the parameters for opening a session, read-only unless ``read_only=False`` is given.

        Read-only because test windows are so small that the number of tool definitions matters.
        """
        settings.setdefault("read_only", True)
        paths = Paths.from_env({"PLIMSOLL_HOME": str(self.home)})
        return Opening(
            settings=Settings(endpoints=self.endpoints, **{**QUIET, **settings}),  # type: ignore[arg-type]
            paths=paths,
            env=self.env,
            keys=ApiKeys(self.env, paths),
            cwd=self.cwd,
            session=session,
            model=model,
        )

    @asynccontextmanager
    async def session(
        self, *, session: str = "", model: str = "local:scripted", **settings: object
    ) -> AsyncIterator[OpenSession]:
        """Open and prepare a session, and close it after the block."""
        opened = open_session(self.opening(session=session, model=model, **settings))
        for asks in (opened.turns, opened.writers):
            asks.rules = replace(asks.rules, first_s=SOON_S)
        try:
            await opened.prepare()
            yield opened
        finally:
            await opened.close()


class Following:
    """Async iterator over everything published from now on, until the session ends."""

    def __init__(self, bus: EventBus) -> None:
        self._listeners, self._queue = bus._listeners, asyncio.Queue[Record | None]()
        # First in line, before listeners that react to a record by publishing further ones.
        self._listeners.insert(0, self._put)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Record:
        record = await self._queue.get()
        if record is None:
            # Later calls must stop as well.
            self.end()
            raise StopAsyncIteration
        return record

    def _put(self, record: Record) -> None:
        self._queue.put_nowait(record)
        if isinstance(record.data, SessionEnd):
            self.end()

    def end(self) -> None:
        """Stop the iteration after the records already queued."""
        self._queue.put_nowait(None)

    def close(self) -> None:
        """Stop listening."""
        self._listeners.remove(self._put)


async def send(conversation: Conversation, text: str) -> AsyncGenerator[Record]:
    """Send a prompt and yield every record until its own turn ends.

    Closing the iterator early cancels the turn, or removes the prompt from the queue.
    """
    following, prompt, ends = Following(conversation.bus), Prompt(text), list[Record]()

    def note(record: Record) -> None:
        if isinstance(record.data, TurnEnd) and conversation.turns.prompt is prompt:
            ends.append(record)

    conversation.bus.listen(note)
    conversation.submit(prompt)
    try:
        async for record in following:
            yield record
            if ends and record is ends[0]:
                return
    finally:
        following.close()
        if not ends and not conversation.queue.remove(prompt):
            conversation.cancel()


async def turn(conversation: Conversation, text: str) -> list[Record]:
    """Send a prompt and return every record until its turn ends."""
    return [record async for record in send(conversation, text)]


async def done(conversation: Conversation, *work: Work) -> None:
    """Submit work items and wait until the conversation is idle."""
    for each in work:
        conversation.submit(each)
    await conversation.settle()


def of(records: list[Record], *kinds: type[Payload]) -> list[Payload]:
    """Return the payloads of the given kinds."""
    return [record.data for record in records if isinstance(record.data, kinds)]


async def until(following: Following, wanted: Callable[[Payload], bool]) -> Record:
    """Return the first record whose payload matches, skipping the others."""
    async for record in following:
        if wanted(record.data):
            return record
    raise AssertionError("the conversation ended before it happened")


async def cancelled_within(conversation: Conversation, limit_s: float = IDLE_S) -> None:
    """Cancel and assert that the conversation is idle within the limit.

    Time in which this process was runnable but not scheduled does not count.
    """
    started = time.monotonic() - _held_up()
    conversation.cancel()
    async with asyncio.timeout(20):
        await conversation.settle()
    took = time.monotonic() - _held_up() - started
    assert not conversation.busy
    assert took < limit_s, f"idle only after {took * 1000:.0f} ms"


def _held_up() -> float:
    """Seconds this process's threads spent runnable but waiting for a processor (Linux only)."""
    held_up = 0
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):  # the thread has ended
            held_up += int(file.read_text().split()[1])
    return held_up / 1e9


def assert_valid(conversation: Conversation) -> None:
    """Assert that the view needs no repair beyond moving results: calls answered once, no empty messages."""
    messages = to_messages(conversation.history.items())
    mended = repair(messages)
    assert [sorted(map(repr, m.parts)) for m in mended] == [sorted(map(repr, m.parts)) for m in messages]


def view_bytes(conversation: Conversation) -> bytes:
    """Return the agent view as it would be sent, byte for byte."""
    history = conversation.history
    # An edited summary's text is stored in the event of the edit.
    events = [head.form[0] if head.form[1] == ALONE else head.seq for head in history.view.visible()]
    texts = [history.store.message(history.session, seq) for seq in events]
    parts = [item.message.parts for item in history.items()]
    loaded = ModelMessagesTypeAdapter.validate_json(f"[{','.join(map(str, texts))}]")
    assert parts == [message.parts for message in loaded], "the view is what its log says"
    return "\n".join(map(str, texts)).encode()
