"""The agent view on a real log: counted after each step, committed atomically, undone to the byte."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai.messages import CompactionPart, ModelMessagesTypeAdapter, ModelRequest, ModelResponse

from tests.conversation.logged import FIXED, WINDOW, answer, as_json, opened, result, say
from tui_app.context.compaction.replacement import key_ranges
from tui_app.context.history import Proposal, sizes_of
from tui_app.context.policy import Trim
from tui_app.context.tool_results.archive import archived
from tui_app.context.tool_results.trim import trim
from tui_app.context.views.view import Item, to_messages
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.memory.recall import SessionSearch
from tui_app.events import (
    AssistantMessage,
    CheckpointCreated,
    CompactionComplete,
    GaugeChanged,
    Payload,
    Record,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.usage import Overhead


def counted(history: SessionHistory) -> int:
    return sum(history.weigh(item).total for item in history.items()) + round(FIXED.total * history.factor)


def proposal(history: SessionHistory, keep: int, text: str = "The sea is salty.") -> Proposal:
    items = history.items()
    left = frozenset(item.key for item in items[:-keep])
    message = ModelRequest(parts=[CompactionPart(text)])
    complete = CompactionComplete(
        job="j",
        outcome="success",
        trigger="manual",
        title="Sea",
        summary=text,
        removed=key_ranges(list(items), left),
    )
    return Proposal(complete=complete, message=message, left=left)


def filled(history: SessionHistory) -> SessionHistory:
    for number in range(4):
        say(history, f"Question {number}: " + "why? " * 60)
        answer(history, "Let me look.", call=f"c{number}")
        result(history, f"c{number}", "hit " * 50)
        answer(history, f"Answer {number}: " + "so. " * 60)
    return history


def test_usage_after_each_step(history: SessionHistory) -> None:
    assert history.usage().is_initial
    assert history.usage().total == FIXED.total
    say(history, "Why is the sea salty?")
    assert history.usage().total == counted(history)
    answer(history, "Because.", reported=(900, 10))
    assert history.usage().total == pytest.approx(910, abs=3)
    assert history.usage().exact
    say(history, "And the sky? " * 30)
    last = history.weigh(history.items()[-1]).total
    assert history.usage().total == pytest.approx(910 + last, abs=3)
    assert not history.usage().exact
    history.model = "c:d"
    assert history.usage().total == counted(history), "another model's report says nothing"


def test_factor_scales_what_is_counted(history: SessionHistory) -> None:
    filled(history)
    plain = history.usage().total
    history.set_overhead(Overhead(WINDOW, FIXED, 2.0), "a:b")
    assert history.usage().total == 2 * plain
    assert history.weigh(history.items()[0]).total * 0.5 == pytest.approx(
        history.counter.message(history.items()[0].message).total
    )


def test_report_of_a_cut_request_is_not_believed(history: SessionHistory) -> None:
    history.distrust()
    assert history.take_distrust()
    assert not history.take_distrust()


@pytest.mark.parametrize("share", [0.7, 0.9, 1.3])
def test_before_and_after_are_said_on_one_scale(history: SessionHistory, share: float) -> None:
    """With the provider's figure before a rewrite and our count after it, trimming looked like growth."""
    filled(history)
    history.set_overhead(Overhead(WINDOW, FIXED, 1.3), "a:b")
    answer(history, "So it is.", reported=(round(counted(history) * share), 0))
    before = history.usage()
    assert before.exact
    weights = {item.key: history.weigh(item).total for item in history.items()}
    sizes = sizes_of(history.items(), before, lambda item: weights[item.key])
    rewrite = trim(history.items(), Trim(chars=20))
    assert rewrite is not None
    freed = sum(
        weights[change.key] - history.weigh(Item(0, change.message)).total for change in rewrite.changes
    )
    history.rewrite(rewrite)
    assert history.usage().total == pytest.approx(before.total - sizes.estimate(freed), rel=0.02)
    offer = proposal(history, keep=3)
    done = history.commit(offer)
    assert done.tokens_after == history.usage().total < done.tokens_before
    [back] = [history.restate(history.view.compactions[-1], undo=True)]
    assert history.usage().total == pytest.approx(done.tokens_before, abs=3)
    assert back.data.tokens_before == done.tokens_after  # type: ignore[attr-defined]
    again = opened(history.store, history.session, [], history.archive.folder.path.parent)
    again.set_overhead(Overhead(WINDOW, FIXED, 1.3), "a:b")
    assert again.usage() == history.usage(), "the fold of the log is what was there"


@pytest.mark.parametrize("factor", [1.0, 1.37, 3.21])
def test_commit_and_undo(history: SessionHistory, records: list[Record], factor: float) -> None:
    filled(history)
    history.set_overhead(Overhead(WINDOW, FIXED, factor), "a:b")
    items, before, json_before = list(history.items()), history.usage(), as_json(history)
    complete = history.commit(proposal(history, keep=3))
    assert complete.tokens_before == before.total
    assert complete.tokens_after == history.usage().total == records[-1].data.usage.total  # type: ignore[attr-defined]
    assert complete.tokens_removed == complete.tokens_before - complete.tokens_after
    assert (complete.messages_before, complete.messages_after) == (16, 4)
    assert len(history.items()) == 4
    assert history.usage().parts.summary > 0
    kinds = [type(record.data) for record in records[-3:]]
    assert kinds == [CompactionComplete, CheckpointCreated, GaugeChanged]
    undone = history.restate(history.view.compactions[-1], undo=True)
    assert list(history.items()) == items
    assert as_json(history) == json_before
    assert history.usage() == before
    assert (undone.data.tokens_before, undone.data.tokens_after) == (complete.tokens_after, before.total)  # type: ignore[attr-defined]
    redone = history.restate(history.view.undone[-1], undo=False)
    assert redone.data.tokens_after == history.usage().total == complete.tokens_after  # type: ignore[attr-defined]


def test_reopened_it_is_the_same(
    history: SessionHistory, store: SqliteStore, records: list[Record], tmp_path: Path
) -> None:
    filled(history)
    history.commit(proposal(history, keep=3))
    say(history, "more")
    answer(history, "yes", reported=(700, 7))
    again = opened(store, history.session, [], tmp_path)
    assert again.view == history.view
    assert again.usage() == history.usage()
    assert as_json(again) == as_json(history)
    again.restate(again.view.compactions[-1], undo=True)
    history.load()
    assert as_json(again)[-2:] == as_json(history)[-2:]


def test_history_file_holds_what_a_stage_had_cut(history: SessionHistory) -> None:
    filled(history)
    whole = ModelMessagesTypeAdapter.dump_python(to_messages(history.items()), mode="json")
    rewrite = trim(history.items(), Trim(chars=20))
    assert rewrite is not None
    history.rewrite(rewrite)
    path = Path(history.commit(proposal(history, keep=3)).history_path)
    assert json.loads(path.with_suffix(".json").read_text()) == whole


def test_files_are_written_before_the_event(
    history: SessionHistory, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(history)
    folder = history.archive.folder
    seen: list[list[str]] = []
    append_many = store.append_many

    def noting(session: str, events: object) -> object:
        seen.append(sorted(path.name for path in folder.path.rglob("*.*")))
        return append_many(session, events)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "append_many", noting)
    history.commit(proposal(history, keep=3))
    assert seen[0] == [
        "001-before-compaction.json",
        "001-before-compaction.md",
        "001-sea.md",
        "index.md",
        "workspace.yaml",
    ]


def test_refused_files_change_nothing(
    history: SessionHistory, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(history)
    before, usage, last = as_json(history), history.usage(), list(store.heads(history.session))[-1].seq

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            history.commit(proposal(history, keep=3))
    assert (as_json(history), history.usage()) == (before, usage)
    assert list(store.heads(history.session))[-1].seq == last
    assert history.commit(proposal(history, keep=3)).checkpoint_path.endswith("001-sea.md")


def test_nested_compactions_come_back_one_by_one(history: SessionHistory) -> None:
    filled(history)
    views = [as_json(history)]
    for keep in (9, 5, 3):
        history.commit(proposal(history, keep=keep, text=f"Summary with {keep}."))
        views.append(as_json(history))
    assert history.archive.folder.listed() == 3
    for _ in range(3):
        assert as_json(history) == views.pop()
        history.restate(history.view.compactions[-1], undo=True)
    assert as_json(history) == views.pop()
    assert history.archive.folder.listed() == 0


def test_newest_loads_only_the_end(history: SessionHistory, store: SqliteStore, tmp_path: Path) -> None:
    filled(history)
    answer(history, "Look.", call="open")
    again = opened(store, history.session, [], tmp_path)
    assert [type(message) for message in again.newest()] == [ModelResponse]
    assert len(again._messages._held) == 1


def test_gauge_is_shown_after_what_changes_it(history: SessionHistory, records: list[Record]) -> None:
    records.clear()
    history.set_overhead(Overhead(WINDOW, FIXED), "a:b")
    assert records == []
    say(history, "Hello")
    shown = [record.data for record in records if isinstance(record.data, GaugeChanged)]
    assert [gauge.usage for gauge in shown] == [history.usage()]


def test_hidden_messages_are_not_kept_in_memory(history: SessionHistory) -> None:
    filled(history)
    before = as_json(history)
    history.commit(proposal(history, keep=3))
    held = history._messages._held
    assert {seq for seq, _ in held} == {head.seq for head in history.view.visible()}
    assert len(held) == 4
    history.restate(history.view.compactions[-1], undo=True)
    assert as_json(history) == before


def test_what_a_stage_has_hidden_is_read_from_the_log(
    history: SessionHistory, store: SqliteStore, records: list[Record], tmp_path: Path
) -> None:
    filled(history)
    say(history, "Go on.")
    before = [item.message for item in history.items()]
    cut = trim(history.items(), Trim(chars=20))
    assert cut is not None
    history.rewrite(cut)
    results = [item for item in history.items() if "trimmed" in str(item.message)]
    history.rewrite(archived(results[:2], "Two results."))
    again = opened(store, history.session, records, tmp_path)
    for view in (history, again):
        shown, told = view.items(), view.originals(view.items())
        assert [item.key for item in told] == [item.key for item in shown]
        by_key = {item.key: item.message for item in told}
        assert [by_key[item.key] for item in shown if item.key <= len(before) + 1] == before
        same = [item.key for item, now in zip(told, shown, strict=True) if item is now]
        assert set(same) == {item.key for item in shown} - {item.key for item in results}
        assert view.items() is shown, "the view itself has not changed"


# Searching messages, also in very long conversations.


@pytest.fixture
def history_search_store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "sessions.db")
    yield store
    store.close()


def spoken(store: SqliteStore, *payloads: Payload) -> SessionSearch:
    session = store.create(SessionStart(cwd="/", model="a:b"), time=1.0)
    store.append_many(session, [(payload, None, 1.0) for payload in payloads])
    return SessionSearch(store, session)


def test_most_words_first_and_newest_among_equals(history_search_store: SqliteStore) -> None:
    search = spoken(
        history_search_store,
        UserMessage(text="The albatross flies."),
        AssistantMessage(text="An albatross and a whale."),
        ToolResult(tool_call_id="c", name="grep", text="whale.md:3: albatross"),
        UserMessage(text="Nothing of the kind."),
    )
    hits = search.search("albatross whale")
    assert [(hit.seq, hit.role) for hit in hits] == [(4, "grep"), (3, "assistant"), (2, "user")]
    assert [hit.seq for hit in search.search("albatross whale", limit=1)] == [4]


def test_only_what_was_said_is_found(history_search_store: SqliteStore) -> None:
    search = spoken(
        history_search_store,
        ToolCall(tool_call_id="albatross", name="search_history", args='{"query": "albatross"}'),
        AssistantMessage(text="", thinking="albatross?", model="albatross"),
        CompactionComplete(job="j", outcome="success", trigger="manual", summary="The albatross is gone."),
    )
    assert [(hit.seq, hit.role) for hit in search.search("albatross")] == [(4, "summary")]


BODY = "import os\n\ndef albatross():\n    return 'größe'\n"


@pytest.mark.parametrize("words", ["albatross", "def albatross", "größe", "src/m5.py", "write_file m5"])
@pytest.mark.parametrize(
    "args",
    [
        {"path": "src/m5.py", "content": BODY},
        {"path": "src/m5.py", "edits": [{"old": "x", "new": BODY}]},
    ],
)
def test_calls_are_found_by_what_the_model_wrote_in_them(
    history_search_store: SqliteStore, args: dict[str, object], words: str
) -> None:
    search = spoken(
        history_search_store,
        AssistantMessage(text="I write it.", call_ids=("a", "b")),
        ToolCall(tool_call_id="a", name="write_file", args=json.dumps(args)),
        ToolCall(tool_call_id="b", name="ls", args="{}"),
        ToolResult(tool_call_id="a", name="write_file", text="done"),
        UserMessage(text="Thanks."),
    )
    [hit] = search.search(words)
    assert (hit.seq, hit.role) == (3, "write_file")
    for handle in (2, 3):
        whole = search.fetch(handle)
        assert whole is not None
        assert "albatross" in whole.text
    whole = search.fetch(2)
    assert whole is not None
    assert whole.text.startswith("I write it.\n\nwrite_file\npath: src/m5.py\n")
    assert whole.text.endswith("\n\nls")


@pytest.mark.parametrize("args", ["", '{"path": "unfini', "[1, 2]", '"albatross"', "[" * 2_000])
def test_calls_that_were_cut_off_do_no_harm(history_search_store: SqliteStore, args: str) -> None:
    search = spoken(history_search_store, ToolCall(tool_call_id="a", name="look", args=args))
    assert [hit.seq for hit in search.search("look")] == [2]


def test_other_sessions_are_none_of_its_business(history_search_store: SqliteStore) -> None:
    spoken(history_search_store, UserMessage(text="The albatross flies."))
    search = spoken(history_search_store, UserMessage(text="Hello"))
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
def test_words_as_people_type_them(history_search_store: SqliteStore, text: str, words: str) -> None:
    search = spoken(history_search_store, UserMessage(text=text), UserMessage(text="something else"))
    assert 2 in [hit.seq for hit in search.search(words)]


@pytest.mark.parametrize("words", ["", "?!", "a", '"', "*", "x" * 5_000, "word " * 5_000])
def test_odd_questions_find_nothing_and_do_no_harm(history_search_store: SqliteStore, words: str) -> None:
    assert spoken(history_search_store, UserMessage(text="Hello there")).search(words) == []


def test_long_messages_are_shown_where_the_word_stands(history_search_store: SqliteStore) -> None:
    search = spoken(history_search_store, UserMessage(text="x " * 3_000 + "the albatross " + "y " * 3_000))
    (hit,) = search.search("albatross")
    assert "albatross" in hit.text[:300]
    assert hit.text.startswith("… ")


def test_one_message_whole(history_search_store: SqliteStore) -> None:
    search = spoken(
        history_search_store, UserMessage(text="x" * 90_000), ToolCall(tool_call_id="c", name="ls", args="{}")
    )
    hit = search.fetch(2)
    assert hit is not None
    assert len(hit.text) == 90_000
    assert [search.fetch(seq) for seq in (1, 99, -1)] == [None] * 3


def test_ten_thousand_messages_hardly_cost_more_than_a_hundred(history_search_store: SqliteStore) -> None:
    def said(count: int) -> SessionSearch:
        noise = "the sea is below the sky and the ship sails on over it " * 20
        texts = [f"message {number} says: {noise}" for number in range(count)]
        return spoken(
            history_search_store, *(UserMessage(text=text) for text in texts), UserMessage(text="albatross")
        )

    short, long = said(100), said(10_000)

    def cost(search: SessionSearch, words: str) -> float:
        runs = []
        for _ in range(5):
            # Thread time excludes time given to other processes.
            started = time.thread_time()
            search.search(words)
            runs.append(time.thread_time() - started)
        return min(runs)

    assert long.search("albatross")[0].text == "albatross"
    assert cost(long, "albatross") < 5 * cost(short, "albatross") + 0.005
    assert cost(long, "sea sky ship sails over") < 0.25, "even words that stand everywhere"


def test_a_long_message_is_shown_where_the_words_stand_and_by_line(history_search_store: SqliteStore) -> None:
    rows = [f"{number} tide" for number in range(5_000)]
    rows[2_500] = "2500 NEEDLE-42"
    rows[3_000] = "the İ needle is elsewhere"
    search = spoken(
        history_search_store, ToolResult(tool_call_id="c", name="run_command", text="\n".join(rows))
    )
    for words in ("NEEDLE-42", "42 needle", '"needle-42"'):
        (hit,) = search.search(words)
        assert (hit.line, hit.lines) == (2_501, 5_000)
        assert "2500 NEEDLE-42" in hit.text[:300]


def test_what_was_brought_back_before_is_found_where_it_was_said(history_search_store: SqliteStore) -> None:
    search = spoken(
        history_search_store,
        UserMessage(text="The albatross flies."),
        ToolResult(tool_call_id="c", name="search_history", text="#2 user: The albatross flies."),
    )
    assert [hit.seq for hit in search.search("albatross")] == [2]


@pytest.mark.parametrize("question", ["我们什么时候部署潮汐服务？", "部署", "潮汐"])
def test_a_question_without_spaces_finds_what_it_asks_for(
    history_search_store: SqliteStore, question: str
) -> None:
    said = [UserMessage(text=text) for text in ("把潮汐服务部署到生产环境。", "低水位在九点。")]
    hits = spoken(history_search_store, *said).search(question)
    assert [hit.text for hit in hits][:1] == ["把潮汐服务部署到生产环境。"]
