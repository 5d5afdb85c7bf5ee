"""Searching all sessions: any text is a query, the best matches come first, each with its position."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tui_app.events import AssistantMessage, SessionStart, ToolCall, ToolResult, UserMessage
from tui_app.session import search
from tui_app.session import search as search_parts
from tui_app.session.queries import read_query
from tui_app.session.search import Found, Searched, search_sessions, searching, snippet_of
from tui_app.session.stores.sqlite_store import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "sessions.db")
    yield store
    store.close()


def say(store: SqliteStore, *texts: str, title: str = "") -> str:
    session = store.create(SessionStart(cwd="/tmp", model="a:b", title=title), time=1.0)
    for text in texts:
        store.append(session, UserMessage(text=text), None, time=2.0)
    return session


def places(found: list[Found]) -> list[tuple[str, int]]:
    return [(each.session, each.seq) for each in found]


def found_while_typing(file: Path, query: str) -> Sequence[Found]:
    every = searching(file, query, lambda: False, typing=True)
    return [Searched(()), *every][-1].found


def test_all_words_must_be_there_in_any_order(store: SqliteStore) -> None:
    ferry = say(store, "The ferry leaves the harbour at nine.", "And the harbour tug?")
    tug = say(store, "When does the tug leave the harbour, and when the ferry?", title="Tugs")
    assert set(places(search_sessions(store.path, "harbour FERRY"))) == {(ferry, 2), (tug, 2)}
    assert places(search_sessions(store.path, "nine harbour ferry")) == [(ferry, 2)]
    assert search_sessions(store.path, "harbour lighthouse") == []
    (found,) = search_sessions(store.path, "when tug ferry")
    assert (found.title, found.cwd, found.type, found.time) == ("Tugs", "/tmp", "user.message", 2.0)


def test_phrases_and_beginnings(store: SqliteStore) -> None:
    session = say(store, "low water at nine", "water is low", "a harbourmaster", "harbour")
    assert places(search_sessions(store.path, '"low water"')) == [(session, 2)]
    assert places(search_sessions(store.path, '"low water')) == [(session, 2)], "an open quotation is one"
    assert places(search_sessions(store.path, "harbour")) == [(session, 5)]
    assert {seq for _, seq in places(search_sessions(store.path, "harb*"))} == {4, 5}
    assert {seq for _, seq in places(found_while_typing(store.path, "harb"))} == {4, 5}
    assert search_sessions(store.path, "harb") == []


def test_names_of_files_and_code_are_phrases(store: SqliteStore) -> None:
    session = say(store, "open src/tide_table.py", "the table of the tide", "call tide_table(x)")
    assert {seq for _, seq in places(search_sessions(store.path, "tide_table"))} == {2, 4}
    assert places(search_sessions(store.path, "src/tide_table.py")) == [(session, 2)]


def test_what_fits_best_comes_first(store: SqliteStore) -> None:
    say(store, *(f"tide {number} and much else that is said about ships and the sea" for number in range(5)))
    best = say(store, "tide tide tide")
    assert places(search_sessions(store.path, "tide"))[0] == (best, 2)
    assert len(search_sessions(store.path, "tide", limit=3)) == 3


def test_answers_results_and_only_what_is_still_there(store: SqliteStore) -> None:
    session = store.create(SessionStart(cwd="/", model="a:b"), time=1.0)
    store.append(session, AssistantMessage(text="the albatross"), None, time=2.0)
    store.append(session, ToolResult(tool_call_id="c", name="ls", text="albatross.txt"), None, time=3.0)
    assert {found.type for found in search_sessions(store.path, "albatross")} == {
        "assistant.message",
        "tool.result",
    }
    store.delete(session)
    assert search_sessions(store.path, "albatross") == []


def test_no_sessions_file_yet(tmp_path: Path) -> None:
    assert search_sessions(tmp_path / "sessions.db", "anything") == []
    assert list(tmp_path.iterdir()) == []


def test_the_snippet_stands_around_the_first_hit() -> None:
    text = f"{'so much was said before ' * 400}the harbour, at last {'and behind it ' * 400}"
    snippet, hits = snippet_of(text, read_query("harbour last"))
    assert [snippet[start:end] for start, end in hits] == ["harbour", "last"]
    assert snippet.startswith("… ")
    assert snippet.endswith(" …")
    assert len(snippet) < search.SNIPPET_CHARS + 8
    assert snippet_of("one\n\n  line", read_query("line")) == ("one line", ((4, 8),))


def test_the_snippet_stands_where_most_of_the_words_are() -> None:
    text = f"the tide {'rose and fell ' * 60} and the tide left the harbour {'again ' * 90}"
    snippet, hits = snippet_of(text, read_query("harbour tide"))
    assert [snippet[start:end] for start, end in hits] == ["tide", "harbour"]


QUERY = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from(
            [
                '"',
                "*",
                "AND",
                "OR",
                "NOT",
                "NEAR(",
                ")",
                "tide",
                "ha*",
                "^",
                ":",
                "-",
                "text",
                "_",
                "'",
                "ß",
                "é",
            ]
        ),
        max_size=12,
    ).map(" ".join),
    st.sampled_from(["\x00", "\ud800 tide", '"""', "tide\x00x", "session : x", "\U0001f6a2", "a" * 5_000]),
)


@given(query=QUERY, typing=st.booleans())
@settings(
    max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_is_a_query(store: SqliteStore, query: str, typing: bool) -> None:
    if not store.sessions():
        say(store, "tide harbour AND text", "ß é * \U0001f6a2")
    for found in (found_while_typing if typing else search_sessions)(store.path, query):
        assert found.snippet
        assert all(0 <= start < end <= len(found.snippet) for start, end in found.hits)


def test_the_beginning_of_very_many_words(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a prefix matches too many words to search quickly, only the most frequent are searched."""
    session = say(store, "wordy words", *(f"word{number} is said" for number in range(300)), "words", "other")
    monkeypatch.setattr(search_parts, "_PATIENCE_S", -1.0)
    monkeypatch.setattr(search_parts, "_WORDS_TAKEN", 5)
    found = places(search_sessions(store.path, "word*"))
    assert (session, 303) in found
    assert len(found) >= 5
    assert places(search_sessions(store.path, "wordy wor*")) == [(session, 2)]


def test_it_is_searched_in_parts_the_newest_first(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = [say(store, f"tide {number}", "else") for number in range(4)]
    monkeypatch.setattr(search_parts, "_PART", 3)
    monkeypatch.setattr(search_parts, "_REPORT_EVERY_S", 0.0)
    parts = list(searching(store.path, "tide", lambda: False))
    assert [(part.sessions, part.of) for part in parts] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [{found.session for found in part.found} for part in parts] == [
        set(sessions[3:]), set(sessions[2:]), set(sessions[1:]), set(sessions)
    ]  # fmt: skip
    monkeypatch.setattr(search_parts, "_PART", 50_000)
    assert list(parts[-1].found) == search_sessions(store.path, "tide")


def test_a_search_that_is_stopped_keeps_what_it_has_found(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        say(store, f"tide {number}")
    monkeypatch.setattr(search_parts, "_PART", 2)
    monkeypatch.setattr(search_parts, "_REPORT_EVERY_S", 0.0)
    seen: list[Searched] = []
    for part in searching(store.path, "tide", lambda: bool(seen)):
        seen.append(part)
    assert [(part.sessions, len(part.found)) for part in seen] == [(1, 1)]


def test_of_a_word_that_stands_everywhere_only_the_newest_are_weighed(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, "tide tide tide")
    newer = say(store, *("tide and ebb" for _ in range(5)))
    monkeypatch.setattr(search_parts, "_RANKED", 4)
    for part in (2, 3, 50):
        monkeypatch.setattr(search_parts, "_PART", part)
        monkeypatch.setattr(search_parts, "_REPORT_EVERY_S", 0.0)
        assert places(search_sessions(store.path, "tide")) == [(newer, seq) for seq in (6, 5, 4, 3)]


def test_calls_are_found_by_their_arguments(store: SqliteStore) -> None:
    session = say(store, "write it")
    args = json.dumps(
        {"path": "src/m5.py", "content": "import os\n\ndef lighthouse():\n    return 'größe'\n"}
    )
    store.append(session, ToolCall(tool_call_id="a", name="write_file", args=args), None, time=3.0)
    store.append(session, ToolCall(tool_call_id="b", name="look", args='{"unfini'), None, time=3.0)
    for words in ("lighthouse", '"def lighthouse"', "größe", "src/m5.py", "write_file"):
        (found,) = search_sessions(store.path, words)
        assert (found.seq, found.type) == (3, "tool.call")
    assert "def lighthouse" in found.snippet or "write_file" in found.snippet
    store.delete(session)
    assert search_sessions(store.path, "lighthouse") == []


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "把潮汐服务部署到生产环境，修改gen_tide脚本。",
            "部署 生产环境 潮汐服务 gen_tide 改gen_tide 脚",
        ),
        (
            "潮位サーバーを本番へデプロイ、config.tomlを直す。",
            "デプロイ 本番 config.toml 潮",
        ),
        ("다음 주까지 조위서버를 운영환경에 배포하고 나서 설정을 고칩니다.", "조위서버 배포 환경에 설정"),
        ("เราต้องติดตั้งบริการน้ำขึ้นน้ำลงในระบบจริง", "ติดตั้ง น้ำขึ้นน้ำลง ระบบ"),
        ("យើងត្រូវដំឡើងសេវាកម្មជំនោរ", "ដំឡើង ជំនោរ"),
        ("ພວກເຮົາຕ້ອງຕິດຕັ້ງບໍລິການ", "ຕິດຕັ້ງ ບໍລິການ"),
        ("ကျွန်ုပ်တို့ဒီရေဝန်ဆောင်မှုကိုတပ်ဆင်ရမည်", "ဒီရေ တပ်ဆင်"),
        ("ＡＢＣ１２３とﾃﾞﾌﾟﾛｲ", "ABC123 デプロイ"),
        ("Die Maße von O’Brien in Łódź", "masse o'brien łodz"),
        ("Ngày mai chuyển dịch vụ thuỷ triều", "thủy trieu"),
    ],
)
def test_words_are_found_inside_of_scripts_without_spaces(store: SqliteStore, said: str, words: str) -> None:
    session = say(store, "Low water at nine.", said, "水位が高い。 물때표. 低潮位置。")
    for word in words.split():
        assert (session, 3) in places(search_sessions(store.path, word)), word
    assert search_sessions(store.path, "署部") == []


def test_the_snippet_marks_a_word_inside_of_a_run() -> None:
    text = "我们需要把潮汐服务部署到生产环境"
    shown, hits = snippet_of(text, read_query("部署"))
    assert [shown[start:end] for start, end in hits] == ["部署"]
