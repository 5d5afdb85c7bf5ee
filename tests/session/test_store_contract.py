"""Requirements for every store of sessions, checked on the file and on the server."""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    CompactionUndone,
    Notice,
    Payload,
    SessionStart,
    SystemMessage,
    ToolCall,
    ToolResult,
    UsageInfo,
    UserMessage,
)
from tui_app.session.event_heads import head_of
from tui_app.session.lock import SessionLocked
from tui_app.session.management import delete_session
from tui_app.session.preview import StatsReader, load_preview
from tui_app.session.prompts import full_prompt, past_prompts
from tui_app.session.rewind_fork import fork_session
from tui_app.session.search import search_sessions
from tui_app.session.stores.database import Database, follow, log_exists, open_store
from tui_app.session.stores.store import SessionDeleted, SessionNotFound, SessionStore
from tui_app.session.views.agent_view import AgentView, fold_agent_view
from tui_app.session.views.user_view import fold_user_view
from tui_app.settings.spec import SessionServer

if TYPE_CHECKING:
    from tests.servers.postgres import Cluster

START = SessionStart(cwd="/tmp", model="a:b")
NASTY = "NUL \0, half \ud83d, whole 🌊, \x1b[31m, Größe, عربي, \r\n\t \u2028"
OPEN = Callable[..., SessionStore]


@pytest.fixture(params=["file", pytest.param("server", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    if request.param == "file":
        return tmp_path / "data" / "sessions.db"
    cluster: Cluster = request.getfixturevalue("postgres")
    return SessionServer(cluster.database())


@pytest.fixture
def opened(database: Database) -> Iterator[OPEN]:
    stores: list[SessionStore] = []

    def open_one(*, read_only: bool = False) -> SessionStore:
        stores.append(open_store(database, read_only=read_only))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: OPEN) -> SessionStore:
    return opened()


def test_of_two_that_begin_what_may_be_there_once_one_does(opened: OPEN) -> None:
    stores, begun, late = [opened(), opened()], list[str](), list[str]()
    both = Barrier(2)

    def begin(store: SessionStore) -> None:
        def check() -> None:
            if store.sessions():
                raise LookupError

        both.wait(timeout=60)
        try:
            begun.append(store.create(START, time=1.0, check=check))
        except LookupError:
            late.append("late")

    threads = [Thread(target=begin, args=(each,)) for each in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert (len(begun), late) == (1, ["late"])
    assert [info.id for info in stores[0].sessions()] == begun


def test_a_store_begins_with_the_first_that_writes(database: Database) -> None:
    assert not log_exists(database)
    open_store(database).close()
    assert log_exists(database)
    reader = open_store(database, read_only=True)
    assert reader.sessions() == []
    reader.close()


def test_events_come_back_as_they_went_in(store: SessionStore) -> None:
    session = store.create(START, time=1.0)
    payloads: list[Payload] = [
        UserMessage(text=NASTY, tokens={"user": 4}, attachments=("a\0.png",)),
        AssistantMessage(text="ja", call_ids=("c1",), cost_usd=0.1, interrupted=True),
        ToolCall(tool_call_id="c1", name="ls", args='{"path": "\\u0000"}'),
        ToolResult(tool_call_id="c1", name="ls", text="", outcome="denied"),
        UsageInfo(usage={"total": 812, "limit": 9}),
    ]
    for payload in payloads:
        store.append(session, payload, '{"x": "\\u0000 \\ud83d 🌊"}', time=2.000001)
    records = [record for record, _ in store.records(session)]
    assert [record.data for record in records] == [START, *payloads]
    assert [record.seq for record in records] == [1, 2, 3, 4, 5, 6]
    assert records[1].time == 2.000001
    assert [message for _, message in store.records(session)][1:] == ['{"x": "\\u0000 \\ud83d 🌊"}'] * 5
    assert store.message(session, 2) == '{"x": "\\u0000 \\ud83d 🌊"}'
    assert store.message(session, 1) is None
    assert store.message(session, 99) is None
    assert store.record(session, 99) is None
    assert store.record(session, 2**40) is None
    assert store.record(session, 2) == records[1]
    assert store.last_of(session, "tool.result") == records[4]
    assert store.last_of(session, "session.clear") is None
    assert [head.seq for head in store.heads(session, after=3)] == [4, 5, 6]
    assert list(store.heads(session)) == [head_of(r.seq, r.time, r.data) for r in records]
    assert store.info(session).tokens == 812


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(codec=None), max_size=300), title=st.text(max_size=40))
def test_any_text_comes_back(store: SessionStore, text: str, title: str) -> None:
    session = store.create(replace(START, title=title), time=1.0)
    store.append(session, UserMessage(text=text), None, time=2.0)
    record = store.record(session, 2)
    assert record is not None
    assert record.data == UserMessage(text=text)
    store.delete(session)


@pytest.mark.parametrize("word", ["部署", "署", "潮汐服务", "gen_tide", "改gen"])
def test_words_inside_of_a_script_without_spaces_are_matched(store: SessionStore, word: str) -> None:
    session = store.create(START, time=1.0)
    for text in ("把潮汐服务部署到生产环境，修改gen_tide脚本。", "low water"):
        store.append(session, UserMessage(text=text), None, time=2.0)
    assert [seq for seq, _ in store.matching(session, [word])] == [2]
    assert not store.matching(session, ["署部"])


@pytest.mark.parametrize("piece", ["é\0", "word ", "x", "🌊 a1-b2/c3.py "])
def test_a_text_of_megabytes_comes_back_and_is_found_by_its_beginning(
    store: SessionStore, piece: str
) -> None:
    text = f"lighthouse {piece * (3_000_000 // len(piece))}"
    session = store.create(START, time=1.0)
    store.append(session, ToolResult(tool_call_id="c", name="cat", text=text), None, time=2.0)
    record = store.record(session, 2)
    assert record is not None
    assert record.data == ToolResult(tool_call_id="c", name="cat", text=text)
    assert [seq for seq, _ in store.matching(session, ["lightho"])] == [2]


def test_a_text_of_many_different_words_is_indexed_as_far_as_there_is_room(store: SessionStore) -> None:
    text = " ".join(f"w{number:x}" for number in range(300_000))
    session = store.create(START, time=1.0)
    store.append(session, UserMessage(text=text), None, time=2.0)
    assert [seq for seq, _ in store.matching(session, ["w1f"])] == [2]


def test_several_events_are_written_all_or_none(store: SessionStore) -> None:
    session = store.create(START, time=1.0)
    unwritable = UserMessage(text="x", tokens={"user": object()})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        store.append_many(session, [(UserMessage(text="fine"), None, 2.0), (unwritable, None, 2.0)])
    assert [record.seq for record, _ in store.records(session)] == [1]
    store.append(session, UserMessage(text="after"), None, time=3.0)
    assert [record.seq for record, _ in store.records(session)] == [1, 2]
    assert store.append_many(session, []) == []


def test_a_session_is_begun_whole_or_not_at_all(store: SessionStore) -> None:
    broken = SessionStart(cwd="/", model="m", policy=object())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        store.create(broken, time=1.0)
    assert store.sessions() == []


def test_a_reader_sees_what_is_committed_and_changes_nothing(opened: OPEN) -> None:
    store = opened()
    session = store.create(START, time=1.0)
    reader = opened(read_only=True)
    assert [head.seq for head in reader.heads(session)] == [1]
    store.append(session, UserMessage(text="more"), None, time=2.0)
    assert [head.seq for head in reader.heads(session)] == [1, 2]
    for change in (
        lambda: reader.append(session, UserMessage(text="no"), None, time=3.0),
        lambda: reader.create(START, time=3.0),
        lambda: reader.set_title(session, "no"),
        lambda: reader.delete(session),
    ):
        with pytest.raises(sqlite3.DatabaseError, match=r"read"):
            change()
    assert [head.seq for head in reader.heads(session)] == [1, 2]


def test_ids(store: SessionStore) -> None:
    sessions = [store.create(START, time=1.0) for _ in range(40)]
    assert len(set(sessions)) == 40
    assert all(len(session) == 8 for session in sessions)
    assert store.info(sessions[3]).id == sessions[3]
    assert store.info(sessions[3][:7]).id == sessions[3]
    for wrong in ("", "zz", "%", "_", "\0", "'; DROP TABLE events; --"):
        with pytest.raises(SessionNotFound, match="no session"):
            store.info(wrong)
    first = next(s[0] for s in sessions if sum(o.startswith(s[0]) for o in sessions) > 1)
    with pytest.raises(SessionNotFound, match="more than one"):
        store.info(first)


def test_the_list_has_the_latest_first_and_counts(store: SessionStore) -> None:
    old, new = store.create(START, time=1.0), store.create(replace(START, cwd="/b", title="Mine"), time=2.0)
    assert [info.id for info in store.sessions()] == [new, old]
    store.append_many(
        old,
        [
            (SystemMessage(text="be brief", tokens={"system": 2}), "{}", 3.0),
            (UserMessage(text="first\nprompt", tokens={"user": 3}), "{}", 3.0),
            (AssistantMessage(text="", tokens={"tool_calls": 5}), "{}", 3.5),
            (ToolResult(tool_call_id="a", name="ls", text="x", tokens={"tool_results": 7}), "{}", 4.0),
        ],
    )
    store.append(old, ToolResult(tool_call_id="b", name="ls", text="y"), "{}", time=5.0)
    store.append(old, Notice(text="nothing"), None, time=6.0)
    info = store.sessions()[0]
    assert (info.id, info.title, info.cwd, info.model) == (old, "first", "/tmp", "a:b")
    assert (info.created, info.updated, info.events) == (1.0, 6.0, 7)
    assert (info.messages, info.tokens) == (5, 17)
    assert store.info(new).title == "Mine"
    store.set_title(old, "Na\ud800me")
    store.set_model(old, "c:d")
    assert (store.info(old).title, store.info(old).model) == ("Na\\ud800me", "c:d")
    again = store.create(START, time=6.0)
    assert store.sessions()[0].id == again


def test_a_compaction_and_its_undoing_change_the_tokens(store: SessionStore) -> None:
    session = store.create(START, time=1.0)
    said = [(UserMessage(text="x", tokens={"user": 1000}), "{}", 2.0)] * 3
    store.append_many(session, said)
    done = CompactionComplete(
        job="j",
        outcome="success",
        trigger="manual",
        summary="short",
        tokens={"summary": 10},
        removed=((2, 3),),
    )
    store.append(session, done, "{}", time=3.0)
    assert store.info(session).tokens == 1010
    store.append(session, CompactionUndone(compaction=5), None, time=4.0)
    assert store.info(session).tokens == 3000


def test_a_deleted_session_takes_no_more_events(store: SessionStore) -> None:
    session, other = store.create(START, time=1.0), store.create(START, time=1.0)
    store.append(session, UserMessage(text="x"), None, time=2.0)
    store.delete(session)
    store.delete(session)
    for events in ([(Notice(text="x"), None, 3.0)], []):
        with pytest.raises(SessionDeleted, match="deleted"):
            store.append_many(session, events)
    assert [info.id for info in store.sessions()] == [other]
    assert list(store.heads(session)) == []
    assert store.matching(session, ["x"]) == []


def test_words_are_found_without_case_and_accents_and_by_their_beginning(store: SessionStore) -> None:
    session, other = store.create(START, time=1.0), store.create(START, time=1.0)
    said: list[Payload] = [
        UserMessage(text="Read src/harbour_master.py and the CAFÉ menu"),
        AssistantMessage(text="Der Übergang: Θάλασσα, 東京タワー"),
        ToolResult(tool_call_id="c", name="x", text="error E4711 at line 12"),
        Notice(text="harbour notice"),
        CompactionComplete(job="j", outcome="success", trigger="manual", summary="the pilot came aboard"),
        AssistantMessage(text="", thinking="harbour"),
    ]
    store.append_many(session, [(payload, None, 2.0) for payload in said])
    store.append(other, UserMessage(text="harbour"), None, time=2.0)

    def found(*words: str) -> list[int]:
        return sorted(seq for seq, _ in store.matching(session, words))

    assert found("harb") == [2]
    assert found("harbour_mas") == [2]
    assert found("cafe") == found("CAFÉ") == [2]
    assert found("ubergang", "pilot") == [3, 6]
    assert found("e47") == [4]
    assert found("東京") == [3]
    assert found("Θάλ") == [3]
    assert found("nowhere") == found() == []
    assert found("py", "12") == [2, 4]


def test_what_fits_best_comes_first(store: SessionStore) -> None:
    session = store.create(START, time=1.0)
    texts = ["tide " + "other words here " * 400, "tide tide tide table", "nothing", "wind and wave and tide"]
    store.append_many(session, [(UserMessage(text=text), None, 2.0) for text in texts])
    ranked = [seq for seq, _ in store.matching(session, ["tide", "table"])]
    assert ranked[0] == 3
    assert ranked[-1] == 2
    assert len(store.matching(session, ["tide"], limit=2)) == 2


def test_figures_and_prompts(store: SessionStore, database: Database) -> None:
    session = store.create(START, time=1.0)
    long = f"Größe 🌊 {'long ' * 1000}"
    store.append_many(
        session,
        [
            (UserMessage(text="how late?"), "{}", 2.0),
            (AssistantMessage(text="At \0 eleven.", model="m", input_tokens=10, output_tokens=3), "{}", 3.0),
            (UserMessage(text=long), "{}", 4.0),
        ],
    )
    reader = StatsReader(database, session)
    stats = reader.read()
    assert [(row.model, row.answers, row.input_tokens) for row in stats.models] == [("m", 1, 10)]
    store.append(session, AssistantMessage(text="x", model="m", input_tokens=5), "{}", time=5.0)
    assert [(row.answers, row.input_tokens) for row in reader.read().models] == [(2, 15)]
    newest, first = past_prompts(database, Path("/tmp"))
    assert (first.text, first.session) == ("how late?", "")
    assert newest.text == long[:2000]
    assert full_prompt(database, newest) == long
    assert past_prompts(database, Path("/elsewhere")) == []


def test_one_writer_for_each_session(opened: OPEN, tmp_path: Path) -> None:
    store, second = opened(), opened()
    session, other = store.create(START, time=1.0), store.create(START, time=1.0)
    file, beside = tmp_path / session / "writer.lock", tmp_path / other / "writer.lock"
    held = store.lock(session, file)
    with pytest.raises(SessionLocked, match="another window"):
        second.lock(session, file)
    second.lock(other, beside).release()
    store.append(session, UserMessage(text="mine"), None, time=2.0)
    held.release()
    held.release()
    taken = second.lock(session, file)
    second.append(session, UserMessage(text="theirs"), None, time=3.0)
    taken.release()


def test_nothing_is_deleted_that_somebody_writes(opened: OPEN, database: Database, tmp_path: Path) -> None:
    store = opened()
    session = store.create(START, time=1.0)
    held = store.lock(session, tmp_path / session / "writer.lock")
    with pytest.raises(SessionLocked):
        delete_session(database, tmp_path, session)
    assert store.info(session)
    held.release()
    delete_session(database, tmp_path, session)
    assert store.sessions() == []


def test_a_follower_hears_of_news_and_of_the_writers_end(
    opened: OPEN, database: Database, tmp_path: Path
) -> None:
    store = opened()
    session = store.create(START, time=1.0)
    file = tmp_path / session / "writer.lock"
    held = store.lock(session, file)
    followers = [follow(database, session, file) for _ in range(2)]
    for follower in followers:
        assert "another window" in follower.holder()
        assert not follower.wait(0.0)
    store.append(session, UserMessage(text="new"), None, time=2.0)
    assert all(follower.wait(10.0) for follower in followers)
    held.release()
    assert [follower.holder() for follower in followers] == ["", ""]
    for follower in followers:
        follower.close()


def test_what_is_folded_from_the_log_is_what_was_folded_live(store: SessionStore, database: Database) -> None:
    session = store.create(START, time=1.0)
    live = AgentView()
    said: list[Payload] = [
        UserMessage(text="one", tokens={"user": 5}),
        AssistantMessage(text="two", tokens={"assistant": 7}),
        UserMessage(text="three", tokens={"user": 6}),
        AssistantMessage(text="four", tokens={"assistant": 8}),
        CompactionComplete(
            job="j",
            outcome="success",
            trigger="manual",
            summary="s",
            tokens={"summary": 3},
            removed=((2, 3),),
        ),
        CompactionUndone(compaction=6),
    ]
    for payload in said:
        record = store.append(session, payload, "{}", time=2.0)
        live.apply(head_of(record.seq, record.time, record.data))
    assert fold_agent_view(store.heads(session)).visible() == live.visible()
    preview = load_preview(database, session)
    assert preview.agent_view.visible() == live.visible()
    assert preview.view.entries == fold_user_view(store.heads(session)).entries
    assert preview.prompts == ("one", "three")
    assert preview.last == 7


def test_a_fork_has_the_same_events(store: SessionStore, tmp_path: Path) -> None:
    session = store.create(START, time=1.0)
    said = [(UserMessage(text=f"{NASTY} {n}"), f'{{"n": {n}}}', 2.0 + n) for n in range(450)]
    store.append_many(session, said)
    forked = fork_session(store, tmp_path, session, now=9.0)
    theirs, ours = list(store.records(session)), list(store.records(forked.session))
    assert [(r.seq, r.time, r.data, m) for r, m in ours[1:-1]] == [
        (r.seq, r.time, r.data, m) for r, m in theirs[1:]
    ]
    assert ours[0][0].data.forked_from == session


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ferry", [1, 2]),
        ("FERRY sunday", [1]),
        ('"leaves on sunday"', [1]),
        ('"sunday leaves"', []),
        ("harb*", [2]),
        ("harb", []),
        ("grosse", []),
        ("\"; DROP TABLE '", []),
        ("", []),
    ],
)
def test_words_are_found_in_all_sessions(
    opened: OPEN, database: Database, query: str, expected: list[int]
) -> None:
    store = opened()
    first = store.create(replace(START, title="One"), time=1.0)
    store.append(first, UserMessage(text="The ferry leaves on Sunday."), None, time=2.0)
    second = store.create(replace(START, title="Two"), time=3.0)
    store.append(second, AssistantMessage(text="No ferry in this harbour."), None, time=4.0)
    found = search_sessions(database, query)
    assert sorted({first: 1, second: 2}[each.session] for each in found) == expected
    for each in found:
        assert (each.seq, each.cwd) == (2, "/tmp")
        assert all(each.snippet[start:end] for start, end in each.hits)
        assert each.hits
