"""Finding what was said, also in very long conversations."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_app.conversation.session_tools import SessionSearch
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Payload,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.sqlite_store import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "sessions.db")
    yield store
    store.close()


def spoken(store: SqliteStore, *payloads: Payload) -> SessionSearch:
    session = store.create(SessionStart(cwd="/", model="a:b"), time=1.0)
    store.append_many(session, [(payload, None, 1.0) for payload in payloads])
    return SessionSearch(store, session)


def test_most_words_first_and_newest_among_equals(store: SqliteStore) -> None:
    search = spoken(
        store,
        UserMessage(text="The albatross flies."),
        AssistantMessage(text="An albatross and a whale."),
        ToolResult(tool_call_id="c", name="grep", text="whale.md:3: albatross"),
        UserMessage(text="Nothing of the kind."),
    )
    hits = search.search("albatross whale")
    assert [(hit.seq, hit.role) for hit in hits] == [(4, "grep"), (3, "assistant"), (2, "user")]
    assert [hit.seq for hit in search.search("albatross whale", limit=1)] == [4]


def test_only_what_was_said_is_found(store: SqliteStore) -> None:
    search = spoken(
        store,
        ToolCall(tool_call_id="albatross", name="grep", args='{"pattern": "albatross"}'),
        AssistantMessage(text="", thinking="albatross?", model="albatross"),
        CompactionComplete(job="j", outcome="success", trigger="manual", summary="The albatross is gone."),
    )
    assert [(hit.seq, hit.role) for hit in search.search("albatross")] == [(4, "summary")]


def test_other_sessions_are_none_of_its_business(store: SqliteStore) -> None:
    spoken(store, UserMessage(text="The albatross flies."))
    search = spoken(store, UserMessage(text="Hello"))
    assert search.search("albatross") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Die GRÖSSE zählt", "größe zählt"),
        ("Die Größe zählt", "GRÖSSE ZÄHLT"),
        ("Ελλάδα είναι εδώ", "ελλάδα"),
        ("call store.append_many now", "append_many"),
        ("Sailing onwards", "sail"),
        ('He said "all hands" -- twice', 'NOT "all AND hands*'),
        ("The sea_level is 3", "sea_level"),
    ],
)
def test_words_as_people_type_them(store: SqliteStore, text: str, words: str) -> None:
    search = spoken(store, UserMessage(text=text), UserMessage(text="something else"))
    assert 2 in [hit.seq for hit in search.search(words)]


@pytest.mark.parametrize("words", ["", "?!", "a", '"', "*", "x" * 5_000, "word " * 5_000])
def test_odd_questions_find_nothing_and_do_no_harm(store: SqliteStore, words: str) -> None:
    assert spoken(store, UserMessage(text="Hello there")).search(words) == []


def test_long_messages_are_shown_where_the_word_stands(store: SqliteStore) -> None:
    search = spoken(store, UserMessage(text="x " * 3_000 + "the albatross " + "y " * 3_000))
    (hit,) = search.search("albatross")
    assert "albatross" in hit.text[:300]
    assert hit.text.startswith("… ")


def test_one_message_whole(store: SqliteStore) -> None:
    search = spoken(store, UserMessage(text="x" * 90_000), ToolCall(tool_call_id="c", name="ls", args="{}"))
    hit = search.fetch(2)
    assert hit is not None
    assert len(hit.text) == 90_000
    assert [search.fetch(seq) for seq in (1, 3, 99, -1)] == [None] * 4


def test_ten_thousand_messages_hardly_cost_more_than_a_hundred(store: SqliteStore) -> None:
    def said(count: int) -> SessionSearch:
        noise = "the sea is below the sky and the ship sails on over it " * 20
        texts = [f"message {number} says: {noise}" for number in range(count)]
        return spoken(store, *(UserMessage(text=text) for text in texts), UserMessage(text="albatross"))

    short, long = said(100), said(10_000)

    def cost(search: SessionSearch, words: str) -> float:
        runs = []
        for _ in range(5):
            started = time.perf_counter()
            search.search(words)
            runs.append(time.perf_counter() - started)
        return min(runs)

    assert long.search("albatross")[0].text == "albatross"
    assert cost(long, "albatross") < 5 * cost(short, "albatross") + 0.005
    assert cost(long, "sea sky ship sails over") < 0.25, "even words that stand everywhere"


def test_a_long_message_is_shown_where_the_words_stand_and_by_line(store: SqliteStore) -> None:
    rows = [f"{number} tide" for number in range(5_000)]
    rows[2_500] = "2500 NEEDLE-42"
    rows[3_000] = "the İ needle is elsewhere"
    search = spoken(store, ToolResult(tool_call_id="c", name="run_command", text="\n".join(rows)))
    for words in ("NEEDLE-42", "42 needle", '"needle-42"'):
        (hit,) = search.search(words)
        assert (hit.line, hit.lines) == (2_501, 5_000)
        assert "2500 NEEDLE-42" in hit.text[:300]


def test_what_was_brought_back_before_is_found_where_it_was_said(store: SqliteStore) -> None:
    search = spoken(
        store,
        UserMessage(text="The albatross flies."),
        ToolResult(tool_call_id="c", name="search_history", text="#2 user: The albatross flies."),
    )
    assert [hit.seq for hit in search.search("albatross")] == [2]
