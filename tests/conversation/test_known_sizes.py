"""What the log knows of a session's size is what whoever writes it has on the gauge."""

from collections.abc import Callable

import pytest

from tests.conversation.driving import Desk, done, turn
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Compact, Restate
from tui_app.events import GaugeChanged, Record, SessionStart, UsageInfo, UserMessage
from tui_app.session.preview import Preview, load_preview
from tui_app.session.sqlite_store import SqliteStore
from tui_app.usage import ContextUsage

NOTES = "Title: Sea\nThe sea is salty."
LONG = "The sea is below and the sky above. " * 60


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    (desk.cwd / "AGENTS.md").write_text("Always answer in rhymes. " * 40)
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text(NOTES), phrase="Write the notes for this transcript")
    return fake_openai


def gauge_of(preview: Preview, setting: int | None = None) -> ContextUsage:
    """The gauge of a session before its model has been asked for."""
    return preview.known.usage(preview.agent_view, preview.info.model, setting)


def seen(desk: Desk, session: str) -> ContextUsage:
    """The gauge of a window that only reads."""
    return gauge_of(load_preview(desk.opening().paths.database, session))


async def talk(opened: OpenSession, server: FakeOpenAI, scale: float) -> None:
    """Some turns with a server whose tokens are finer or coarser than ours."""
    for number in range(4):
        size = round(opened.conversation.usage.total * scale) + round(600 * scale)
        server.add(Text(LONG, usage=(size, 500)))
        await turn(opened.conversation, f"{number} {LONG}")


async def nothing(_opened: OpenSession) -> None:
    """Leave it as it is."""


async def compacted(opened: OpenSession) -> None:
    await done(opened.conversation, Compact())


async def taken_back(opened: OpenSession) -> None:
    await done(opened.conversation, Compact(), Restate(undo=True))


@pytest.mark.parametrize("after", [nothing, compacted, taken_back])
@pytest.mark.parametrize("scale", [0.7, 1.0, 1.4])
async def test_a_reader_sees_the_number_of_the_writer(
    desk: Desk, server: FakeOpenAI, scale: float, after: Callable[[OpenSession], object]
) -> None:
    async with desk.session() as opened:
        await talk(opened, server, scale)
        await after(opened)  # type: ignore[misc]
        session, usage = opened.conversation.session, opened.conversation.usage
        read = seen(desk, session)
        assert read.total == pytest.approx(usage.total, rel=0.02)
        assert (read.window, read.exact) == (usage.window, usage.exact)
    read = seen(desk, session)
    assert read.total == pytest.approx(usage.total, rel=0.02)
    again = open_session(desk.opening(session=session))
    assert again.conversation.usage.total == read.total, "also before the model is there"
    assert again.conversation.usage.window == usage.window
    await again.close()


async def test_the_window_of_a_session_that_was_never_measured_is_not_made_up(
    desk: Desk, server: FakeOpenAI
) -> None:
    paths = desk.opening().paths
    paths.ensure()
    store = SqliteStore(paths.database)
    session = store.create(SessionStart(cwd="/", model="local:scripted"), time=1.0)
    store.append(session, UserMessage(text="hi", tokens={"user": 40}), None, time=2.0)
    store.close()
    assert seen(desk, session).window.limit == 0
    assert gauge_of(load_preview(paths.database, session), 9_000).window.limit == 9_000
    opened = open_session(desk.opening(session=session))
    told: list[Record] = []
    opened.bus.listen(told.append)
    opened.conversation.history.show_gauge()
    assert told == []
    await opened.conversation.prepare()
    [gauge] = [record.data for record in told if isinstance(record.data, GaugeChanged)]
    assert gauge.usage.window.limit == 32_000
    await opened.close()


async def test_another_model_takes_its_own_window_along(desk: Desk, server: FakeOpenAI) -> None:
    desk.server("wide", server.base_url, window=64_000)
    async with desk.session() as opened:
        await talk(opened, server, 1.4)
        session = opened.conversation.session
    async with desk.session(session=session, model="wide:scripted") as opened:
        assert opened.conversation.usage.window.limit == 64_000
        assert seen(desk, session).window.limit == 64_000


async def test_older_logs_count_what_stands_among_the_instructions(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session() as opened:
        await talk(opened, server, 1.0)
        history = opened.conversation.history
        measured = history.store.last_of(history.session, UsageInfo.TYPE)
        assert measured is not None
        assert isinstance(measured.data, UsageInfo)
        usage = {**measured.data.usage, "memory": 900, "system": 100, "tools": 300}
        history.report(UsageInfo(usage=usage))
        await taken_back(opened)
        read = seen(desk, history.session)
        assert read.parts.memory == pytest.approx(900, rel=0.5)
