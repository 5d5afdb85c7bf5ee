"""The memory board in conversations: given once, kept, and filled from finished sessions."""

import asyncio
import os
import signal
from contextlib import closing
from pathlib import Path

import pytest

from tests.conversation import dying_reader
from tests.conversation.driving import Desk, Following, done, of, turn
from tests.forked import completed
from tests.servers.behaviours import HangBeforeHeaders, Text, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tui_app.context.message_marks import HEADING, is_inbox_part
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.memory import memory as remembering
from tui_app.conversation.memory.boards import boards_in
from tui_app.conversation.memory.memory import NOTHING_NEW, OFF
from tui_app.conversation.work import Clear, Compact, Restate, Rewind
from tui_app.events import (
    MemoryAdded,
    MemoryConsolidated,
    MemoryInbox,
    MemoryPruned,
    MessageExcluded,
    Notice,
    Payload,
    RewriteUndone,
    SessionStart,
    UserMessage,
)
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import Draft, Entry, NotRemembered
from tui_app.memory.scope import scope_of
from tui_app.session.management import delete_session
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stores.sqlite_store import SqliteStore

OFFLINE = "offline:extractive"
ROOT = Path(__file__).parents[2]
RULE = "Never touch the importer in legacy/."
SIGN = "Sign the archives with sign.sh."
NOTES = "Title: Sea and sky\n## Intent\nTell the sea from the sky."
LONG = "The sea is below and the sky is above, as everybody knows. " * 40
KEEPS = "Bring the board up to date"
"""Phrase that only board requests contain."""


@pytest.fixture(autouse=True)
def _time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow more time for short operations, since the machine may be busy."""
    monkeypatch.setattr(remembering, "MOMENT_S", 30.0)


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


def board(desk: Desk) -> ContextBoard:
    return ContextBoard(boards_in(desk.opening().paths.database), scope_of(desk.cwd))


def remember(desk: Desk, *texts: str) -> None:
    desk.opening().paths.ensure()
    for text in texts:
        board(desk).add(Draft(text=text, kind="rule"))


def standing(desk: Desk) -> list[str]:
    return [entry.text for entry in board(desk).entries()]


def every(desk: Desk) -> list[Entry]:
    return boards_in(desk.opening().paths.database).entries(None)


def logged(opened: OpenSession | SqliteStore, session: str, *kinds: type[Payload]) -> list[Payload]:
    store = opened if isinstance(opened, SqliteStore) else opened.store
    return of([record for record, _ in store.records(session)], *kinds)


def inboxes(opened: OpenSession) -> int:
    return sum(all(map(is_inbox_part, item.message.parts)) for item in opened.conversation.history.items())


async def talked(opened: OpenSession, server: FakeOpenAI | None = None) -> str:
    """Run three turns, one with a rule, and return the session's id."""
    for text in (RULE, "What does the README say?", "Thanks."):
        if server is not None:
            server.add(Text("The sea is below.", usage=(0, 0)))
        await turn(opened.conversation, text)
    return opened.conversation.session


# Given to a new session


async def test_a_new_session_is_given_the_board_once_in_front_of_its_first_prompt(
    desk: Desk, server: FakeOpenAI
) -> None:
    remember(desk, RULE)
    server.add(Text("one"), Text("two"))
    async with desk.session() as opened:
        assert opened.conversation.usage.parts.memory == 0, "nothing was said: nothing is sent"
        records = await turn(opened.conversation, "Hello")
        kinds = [record.data.TYPE for record in records if record.seq]
        assert kinds.index("memory.inbox") < kinds.index("user.message")
        (inbox,) = of(records, MemoryInbox)
        assert isinstance(inbox, MemoryInbox)
        assert (inbox.entries, inbox.repository) == (1, str(desk.cwd))
        assert opened.conversation.usage.parts.memory > 0
        await turn(opened.conversation, "And now?")
        assert inboxes(opened) == 1
    first, second = (request["messages"] for request in server.journal[-2:])
    assert first[1]["role"] == "user"
    assert RULE in str(first[1]["content"])
    assert second[: len(first)] == first, "the prefix stays as it was"


async def test_what_was_excluded_since_is_not_told(desk: Desk, server: FakeOpenAI) -> None:
    said = Story(model="local:scripted", cwd=str(desk.cwd)).user(RULE).answer("Aye.")
    with closing(SqliteStore(desk.opening().paths.database)) as store:
        session = store.create(said.start, time=1.0)
        store.append_many(session, [*said.events, (MessageExcluded(seqs=(2,)), None, 2.0)])
        board(desk).add(Draft(text=RULE, kind="rule", session=session, seq=2))
        server.add(Text("ok"), Text("ok"))
        async with desk.session() as opened:
            assert not of(await turn(opened.conversation, "Hello"), MemoryInbox)
        store.append_many(session, [(RewriteUndone(rewrite=4), None, 3.0)])
    async with desk.session() as opened:
        assert of(await turn(opened.conversation, "Hello"), MemoryInbox), "it was brought back"


async def test_no_board_no_budget_or_switched_off_is_no_message(desk: Desk, server: FakeOpenAI) -> None:
    server.add(*[Text("ok")] * 3)
    async with desk.session() as opened:
        assert not of(await turn(opened.conversation, "Hello"), MemoryInbox)
    remember(desk, RULE)
    for memory in ({"enabled": False}, {"budget_tokens": 0}):
        async with desk.session(memory=memory) as opened:
            assert not of(await turn(opened.conversation, "Hello"), MemoryInbox)
    assert HEADING not in str(server.journal)


async def test_the_budget_is_kept(desk: Desk, server: FakeOpenAI) -> None:
    remember(desk, *(f"Never use the word number{n} anywhere in module{n} at all." for n in range(60)))
    server.add(Text("ok"))
    async with desk.session(memory={"budget_tokens": 300}) as opened:
        (inbox,) = of(await turn(opened.conversation, "Hello"), MemoryInbox)
        assert isinstance(inbox, MemoryInbox)
        assert 0 < sum(inbox.tokens.values()) <= 300
        assert inbox.entries + inbox.left_out == 60


async def test_a_small_window_is_not_filled_with_memories(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=4_000)
    remember(desk, *(f"Never use the word number{n} anywhere in module{n} at all." for n in range(60)))
    fake_openai.add(Text("ok"))
    async with desk.session() as opened:
        await turn(opened.conversation, "Hello")
        assert opened.conversation.usage.parts.memory <= 4_000 // 20


async def test_resuming_and_forking_give_it_no_second_time(desk: Desk, server: FakeOpenAI) -> None:
    remember(desk, RULE)
    server.add(*[Text("ok")] * 4)
    async with desk.session() as opened:
        session = opened.conversation.session
        first = next(
            record.seq
            for record in await turn(opened.conversation, "Hello")
            if record.data.TYPE == UserMessage.TYPE
        )
    paths = desk.opening().paths
    async with desk.session(session=session) as opened:
        await turn(opened.conversation, "Again")
        assert inboxes(opened) == 1
    for at in (None, first):
        store = SqliteStore(paths.database)
        fork = fork_session(store, paths.sessions_dir, session, at=at, now=2.0e9)
        store.close()
        async with desk.session(session=fork.session) as opened:
            await turn(opened.conversation, "Forked")
            assert inboxes(opened) == 1, f"forked at {at}"


async def test_a_session_from_before_is_not_given_one_when_it_goes_on(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("ok"), Text("ok"))
    async with desk.session() as opened:
        session = opened.conversation.session
        await turn(opened.conversation, "Hello")
    remember(desk, RULE)
    async with desk.session(session=session) as opened:
        await turn(opened.conversation, "Again")
        assert inboxes(opened) == 0


async def test_it_survives_compactions_their_undo_and_rewinds_and_comes_anew_after_a_clear(
    desk: Desk, server: FakeOpenAI
) -> None:
    remember(desk, RULE)
    server.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(6)))
    async with desk.session() as opened:
        conversation = opened.conversation
        first = next(
            record.seq
            for record in await turn(conversation, f"Q. {LONG}")
            if record.data.TYPE == "user.message"
        )
        for number in range(3):
            await turn(conversation, f"Question {number}? {LONG}")
        for _ in range(2):
            server.add(Text(NOTES), phrase="stretch of the transcript")
            server.add(Text(NOTES), phrase="Write the notes for this transcript")
            await done(conversation, Compact())
            assert conversation.history.view.compactions
            items = conversation.history.items()
            assert all(map(is_inbox_part, items[0].message.parts)), "it stands in front of the summary"
            assert inboxes(opened) == 1
            assert conversation.usage.parts.memory > 0
            await done(conversation, Restate(undo=True))
            assert inboxes(opened) == 1
        await done(conversation, Rewind(first))
        assert (inboxes(opened), len(conversation.history.items())) == (1, 1)
        await turn(conversation, "Once more")
        assert inboxes(opened) == 1
        await done(conversation, Clear())
        assert inboxes(opened) == 0
        await turn(conversation, "From scratch")
        assert inboxes(opened) == 1
        assert all(map(is_inbox_part, conversation.history.items()[0].message.parts))


async def test_a_first_prompt_that_fails_does_not_bring_a_second_one(desk: Desk, server: FakeOpenAI) -> None:
    remember(desk, RULE)
    server.add(error(400, "no"), Text("ok"))
    async with desk.session() as opened:
        await turn(opened.conversation, "Hello")
        await turn(opened.conversation, "Hello")
        assert inboxes(opened) == 1


async def test_a_session_without_a_word_still_leaves_no_trace(desk: Desk, server: FakeOpenAI) -> None:
    remember(desk, RULE)
    async with desk.session() as opened:
        session = opened.conversation.session
    store = SqliteStore(desk.opening().paths.database)
    assert [info.id for info in store.sessions()] == []
    store.close()
    assert session


# Reading sessions


async def test_offline_a_session_is_read_in_the_moment_it_ends(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        session = await talked(opened)
        assert standing(desk) == []
    assert standing(desk) == [RULE]
    store = SqliteStore(desk.opening().paths.database)
    (added,) = logged(store, session, MemoryAdded)
    (ended,) = logged(store, session, MemoryConsolidated)
    assert isinstance(added, MemoryAdded)
    assert isinstance(ended, MemoryConsolidated)
    assert (added.text, added.kind, added.source, added.source_session) == (RULE, "rule", 2, session)
    assert (ended.outcome, ended.performed_by, ended.added, ended.cost_usd) == (
        "success",
        "extraction",
        1,
        None,
    )
    store.close()


async def test_a_session_fills_the_board_it_was_begun_at_wherever_it_goes_on(
    desk: Desk, tmp_path: Path
) -> None:
    home, elsewhere = desk.cwd, tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with desk.session(model=OFFLINE) as opened:
        await turn(opened.conversation, RULE)
        session = opened.conversation.session
    desk.cwd = elsewhere
    async with desk.session(session=session, model=OFFLINE) as opened:
        for text in ("What does the README say?", "Always ask the harbour master first.", "Thanks."):
            await turn(opened.conversation, text)
    assert {entry.repository for entry in every(desk)} == {str(home)}
    assert standing(desk) == []
    desk.cwd = home
    assert RULE in standing(desk)


async def test_what_is_shown_and_told_is_the_board_that_is_filled(desk: Desk, tmp_path: Path) -> None:
    home = desk.cwd
    async with desk.session(model=OFFLINE) as opened:
        session = opened.conversation.session
        await turn(opened.conversation, "Hello.")
        opened.remembering.add("The till is counted twice.")
    desk.cwd = tmp_path
    async with desk.session(session=session, model=OFFLINE) as opened:
        assert [entry.text for entry in opened.remembering.board().entries()] == [
            "The till is counted twice."
        ]
        opened.remembering.add("The till is blue.")
        await done(opened.conversation, Clear())
        await turn(opened.conversation, "What do you know?")
        told = [head.type for head in opened.conversation.history.view.held_originals()]
        assert told.count(MemoryInbox.TYPE) == 1
    assert {entry.repository for entry in every(desk)} == {str(home)}


async def test_where_its_own_folder_is_not_here_the_board_is_that_of_the_present_one(desk: Desk) -> None:
    with closing(SqliteStore(desk.opening().paths.database)) as store:
        session = store.create(SessionStart(cwd="/home/nobody/elsewhere", model=OFFLINE), time=1.0)
        store.append(session, UserMessage(text="Hello."), None, time=1.0)
    async with desk.session(session=session, model=OFFLINE) as opened:
        await talked(opened)
        opened.remembering.add("The till is blue.")
    assert {entry.repository for entry in every(desk)} == {str(desk.cwd)}


async def test_by_hand_too_it_is_the_board_it_was_begun_at(desk: Desk, tmp_path: Path) -> None:
    home = desk.cwd
    async with desk.session(model=OFFLINE) as opened:
        session = opened.conversation.session
        await turn(opened.conversation, RULE)
    desk.cwd = tmp_path
    async with desk.session(session=session, model=OFFLINE) as opened:
        opened.remembering.read_now()
        await opened.remembering.settle()
    assert [entry.repository for entry in every(desk) if entry.text == RULE] == [str(home)]


async def test_a_short_session_and_one_with_memory_switched_off_are_not_read(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        await turn(opened.conversation, RULE)
    async with desk.session(model=OFFLINE, memory={"enabled": False}) as opened:
        await talked(opened)
    assert standing(desk) == []
    assert boards_in(desk.opening().paths.database).due_sessions() == []


async def test_a_model_reads_behind_the_next_session_and_is_counted(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session() as opened:
        session = await talked(opened, server)
        asked = len(server.journal)
    assert len(server.journal) == asked, "leaving asks no model"
    server.add(
        tool("context_board", action="add", text=RULE, kind="rule", source=2), Text("done"), phrase=KEEPS
    )
    async with desk.session() as opened:
        watching = Following(opened.conversation.bus)
        opened.remembering.catch_up()
        await opened.remembering.settle()
        assert standing(desk) == [RULE]
        (ended,) = logged(opened, session, MemoryConsolidated)
        assert isinstance(ended, MemoryConsolidated)
        assert (ended.performed_by, ended.model, ended.interaction) == (
            "model", "local:scripted", "memory-consolidation",
        )  # fmt: skip
        assert ended.input_tokens > 0
        (said,) = [record.data async for record in _so_far(watching) if isinstance(record.data, Notice)]
        assert "1 remembered" in said.text
        assert opened.remembering.boards.due_sessions() == []


async def _so_far(watching):  # type: ignore[no-untyped-def]
    while not watching._queue.empty():
        yield await anext(watching)


async def test_reading_later_does_not_make_a_session_the_newest(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session() as opened:
        session = await talked(opened, server)
    async with desk.session(model=OFFLINE) as opened:
        before = opened.store.info(session).updated
        server.add(error(500, "down"), error(500, "down"), error(500, "down"), phrase=KEEPS)
        opened.remembering.catch_up()
        await opened.remembering.settle()
        assert standing(desk) == [RULE], "what the model failed at, rules do"
        assert opened.store.info(session).updated == before
        (ended,) = logged(opened, session, MemoryConsolidated)
        assert isinstance(ended, MemoryConsolidated)
        assert ended.performed_by == "extraction"
        assert ended.reason


async def test_leaving_does_not_wait_for_a_model_that_hangs(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session() as opened:
        await talked(opened, server)
    server.add(HangBeforeHeaders(), phrase=KEEPS)
    number = len(server.journal) + 1
    opened = open_session(desk.opening())
    await opened.live()
    await server.request(number)
    async with asyncio.timeout(20):  # the model never answers, so waiting for it would never end
        await opened.close()
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("memory")]
    (due,) = boards_in(desk.opening().paths.database).due_sessions()
    assert due.attempts == 0, "it was stopped in order, and goes on at the next start"


async def test_by_hand_the_open_session_is_read_and_read_again_only_if_it_went_on(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        conversation, remembering = opened.conversation, opened.remembering
        await turn(conversation, RULE)
        watching = Following(conversation.bus)
        remembering.read_now()
        remembering.read_now()
        await remembering.settle()
        remembering.read_now()
        await remembering.settle()
        told = [record.data async for record in _so_far(watching) if isinstance(record.data, Notice)]
        said = [notice.text for notice in told]
        assert [notice.passing for notice in told] == [True, False, False], "a refusal only answers a key"
        assert "already" in said[0]
        assert "1 remembered" in said[1]
        assert said[2] == NOTHING_NEW
        await turn(conversation, SIGN)
        remembering.read_now()
        await remembering.settle()
        assert set(standing(desk)) == {RULE, SIGN}
    async with desk.session(model=OFFLINE, memory={"enabled": False}) as opened:
        watching = Following(opened.conversation.bus)
        opened.remembering.read_now()
        assert [record.data.text async for record in _so_far(watching)] == [OFF]


async def test_what_was_rewound_is_not_remembered(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        records = await turn(opened.conversation, "Always use tabs in every file.")
        at = next(record.seq for record in records if record.data.TYPE == "user.message")
        await done(opened.conversation, Rewind(at))
        await turn(opened.conversation, RULE)
        opened.remembering.read_now()
        await opened.remembering.settle()
    assert standing(desk) == [RULE]


async def test_what_came_back_after_a_rewind_is_remembered(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        records = await turn(opened.conversation, RULE)
        at = next(record.seq for record in records if record.data.TYPE == "user.message")
        await done(opened.conversation, Rewind(at), Restate(undo=True))
        opened.remembering.read_now()
        await opened.remembering.settle()
    assert standing(desk) == [RULE]


async def test_a_deleted_session_is_passed_over(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session() as opened:
        session = await talked(opened, server)
    paths = desk.opening().paths
    delete_session(paths.database, paths.sessions_dir, session)
    async with desk.session(model=OFFLINE) as opened:
        opened.remembering.catch_up()
        await opened.remembering.settle()
        assert opened.remembering.boards.due_sessions() == []


async def test_a_session_that_always_takes_the_program_along_is_given_up(
    desk: Desk, server: FakeOpenAI
) -> None:
    async with desk.session() as opened:
        session = await talked(opened, server)
    for _ in range(3):
        boards_in(desk.opening().paths.database).count_attempt(session)
    async with desk.session(model=OFFLINE) as opened:
        opened.remembering.catch_up()
        await opened.remembering.settle()
        (ended,) = logged(opened, session, MemoryConsolidated)
        assert isinstance(ended, MemoryConsolidated)
        assert ended.outcome == "failed"
        assert opened.remembering.boards.due_sessions() == []


# Entries of the user


async def test_what_a_person_changes_is_in_the_log_of_the_session_they_do_it_in(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        session, remembering = opened.conversation.session, opened.remembering
        await turn(opened.conversation, "Hello")
        added = remembering.add("The tests need Redis").entry
        edited = remembering.edit(added.id, "The tests need Redis 7").entry
        remembering.forget(edited.id)
        with pytest.raises(NotRemembered):
            remembering.forget(edited.id)
        kinds = [each.TYPE for each in logged(opened, session, MemoryAdded, MemoryPruned)]
        assert kinds == ["memory.added", "memory.pruned", "memory.added", "memory.pruned"]
        assert standing(desk) == []
        assert [entry.text for entry in every(desk)] == ["The tests need Redis", "The tests need Redis 7"]
        assert remembering.boards.untold() == []


# Killed


@pytest.mark.parametrize("where", ["added", "telling"])
async def test_killed_while_a_session_is_read_the_next_start_goes_on_and_nothing_is_told_twice(
    desk: Desk, server: FakeOpenAI, where: str
) -> None:
    async with desk.session() as opened:
        session = await talked(opened, server)
        server.add(Text("ok"))
        await turn(opened.conversation, SIGN)
    store = SqliteStore(desk.opening().paths.database)
    store.set_model(session, OFFLINE)
    store.close()
    arguments = [str(desk.home), str(desk.cwd), where]
    module = dying_reader.__name__
    killed = await asyncio.to_thread(
        completed, arguments, env=os.environ, cwd=ROOT, limit_s=60, module=module
    )
    assert killed.returncode == -signal.SIGKILL
    (due,) = boards_in(desk.opening().paths.database).due_sessions()
    assert due.attempts == 1
    async with desk.session(model=OFFLINE) as opened:
        opened.remembering.catch_up()
        await opened.remembering.settle()
        assert set(standing(desk)) == {RULE, SIGN}
        told = [each.entry for each in logged(opened, session, MemoryAdded) if isinstance(each, MemoryAdded)]
        assert sorted(told) == sorted(entry.id for entry in every(desk))
        assert len(every(desk)) == 2
        assert opened.remembering.boards.due_sessions() == []
        assert opened.remembering.boards.untold() == []
