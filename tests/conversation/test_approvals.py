"""Tools that change something: approvals in order, their record in the log, and whether the tool ran."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pydantic_ai.models.test import TestModel

from tests.conversation.driving import Desk, Following, assert_valid, cancelled_within, of, send, turn, until
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.approvals.rules import Action
from tui_app.conversation.approvals import Approvals, CallsAhead, Decision
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Compact, Prompt
from tui_app.events import (
    ApprovalDecided,
    ApprovalRequested,
    ApprovalsAhead,
    FileChanged,
    Payload,
    Record,
    ToolCall,
    ToolOutput,
    ToolResult,
    TurnEnd,
)
from tui_app.tool_specs import FILE_LOOKERS, SEARCH_HISTORY

ONCE, NO = Decision("once"), Decision("no")


@asynccontextmanager
async def working(
    desk: Desk, server: FakeOpenAI, *, attended: bool = True, session: str = "", **more: Any
) -> AsyncIterator[OpenSession]:
    """Open a session whose tools may change things, subject to approval."""
    desk.server("local", server.base_url, 100_000)
    given = {name: more.pop(name) for name in ("allow", "yes", "guards") if name in more}
    opening = desk.opening(session=session, **{"read_only": False, **more})
    opened = open_session(replace(opening, attended=attended, **given))
    try:
        await opened.prepare()
        yield opened
    finally:
        await opened.close()


async def played(opened: OpenSession, text: str, *answers: Decision) -> list[Record]:
    """Send a prompt, answer the approval requests in order, and return all records."""
    left, seen, records = list(answers), set[str](), []
    async for record in send(opened.conversation, text):
        records.append(record)
        if isinstance(record.data, ApprovalRequested) and record.data.id not in seen:
            seen.add(record.data.id)
            assert opened.conversation.tooling.approvals.decide(record.data.id, left.pop(0))
    assert not left, "every answer was asked for"
    return records


def results(records: list[Record]) -> list[tuple[str, str]]:
    return [(one.outcome, one.text) for one in of(records, ToolResult) if isinstance(one, ToolResult)]


def decided(records: list[Record]) -> list[tuple[str, str, str, str]]:
    found = [one for one in of(records, ApprovalDecided) if isinstance(one, ApprovalDecided)]
    return [(one.decision, one.by, one.scope, one.rule) for one in found]


def command(line: str) -> Tool:
    return tool("run_command", command=line)


async def test_a_write_waits_for_a_yes_and_shows_what_it_would_do(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("write_file", path="new.txt", content="sea\n"), Text("Done."))
    async with working(desk, fake_openai) as opened:
        records = await played(opened, "Write it.", ONCE)
        assert (desk.cwd / "new.txt").read_text() == "sea\n"
        [asked] = of(records, ApprovalRequested)
        assert isinstance(asked, ApprovalRequested)
        assert (asked.subject, asked.pattern, asked.note) == ("new.txt", "write_file new.txt", "new file")
        assert "+sea" in asked.detail
        assert decided(records) == [("allowed", "person", "once", "")]
        kinds = [type(record.data) for record in records if record.seq]
        assert kinds.index(ApprovalDecided) < kinds.index(FileChanged) < kinds.index(ToolResult)
        assert_valid(opened.conversation)


async def test_a_no_changes_nothing_and_the_model_reads_why(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("write_file", path="README.md", content="gone"), Text("All right."))
    async with working(desk, fake_openai) as opened:
        before = (desk.cwd / "README.md").read_bytes()
        records = await played(opened, "Empty it.", Decision("no", reason="It is the only copy."))
        assert (desk.cwd / "README.md").read_bytes() == before
        [(outcome, text)] = results(records)
        assert outcome == "denied"
        assert "because: It is the only copy." in text
        assert "It is the only copy." in json.dumps(fake_openai.journal[-1])
        assert not of(records, FileChanged)


async def test_where_nobody_could_be_asked_the_log_names_no_person(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(command("echo one"), Text("All right."))
    async with working(desk, fake_openai) as opened:
        records = await played(opened, "Go.", Decision("nobody", reason="the editor has disconnected"))
        [(outcome, text)] = results(records)
        assert outcome == "denied"
        assert text.startswith("Not done: the user could not be asked: the editor has disconnected.")
        assert decided(records) == [("denied", "unattended", "once", "")]


async def test_from_now_on_is_a_rule_for_calls_that_fit_and_for_no_others(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(
        command("echo one"), command("echo two"), command("echo two > x"), command("printf x"), Text("Done.")
    )
    async with working(desk, fake_openai) as opened:
        always = Decision("always", pattern="run_command echo")
        records = await played(opened, "Go.", always, NO, NO)
        assert decided(records) == [
            ("allowed", "person", "always", "run_command echo"),
            ("allowed", "rule", "rule", "run_command echo"),
            ("denied", "person", "once", ""),
            ("denied", "person", "once", ""),
        ]
        assert not (desk.cwd / "x").exists()


@pytest.mark.parametrize(
    "pattern", ["run_command", "run_command echo", "run_command ls; rm", "*", "", "x\ny"]
)
async def test_a_rule_that_does_not_fit_allows_only_this_call(
    desk: Desk, fake_openai: FakeOpenAI, pattern: str
) -> None:
    fake_openai.add(command("echo $HOME"), command("echo $HOME"), Text("Done."))
    async with working(desk, fake_openai) as opened:
        records = await played(opened, "Go.", Decision("always", pattern=pattern), NO)
        assert [one[0] for one in decided(records)] == ["allowed", "denied"]


async def test_parallel_calls_are_asked_about_one_after_the_other(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    writes = [tool("write_file", path=f"{name}.txt", content=name) for name in "ab"]
    fake_openai.add(together(*writes, command("echo c")), Text("Done."))
    async with working(desk, fake_openai) as opened:
        watch = Following(opened.conversation.bus)
        sending = asyncio.create_task(turn(opened.conversation, "All of them."))
        approvals = opened.conversation.tooling.approvals
        seen: list[str] = []
        for answer in (ONCE, NO, ONCE):
            asked = await until(watch, lambda one: isinstance(one, ApprovalRequested) and one.id not in seen)
            assert isinstance(asked.data, ApprovalRequested)
            assert approvals._asked is not None
            assert approvals._asked.call == asked.data.tool_call_id
            seen.append(asked.data.id)
            assert approvals.decide(asked.data.id, answer)
            assert not approvals.decide(asked.data.id, ONCE), "a question is answered once"
        records = await sending
        watch.close()
        assert sorted(outcome for outcome, _ in results(records)) == ["denied", "success", "success"]
        assert_valid(opened.conversation)


def together(*calls: Tool) -> Tool:
    """Merge several calls into one response."""
    return Tool(calls=tuple(call for each in calls for call in each.calls))


async def test_parallel_edits_of_one_file_both_count(desk: Desk, fake_openai: FakeOpenAI) -> None:
    (desk.cwd / "list.txt").write_text("one\ntwo\nthree\n")
    edits = [
        tool("edit_file", path="list.txt", old_text=old, new_text=old.upper()) for old in ("one", "three")
    ]
    fake_openai.add(together(*edits), Text("Done."))
    async with working(desk, fake_openai, yes=True, attended=False) as opened:
        await turn(opened.conversation, "Go.")
    assert (desk.cwd / "list.txt").read_text() == "ONE\ntwo\nTHREE\n"


async def test_a_file_that_changed_while_it_was_asked_about_stays(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("edit_file", path="README.md", old_text="Sea", new_text="Lake"), Text("Oh."))
    async with working(desk, fake_openai) as opened:
        watch = Following(opened.conversation.bus)
        sending = asyncio.create_task(turn(opened.conversation, "Go."))
        asked = await until(watch, lambda one: isinstance(one, ApprovalRequested))
        assert isinstance(asked.data, ApprovalRequested)
        (desk.cwd / "README.md").write_text("# Sea, by hand\n")
        opened.conversation.tooling.approvals.decide(asked.data.id, ONCE)
        records = await sending
        watch.close()
        assert (desk.cwd / "README.md").read_text() == "# Sea, by hand\n"
        assert "changed since" in results(records)[0][1]


async def test_esc_says_no_ends_the_turn_and_leaves_a_valid_history(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(command("echo x"), Text("Later."))
    async with working(desk, fake_openai) as opened:
        watch = Following(opened.conversation.bus)
        sending = asyncio.create_task(turn(opened.conversation, "Go."))
        asked = await until(watch, lambda one: isinstance(one, ApprovalRequested))
        assert isinstance(asked.data, ApprovalRequested)
        await cancelled_within(opened.conversation)
        records = await sending
        watch.close()
        assert decided(records) == [("cancelled", "person", "once", "")]
        assert not opened.conversation.tooling.approvals.decide(asked.data.id, ONCE)
        assert [one.outcome for one in of(records, TurnEnd) if isinstance(one, TurnEnd)] == ["cancelled"]
        assert_valid(opened.conversation)


async def test_cancelling_ends_a_running_command_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(command("echo begun; sleep 600"), Text("Later."))
    async with working(desk, fake_openai, yes=True, attended=False) as opened:
        watch = Following(opened.conversation.bus)
        sending = asyncio.create_task(turn(opened.conversation, "Go."))
        await until(watch, lambda one: isinstance(one, ToolOutput) and "begun" in one.text)
        await cancelled_within(opened.conversation, 1.0)
        await sending
        watch.close()
        assert_valid(opened.conversation)


@pytest.mark.parametrize(
    ("more", "outcomes"),
    [
        ({}, ["denied", "denied"]),
        ({"yes": True}, ["success", "success"]),
        ({"allow": ("run_command echo",)}, ["success", "denied"]),
        ({"allow": ("write_file docs/*",)}, ["denied", "success"]),
        ({"yes": True, "approvals": {"deny": ("run_command",)}}, ["denied", "success"]),
    ],
)
async def test_where_nobody_can_be_asked(
    desk: Desk, fake_openai: FakeOpenAI, more: dict[str, Any], outcomes: list[str]
) -> None:
    fake_openai.add(command("echo hi"), tool("write_file", path="docs/a", content="x"), Text("Done."))
    async with working(desk, fake_openai, attended=False, **more) as opened:
        records = await turn(opened.conversation, "Go.")
        assert [outcome for outcome, _ in results(records)] == outcomes
        assert not of(records, ApprovalRequested)


async def test_in_read_only_mode_the_model_has_only_tools_that_look(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("write_file", path="a", content="x"), Text("Done."))
    async with working(desk, fake_openai, read_only=True) as opened:
        await turn(opened.conversation, "Go.")
        names = {each["function"]["name"] for each in fake_openai.journal[0]["tools"]}
        # No language server is installed here.
        assert names == (FILE_LOOKERS | {SEARCH_HISTORY.name}) - {"diagnostics"}
        assert not (desk.cwd / "a").exists()


async def test_what_was_allowed_ends_with_the_session_and_once_with_the_call(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(command("echo a"), command("echo b"), Text("Done."))
    async with working(desk, fake_openai) as opened:
        await played(opened, "Go.", ONCE, Decision("always", pattern="run_command echo"))
        session = opened.conversation.session
        opened.conversation.submit(Compact())
        await opened.conversation.settle()
    fake_openai.add(command("echo b"), Text("Done."))
    async with working(desk, fake_openai, session=session) as opened:
        records = await played(opened, "Again.", NO)
        assert decided(records) == [("denied", "person", "once", "")]


async def test_plan_and_todo_list_are_kept_and_nobody_is_asked(desk: Desk, fake_openai: FakeOpenAI) -> None:
    items = [{"text": "look", "state": "done"}, {"text": "write\nit"}]
    fake_openai.add(tool("plan", text="# Plan\n\nLook first."), tool("todo", items=items), Text("Done."))
    async with working(desk, fake_openai) as opened:
        records = await played(opened, "Plan it.")
        assert [outcome for outcome, _ in results(records)] == ["success", "success"]
        assert opened.folder.read_note(opened.folder.plan_file) == "# Plan\n\nLook first.\n"
        assert opened.folder.read_note(opened.folder.todo_file) == "- [x] look\n- [ ] write it\n"
        assert opened.folder.todo_file.stat().st_mode & 0o777 == 0o600
        fake_openai.add(tool("todo", items=[{"text": "rest"}, {"text": " \n"}]), Text("Done."))
        records = await played(opened, "Again.")
        assert results(records) == [("error", "Each item of a todo list needs a text.")]


async def test_rules_changed_in_the_settings_count_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(command("echo a"), Text("Done."))
    async with working(desk, fake_openai, approvals={"allow": ("run_command echo",)}) as opened:
        opened.conversation.tooling.approvals.replace_rules(())
        records = await played(opened, "Go.", NO)
        assert decided(records) == [("denied", "person", "once", "")]


async def test_a_call_that_waits_no_longer_is_not_counted() -> None:
    shown: list[ApprovalRequested] = []

    def report(payload: Payload) -> None:
        if isinstance(payload, ApprovalRequested):
            shown.append(payload)

    approvals = Approvals(report=report, attended=True)
    calls = [Action(tool="run_command", kind="command", subject=f"echo {name}", call=name) for name in "abc"]
    first, *others = (asyncio.create_task(approvals(call)) for call in calls)
    for _ in range(3):
        await asyncio.sleep(0)
    assert shown[-1].waiting == 2
    others[0].cancel()
    await asyncio.gather(others[0], return_exceptions=True)
    assert (shown[-1].id, shown[-1].waiting) == (shown[0].id, 1)
    first.cancel()
    others[1].cancel()
    await asyncio.gather(first, *others, return_exceptions=True)


# Which calls of a response wait for approval, and the order in which they are asked about.


def ahead(*calls: str) -> tuple[CallsAhead, list[tuple[str, ...]]]:
    """Return a queue holding the given calls, and the list of call ids it reports as still ahead."""
    told: list[tuple[str, ...]] = []

    def report(event: Payload) -> None:
        assert isinstance(event, ApprovalsAhead)
        told.append(event.call_ids)

    line = CallsAhead(report, watched=True)
    for call in calls:
        line.require_approval(call)
    return line, told


@dataclass
class Question:
    """One approval request in the queue."""

    is_next: bool = False
    """Whether it is its turn to be asked."""
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None]" = field(init=False)


async def arrive(line: CallsAhead, group: asyncio.TaskGroup, call: str, *, first: bool = False) -> Question:
    question = Question()

    async def wait() -> None:
        async with line.turn(call, first=first):
            question.is_next = True
            await question.is_over.wait()

    question.task = group.create_task(wait())
    await moved()
    return question


async def moved() -> None:
    """Let runnable tasks proceed."""
    for _ in range(5):
        await asyncio.sleep(0)


async def end(*questions: Question) -> None:
    for question in questions:
        question.is_over.set()
    await moved()


async def test_a_call_that_takes_longer_to_say_what_it_would_do_is_asked_about_in_its_place() -> None:
    line, _ = ahead("a", "b", "c")
    async with asyncio.TaskGroup() as tasks:
        with line.reserve("a"), line.reserve("b"), line.reserve("c"):
            third, second = await arrive(line, tasks, "c"), await arrive(line, tasks, "b")
            assert not second.is_next
            first = await arrive(line, tasks, "a")
            assert first.is_next
            assert line.waiting == 2
            await end(first)
            assert (second.is_next, third.is_next) == (True, False)
            await end(second)
            assert third.is_next
            await end(third)


async def test_a_call_that_ends_without_a_question_holds_up_nobody() -> None:
    line, _ = ahead("a", "b", "c")
    first = ExitStack()
    first.enter_context(line.reserve("a"))
    async with asyncio.TaskGroup() as tasks:
        with line.reserve("b"):
            second = await arrive(line, tasks, "b")
            assert not second.is_next
            first.close()
            await moved()
            assert second.is_next
            await end(second)
        with line.reserve("a"), line.reserve("c"):
            third = await arrive(line, tasks, "c")
            line.judged("a")
            await moved()
            assert third.is_next, "a rule has allowed the one before it"
            await end(third)


async def test_a_look_ahead_of_a_change_leaves_the_change_its_place() -> None:
    line, _ = ahead("a", "b")
    async with asyncio.TaskGroup() as tasks:
        with line.reserve("a"), line.reserve("b"):
            second, look = await arrive(line, tasks, "b"), await arrive(line, tasks, "a", first=True)
            assert look.is_next
            await end(look)
            assert not second.is_next
            change = await arrive(line, tasks, "a")
            assert change.is_next
            await end(change, second)


async def test_a_question_that_is_given_up_makes_way() -> None:
    line, _ = ahead()
    async with asyncio.TaskGroup() as tasks:
        questions = [await arrive(line, tasks, "") for _ in range(3)]
        questions[1].task.cancel()
        await end(questions[0])
        assert questions[2].is_next
        assert line.waiting == 0
        await end(questions[2])


async def test_what_waits_is_told_when_it_changes_and_only_where_somebody_watches() -> None:
    line, told = ahead("a", "a", "b")
    line.allow("a")
    line.allow("a")
    line.restart()
    line.restart()
    assert told == [("a",), ("a", "b"), ("b",), ()]
    line.watched = False
    line.require_approval("c")
    assert told[-1] == ()


async def test_questions_come_in_the_order_of_the_answer_and_no_call_runs_before_its_own(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    calls = [tool("write_file", path=name, content=f"{at}") for at, name in enumerate(("a", "b", "a", "c"))]
    fake_openai.add(together(*calls[:2], tool("ls"), *calls[2:], command("echo d")), Text("Done."))
    async with working(desk, fake_openai) as opened:
        records = await played(opened, "Go.", ONCE, NO, ONCE, ONCE, ONCE)
    asked = [one for one in of(records, ApprovalRequested) if isinstance(one, ApprovalRequested)]
    assert list({one.id: one.subject for one in asked}.values()) == ["a", "b", "a", "c", "echo d"]
    told = [one.call_ids for one in of(records, ApprovalsAhead) if isinstance(one, ApprovalsAhead)]
    names = {one.tool_call_id: one.name for one in of(records, ToolCall) if isinstance(one, ToolCall)}
    assert [names[call] for call in max(told, key=len)] == ["write_file"] * 4 + ["run_command"]
    assert told[-1] == ()


async def test_a_call_that_cannot_be_asked_about_holds_up_nobody(desk: Desk, fake_openai: FakeOpenAI) -> None:
    outside = tool("write_file", path="../outside", content="")
    fake_openai.add(together(outside, command("echo d")), Text("Done."))
    async with working(desk, fake_openai) as opened, asyncio.timeout(20):
        records = await played(opened, "Go.", ONCE)
    outcomes = [one.outcome for one in of(records, ToolResult) if isinstance(one, ToolResult)]
    assert sorted(outcomes) == ["error", "success"]


# Tools of the user's own agent need approval like any other unknown tool.


AGENT = '''
from pathlib import Path

from pydantic_ai import Agent, DeferredToolRequests, RunContext, Tool, ToolDenied
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.toolsets import ExternalToolset
from pydantic_ai.tools import ToolDefinition

helper = Agent()

def log(line: str) -> str:
    with Path("book.txt").open("a") as book:
        book.write(f"{line}\\n")
    return "booked"

@helper.tool_plain
def book(ferry: str) -> str:
    """Book a place."""
    return log(ferry)

@helper.tool_plain(requires_approval=True)
def charter(ferry: str) -> str:
    """Charter a ferry."""
    return log(ferry)

@helper.tool
def sink(ctx: RunContext[None], ferry: str) -> str:
    """Sink a ferry."""
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    return log(ferry)

@helper.tool_plain
def order(ferry: str) -> str:
    """Order a ferry."""
    raise CallDeferred

asked = Agent(
    tools=[Tool(charter, requires_approval=True)],
    toolsets=[ExternalToolset([ToolDefinition(name="paint", parameters_json_schema={"type": "object"})])],
    output_type=[str, DeferredToolRequests],
)

def pay(amount: int) -> str:
    """Pay at once."""
    return log(f"paid {amount}")

paying = Agent(output_type=[str, pay])
many = Agent()

@many.tool_plain(defer_loading=True)
def book_place(ferry: str) -> str:
    """Book a place on a ferry."""
    return log(ferry)

strict = Agent(
    capabilities=[HandleDeferredToolCalls(lambda ctx, asked: asked.build_results(
        approvals={call.tool_call_id: ToolDenied("Not on Sundays.") for call in asked.approvals}
    ))],
)
strict.tool_plain(requires_approval=True)(charter)
'''


@asynccontextmanager
async def opened(
    desk: Desk, server: FakeOpenAI, agent: str = "helper", *, attended: bool = True, **more: Any
) -> AsyncIterator[OpenSession]:
    """Open an attended or unattended session of one of the agents, with approvals in force."""
    (desk.cwd / "agents.py").write_text(AGENT)
    desk.server("local", server.base_url, window=100_000)
    given = {name: more.pop(name) for name in ("allow", "yes") if name in more}
    opening = desk.opening(**{"read_only": False, **more})
    session = open_session(replace(opening, agent=f"agents.py:{agent}", attended=attended, **given))
    try:
        await session.prepare()
        yield session
    finally:
        await session.close()


@pytest.fixture
def _there(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.cwd)


def booked(desk: Desk) -> list[str]:
    path = desk.cwd / "book.txt"
    return path.read_text().split() if path.exists() else []


@pytest.mark.usefixtures("_there")
async def test_it_runs_after_a_yes_and_the_question_shows_its_arguments(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("book", ferry="Elsa"), Text("Done."))
    async with opened(desk, fake_openai) as session:
        records = await played(session, "Book.", ONCE)
        [asked] = of(records, ApprovalRequested)
        assert isinstance(asked, ApprovalRequested)
        assert (asked.tool, asked.kind, asked.subject) == ("book", "other", '{"ferry":"Elsa"}')
        assert asked.pattern == "book"
        assert results(records) == [("success", "booked")]
        assert_valid(session.conversation)
    assert booked(desk) == ["Elsa"]


@pytest.mark.usefixtures("_there")
async def test_after_a_no_it_never_ran_and_the_model_reads_why(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("book", ferry="Elsa"), Text("All right."))
    async with opened(desk, fake_openai) as session:
        records = await played(session, "Book.", Decision("no", reason="Elsa is in the dock."))
        [(outcome, text)] = results(records)
        assert (outcome, "because: Elsa is in the dock." in text) == ("denied", True)
        assert_valid(session.conversation)
    assert "Elsa is in the dock." in str(fake_openai.journal[-1]["messages"][-1])
    assert booked(desk) == []


@pytest.mark.usefixtures("_there")
async def test_what_was_allowed_from_now_on_is_asked_about_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("book", ferry="Elsa"), tool("book", ferry="Nora"), Text("Done."))
    async with opened(desk, fake_openai) as session:
        await played(session, "Book.", Decision("always", pattern="book"))
    assert booked(desk) == ["Elsa", "Nora"]


@pytest.mark.usefixtures("_there")
@pytest.mark.parametrize("name", ["book", "charter", "sink"])
@pytest.mark.parametrize(
    ("given", "done"),
    [
        ({}, False),
        ({"approvals": {"allow": ("book", "charter", "sink")}}, True),
        ({"approvals": {"allow": ("*",), "deny": ("book", "charter", "sink")}, "yes": True}, False),
        ({"yes": True}, True),
        ({"yes": True, "read_only": True}, False),
        ({"read_only": True, "approvals": {"allow": ("*",)}}, False),
        ({"read_only": True, "approvals": {"looks": ("book", "charter", "sink")}}, True),
        ({"read_only": True, "approvals": {"looks": ("*",), "deny": ("*",)}}, False),
        ({"read_only": True, "approvals": {"looks": ("*",), "ask": ("*",)}}, False),
    ],
)
async def test_without_anybody_there_rules_decide(
    desk: Desk, fake_openai: FakeOpenAI, given: dict[str, Any], name: str, *, done: bool
) -> None:
    fake_openai.add(tool(name, ferry="Elsa"), Text("So be it."))
    async with opened(desk, fake_openai, attended=False, **given) as session:
        records = await turn(session.conversation, "Go.")
        [(outcome, text)] = results(records)
        assert outcome == ("success" if done else "denied")
        assert text == "booked" or text.startswith("Not done: ")
        assert_valid(session.conversation)
    assert booked(desk) == (["Elsa"] if done else [])


@pytest.mark.usefixtures("_there")
@pytest.mark.parametrize("name", ["charter", "sink"])
async def test_a_tool_that_wants_approval_itself_is_asked_about_once(
    desk: Desk, fake_openai: FakeOpenAI, name: str
) -> None:
    fake_openai.add(tool(name, ferry="Elsa"), tool(name, ferry="Elsa"), Text("Done."))
    async with opened(desk, fake_openai) as session:
        records = await played(session, "Go.", ONCE, NO)
        assert [outcome for outcome, _ in results(records)] == ["success", "denied"]
        assert_valid(session.conversation)
    assert booked(desk) == ["Elsa"]


@pytest.mark.usefixtures("_there")
async def test_an_agent_that_would_hand_its_questions_out_has_them_asked_here(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(together(tool("charter", ferry="Elsa"), tool("paint")), Text("Done."))
    async with opened(desk, fake_openai, "asked") as session:
        records = await played(session, "Go.", ONCE)
        assert sorted(outcome for outcome, _ in results(records)) == ["error", "success"]
        assert any("outside of this program" in text for _, text in results(records))
        assert of(records, TurnEnd)[-1].outcome == "done"  # type: ignore[attr-defined]
        assert_valid(session.conversation)


@pytest.mark.usefixtures("_there")
async def test_a_result_that_would_come_from_outside_is_explained(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("order", ferry="Elsa"), Text("A pity."))
    async with opened(desk, fake_openai) as session:
        records = await played(session, "Go.", ONCE)
        [(outcome, text)] = results(records)
        assert outcome == "error"
        assert "the result of order would have to come from outside" in text
        assert_valid(session.conversation)


@pytest.mark.usefixtures("_there")
async def test_what_the_agent_itself_says_no_to_is_not_asked_about(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("charter", ferry="Elsa"), Text("A pity."))
    async with opened(desk, fake_openai, "strict") as session:
        records = await played(session, "Go.")
        assert results(records) == [("denied", "Not on Sundays.")]
        assert not of(records, ApprovalDecided)


@pytest.mark.usefixtures("_there")
@pytest.mark.parametrize(("answer", "paid"), [(ONCE, ["paid", "7"]), (NO, [])])
async def test_a_function_that_gives_the_answer_is_asked_about(
    desk: Desk, fake_openai: FakeOpenAI, answer: Decision, paid: list[str]
) -> None:
    fake_openai.add(tool("final_result", amount=7), Text("Not paid."))
    async with opened(desk, fake_openai, "paying") as session:
        records = await played(session, "Go.", answer)
        assert of(records, TurnEnd)[-1].outcome == "done"  # type: ignore[attr-defined]
        assert_valid(session.conversation)
    assert booked(desk) == paid


@pytest.mark.usefixtures("_there")
async def test_looking_for_a_tool_needs_no_yes_but_the_tool_does(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(
        tool("search_tools", queries=["book place"]), tool("book_place", ferry="Elsa"), Text("Done.")
    )
    async with opened(desk, fake_openai, "many", attended=False) as session:
        records = await turn(session.conversation, "Go.")
        assert [outcome for outcome, _ in results(records)] == ["success", "denied"]
        assert decided(records) == [("denied", "unattended", "once", "")]


@pytest.mark.usefixtures("_there")
async def test_a_turn_is_stopped_while_it_asks(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(together(tool("sink", ferry="Elsa"), tool("book", ferry="Nora")))
    async with opened(desk, fake_openai) as session:
        seen = Following(session.conversation.bus)
        session.conversation.submit(Prompt("Go."))
        await until(seen, lambda payload: isinstance(payload, ApprovalRequested))
        await cancelled_within(session.conversation)
        assert_valid(session.conversation)
        # An unanswered approval is not remembered: the next turn asks again.
        fake_openai.add(tool("book", ferry="Nora"), Text("Done."))
        await played(session, "Again.", NO)
    assert booked(desk) == []


@pytest.mark.usefixtures("_there")
async def test_another_prompt_is_let_in_behind_the_answer(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("book", ferry="Elsa"), Text("And Nora."))
    async with opened(desk, fake_openai) as session:
        conversation = session.conversation
        seen = Following(conversation.bus)
        conversation.submit(Prompt("Book Elsa."))
        asked = await until(seen, lambda payload: isinstance(payload, ApprovalRequested))
        conversation.submit(Prompt("Nora as well."))
        conversation.steer()
        assert isinstance(asked.data, ApprovalRequested)
        assert conversation.tooling.approvals.decide(asked.data.id, ONCE)
        await conversation.settle()
        assert_valid(conversation)
    assert booked(desk) == ["Elsa"]
    assert len(fake_openai.journal) == 2


@pytest.mark.usefixtures("_there")
async def test_the_agent_itself_is_left_as_it_was(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("book", ferry="Elsa"), Text("Done."))
    async with opened(desk, fake_openai) as session:
        await played(session, "Book.", NO)
    agent = sys.modules["plimsoll_agent_agents"].helper
    await agent.run("Book.", model=TestModel(call_tools=["book"]))
    assert len(booked(desk)) == 1, "where nobody governs it, it is asked about by nobody"
