"""Snapshots stored with a log equal what the log gives, at any time and after any events."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.older import build_older
from tests.session.plain_view import PlainView, plain_view
from tests.session.test_folds import EVERY, Long, said_by
from tests.session.test_store_contract import OPEN, database, opened, store
from tui_app.cli.setup.doctor import check_database
from tui_app.conversation.imports.imports import import_session
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    MessageExcluded,
    Payload,
    SessionClear,
    SessionRewind,
    SessionStart,
    SystemMessage,
    ToolCall,
    ToolResult,
    UsageInfo,
    UserMessage,
)
from tui_app.session import stats
from tui_app.session.damage import Health, examine
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import row_of
from tui_app.session.exports.message_json import user_view_messages
from tui_app.session.preview import load_preview
from tui_app.session.repair import mend
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stats import SessionStats, StatsFold
from tui_app.session.stores import sql_store as log
from tui_app.session.stores import store as log_store
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import Event, SessionStore
from tui_app.session.views import agent_view
from tui_app.session.views.agent_view import fold_agent_view

__all__ = ["database", "opened", "store"]


START = SessionStart(cwd="/tmp", model="a:b")


@contextmanager
def stored(every: int) -> Iterator[SqliteStore]:
    """A store that snapshots its folds every ``every`` events."""
    with (
        mock.patch.object(log_store, "EVERY", every),
        TemporaryDirectory() as folder,
        closing(SqliteStore(Path(folder) / "sessions.db")) as opened,
    ):
        yield opened


@dataclass
class Written(Long):
    """A log written to a store as it grows."""

    store: SqliteStore = field(kw_only=True)
    session: str = ""
    said: list[Payload] = field(default_factory=list)

    def begin(self) -> None:
        self.session = self.store.create(START, time=1.0)
        super().add(START)

    def add(self, payload: Payload) -> int:
        if not self.session:
            self.begin()
        self.store.append(self.session, payload, None, time=1.5)
        self.said.append(payload)
        return super().add(payload)


def tokens_of(said: list[Payload]) -> int:
    """Tokens of the view, counted again after each event."""
    tokens, view, last = 0, PlainView(), None
    session = Long()
    session.add(START)
    for payload in said:
        session.add(payload)
        view.apply(session.heads[-1])
        last = payload if isinstance(payload, UsageInfo) else last
        counted = log.tokens_after(tokens, [payload])
        tokens = log.view_tokens(session.agent, last) if counted is None else counted
    assert [head.seq for head in view.visible()] == session.visible
    return tokens


def stats_of(store: SessionStore, session: str) -> SessionStats:
    """Statistics folded from the first event."""
    fold = StatsFold()
    for seq, kind, found in store.figures(session):
        fold.apply(seq, kind, found)
    return fold.stats()


def check(store: SessionStore, session: str, *, sizes: bool = True) -> None:
    """Assert that everything stored equals what the whole log gives."""
    heads = list(store.heads(session))
    view, plain, numbers = store.agent_view(session), plain_view(heads), range(1, len(heads) + 2)
    assert said_by(view, numbers) == said_by(plain, numbers)
    assert view.last == heads[-1].seq
    fold = store.kept_stats(session)
    for seq, kind, found in store.figures(session, fold.last):
        fold.apply(seq, kind, found)
    assert fold.stats() == stats_of(store, session)
    rows = [row_of(record, message) for record, message in store.records(session)]
    size = sum(len((text or "").encode()) for row in rows for text in row[4:])
    assert not sizes or store.sizes()[session] == size


@given(EVERY, st.integers(2, 9))
def test_what_is_kept_is_what_the_log_says(steps: list[tuple[str, int]], every: int) -> None:
    with stored(every) as store:
        session = Written(store=store)
        for step, choice in steps:
            session.play(step, choice)
            if session.session:
                check(store, session.session)
        if session.session:
            assert store.info(session.session).tokens == tokens_of(session.said)
            with closing(SqliteStore(store.path, read_only=True)) as reader:
                check(reader, session.session)


@given(EVERY, st.integers(2, 9), st.integers(0, 1_000))
def test_a_fork_keeps_its_own(steps: list[tuple[str, int]], every: int, choice: int) -> None:
    with stored(every) as store, TemporaryDirectory() as folder:
        session = Written(store=store)
        for step, each in steps:
            session.play(step, each)
        prompts = [head.seq for head in session.heads if head.type == UserMessage.TYPE]
        if prompts:
            at = prompts[choice % len(prompts)] if choice % 3 else None
            fork = fork_session(store, Path(folder), session.session, at=at, now=3.0)
            check(store, fork.session)
            check(store, session.session)


@given(EVERY, st.integers(2, 9), st.integers(0, 60))
def test_an_event_that_was_not_written_is_not_kept_either(
    steps: list[tuple[str, int]], every: int, fails: int
) -> None:
    with stored(every) as store:
        session = Written(store=store)
        for number, (step, choice) in enumerate(steps):
            if session.session and number == fails:
                written = store._write

                def fail(*args: object) -> None:
                    written(*args)  # type: ignore[arg-type]  # noqa: B023 - it is called at once
                    raise KeyError

                heads, said = len(session.heads), len(session.said)
                with mock.patch.object(store, "_write", fail), pytest.raises(KeyError):
                    store.append_many(session.session, [(UserMessage(text="lost"), None, 2.0)])
                assert (len(session.heads), len(session.said)) == (heads, said)
            session.play(step, choice)
        if session.session:
            check(store, session.session)
            assert store.info(session.session).tokens == tokens_of(session.said)


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE snapshots SET data = replace(data, '\"undone\":[]', '\"undone\":[2]') WHERE part = 0",
        "UPDATE snapshots SET data = data || ' ' WHERE part > 0",
        "UPDATE snapshots SET data = '' WHERE part = -1",
        "UPDATE snapshots SET data = replace(data, 'user.message\":', 'user.message\":1') WHERE part = -1",
        "UPDATE snapshots SET part = 77 WHERE part > 0",
        "UPDATE sessions SET bytes = bytes + 1",
    ],
)
def test_what_does_not_fit_the_log_is_found_and_made_anew(tmp_path: Path, spoil: str) -> None:
    with stored(4) as store:
        session = Written(store=store)
        for step in ("user", "answer", "user", "clear", "user", "user", "user"):
            session.play(step, 1)
        folders = tmp_path / "sessions"
        assert examine(store.path, folders) == Health()
        assert check_database(store.path, folders).state == "ok"
        store._db.execute(spoil)
        check(store, session.session, sizes="bytes" not in spoil)
        assert session.session in check_database(store.path, folders).text
        health = examine(store.path, folders)
        assert health.stale == (session.session,)
        (done,) = mend(health, store.path, folders, stamp="1")
        assert session.session in done
        assert examine(store.path, folders) == Health()
        check(store, session.session)
        session.play("user", 2)
        check(store, session.session)


def test_what_other_rules_have_folded_is_folded_anew() -> None:
    with stored(4) as store:
        session = Written(store=store)
        with mock.patch.object(agent_view, "_FORMAT", 1), mock.patch.object(stats, "_FORMAT", 1):
            for number in range(9):
                session.play("user", number)
        assert store.kept_stats(session.session) == StatsFold()
        check(store, session.session)
        for number in range(4):
            session.play("user", number)
        check(store, session.session)
        assert store.kept_stats(session.session) != StatsFold()


def test_a_short_tail_is_all_that_is_folded_of_a_long_log(store: SessionStore, opened: OPEN) -> None:
    session = store.create(START, time=1.0)
    for number in range(4):
        said: list[Event] = [(SessionClear(), None, 2.0), (UserMessage(text=f"{number}"), None, 2.0)]
        store.append_many(session, said * 200)
    read: list[int] = []
    reader, real = opened(read_only=True), Head.from_text

    def count(seq: int, kind: str, time: float, text: str) -> Head:
        read.append(seq)
        return real(seq, kind, time, text)

    with mock.patch.object(Head, "from_text", count):
        view = reader.agent_view(session)
        assert len(read) < log_store.EVERY
        assert (view.last, len(view.visible())) == (1_601, 1)
        assert view.can_rewind(3) is False
    store.delete(session)
    again = store.create(START, time=1.0)
    assert store.agent_view(again).visible() == []


def test_a_damaged_event_does_not_take_away_what_is_kept() -> None:
    with stored(4) as store:
        session = Written(store=store)
        for number in range(9):
            session.play("user", number)
        before = store.agent_view(session.session)
        store._db.execute("UPDATE events SET head = replace(head, '}', '{') WHERE seq = 3")
        assert examine(store.path, store.path.parent / "sessions").stale == ()
        assert store.agent_view(session.session) == before


# Sizes of sessions: the list agrees with the import's report and with what would be sent.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.db"


@pytest.fixture
def sizes_store(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path)
    yield store
    store.close()


def test_messages_are_the_items_of_the_model_s_view(sizes_store: SqliteStore) -> None:
    """The list of sessions counts messages as the context screen and compactions do."""
    session = sizes_store.create(START, time=1.0)

    def results(*calls: str) -> list[Payload]:
        return [ToolResult(tool_call_id=call, name="ls", text="a") for call in calls]

    answer = AssistantMessage(text="", call_ids=("c1", "c2"))
    call = ToolCall(tool_call_id="c2", name="ls", args="{}")
    said: list[list[Payload]] = [
        [SystemMessage(text="be brief"), UserMessage(text="x"), answer],
        results("c1"),
        [call, *results("c2", "c3")],
        [AssistantMessage(text="y"), *results("c4", "c5"), UserMessage(text="z"), *results("c6")],
    ]
    counts = []
    for events in said:
        sizes_store.append_many(session, [(event, None, 2.0) for event in events])
        counts.append(sizes_store.info(session).messages)
        assert counts[-1] == len(fold_agent_view(sizes_store.heads(session)).visible())
    assert counts == [3, 4, 6, 11]


def test_tokens_are_those_of_the_view(sizes_store: SqliteStore) -> None:
    session = sizes_store.create(START, time=1.0)
    tokens = []

    def happens(*events: Payload) -> None:
        sizes_store.append_many(session, [(event, None, 2.0) for event in events])
        tokens.append(sizes_store.info(session).tokens)

    summary = CompactionComplete(
        job="j", outcome="success", trigger="manual", removed=((2, 3),), tokens={"summary": 5}
    )
    happens(UserMessage(text="x", tokens={"user": 40}))
    happens(AssistantMessage(text="y", tokens={"assistant": 20, "thinking": 1}))
    happens(replace(summary, outcome="failed"))
    happens(summary)
    happens(UserMessage(text="z", tokens={"user": 2}), CompactionUndone(compaction=5))
    happens(UsageInfo(usage={"total": 100, "system": 30, "tools": 7}))
    happens(AssistantMessage(text="a", tokens={"assistant": 3}))
    happens(CompactionRedone(compaction=5))
    happens(SessionClear())
    assert tokens == [40, 61, 61, 5, 63, 100, 103, 5 + 2 + 3 + 37, 37]
    happens(MessageExcluded(seqs=(8,), tokens_after=21), UserMessage(text="b", tokens={"user": 1}))
    assert tokens[-1] == 22, "what was measured is not counted again"


def test_system_prompt_of_the_history_is_not_counted_twice(sizes_store: SqliteStore, path: Path) -> None:
    """The figures of a request include it with the instructions."""
    window = {"limit": 8_000, "limit_source": "server", "reserve": 0}
    session = sizes_store.create(START, time=1.0)
    events = [
        SystemMessage(text="be brief", tokens={"system": 10}),
        UserMessage(text="x", tokens={"user": 4}),
        UsageInfo(usage={"total": 44, "system": 35, "tools": 5, **window}),
        SessionRewind(to=3),
    ]
    sizes_store.append_many(session, [(event, None, 2.0) for event in events])
    assert sizes_store.info(session).tokens == 40
    preview = load_preview(path, session)
    assert preview.known.usage(preview.agent_view, "").total == 40


def test_sizes_of_older_sessions_are_counted_again(path: Path) -> None:
    build_older(path, 2, sessions=2)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE sessions SET messages = 99, tokens = 0")
        imported = "json_set(data, '$.imported_from', 'openai-chat')"
        db.execute(f"UPDATE events SET data = {imported} WHERE session = '00000001' AND seq = 1")
    store = SqliteStore(path)
    sizes = [(store.info(each).messages, store.info(each).tokens) for each in ("00000000", "00000001")]
    assert sizes == [(5, 0), (5, 27)]
    store.close()


def test_import_reports_what_the_list_says(sizes_store: SqliteStore, tmp_path: Path) -> None:
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "ls", "arguments": "{}"}} for n in (1, 2)
    ]
    chat = [
        {"role": "system", "content": "You help with ferries."},
        {"role": "user", "content": "What is in the two folders?"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "a timetable"},
        {"role": "tool", "tool_call_id": "c2", "content": "nothing at all"},
        {"role": "assistant", "content": "A timetable, and nothing."},
    ]
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(chat))
    report = import_session(file, store=sizes_store, cwd=tmp_path, now=5.0)
    info = sizes_store.info(report.session)
    assert (info.messages, info.tokens) == (report.messages, report.tokens)
    assert info.messages == len(messages_of(sizes_store, report.session)) == 6
    assert info.tokens > 0


def messages_of(store: SqliteStore, session: str) -> list[dict[str, Any]]:
    rows = list(store.records(session))
    return [json.loads(text) for text in user_view_messages(rows)]
