"""The model takes part: it is told its context usage, and requests compactions itself."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.messages import ModelResponse as Answer

from tests.context.governor_kit import plain_counter
from tests.conversation.driving import Desk, assert_valid, done, of, send, turn
from tests.servers.behaviours import Behaviour, HangBeforeHeaders, Text, Tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.message_marks import fullness_percent, fullness_text, is_note_part
from tui_app.context.policy import OFF, PLIMSOLL
from tui_app.context.requests.fullness import FullnessNotes, marks_of
from tui_app.context.views.view import Item, latest_prompt_index, to_messages
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Compact, Exclude, Pin, Restate
from tui_app.events import (
    ApprovalRequested,
    AssistantMessage,
    CompactionComplete,
    CompactionStart,
    FullnessTold,
    Payload,
    Record,
    ToolResult,
)
from tui_app.ui.words.compaction_words import number_lines
from tui_app.usage import Breakdown, ContextUsage, ContextWindow
from tui_app.wires.wire_form import WireForm

WINDOW = ContextWindow(limit=1_000, source="setting")
SUMMARY = ModelRequest(parts=[CompactionPart(content="Notes.")])


def usage(tokens: int) -> ContextUsage:
    return ContextUsage(parts=Breakdown(user=tokens), window=WINDOW, messages=1)


class View:
    """A view that collects the notes, and the marks they announce."""

    def __init__(self) -> None:
        self.items = [Item(1, ModelRequest(parts=[UserPromptPart("Hello")]))]
        self.notes = FullnessNotes(plain_counter(), self.append)
        self.marks: list[int] = []
        self.key = 1

    def append(self, payload: Payload, message: ModelMessage) -> None:
        assert isinstance(payload, FullnessTold)
        self.key += 1
        self.items.append(Item(self.key, message))
        self.marks.append(payload.mark)

    def compact(self, kept: int = 0) -> None:
        self.key += 1
        self.items = [Item(self.key, SUMMARY), *self.items[len(self.items) - kept :]]

    def grow(self, tokens: int) -> list[int]:
        """Return the marks announced at this size."""
        before = len(self.marks)
        self.notes.add_note(self.items, usage(tokens), PLIMSOLL)
        return self.marks[before:]


def test_each_mark_is_told_once_until_a_compaction_brings_the_view_below_it() -> None:
    view = View()
    assert [view.grow(size) for size in (490, 500, 600, 480, 520, 690)] == [[], [50], [], [], [], []]
    assert [view.grow(size) for size in (700, 799, 800, 940)] == [[70], [], [80], []]
    view.compact(kept=1)
    assert [view.grow(size) for size in (550, 650, 700, 810)] == [[], [], [70], [80]], "not brought below 50"
    view.compact()
    assert [view.grow(size) for size in (100, 500, 990)] == [[], [50], [80]], (
        "several at once are told as one"
    )
    assert fullness_percent(view.items[-1].message) == 99
    assert marks_of(WINDOW, OFF) == {50: 500, 70: 700}, "no line where nothing is compacted by itself"


@given(st.lists(st.one_of(st.integers(0, 1_000), st.just(-1)), max_size=40))
def test_nothing_is_told_twice_and_a_restart_knows_what_was_told(sizes: list[int]) -> None:
    view, since = View(), list[int]()
    for size in sizes:
        if size < 0:
            view.compact()
            since.clear()
            continue
        since += view.grow(size)
        assert since == sorted(set(since))
        again = View()
        again.items = list(view.items)
        assert again.grow(size) == [] or not since, "what a new process reads off the view"


def test_a_note_is_no_prompt_and_takes_no_answer_where_roles_alternate() -> None:
    note = ModelRequest(parts=[UserPromptPart(fullness_text(52, "66k", "128k"))])
    messages: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("Look")]),
        Answer(parts=[ToolCallPart("ls", {}, "call00001")]),
        ModelRequest(parts=[ToolReturnPart("ls", "a.py", "call00001")]),
        note,
    ]
    assert latest_prompt_index([Item(key, message) for key, message in enumerate(messages)]) == 0
    formed = WireForm("openai", alternating=True, is_note=is_note_part).of_messages(messages)
    assert len(formed) == 3
    result = formed[-1].parts[-1]
    assert isinstance(result, ToolReturnPart)
    assert str(result.content).startswith("a.py\n\n[Context window: 52% used")


def contents(message: dict[str, Any]) -> str:
    return str(message.get("content"))


async def test_the_line_ends_the_newest_request_and_stays_there(desk: Desk, fake_openai: FakeOpenAI) -> None:
    (desk.cwd / "long.txt").write_text("The tide turns at noon, and the ferry waits. \n" * 210)
    desk.server("local", fake_openai.base_url, window=12_000)
    fake_openai.add(
        *(Tool((("read_file", {"path": "long.txt", "start": at}),), usage=(0, 0)) for at in (1, 2, 3))
    )
    fake_openai.add(*(Text(word, usage=(0, 0)) for word in ("Read.", "Again.", "More.")))
    async with desk.session(tell_fullness=True) as opened:
        records = await turn(opened.conversation, "Read it three times.")
        records += await turn(opened.conversation, "And now?")
        told = [each for each in of(records, FullnessTold) if isinstance(each, FullnessTold)]
        session = opened.conversation.session
    assert [each.mark for each in told][:2] == [50, 70]
    requests = [body["messages"] for body in fake_openai.journal]
    for before, now in pairwise(requests):
        assert now[: len(before)] == before, "each request begins with the whole of the one before"
    for each in told:
        first = next(request for request in requests if each.text in str(request))
        assert contents(first[-1]).endswith(each.text), "it ends the newest request"
    async with desk.session(session=session, tell_fullness=True) as opened:
        assert of(await turn(opened.conversation, "Once more?"), FullnessTold) == []
        assert fake_openai.journal[-1]["messages"][: len(requests[-1])] == requests[-1], "also when resumed"
        fake_openai.add(Text("Title: Tides\n## Intent\nRead."), phrase="Write the notes for this transcript")
        await done(opened.conversation, Compact())
        assert "[Context window" not in str(fake_openai.journal[-1]["messages"]), "no summary is told"


async def test_it_can_be_switched_off(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=4_000)
    fake_openai.add(Text("Yes."))
    async with desk.session(tell_fullness=False) as opened:
        assert of(await turn(opened.conversation, "Is it? " * 1_200), FullnessTold) == []


# The model requests compactions.

NOTES = Text("Title: Tides\n## Intent\nRead the tide tables.\n## Current state\nGo on with the next.")
ASKS = ("Write the notes for this transcript", "Write the notes of the conversation above")
NAME = "compact_context"


def called(name: str, **args: object) -> Tool:
    return Tool(((name, args),), usage=(0, 0))


def reads(desk: Desk, task: int, files: int = 3) -> list[Tool]:
    """Return the steps of a subtask that reads some long files of its own."""
    names = [f"table-{task}-{number}.txt" for number in range(files)]
    for name in names:
        lines = (
            f"{name} {line}: high water at {line % 24}:{line % 60:02}, the ferry waits."
            for line in range(140)
        )
        (desk.cwd / name).write_text("\n".join(lines))
    return [called("read_file", path=name) for name in names]


@asynccontextmanager
async def able(
    desk: Desk, server: FakeOpenAI, *, summaries: Behaviour = NOTES, **more: Any
) -> AsyncIterator[OpenSession]:
    """Open a session whose model may do everything, in a window of 24k."""
    desk.server("local", server.base_url, window=24_000)
    for phrase in ASKS:
        server.add(*[summaries] * 8, phrase=phrase)
    given = {name: more.pop(name) for name in ("attended", "yes") if name in more}
    opened = open_session(replace(desk.opening(read_only=False, **more), **{"yes": True, **given}))
    try:
        await opened.prepare()
        yield opened
    finally:
        await opened.close()


def answers_to(records: list[Record]) -> list[str]:
    """Return the results of the compaction tool."""
    return [
        each.text for each in of(records, ToolResult) if isinstance(each, ToolResult) and each.name == NAME
    ]


def compactions(records: list[Record]) -> list[CompactionComplete]:
    return [each for each in of(records, CompactionComplete) if isinstance(each, CompactionComplete)]


def ready(server: FakeOpenAI) -> list[dict[str, Any]]:
    """Return all requests except summary requests."""
    return [body for body in server.journal if not any(phrase in str(body["messages"]) for phrase in ASKS)]


async def test_it_is_carried_out_after_the_step_seen_and_undone(desk: Desk, fake_openai: FakeOpenAI) -> None:
    ask = called(NAME, reason="the first table is done", focus="the tides", keep="high water at 9:00")
    fake_openai.add(*reads(desk, 1), ask, Text("Done.", usage=(0, 0)))
    async with able(desk, fake_openai) as opened:
        records = await turn(opened.conversation, "Read the tables.")
        (done_by_model,) = compactions(records)
        assert (done_by_model.outcome, done_by_model.trigger) == ("success", "model")
        assert done_by_model.asked == "the first table is done"
        assert done_by_model.focus == "the tides; high water at 9:00"
        assert "the model: the first table is done" in done_by_model.headline()
        order = [type(each) for each in of(records, ToolResult, CompactionStart, CompactionComplete)]
        assert order == [*[ToolResult] * 4, CompactionStart, CompactionComplete], "after the step"
        summary = next(
            str(body["messages"]) for body in fake_openai.journal if ASKS[0] in str(body["messages"])
        )
        assert "the tides; high water at 9:00" in summary
        assert NAME in str(ready(fake_openai)[-1]["messages"]), "the call and its answer stay with the newest"
        assert_valid(opened.conversation)
        before = opened.conversation.usage.total
        await done(opened.conversation, Restate(undo=True))
        assert opened.conversation.usage.total > before + 4_000


async def test_guards_say_why_not(desk: Desk, fake_openai: FakeOpenAI) -> None:
    ask = called(NAME, reason="a sub-task is done")
    fake_openai.add(ask, *reads(desk, 1), ask, called(NAME, reason="once more"), Text("Done.", usage=(0, 0)))
    async with able(desk, fake_openai) as opened:
        records = await turn(opened.conversation, "Read the tables.")
    early, taken, again = answers_to(records)
    assert early.startswith("Not compacted: only")
    assert "it pays from 30% on" in early
    assert taken.startswith("The conversation is compacted before your next step")
    assert again.startswith("Not compacted: ")
    assert len(compactions(records)) == 1


@pytest.mark.parametrize("answer", ["once", "no"])
async def test_the_user_is_asked_where_the_policy_says_so(
    desk: Desk, fake_openai: FakeOpenAI, answer: Literal["once", "no"]
) -> None:
    fake_openai.add(*reads(desk, 1), called(NAME, reason="one is done"), Text("Done.", usage=(0, 0)))
    policies = {"asks": {"base": "plimsoll", "model_compacts": "ask"}}
    records = list[Record]()
    async with able(desk, fake_openai, attended=True, policy="asks", policies=policies) as opened:
        async for record in send(opened.conversation, "Read the tables."):
            records.append(record)
            if isinstance(record.data, ApprovalRequested):
                assert (record.data.tool, record.data.subject) == (NAME, "one is done")
                opened.conversation.tooling.approvals.decide(record.data.id, Decision(answer))
    assert len(of(records, ApprovalRequested)) == 1
    assert len(compactions(records)) == (answer == "once")


@pytest.mark.parametrize(("policy", "offered"), [("plimsoll", True), ("off", False), ("reserve", False)])
async def test_a_policy_that_ignores_it_does_not_offer_it(
    desk: Desk, fake_openai: FakeOpenAI, policy: str, offered: bool
) -> None:
    fake_openai.add(Text("Hello.", usage=(0, 0)))
    async with able(desk, fake_openai, policy=policy) as opened:
        await turn(opened.conversation, "Hello")
        assert opened.conversation.tooling.context is not None
        assert not opened.conversation.tooling.context.offered_to("offline")
    assert (NAME in [each["function"]["name"] for each in fake_openai.journal[0]["tools"]]) is offered


async def test_it_can_be_cancelled_and_the_turn_goes_on(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(*reads(desk, 1), called(NAME, reason="one is done"), Text("Done.", usage=(0, 0)))
    async with able(desk, fake_openai, summaries=HangBeforeHeaders()) as opened:
        records = list[Record]()
        async for record in send(opened.conversation, "Read the tables."):
            records.append(record)
            if isinstance(record.data, CompactionStart):
                asyncio.get_running_loop().call_soon(opened.conversation.cancel_compaction)
    assert [each.outcome for each in compactions(records)] == ["cancelled"]
    assert "Done." in [
        each.text for each in of(records, AssistantMessage) if isinstance(each, AssistantMessage)
    ]


async def tokens_of_a_session(desk: Desk, server: FakeOpenAI, *, at_boundaries: bool) -> tuple[int, int, int]:
    """Run three subtasks; returns the tokens of all requests, the requests and the compactions."""
    for task in range(1, 4):
        note = called("write_file", path=f"note-{task}.md", content=f"High water of {task} is at 9:00.")
        more = at_boundaries and task < 3
        ask = [called(NAME, reason=f"table {task} is done", keep="the notes written")] if more else []
        server.add(*reads(desk, task), note, *ask, *reads(desk, 10 + task, 1))
    server.add(Text("All three are done.", usage=(0, 0)))
    async with able(desk, server) as opened:
        records = await turn(opened.conversation, "Write a note on each of the three tables.")
    sent = sum(len(json.dumps(body["messages"] + body.get("tools", []))) // 4 for body in server.journal)
    return sent, len(server.journal), len(compactions(records))


async def test_boundaries_cost_fewer_tokens_than_thresholds_alone(desk: Desk, tmp_path: Path) -> None:
    found = []
    for at_boundaries in (False, True):
        for path in desk.cwd.glob("*"):
            path.unlink()
        with FakeOpenAI() as server:
            found.append(await tokens_of_a_session(desk, server, at_boundaries=at_boundaries))
        notes = {path.name: path.read_text() for path in desk.cwd.glob("note-*.md")}
        assert notes == {f"note-{task}.md": f"High water of {task} is at 9:00." for task in (1, 2, 3)}
    (alone, requests, automatic), (asked, with_asked, by_model) = found
    print(f"thresholds alone: {alone:,} tokens, {requests} requests, {automatic} compactions")
    print(f"at boundaries: {asked:,} tokens, {with_asked} requests, {by_model} compactions")
    assert automatic >= 1
    assert by_model == 2
    assert asked < alone


# The user's instructions for every summary.


@pytest.mark.parametrize("of_policy", [False, True])
async def test_summary_instructions_are_in_every_request_and_in_the_numbers(
    desk: Desk, fake_openai: FakeOpenAI, of_policy: bool
) -> None:
    general, own = "Name the tide tables.", "Name the harbours.\nNever shorten a ticket."
    policies = {"mine": {"base": "plimsoll", "summary_instructions": own}} if of_policy else {}
    fake_openai.add(*reads(desk, 1), Text("Done.", usage=(0, 0)))
    policy = "mine" if of_policy else "plimsoll"
    more = {"policy": policy, "policies": policies, "summary_instructions": general}
    async with able(desk, fake_openai, **more) as opened:
        await turn(opened.conversation, "Read the tables.")
        await done(opened.conversation, Compact())
        records = [record for record, _ in opened.store.records(opened.conversation.session)]
    (complete,) = compactions(records)
    wanted = own if of_policy else general
    (asked,) = (body for body in fake_openai.journal if ASKS[0] in str(body))
    assert f"The user also asks of these notes:\n{wanted}" in asked["messages"][-1]["content"]
    assert complete.instructions == wanted
    assert "instructions" in number_lines(complete)


# Recently used files are re-attached after a compaction, with their content on disk.


def sight(opened: OpenSession) -> str:
    """Return everything the model sees of the conversation."""
    return str(to_messages(opened.conversation.history.items()))


async def test_files_come_back_fresh_and_go_with_the_compaction(desk: Desk, fake_openai: FakeOpenAI) -> None:
    names = ("tides.txt", "harbours.txt", "hidden.txt", "pinned.txt")
    for name in names:
        (desk.cwd / name).write_text("\n".join(f"{name} line {line}" for line in range(12)))
    small = [called("read_file", path=name) for name in names]
    fake_openai.add(*small, *reads(desk, 1), Text("Done.", usage=(0, 0)), Text("Yes.", usage=(0, 0)))
    async with able(desk, fake_openai) as opened:
        records = await turn(opened.conversation, "Read all of it.")
        results = [each for each in records if isinstance(each.data, ToolResult)]
        seqs = dict(zip(names, (each.seq for each in results), strict=False))
        await done(opened.conversation, Exclude((seqs["hidden.txt"],)))
        await done(opened.conversation, Pin(seqs["pinned.txt"], pinned=True))
        await turn(opened.conversation, "Sure?")
        (desk.cwd / "harbours.txt").write_text("harbours.txt, another one")
        await done(opened.conversation, Compact())
        records = [record for record, _ in opened.store.records(opened.conversation.session)]
        (complete,) = compactions(records)
        assert set(complete.files_restored) == {"harbours.txt", "tides.txt"}
        shown = sight(opened)
        assert "another one" in shown
        assert "File harbours.txt, as it is on disk; it has changed since" in shown
        assert "hidden.txt line" not in shown, "what is excluded stays out of sight"
        assert shown.count("pinned.txt line 3") == 1, "what is pinned is there already"
        await done(opened.conversation, Restate(undo=True))
        assert "another one" not in sight(opened)
        await done(opened.conversation, Restate(undo=False))
        assert "another one" in sight(opened)
