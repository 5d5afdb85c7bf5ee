"""Where a summary stands and what acknowledges it, in a real log: replayed, undone, compacted again, sent."""

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
from tests.context.validity import complaints
from tests.conversation.driving import Desk, done, of, turn
from tests.conversation.logged import answer, as_json, opened, result, say
from tests.examples import examples
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, PlainHost
from tui_app.context.history import ListHistory
from tui_app.context.policy import SLIDING_WINDOW, MessageLimit
from tui_app.context.requests.builder import build, sendable
from tui_app.context.view import to_messages
from tui_app.conversation.exports import agent_messages, export_session
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.work import Compact, Restate
from tui_app.events import CompactionAcknowledged, CompactionComplete, Record, SessionStart, Trigger
from tui_app.session.agent_view import fold_agent_view
from tui_app.session.sqlite_store import SqliteStore

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
    """What the messages hold; each history has its own numbers for them."""
    return [re.sub(r"#\d+", "#", str(item.message.parts)) for item in history.items()]


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
