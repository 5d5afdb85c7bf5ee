"""Manual edits of single messages: pinned, archived or offloaded to a file, and undone."""

import json

import pytest
from pydantic_ai.messages import ModelResponse, ToolCallPart

from tests.conversation.driving import Desk, assert_valid, done, of, turn
from tests.conversation.jobs import beside_the_job, with_job
from tests.conversation.logged import answer, opened, result, say
from tests.conversation.test_rewrites import LINES, stored, view
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.context.compaction.compactor import Compactor, PlainHost, State
from tui_app.context.policy import PLIMSOLL
from tui_app.context.tool_results.stage_scope import ARCHIVED, IN_FILE, NO_GAIN, NO_RESULT, UNREAD
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.compactions.compactions import Compactions, Reviews
from tui_app.conversation.compactions.manual_edits import ManualEdits
from tui_app.conversation.compactions.summary_edits import SummaryEdits
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.work import Compact, Pin, Relieve, Restore
from tui_app.events import (
    AssistantMessage,
    MessagePinned,
    Notice,
    Record,
    ToolArchived,
    ToolNormalised,
    ToolOffloaded,
    ToolResult,
    UserMessage,
)
from tui_app.session.figures.request_ledger import ledger, scaled
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.workspace import SessionFolder


def by_hand(history: SessionHistory, compactor: Compactor | None = None) -> ManualEdits:
    compactor = compactor or Compactor(history, PLIMSOLL, PlainHost(()))
    compactions = Compactions(history, compactor, Reviews(history.report))
    return ManualEdits(history, compactions, SummaryEdits(history, compactions))


def talk(history: SessionHistory) -> list[int]:
    """Append a prompt, two results and an answer; returns the numbers of the results."""
    say(history, "Look twice.")
    for call in ("c1", "c2"):
        answer(history, "", call=call)
        result(history, call, f"{call}\n" + LINES[:6_000])
    answer(history, "Seen.")
    return [item.key for item in history.items() if "tool-return" in str(item.message.parts[0].part_kind)]


def notices(records: list[Record]) -> list[str]:
    return [each.text for each in of(records, Notice) if isinstance(each, Notice)]


def test_a_result_is_archived_alone_and_taken_back(history: SessionHistory, records: list[Record]) -> None:
    hand, (first, second) = by_hand(history), talk(history)
    before, promised = history.usage().total, hand.outlook(first).archive.after
    assert hand.relieve((first,), "archive")
    [event] = of(records, ToolArchived)
    assert isinstance(event, ToolArchived)
    assert [change.seq for change in event.changes] == [first]
    assert event.policy == "", "no policy wanted it"
    assert history.usage().total == promised < before, "the preview says what comes"
    assert not hand.relieve((first,), "archive")
    assert notices(records) == [ARCHIVED]
    assert hand.outlook(first).restore.after == before
    hand.compactions.restore(history.view.rewrites[-1])
    assert history.usage().total == before
    assert hand.outlook(second).restore.refused


def test_a_result_goes_to_a_file_whole_although_it_was_trimmed(
    history: SessionHistory, records: list[Record]
) -> None:
    hand = by_hand(history)
    say(history, "Look.")
    answer(history, "", call="c1")
    result(history, "c1", LINES[:60_000])
    StageRunner(policy=PLIMSOLL, history=history, count=history.counter.text, around=StageHost()).arrivals()
    answer(history, "Seen.")
    key = history.items()[2].key
    promised = hand.outlook(key).offload.after
    assert hand.relieve((key,), "offload")
    [event] = of(records, ToolOffloaded)
    assert isinstance(event, ToolOffloaded)
    assert (
        history.archive.folder.tool_outputs.joinpath(event.changes[0].note.split("/")[1]).read_text()
        == (LINES[:60_000])
    )
    assert history.usage().total == promised
    assert hand.outlook(key).offload.refused == IN_FILE


@pytest.mark.parametrize("stage", ["archive", "offload"])
def test_what_makes_no_sense_is_refused_with_a_sentence(
    history: SessionHistory, records: list[Record], stage: str
) -> None:
    hand = by_hand(history)
    talk(history)
    answer(history, "", call="c3")
    result(history, "c3", "short")
    prompt, newest = history.items()[0].key, history.items()[-1].key
    version = history.version
    for key in (prompt, newest, 99):
        assert not hand.relieve((key,), stage)  # type: ignore[arg-type]
    said = [NO_RESULT, UNREAD if stage == "archive" else NO_GAIN, "#99 is not part of the next request."]
    assert notices(records) == said
    assert all(each.passing for each in of(records, Notice) if isinstance(each, Notice))
    assert history.version == version


def test_of_some_messages_one_sentence_says_which_stay_and_why(
    history: SessionHistory, records: list[Record]
) -> None:
    hand, (first, second) = by_hand(history), talk(history)
    prompt = history.items()[0].key
    assert not hand.relieve((first, prompt, 99, second), "archive")
    assert notices(records) == [
        f"2 of 4 archived. #{prompt}: {NO_RESULT} #99: #99 is not part of the next request."
    ]
    assert hand.relieve((), "archive")


def test_what_is_pinned_is_left_alone_by_stages_and_hands(
    history: SessionHistory, records: list[Record], store: SqliteStore
) -> None:
    hand, (first, second) = by_hand(history), talk(history)
    hand.compactions.compactor.policy = PLIMSOLL
    assert hand.pin(first, pinned=True)
    assert not hand.relieve((first,), "archive")
    assert hand.relieve((second,), "archive")
    assert not hand.pin(first, pinned=True)
    digest = history.view.rewrites[-1]
    assert not hand.pin(digest, pinned=True), "what replaces others cannot be pinned"
    assert history.exempt("trim") == {first}
    outlook = hand.outlook(first)
    assert 0 < outlook.pinned <= outlook.pin_budget
    weighed = {item.key: history.weigh(item).total for item in history.items()}
    assert outlook.pinned - outlook.pinned_along == weighed[first], "the call that stays is no pin"
    assert outlook.pinned_along > 0
    assert hand.pin(first, pinned=False)
    assert not hand.pin(first, pinned=False)
    assert [event.pinned for event in of(records, MessagePinned) if isinstance(event, MessagePinned)] == [
        True,
        False,
    ]
    assert fold_agent_view(store.heads(history.session)) == history.view


def test_pins_have_a_budget(history: SessionHistory, records: list[Record]) -> None:
    hand = by_hand(history)
    say(history, "word " * 3_000)
    answer(history, "Long.")
    assert not hand.pin(history.items()[0].key, pinned=True)
    assert notices(records)[0].startswith(f"#{history.items()[0].key} takes ")
    assert notices(records)[0].endswith(" tokens, and pinned messages may take 1,600 together.")
    for _ in range(2):
        say(history, "word " * 1_000)
        answer(history, "Long.")
    assert hand.pin(history.items()[2].key, pinned=True)
    assert not hand.pin(history.items()[4].key, pinned=True)
    assert notices(records)[1].startswith("Pinned messages may take 1,600 tokens and would take 2,")
    assert notices(records)[1].endswith(": unpin something first.")


def test_a_small_result_of_a_large_call_is_not_refused_for_pins_that_are_not_there(
    history: SessionHistory, records: list[Record]
) -> None:
    hand = by_hand(history)
    say(history, "Look.")
    calls = ("c1", "c2", "c3")
    asked = ModelResponse(parts=[ToolCallPart("ls", {}, tool_call_id=call) for call in calls])
    tokens = history.counter.message(asked).nonzero()
    history.append(AssistantMessage(text="", tokens=tokens, model="a:b", call_ids=calls), asked)
    for call in calls:
        result(history, call, "word " * 800)
    seen = history.items()[-1].key
    assert not hand.pin(seen, pinned=True)
    assert notices(records)[0].startswith(f"#{seen} keeps 3 other messages with it, a call and its results: ")
    assert notices(records)[0].endswith(" tokens, and pinned messages may take 1,600 together.")


def test_a_full_disk_leaves_the_message(
    history: SessionHistory, records: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    hand, (first, _) = by_hand(history), talk(history)
    monkeypatch.setattr(SessionFolder, "write_tool_output", full)
    assert not hand.relieve((first,), "offload")
    assert notices(records) == [f"#{first} stays: its file could not be written (No space left on device)."]
    assert not any(each.passing for each in of(records, Notice) if isinstance(each, Notice))
    assert history.view.rewrites == []


async def read(desk: Desk, server: FakeOpenAI, session: OpenSession, times: int) -> None:
    (desk.cwd / "log.txt").write_text(LINES[:9_000])
    for number in range(times):
        server.add(tool("read_file", path="log.txt", start=1 + number), Text(f"Read {number}.", usage=(0, 0)))
        await turn(session.conversation, f"Read from line {1 + number}.")


async def test_a_pin_outlives_compactions_and_the_session(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=40_000)
    async with desk.session() as session:
        await read(desk, fake_openai, session, 6)
        conversation = session.conversation
        items = conversation.history.items()
        key, kept = items[2].key, items[2].message.parts
        free = conversation.edits.outlook(0).floor
        await done(conversation, Pin(key))
        assert conversation.edits.outlook(key).floor > free
        fake_openai.add(Text("Title: Log\n## State\nThe log was read.", usage=(0, 0)))
        await done(conversation, Compact())
        assert conversation.history.view.compactions
        assert kept in [item.message.parts for item in conversation.history.items()]
        assert_valid(conversation)
        name, before = conversation.session, view(session)
    async with desk.session(session=name) as session:
        assert view(session) == before
        assert session.conversation.history.pinned() == {key}
        fake_openai.add(Text("Title: Log\n## State\nThe log was read.", usage=(0, 0)))
        await done(session.conversation, Pin(key, pinned=False), Compact())
        assert kept not in [item.message.parts for item in session.conversation.history.items()]


async def test_work_that_was_asked_for_is_one_event_each(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=40_000)
    async with desk.session() as session:
        await read(desk, fake_openai, session, 2)
        conversation, before = session.conversation, view(session)
        keys = [item.key for item in conversation.history.items()]
        await done(conversation, Relieve(keys[2], "archive"), Relieve(keys[6], "offload"))
        assert len(stored(session, ToolArchived)) == len(stored(session, ToolOffloaded)) == 1
        assert_valid(conversation)
        await done(conversation, *map(Restore, conversation.history.view.rewrites))
        assert view(session) == before


def test_a_pin_is_read_from_the_log(history: SessionHistory, store: SqliteStore, tmp_path: object) -> None:
    hand, (first, _) = by_hand(history), talk(history)
    hand.pin(first, pinned=True)
    again = opened(store, history.session, [], tmp_path)  # type: ignore[arg-type]
    assert again.pinned() == {first}


async def test_a_new_pin_stops_a_job_that_was_planned_without_it(desk: Desk, fake_openai: FakeOpenAI) -> None:
    release = Signal()
    async with with_job(desk, fake_openai, release) as session:
        conversation = session.conversation
        key = conversation.history.items()[0].key
        await beside_the_job(conversation, Pin(key), MessagePinned)
        assert conversation.compactor.state is State.IDLE
        assert key in [item.key for item in conversation.history.items()]
        release.set()


def test_the_preview_of_several_is_what_they_come_to(history: SessionHistory) -> None:
    hand, (first, second) = by_hand(history), talk(history)
    promised = hand.outlook(first, second)
    assert promised.seqs == (first, second)
    assert promised.offload.count == 2
    assert hand.relieve((first,), "offload")
    assert hand.outlook(first, second).offload.count == 1
    assert hand.relieve((second,), "offload")
    assert history.usage().total == promised.offload.after
    back = hand.outlook(first, second).restore
    for rewrite in list(history.view.rewrites):
        history.restore(rewrite)
    assert history.usage().total == back.after


@pytest.mark.parametrize("reported", [0, 3_000, 12_000], ids=["nothing", "less", "more"])
def test_a_row_frees_no_more_than_it_says_it_takes(history: SessionHistory, reported: int) -> None:
    hand, (first, _) = by_hand(history), talk(history)
    if reported:
        answer(history, "Seen again.", (reported, 10))
    usage = history.usage()
    [row] = [row for row in scaled(ledger(history.view, {}), usage.scale) if row.seq == first]
    outlook = hand.outlook(first)
    assert 0 < outlook.archive.freed <= row.tokens
    assert row.tokens * 0.8 < outlook.offload.freed <= row.tokens, "all but the note of where it is"
    hand.relieve((first,), "archive")
    assert hand.outlook(first).restore.freed < 0


# Results that the model fetches back reach it whole: no stage shortens them again.


async def test_the_end_of_a_long_message_is_reached_by_its_handle(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=128_000)
    usage = (20_000, 10)
    contract = "\n".join([*(f"Clause {n}: the harbour keeps its tides." for n in range(3_000)), "Clause X."])
    fake_openai.add(Text("Read.", usage=usage))
    async with desk.session() as opened:
        said = of(await turn(opened.conversation, contract), UserMessage)
        assert said
        seq = next(item.key for item in opened.conversation.history.items())
        for start in (1, 2_990):
            query = {"query": f"#{seq}", "start": start}
            fake_openai.add(Tool(calls=(("search_history", query),), usage=usage))
        fake_openai.add(Text("Done.", usage=usage))
        happened = await turn(opened.conversation, "What does the last clause say?")
    assert of(happened, ToolNormalised, ToolOffloaded) == []
    first, last = of(happened, ToolResult)
    assert isinstance(first, ToolResult)
    assert isinstance(last, ToolResult)
    assert "read on with search_history" in first.text
    assert last.text.endswith("\nClause X.")
    sent = [m["content"] for m in fake_openai.journal[-1]["messages"] if m["role"] == "tool"]
    assert sent == [first.text, last.text], json.dumps(sent)[:500]
