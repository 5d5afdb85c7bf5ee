"""Reversible stages in a conversation: what the model is shown, what the log keeps, and taking it back."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, assert_valid, done, of, turn
from tests.conversation.logged import answer, as_json, opened, result, say
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.policy import PLIMSOLL
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.context.view import to_messages
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.work import Restore
from tui_app.events import (
    CompactionStart,
    Payload,
    Record,
    RewriteUndone,
    ToolArchived,
    ToolNormalised,
    ToolOffloaded,
    ToolResult,
    ToolTrimmed,
    Truncation,
    TurnEnd,
    UsageInfo,
    ViewRewrite,
)
from tui_app.session.sqlite_store import SqliteStore
from tui_app.session.workspace import SessionFolder

LINES = "".join(f"{number}: the tide comes in twice a day at the northern pier\n" for number in range(3_000))


def view(opened: OpenSession) -> list[object]:
    """What the next request is built from, without the marks of the run that wrote it."""
    return [message.parts for message in to_messages(opened.conversation.history.items())]


def stored(opened: OpenSession, kind: type[Payload]) -> list[Payload]:
    return of([record for record, _ in opened.store.records(opened.conversation.session)], kind)


async def read_all(desk: Desk, server: FakeOpenAI, opened: OpenSession, times: int) -> None:
    """Have the model read the long file again and again."""
    for number in range(times):
        server.add(tool("read_file", path="log.txt", start=1 + number), Text(f"Read {number}.", usage=(0, 0)))
        await turn(opened.conversation, f"Read from line {1 + number}.")


def arrived(history: SessionHistory, text: str) -> None:
    """A result comes in, and the stages look at it as before a request."""
    say(history, "Look.")
    answer(history, "", call="c1")
    result(history, "c1", text)
    StageRunner(policy=PLIMSOLL, history=history, count=history.counter.text, around=StageHost()).arrivals()


def test_a_large_result_is_in_a_file_before_the_model_sees_it(
    history: SessionHistory, records: list[Record], tmp_path: Path
) -> None:
    arrived(history, LINES)
    (record,) = [record for record in records if isinstance(record.data, ViewRewrite)]
    event = record.data
    assert isinstance(event, ToolOffloaded)
    assert event.tokens_removed == event.tokens_before - event.tokens_after > 20_000
    (name,) = history.spilled()
    file = tmp_path / history.session / name
    assert file.read_text() == LINES
    assert file.stat().st_mode & 0o777 == 0o600
    shown = str(history.items()[-1].message.parts[0])
    assert name in shown
    assert len(shown) < 3_000
    kept = history.store.record(history.session, history.items()[-1].key)
    assert kept is not None
    assert isinstance(kept.data, ToolResult)
    assert kept.data.text == LINES, "the log keeps what the tool returned"


def test_a_long_result_is_cut_once_and_is_the_same_when_read_again(
    history: SessionHistory, records: list[Record], store: SqliteStore, tmp_path: Path
) -> None:
    arrived(history, LINES[:60_000])
    (record,) = [record for record in records if isinstance(record.data, ToolNormalised)]
    before = as_json(history)
    again = opened(store, history.session, [], tmp_path)
    assert as_json(again) == before
    assert again.usage() == history.usage()
    StageRunner(policy=PLIMSOLL, history=again, count=again.counter.text, around=StageHost()).arrivals()
    assert again.view.rewrites == [record.seq], "what is cut is not cut again"
    again.restore(record.seq)
    assert LINES[:60_000] == again.items()[-1].message.parts[0].content  # type: ignore[union-attr]
    StageRunner(policy=PLIMSOLL, history=again, count=again.counter.text, around=StageHost()).arrivals()
    assert again.view.rewrites == [], "what was taken back is left alone"
    assert as_json(opened(store, history.session, [], tmp_path)) == as_json(again)


def test_a_stage_whose_file_cannot_be_written_changes_nothing(
    history: SessionHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SessionFolder, "write_tool_output", full)
    arrived(history, "x " * 150_000)
    assert history.view.rewrites == []
    assert "x x x" in str(history.items()[-1].message.parts[0])


async def test_old_results_make_room_before_anything_is_summarised(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    (desk.cwd / "log.txt").write_text(LINES[:9_000])
    desk.server("local", fake_openai.base_url, window=40_000)
    async with desk.session() as open_:
        await read_all(desk, fake_openai, open_, 15)
        archived = stored(open_, ToolArchived)
        assert archived or stored(open_, ToolTrimmed)
        assert stored(open_, CompactionStart) == [], "what can be taken back comes first"
        assert_valid(open_.conversation)
        digests = [m for m in fake_openai.journal[-1]["messages"] if "[Digest of tool results]" in str(m)]
        assert len(digests) == len(archived)
        sent = [request["messages"] for request in fake_openai.journal]
        kept = [event.prefix_kept for event in stored(open_, UsageInfo) if isinstance(event, UsageInfo)]
        same = [now[: len(before)] == before for before, now in pairwise(sent)]
        assert [share == 1.0 for share in kept] == [False, *same], "what is measured is what was sent"
        assert 0 < same.count(False) <= len(archived) + len(stored(open_, ToolTrimmed))
        events = stored(open_, ViewRewrite)
        assert len(events) < 8, "rewrites come in batches, not with every request"
        session, before = open_.conversation.session, view(open_)
    async with desk.session(session=session) as open_:
        assert view(open_) == before
        newest, full = open_.conversation.history.view.rewrites[-1], open_.conversation.usage.total
        await done(open_.conversation, Restore(newest))
        assert open_.conversation.usage.total > full
        await done(open_.conversation, Restore(newest))
        assert len(stored(open_, RewriteUndone)) == 1, "there is nothing to take back twice"
        assert_valid(open_.conversation)


async def read_three(opened: OpenSession, server: FakeOpenAI, desk: Desk) -> None:
    """Three results at once, each of 60 % of the window."""
    for name in "abc":
        (desk.cwd / f"{name}.txt").write_text(f"the file {name}\n" + LINES[: 9_600 * 4])
    paths = [f"{name}.txt" for name in "abc"]
    calls = Tool(calls=tuple(("read_file", {"path": path}) for path in paths), usage=(0, 0))
    server.add(calls, Text("All three read.", usage=(0, 0)))
    [end] = of(await turn(opened.conversation, "Read all three."), TurnEnd)
    assert isinstance(end, TurnEnd)
    assert end.outcome == "done"


@pytest.mark.parametrize("answers", [0, 6])
async def test_parallel_results_that_are_too_much_together_go_to_files(
    desk: Desk, fake_openai: FakeOpenAI, answers: int
) -> None:
    desk.server("local", fake_openai.base_url, window=16_000)
    async with desk.session() as opened:
        for number in range(answers):
            fake_openai.add(Text("It is so. " * 200, usage=(0, 0)))
            await turn(opened.conversation, f"Is it so, {number}?")
        await read_three(opened, fake_openai, desk)
        [event] = stored(opened, ToolOffloaded)
        assert isinstance(event, ToolOffloaded)
        assert len(event.changes) == 2, "one of them has room"
        assert stored(opened, Truncation) == []
        assert_valid(opened.conversation)
        sent = str(fake_openai.journal[-1]["messages"])
        assert all(name in sent for name in opened.conversation.history.spilled())
        assert all(f"the file {name}" in sent for name in "abc"), "the beginning of each"
        before = opened.conversation.usage.total
        await done(opened.conversation, Restore(opened.conversation.history.view.rewrites[-1]))
        assert opened.conversation.usage.total > before
        assert "moved to a file" not in str(view(opened)), "nothing is lost"


async def test_what_is_brought_back_and_too_much_again_ends_in_a_request_that_fits(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=16_000)
    async with desk.session() as opened:
        await read_three(opened, fake_openai, desk)
        names = sorted(opened.conversation.history.spilled())
        folder = opened.folder.tool_outputs
        calls = tuple(("read_file", {"path": str(folder.parent / name)}) for name in names)
        fake_openai.add(Tool(calls=calls, usage=(0, 0)), Text("Read again.", usage=(0, 0)))
        [end] = of(await turn(opened.conversation, "Read the rest of them."), TurnEnd)
        assert isinstance(end, TurnEnd)
        assert end.outcome == "done"
        assert_valid(opened.conversation)
