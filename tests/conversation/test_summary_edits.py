"""Active summaries: their place, edits, restored facts, replay and undo."""

import asyncio
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import CompactionPart, ModelMessage, ModelResponse

from tests.context.governor_kit import Writer, plain_counter
from tests.context.histories import complaints
from tests.conversation.driving import Desk, done, of, send, turn, view_bytes
from tests.conversation.logged import answer, as_json, opened, result, say
from tests.conversation.test_compactions import ASKS, NOTES, filled, last_of, stored
from tests.examples import examples
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, PlainHost
from tui_app.context.compaction.summary_edits import editable
from tui_app.context.history import ListHistory
from tui_app.context.policy import SLIDING_WINDOW, MessageLimit
from tui_app.context.requests.builder import build, sendable
from tui_app.context.views.view import to_messages
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.work import BringBack, Compact, EditSummary, Restate, Restore, VerifySummary
from tui_app.events import (
    NOT_IN_LOG,
    UNCHECKED,
    CompactionAcknowledged,
    CompactionComplete,
    CompactionEdited,
    Fact,
    Notice,
    Record,
    RewriteUndone,
    SessionStart,
    Trigger,
)
from tui_app.session.exports.export import agent_messages, export_session
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import fold_agent_view

# Editing an active summary and restoring lost facts: events that replay and can be undone.


TYPED = "## Intent\nTell the sea from the sky, at dusk."
EDITED = f"{TYPED} {UNCHECKED}"
"""As stored: lines without a source are marked, whoever wrote them."""


async def compacted(opened: OpenSession, server: FakeOpenAI) -> int:
    server.add(Text(NOTES), phrase=ASKS)
    await done(opened.conversation, Compact())
    assert last_of(opened).outcome == "success"
    return opened.conversation.history.view.compactions[-1]


def notes_of(opened: OpenSession) -> str:
    shown = editable(opened.conversation.history.items()[0].message)
    assert shown is not None
    return shown.notes


async def test_an_edit_is_an_event_that_the_view_and_the_gauge_follow(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        number = await compacted(opened, fake_openai)
        before, first = conversation.usage.total, view_bytes(conversation)
        await done(conversation, EditSummary(number, TYPED))
        (edit,) = stored(opened, CompactionEdited)
        assert isinstance(edit, CompactionEdited)
        assert (edit.compaction, edit.summary, edit.tokens_before) == (number, EDITED, before)
        assert edit.tokens_after == conversation.usage.total != before
        assert notes_of(opened) == EDITED
        assert last_of(opened).summary != EDITED, "what was written stays in the log"
        edited = view_bytes(conversation)
        await done(conversation, Restate(undo=True), Restate(undo=False))
        assert view_bytes(conversation) == edited, "undoing the compaction and redoing it keeps the words"
        session, view = conversation.session, conversation.history.view
        assert fold_agent_view(opened.store.heads(session)) == view
        assert "at dusk" in export_session(opened.store, session, format="pydantic-ai", view="agent")
        assert "at dusk" in export_session(opened.store, session, format="markdown", view="agent")
        assert "Compaction #" in export_session(opened.store, session, format="markdown", view="user")
    async with desk.session(session=session) as opened:
        assert view_bytes(opened.conversation) == edited
        fake_openai.add(Text("Yes."))
        await done(opened.conversation, Restore(opened.conversation.history.view.edits[number][-1]))
        assert view_bytes(opened.conversation) == first
        assert stored(opened, RewriteUndone)


async def test_the_next_request_and_the_next_compaction_read_the_new_words(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with filled(desk, fake_openai) as opened:
        await done(opened.conversation, EditSummary(await compacted(opened, fake_openai), TYPED))
        fake_openai.add(Text(f"More. {NOTES}" * 40), Text("Again. " * 400))
        async for _ in send(opened.conversation, "And now? " * 300):
            pass
        assert "at dusk" in str(fake_openai.journal[-1])
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact())
        assert "at dusk" in str(fake_openai.journal[-1]), "a summary is updated as it stands"


async def test_edited_words_are_checked_like_written_ones(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        number = await compacted(opened, fake_openai)
        text = "Delete `harbour_db` in production.\nKey: sk-abcdefghijklmnop1234567890"
        await done(opened.conversation, EditSummary(number, text))
        assert f"Delete `harbour_db` in production. {NOT_IN_LOG}\n" in notes_of(opened)
        assert "sk-abcdef" not in str(opened.conversation.history.items()[0].message)


async def test_a_refused_edit_changes_nothing_and_says_why(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        number = await compacted(opened, fake_openai)
        before = view_bytes(conversation)
        told: list[str] = []
        passing: list[bool] = []
        opened.bus.listen(lambda record: told.append(getattr(record.data, "text", "")))
        opened.bus.listen(
            lambda record: passing.append(record.data.passing) if isinstance(record.data, Notice) else None
        )
        for wanted, said in (
            (EditSummary(number, "  "), "The summary is empty."),
            (EditSummary(number, notes_of(opened)), "Nothing to change"),
            (EditSummary(3, "x"), "#3 is not a summary"),
            (
                EditSummary(number, "far too much 🚢🚢🚢🚢🚢🚢🚢🚢 " * 6_000),
                "With this summary the next request would be",
            ),
            (BringBack(number, "no such fact"), "The compaction has no such fact."),
        ):
            await done(conversation, wanted)
            assert told[-1].startswith(said) or any(each.startswith(said) for each in told)
        assert view_bytes(conversation) == before
        assert passing == [True] * 5, "each answers a key"
        await done(conversation, Restate(undo=True), EditSummary(number, "late"))
        assert any(each.startswith(f"#{number} is not a summary") for each in told)


async def test_without_a_summary_there_is_none_to_check(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with filled(desk, fake_openai) as opened:
        told: list[str] = []
        opened.bus.listen(lambda record: told.append(getattr(record.data, "text", "")))
        await done(opened.conversation, VerifySummary())
        assert told[-1] == "The model sees no summary now. /compact writes one."


async def test_a_fact_comes_back_word_for_word_and_is_carried_on(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact = Fact(kind="decision", text="The batch size is 250.", source="#4", state="lost")
    monkeypatch.setattr("tui_app.context.compaction.proposal.ledger_facts", lambda *_args: (fact,))
    async with filled(desk, fake_openai) as opened:
        conversation = opened.conversation
        number = await compacted(opened, fake_openai)
        assert [each.state for each in last_of(opened).facts] == ["recoverable"]
        await done(conversation, BringBack(number, fact.text))
        assert "- The batch size is 250. (#4)" in str(conversation.history.items()[0].message)
        (edit,) = stored(opened, CompactionEdited)
        assert isinstance(edit, CompactionEdited)
        assert (edit.fact, edit.retention, edit.facts[0].state) == (fact.text, 1.0, "kept")
        await done(conversation, BringBack(number, fact.text))
        assert len(stored(opened, CompactionEdited)) == 1, "once is enough"
        await done(conversation, EditSummary(number, TYPED))
        assert "- The batch size is 250. (#4)" in str(conversation.history.items()[0].message)


# The place of a summary and its acknowledgement in a real log: replayed, undone, compacted again, sent.


POLICY = replace(SLIDING_WINDOW, limit=MessageLimit(messages=10), minimum_gain=0.0)
LONG = "why? " * 60
STEPS = st.lists(st.sampled_from(["turn", "turn", "auto", "manual", "undo", "redo"]), min_size=4, max_size=14)


def one_turn(history: SessionHistory, number: int) -> None:
    say(history, f"Question {number}: {LONG}")
    answer(history, "", call=f"c{number}")
    result(history, f"c{number}", "hit " * 50)
    answer(history, f"Answer {number}: {LONG}")


async def compact(history: SessionHistory | ListHistory, trigger: Trigger) -> CompactionComplete | None:
    compactor = Compactor(history, POLICY, PlainHost((Writer(),)))
    try:
        compactor.start(trigger)
    except CompactionRefused:
        return None
    return await compactor.finish()


def kinds(history: SessionHistory | ListHistory) -> list[str]:
    return [item.message.parts[0].part_kind for item in history.items()]


def without_handles(history: SessionHistory | ListHistory) -> list[str]:
    """Return the messages' content without numbers, which differ between histories."""
    return [
        re.sub(
            r"#\d+", "#", str([(part.part_kind, getattr(part, "content", "")) for part in item.message.parts])
        )
        for item in history.items()
    ]


def keys(history: SessionHistory) -> list[int]:
    return [item.key for item in history.items()]


def messages(history: SessionHistory) -> list[ModelMessage]:
    return to_messages(history.items())


async def test_first_run_then_summary_then_the_newest(history: SessionHistory, records: list[Record]) -> None:
    for number in range(5):
        one_turn(history, number)
    before = keys(history)
    complete = await compact(history, "blocking")
    assert complete is not None
    assert complete.behind == before[3]
    assert keys(history)[:4] == before[:4]
    assert kinds(history)[4] == "compaction"
    assert keys(history)[5:] == before[-5:]
    assert of(records, CompactionAcknowledged) == []
    [part] = history.items()[4].message.parts
    assert isinstance(part, CompactionPart)
    assert str(part.content).count("on 11 messages that stood here") == 1


async def test_a_second_one_updates_the_summary_in_its_place(history: SessionHistory) -> None:
    for number in range(5):
        one_turn(history, number)
    views = [as_json(history)]
    for number in range(5, 9):
        assert await compact(history, "blocking")
        assert kinds(history).count("compaction") == 1
        assert kinds(history)[4] == "compaction"
        views.append(as_json(history))
        one_turn(history, number)
    while history.view.compactions:
        history.restate(history.view.compactions[-1], undo=True)
        assert as_json(history)[: len(views[-2])] == views[-2]
        views.pop()


async def test_by_hand_two_messages_stand_for_all(
    history: SessionHistory, records: list[Record], store: SqliteStore, tmp_path: Path
) -> None:
    for number in range(3):
        one_turn(history, number)
    before = as_json(history)
    complete = await compact(history, "manual")
    assert complete is not None
    assert kinds(history) == ["compaction", "text"]
    assert (complete.messages_after, complete.messages_removed) == (2, 10)
    assert complete.tokens_after == history.usage().total
    usage = history.usage()
    assert usage.parts.assistant == plain_counter().message(history.items()[1].message).assistant > 0
    (event,) = of(records, CompactionAcknowledged)
    assert isinstance(event, CompactionAcknowledged)
    assert (event.job, event.text) == (complete.job, POLICY.form_of(by_hand=True).acknowledgement)
    assert await compact(history, "manual") is None, "there is nothing but the summary"
    say(history, "And now?")
    out = build(history, messages(history), POLICY).messages
    assert complaints(out) == []
    assert [message.kind for message in out] == ["request", "response", "request"]
    assert as_json(opened(store, history.session, [], tmp_path)) == as_json(history)
    assert len(agent_messages(store, history.session)) == 3
    assert event.text in export_session(store, history.session, format="markdown", view="agent")
    assert event.text in export_session(store, history.session, format="pydantic-ai", view="agent")
    assert event.text not in export_session(store, history.session, format="pydantic-ai", view="user")
    history.restate(history.view.compactions[-1], undo=True)
    assert as_json(history)[:-1] == before
    history.restate(history.view.undone[-1], undo=False)
    assert kinds(history) == ["compaction", "text", "user-prompt"]


async def test_an_acknowledgement_is_no_part_of_the_next_summary(history: SessionHistory) -> None:
    one_turn(history, 1)
    assert await compact(history, "manual")
    one_turn(history, 2)
    writer = Writer()
    compactor = Compactor(history, POLICY, PlainHost((writer,)))
    compactor.start("manual")
    assert await compactor.finish()
    [task] = writer.tasks
    assert [item.key for item in task.items] == [key for key in range(1, 100) if key in task_keys(task.items)]
    assert all(item.message.parts[0].part_kind != "compaction" for item in task.items)
    assert len(task.items) == 4
    assert task.previous
    assert kinds(history) == ["compaction", "text"]


def task_keys(items: object) -> set[int]:
    return {item.key for item in items}  # type: ignore[attr-defined]


@pytest.mark.parametrize("trigger", ["blocking", "manual"])
async def test_a_list_of_messages_has_the_same_view(history: SessionHistory, trigger: Trigger) -> None:
    for number in range(5):
        one_turn(history, number)
    other = ListHistory(plain_counter())
    other.sync([item.message for item in history.items()])
    assert await compact(history, trigger)
    assert await compact(other, trigger)
    assert kinds(other) == kinds(history)
    assert without_handles(other) == without_handles(history)


@settings(max_examples=examples(40), deadline=None)
@given(STEPS)
def test_whatever_happens_the_log_tells_the_view(steps: list[str]) -> None:
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "sessions.db")
        try:
            session = store.create(SessionStart(cwd="/", model="a:b"), time=1.0)
            history = opened(store, session, [], Path(folder))
            for number, step in enumerate(steps):
                play(history, step, number)
                check(history, Path(folder))
        finally:
            store.close()


def play(history: SessionHistory, step: str, number: int) -> None:
    match step:
        case "turn":
            one_turn(history, number)
        case "auto" | "manual":
            asyncio.run(_compact(history, "blocking" if step == "auto" else "manual"))
        case "undo" if history.view.compactions:
            history.restate(history.view.compactions[-1], undo=True)
        case "redo" if history.view.undone:
            history.restate(history.view.undone[-1], undo=False)


async def _compact(history: SessionHistory, trigger: Trigger) -> None:
    await compact(history, trigger)


def check(history: SessionHistory, folder: Path) -> None:
    assert fold_agent_view(history.store.heads(history.session)) == history.view
    again = opened(history.store, history.session, [], folder)
    assert as_json(again) == as_json(history)
    assert again.usage().parts == history.usage().parts
    if history.items():
        sent = sendable(messages(history))
        assert complaints(sent) == []
        assert not any(
            isinstance(first, ModelResponse) and isinstance(second, ModelResponse)
            for first, second in pairwise(sent)
        )
    assert kinds(history).count("compaction") <= 1


async def test_through_a_conversation_and_back(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session(policy="sliding-window") as opened_session:
        conversation = opened_session.conversation
        for number in range(3):
            fake_openai.add(Text(f"Answer {number}. {LONG}"))
            await turn(conversation, f"Question {number}. {LONG}")
        fake_openai.add(Text("Title: Sea\n## Intent\nKnow the sea.\n## Current state\nAll said."))
        await done(conversation, Compact())
        assert kinds(conversation.history) == ["compaction", "text"]
        fake_openai.add(Text("Good."))
        await turn(conversation, "Go on.")
        roles = [message["role"] for message in fake_openai.journal[-1]["messages"]]
        assert roles[-3:] == ["user", "assistant", "user"]
        await done(conversation, Restate(undo=True))
        assert len(conversation.history.items()) == 8
