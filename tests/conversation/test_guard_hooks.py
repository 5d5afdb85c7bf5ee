"""Hooks for prompts, turns and waiting; hooks that deny a call, and hooks that change its arguments."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, of, turn
from tests.conversation.hook_commands import place, sh
from tests.conversation.test_mcp import LET, program
from tests.servers.behaviours import Text, Tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import open_session
from tui_app.conversation.hooks.hook_outcomes import HookExit, before_tool, changed_arguments, judge
from tui_app.conversation.hooks.hook_process import Runner
from tui_app.events import ApprovalRequested, Error, HookRan, Notice, Record, ToolResult, TurnEnd, UserMessage
from tui_app.settings.tables import Hook

KEEP = "cat >> log; echo >> log"
NO = "echo 'not on Fridays' >&2; exit 2"


@pytest.fixture
def sea(desk: Desk, fake_openai: FakeOpenAI) -> Desk:
    desk.env["PATH"] = os.environ["PATH"]
    desk.server("local", fake_openai.base_url)
    return desk


async def test_a_hook_adds_to_a_prompt_and_no_user_has_said_it(sea: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Yes."))
    async with sea.session(hooks={"userPrompt": (sh("echo 'The tide is out.'"),)}) as opened:
        records = await turn(opened.conversation, "May we sail?")
        assert "The tide is out." in fake_openai.exchanges[0].text()
        (said,) = of(records, UserMessage)
        assert (said.text, said.attachments) == ("May we sail?", ())


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        (sh(NO), "refused the prompt: not on Fridays"),
        (sh("exit 1", on_failure="deny"), "ended with exit code 1"),
        (sh("sleep 60", on_failure="deny", timeout_s=0.2), "took longer than 0.2 s"),
        (Hook(command=("/no/such/guard",), on_failure="deny"), "could not be started"),
    ],
)
async def test_a_guard_refuses_a_prompt_which_goes_back(
    sea: Desk, fake_openai: FakeOpenAI, hook: Hook, why: str
) -> None:
    async with sea.session(hooks={"userPrompt": (hook,)}) as opened:
        records = await turn(opened.conversation, "May we sail?")
        (error,) = of(records, Error)
        assert "refused the prompt" in error.message
        assert why in error.message
        assert of(records, TurnEnd)[0].prompt == "May we sail?"
        assert not fake_openai.exchanges


async def test_without_on_failure_a_broken_hook_holds_nothing_up(sea: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Yes."))
    async with sea.session(hooks={"userPrompt": (sh("exit 1"),)}) as opened:
        assert of(await turn(opened.conversation, "May we sail?"), TurnEnd)[0].outcome == "done"


async def test_the_end_of_a_turn_is_told(sea: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Yes."))
    async with sea.session(
        hooks={"turnEnd": (sh(KEEP, match=("done",)), sh("exit 3", match=("failed",)))}
    ) as opened:
        await turn(opened.conversation, "May we sail?")
        await opened.hooks.settle()
        (told,) = [json.loads(line) for line in (sea.own / "log").read_text().splitlines() if line]
        assert (told["hook"], told["trigger"], told["data"]["outcome"]) == ("turnEnd", "done", "done")


async def test_what_waits_for_the_user_is_told_once(sea: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Tool((("write_file", {"path": "a", "content": "b"}),)), Text("Yes."))
    opening = sea.opening(read_only=False, hooks={"waiting": (sh(KEEP),)})
    opened = open_session(replace(opening, attended=True))
    try:
        await opened.prepare()

        def decide(record: Record) -> None:
            if isinstance(record.data, ApprovalRequested):
                opened.conversation.tooling.approvals.decide(record.data.id, Decision("no"))

        opened.bus.listen(decide)
        await turn(opened.conversation, "Write.")
        await opened.hooks.settle()
        (told,) = [json.loads(line) for line in (sea.own / "log").read_text().splitlines() if line]
        assert (told["hook"], told["trigger"]) == ("waiting", "approval")
    finally:
        await opened.close()


async def test_a_stop_hook_has_the_model_go_on_a_few_times(sea: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = Text("Done.")
    async with sea.session(hooks={"stop": (sh("echo 'the tests fail' >&2; exit 2"),)}) as opened:
        told: list[str] = []
        opened.bus.listen(lambda one: told.append(one.data.text) if isinstance(one.data, Notice) else None)
        await turn(opened.conversation, "Mend it.")
        await opened.conversation.settle()
        assert len(fake_openai.exchanges) == 4
        assert "the tests fail" in fake_openai.exchanges[1].text()
        assert any("made the model continue 3 times" in text for text in told)


CHANGE = """echo '{"args": {"text": "softly"}}'"""


async def test_a_hook_changes_arguments_and_it_is_shown(sea: Desk, fake_openai: FakeOpenAI) -> None:
    pytest.importorskip("mcp")
    fake_openai.add(Tool((("files_echo", {"text": "loudly"}),)), Text("Yes."))
    async with sea.session(
        read_only=False, approvals=LET, mcp={"files": program()}, hooks={"preTool": (sh(CHANGE),)}
    ) as opened:
        records = await turn(opened.conversation, "Say it.")
        assert of(records, ToolResult)[0].text == "softly"
        told = [notice.text for notice in of(records, Notice)]
        assert any('changed the arguments of files_echo: {"text": "softly"}' in text for text in told)


async def test_the_user_is_asked_about_the_arguments_that_a_hook_has_changed(
    sea: Desk, fake_openai: FakeOpenAI
) -> None:
    pytest.importorskip("mcp")
    fake_openai.add(Tool((("files_echo", {"text": "loudly"}),)), Text("Yes."))
    opening = sea.opening(read_only=False, mcp={"files": program()}, hooks={"preTool": (sh(CHANGE),)})
    opened = open_session(replace(opening, attended=True))
    try:
        await opened.prepare()
        asked: list[str] = []

        def decide(record: Record) -> None:
            if isinstance(record.data, ApprovalRequested):
                asked.append(record.data.subject)
                opened.conversation.tooling.approvals.decide(record.data.id, Decision("no"))

        opened.bus.listen(decide)
        await turn(opened.conversation, "Say it.")
        assert len(asked) == 1
        assert "softly" in asked[0]
        assert "loudly" not in asked[0]
    finally:
        await opened.close()


async def test_changed_arguments_are_checked_again(sea: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Tool((("read_file", {"path": "README.md"}),)), Text("No."))
    change = sh("""echo '{"args": {"path": 3}}'""")
    async with sea.session(hooks={"preTool": (change,)}) as opened:
        (result,) = of(await turn(opened.conversation, "Read."), ToolResult)
        assert result.outcome == "denied"
        assert "changed its arguments into what the tool does not take" in result.text


def test_only_an_object_with_arguments_is_a_wish() -> None:
    def run(printed: str, code: int = 0) -> object:
        return changed_arguments(
            judge("preTool", "ls", Hook(command=("x",)), HookExit(exit=code, stdout=printed))
        )

    assert run('{"args": {"path": "a"}}') == {"path": "a"}
    for printed in ("fine", "{", "{}", '{"args": 3}', "[1]"):
        assert run(printed) is None
    assert run('{"args": {}}', 1) is None


async def test_a_guard_that_times_out_denies_a_tool(tmp_path: Path) -> None:
    guard = Hook(command=("tail", "-f", "/dev/null"), timeout_s=0.001, on_failure="deny")
    ended = await Runner(place(tmp_path, PATH=os.environ["PATH"])).run_command(guard, b"", guard.timeout_s)
    run = judge("preTool", "grep", guard, ended)
    assert (run.ran.outcome, run.ran.denies) == ("timeout", True)
    assert "took longer than 0.001 s" in before_tool([run])
    assert isinstance(run.ran, HookRan)
    late = judge("postTool", "grep", guard, ended)
    assert not late.ran.denies
