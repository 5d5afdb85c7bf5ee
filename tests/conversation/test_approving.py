"""Tools that change something: asked about one after the other, written down, done or not."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.conversation.driving import Desk, assert_valid, cancelled_within, of, turn, until
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.approvals.rules import Action
from tui_app.conversation.approvals import Approvals, Decision
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Compact
from tui_app.events import (
    ApprovalDecided,
    ApprovalRequested,
    FileChanged,
    Payload,
    Record,
    ToolOutput,
    ToolResult,
    TurnEnd,
)

ONCE, NO = Decision("once"), Decision("no")


@asynccontextmanager
async def working(
    desk: Desk, server: FakeOpenAI, *, attended: bool = True, session: str = "", **more: Any
) -> AsyncIterator[OpenSession]:
    """An open session whose tools may do everything that is allowed."""
    desk.server("local", server.base_url, 100_000)
    given = {name: more.pop(name) for name in ("allow", "yes") if name in more}
    opening = desk.opening(session=session, **{"read_only": False, **more})
    opened = open_session(replace(opening, attended=attended, **given))
    try:
        await opened.prepare()
        yield opened
    finally:
        await opened.close()


async def played(opened: OpenSession, text: str, *answers: Decision) -> list[Record]:
    """Send a prompt and answer what is asked, in order; all that happened."""
    left, seen, records = list(answers), set[str](), []
    async for record in opened.conversation.send(text):
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
        records = await played(opened, "Go.", Decision("nobody", reason="the editor has gone"))
        [(outcome, text)] = results(records)
        assert outcome == "denied"
        assert text.startswith("Not done: nobody could be asked about it: the editor has gone.")
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
    fake_openai.add(command("echo 'a b'"), command("echo 'a b'"), Text("Done."))
    async with working(desk, fake_openai) as opened:
        records = await played(opened, "Go.", Decision("always", pattern=pattern), NO)
        assert [one[0] for one in decided(records)] == ["allowed", "denied"]


async def test_parallel_calls_are_asked_about_one_after_the_other(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    writes = [tool("write_file", path=f"{name}.txt", content=name) for name in "ab"]
    fake_openai.add(together(*writes, command("echo c")), Text("Done."))
    async with working(desk, fake_openai) as opened:
        watch = opened.conversation.watch()
        sending = asyncio.create_task(turn(opened.conversation, "All of them."))
        approvals = opened.conversation.tooling.approvals
        seen: list[str] = []
        for answer in (ONCE, NO, ONCE):
            asked = await until(watch, lambda one: isinstance(one, ApprovalRequested) and one.id not in seen)
            assert isinstance(asked.data, ApprovalRequested)
            assert len(approvals._asked) == 1
            seen.append(asked.data.id)
            assert approvals.decide(asked.data.id, answer)
            assert not approvals.decide(asked.data.id, ONCE), "a question is answered once"
        records = await sending
        watch.close()
        assert sorted(outcome for outcome, _ in results(records)) == ["denied", "success", "success"]
        assert_valid(opened.conversation)


def together(*calls: Tool) -> Tool:
    """Several calls in one answer."""
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
        watch = opened.conversation.watch()
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
        watch = opened.conversation.watch()
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
        watch = opened.conversation.watch()
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
        assert names == {"read_file", "ls", "glob", "grep", "search_history"}
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
