"""Conversations with a background compaction, and work done while it runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.conversation.driving import Desk, Following, assert_valid, turn, until
from tests.conversation.test_compactions import ASKS, ASKS_AGAIN, LONG, NOTES, filled, stored
from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.context.compaction.compactor import State
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.conversation import Conversation
from tui_app.conversation.work import Work
from tui_app.events import CompactionComplete, Payload, UserMessage
from tui_app.session.views.agent_view import fold_agent_view


@asynccontextmanager
async def with_job(desk: Desk, server: FakeOpenAI, release: Signal) -> AsyncIterator[OpenSession]:
    """Open a session with a background compaction whose summary arrives once ``release`` is set."""
    async with filled(desk, server, window=6_600) as opened:
        server.add(HangBeforeHeaders(release, text=NOTES), phrase=ASKS)
        server.add(Text("Short."))
        await turn(opened.conversation, "Fifth")
        assert opened.conversation.compactor.state is State.RUNNING
        assert not opened.conversation.busy
        # Without this wait, the next request could be answered by the hanging behaviour.
        while not any(ASKS in str(request["messages"]) for request in server.journal):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        yield opened


async def until_a_job_runs(conversation: Conversation, server: FakeOpenAI, release: Signal) -> None:
    """Run turns until a background compaction starts; its summary arrives once ``release`` is set."""
    server.add(HangBeforeHeaders(release, text=NOTES), phrase=ASKS_AGAIN)
    while conversation.compactor.state is State.IDLE:
        server.add(Text(f"More. {LONG}", usage=(0, 0)))
        await turn(conversation, "Again?")
    assert conversation.compactor.trigger == "background"


async def released(opened: OpenSession, release: Signal) -> CompactionComplete:
    """Let the summary arrive and return the end of the compaction."""
    watching = Following(opened.conversation.bus)
    release.set()
    record = await until(watching, lambda data: isinstance(data, CompactionComplete))
    await opened.conversation.settle()
    assert isinstance(record.data, CompactionComplete)
    return record.data


def prompt_number(conversation: Conversation, beginning: str) -> int:
    """Return the log number of the prompt that starts with ``beginning``."""
    (number,) = [
        record.seq
        for record, _ in conversation.history.store.records(conversation.session)
        if isinstance(record.data, UserMessage) and record.data.text.startswith(beginning)
    ]
    return number


def texts(conversation: Conversation) -> str:
    return str([item.message for item in conversation.history.items()])


async def reopened(desk: Desk, opened: OpenSession) -> None:
    """Assert that folding the stored log gives the live view."""
    history = opened.conversation.history
    heads = list(opened.store.heads(opened.conversation.session))
    assert fold_agent_view(heads) == history.view
    assert opened.folder.listed() in (None, len(history.view.compactions))
    assert_valid(opened.conversation)


def completes(opened: OpenSession) -> list[CompactionComplete]:
    return [end for end in stored(opened, CompactionComplete) if isinstance(end, CompactionComplete)]


async def beside_the_job(conversation: Conversation, work: Work, done_by: type[Payload]) -> None:
    """Submit work while a background compaction runs, and wait for its event."""
    watching = Following(conversation.bus)
    conversation.submit(work)
    await until(watching, lambda data: isinstance(data, done_by))
