"""Background commands: started by the model, reported, listed, and ended with the session."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conversation.driving import Desk, assert_valid, done, of, turn
from tests.conversation.jobs import texts
from tests.process_ends import gone, until, written_pids
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.tools.tasks import task_rows
from tui_app.conversation.work import Compact, Prompt
from tui_app.events import ApprovalDecided, Record, TaskEnded, TaskStarted, TaskTold, ToolResult


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=64_000)
    desk.env["PATH"] = os.environ["PATH"]
    return fake_openai


def allowed(desk: Desk, session: str = "", **settings: Any) -> Any:
    rules = {"allow": ("run_command sh serve.sh",)}
    return desk.session(session=session, read_only=False, sandbox="off", approvals=rules, **settings)


def starts(desk: Desk, line: str) -> Any:
    (desk.cwd / "serve.sh").write_text(line)
    return tool("run_command", command="sh serve.sh", background=True)


def results(records: list[Record]) -> list[str]:
    return [each.text for each in of(records, ToolResult) if isinstance(each, ToolResult)]


async def test_the_model_starts_reads_and_stops_one(desk: Desk, server: FakeOpenAI) -> None:
    pids = desk.cwd / "pids"
    server.add(
        starts(desk, f"echo $$ >{pids}; echo listening on 8000; sleep 600"),
        tool("tasks"),
        tool("tasks", action="read", id="t1"),
        tool("tasks", action="stop", id="t1"),
        tool("tasks", action="read", id="t9"),
        Text("Done."),
        Text("Yes."),
    )
    async with allowed(desk) as opened:
        records = await turn(opened.conversation, "serve it")
        started, listed, nothing_new, stopped, unknown = results(records)
        assert started.startswith("Runs in the background as t1. t1 running, ")
        assert started.endswith("listening on 8000")
        assert listed.startswith("t1 running, ")
        assert "sh serve.sh" in listed
        assert "No new output" in nothing_new
        assert stopped == "t1 was stopped, with everything it had started."
        assert "no background command 't9'" in unknown
        (pid,) = await written_pids(pids, 1)
        assert gone(pid)
        assert [each.decision for each in of(records, ApprovalDecided)] == ["allowed"]  # type: ignore[attr-defined]
        assert not of(await turn(opened.conversation, "well?"), TaskTold), "it has stopped it itself"
        assert_valid(opened.conversation)


async def test_the_next_request_says_that_one_has_ended(desk: Desk, server: FakeOpenAI) -> None:
    go = desk.cwd / "go"
    server.add(starts(desk, f"while ! test -e {go}; do sleep 0.01; done; echo bang; exit 7"), Text("Runs."))
    server.add(Text("I see."), Text("Still."))
    async with allowed(desk) as opened:
        await turn(opened.conversation, "watch it")
        tasks = opened.conversation.tooling.tasks
        assert [row.is_running for row in task_rows(tasks)] == [True]
        go.touch()
        await until(lambda: not tasks.running)
        sent = len(server.journal)
        told = of(await turn(opened.conversation, "and?"), TaskTold)
        assert len(told) == 1
        said = server.journal[sent]["messages"]
        assert "[Background commands: t1 exit 7 after " in str(said[-1])
        assert "Background" not in str(said[:-1]), "nothing in front of it changes"
        before = [str(each) for each in server.journal[sent - 1]["messages"]]
        assert [str(each) for each in said][: len(before)] == before
        assert not of(await turn(opened.conversation, "and now?"), TaskTold)
        assert_valid(opened.conversation)
        (row,) = task_rows(tasks)
        assert (row.how, row.failed, row.lines) == ("exit 7", True, 1)
        session = opened.conversation.session
        ended = [data for data in _stored(opened, TaskEnded) if isinstance(data, TaskEnded)]
        assert [(each.outcome, each.text) for each in ended] == [("exited", "bang")]
    assert session


async def test_they_end_with_the_session_and_the_next_visit_is_told(desk: Desk, server: FakeOpenAI) -> None:
    pids = desk.cwd / "pids"
    server.add(starts(desk, f"echo $$ >{pids}; echo up; sleep 600"), Text("Runs."), Text("Oh."))
    async with allowed(desk) as opened:
        await turn(opened.conversation, "serve it")
        session = opened.conversation.session
        folder: Path = opened.folder.path / "tasks"
        assert _names(folder)
    (pid,) = await written_pids(pids, 1)
    assert gone(pid)
    assert not _names(folder)
    async with allowed(desk, session) as opened:
        # As a killed program leaves it.
        opened.conversation.history.append(TaskStarted(id="t2", command="npm run dev"))
    async with allowed(desk, session) as opened:
        outcomes = [each.outcome for each in _stored(opened, TaskEnded)]  # type: ignore[attr-defined]
        assert outcomes == ["session", "lost"]
        await turn(opened.conversation, "go on")
        said = str(server.journal[-1]["messages"][-1])
        assert "t1 ended with the session" in said
        assert "t2 no longer running" in said
        assert opened.conversation.tooling.tasks is not None
        opened.conversation.tooling.tasks.most = 0
        server.add(starts(desk, "sleep 1"), Text("No."))
        assert "already running" in str(results(await turn(opened.conversation, "again")))


async def test_it_is_asked_about_as_any_command(desk: Desk, server: FakeOpenAI) -> None:
    server.add(tool("run_command", command="sleep 600", background=True), Text("Then not."))
    async with desk.session(read_only=False, sandbox="off") as opened:
        records = await turn(opened.conversation, "serve it")
        (decided,) = of(records, ApprovalDecided)
        assert decided.decision == "denied"  # type: ignore[attr-defined]
        assert not of(records, TaskStarted)


@pytest.mark.bubblewrap
async def test_what_one_makes_that_programs_obey_is_asked_about_before_the_next_request(
    desk: Desk, server: FakeOpenAI
) -> None:
    line = "while ! test -e go; do sleep 0.01; done; echo x > .envrc; touch made; sleep 600"
    server.add(starts(desk, line), Text("Runs."), Text("I see."), Text("Still."))
    rules = {"allow": ("run_command sh serve.sh",)}
    async with desk.session(read_only=False, sandbox="require", approvals=rules) as opened:
        await turn(opened.conversation, "watch it")
        (desk.cwd / "go").touch()
        await until((desk.cwd / "made").exists)
        records = await turn(opened.conversation, "and?")
        decided = [each for each in of(records, ApprovalDecided) if isinstance(each, ApprovalDecided)]
        assert [(each.subject, each.decision) for each in decided] == [(".envrc", "denied")]
        assert "t1 (.envrc was removed again: programs obey it.)" in str(server.journal[-1]["messages"][-1])
        assert not (desk.cwd / ".envrc").exists()
        assert not of(await turn(opened.conversation, "and now?"), TaskTold, ApprovalDecided)
        (desk.cwd / ".envrc").touch()
        session = opened.conversation.session
    async with allowed(desk, session) as opened:
        (ended,) = [data for data in _stored(opened, TaskEnded) if isinstance(data, TaskEnded)]
        assert ended.text == "[.envrc is new and was not approved: programs obey it.]"


def _names(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()] if folder.exists() else []


def _stored(opened: Any, kind: type) -> list[Any]:
    records = [record for record, _ in opened.store.records(opened.conversation.session)]
    return of(records, kind)


async def test_a_compaction_tells_what_runs_as_it_is_made(desk: Desk, server: FakeOpenAI) -> None:
    go = desk.cwd / "go"
    server.add(starts(desk, f"while ! test -e {go}; do sleep 0.01; done"), Text("It runs. " * 600))
    server.add(*[Text(f"Answer {number}. " * 600) for number in range(8)])
    async with allowed(desk, policy="plimsoll") as opened:
        conversation = opened.conversation
        await turn(conversation, "watch it")
        for number in range(3):
            await turn(conversation, f"and {number}? {'words ' * 900}")
        await done(conversation, Compact(extract=True), Prompt("then count the berths"))
        assert "`sh serve.sh` · running as t1" in texts(conversation)
        assert "queued prompt: then count the berths" in texts(conversation)
        go.touch()
        await until(lambda: not conversation.tooling.tasks.running)
        await conversation.settle()
        for number in range(3):
            await turn(conversation, f"and now {number}? {'words ' * 900}")
        await done(conversation, Compact(extract=True))
        assert "running as t1" not in texts(conversation), "the log alone does not know that it has ended"
