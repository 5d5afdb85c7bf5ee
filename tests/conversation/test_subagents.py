"""Subagents: their own context, one message back, every step logged and none in the parent's view."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, ToolCallPart

from tests.conversation.driving import Desk, Following, assert_valid, of, turn, until
from tests.servers.behaviours import HangMidStream, Text, Tool, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Prompt, Rewind
from tui_app.events import (
    ApprovalRequested,
    AssistantMessage,
    CompactionStart,
    SubAgentCall,
    SubAgentEnd,
    SubAgentStart,
    SubAgentStep,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from tui_app.session.exports.markdown import export_markdown
from tui_app.session.preview import StatsReader
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.views.user_view import fold_user_view

TASK = "Find out where the sky is."
SENT = tool("explore", task=TASK)
LOOKED = Tool(calls=(("grep", {"pattern": "sky"}), ("read_file", {"path": "README.md"})))


def scripted(
    desk: Desk, server: FakeOpenAI, *inner: Any, outer: tuple[Any, ...] = (SENT, Text("Above."))
) -> None:
    desk.server("local", server.base_url, window=32_000)
    server.add(*outer)
    server.add(*inner, phrase="for another assistant")


def of_log(opened: OpenSession, *kinds: type) -> list[Any]:
    return of([record for record, _ in opened.store.records(opened.conversation.session)], *kinds)


def words(result: ToolResult) -> str:
    """Return the subagent's own words from the brief it returned."""
    _head, *parts = result.text.split("\n\n")
    return parts[0].removesuffix(" (unchecked)") if parts else result.text


async def test_only_the_answer_comes_back(desk: Desk, fake_openai: FakeOpenAI) -> None:
    scripted(desk, fake_openai, LOOKED, Text("The sky is above, README.md:3.", usage=(900, 30)))
    async with desk.session(explore={}) as opened:
        records = await turn(opened.conversation, "Where is the sky?")
        (result,) = of(records, ToolResult)
        (start,), steps, (end,) = (
            of_log(opened, kind) for kind in (SubAgentStart, SubAgentStep, SubAgentEnd)
        )
        assert (start.task, start.model, start.max_steps) == (TASK, "local:scripted", 20)
        # Its words with their source, followed by a list from its log.
        head, words, deeds = result.text.split("\n\n")
        assert head == f"explore-1 has ended. Its messages are `{start.session}#N`."
        # The two calls ran in parallel, and both contain that line.
        found = {
            record.data.name: record.seq
            for record, _ in opened.store.records(start.session)
            if isinstance(record.data, ToolResult)
        }
        assert words == f"The sky is above, README.md:3. ({start.session}#{max(found.values())}: only read)"
        assert deeds.endswith(f"- README.md · read ({start.session}#{found['read_file']})")
        assert (result.name, end.brief) == ("explore", result.text)
        assert [[call.name for call in step.calls] for step in steps] == [["grep", "read_file"], []]
        assert "sky is above" in steps[0].calls[1].text
        assert (end.outcome, end.steps, end.calls) == ("done", 2, 2)
        assert end.input_tokens == sum(step.input_tokens for step in steps) > 900
        sent = fake_openai.journal
        # The subagent starts with an empty context, cannot start others, and its calls stay out of the
        # parent's view.
        assert "Where is the sky?" not in str(sent[1])
        assert {each["function"]["name"] for each in sent[1]["tools"]} == {"read_file", "ls", "glob", "grep"}
        assert "grep" not in str(sent[-1]["messages"][1:])
        assert len(opened.conversation.history.items()) == 4
        assert_valid(opened.conversation)


async def test_replay_is_as_live_and_rewind_leaves_it(desk: Desk, fake_openai: FakeOpenAI) -> None:
    scripted(desk, fake_openai, LOOKED, Text("Above."))
    async with desk.session(explore={}) as opened:
        conversation = opened.conversation
        await turn(conversation, "Where is the sky?")
        heads = list(opened.store.heads(conversation.session))
        row = next(entry for entry in fold_user_view(heads).entries if entry.kind == "tool")
        assert (row.calls, row.state) == (2, "ok")
        assert row.used > 0
        live = [head.seq for head in conversation.history.view.visible()]
        assert [head.seq for head in fold_agent_view(heads).visible()] == live
        prompt = next(head.seq for head in heads if head.type == "user.message")
        conversation.submit(Rewind(prompt))
        await conversation.settle()
        heads = list(opened.store.heads(conversation.session))
        row = next(entry for entry in fold_user_view(heads).entries if entry.kind == "tool")
        assert (row.left, row.state, row.calls) == (True, "undone", 2)
        assert not fold_agent_view(heads).visible()
        stats = StatsReader(opened.store.path, conversation.session).read()
        assert (stats.sub_agents, stats.tool_calls) == (1, 1)
        assert stats.models[0].answers == 4
        page = export_markdown(
            [record for record, _ in opened.store.records(conversation.session)], title="T"
        )
        assert "Sub-agent: 2 calls" in page


async def test_two_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    both = Tool(calls=(("explore", {"task": "first question"}), ("explore", {"task": "second question"})))
    desk.server("local", fake_openai.base_url)
    fake_openai.add(both, Text("Both known."))
    fake_openai.add(tool("ls"), Text("One."), phrase="first question")
    fake_openai.add(tool("glob", pattern="*"), Text("Two."), phrase="second question")
    fake_openai.add(Text("Both known."), phrase='"role": "tool"')
    async with desk.session(explore={}) as opened:
        records = await turn(opened.conversation, "Look twice.")
        assert sorted(words(result) for result in of(records, ToolResult)) == ["One.", "Two."]
        starts = of_log(opened, SubAgentStart)
        steps = of_log(opened, SubAgentStep)
        assert {step.tool_call_id for step in steps} == {start.tool_call_id for start in starts}
        rows = [e for e in fold_user_view(opened.store.heads(opened.conversation.session)).entries if e.calls]
        assert [row.calls for row in rows] == [1, 1]


async def test_cancelled_with_the_turn(desk: Desk, fake_openai: FakeOpenAI) -> None:
    scripted(desk, fake_openai, LOOKED, HangMidStream())
    async with desk.session(explore={}) as opened:
        conversation = opened.conversation
        watching = Following(conversation.bus)
        conversation.submit(Prompt("Where is the sky?"))
        await (await fake_openai.request(3)).paused.wait()
        conversation.cancel()
        end = await until(watching, lambda payload: isinstance(payload, TurnEnd))
        assert end.data.outcome == "cancelled"
        async with asyncio.timeout(20):
            await fake_openai.exchanges[2].closed.wait()
        (ended,) = of_log(opened, SubAgentEnd)
        assert (ended.outcome, ended.calls) == ("cancelled", 2)
        assert of_log(opened, ToolResult)[-1].outcome == "interrupted"
        assert_valid(conversation)


async def test_stopped_at_its_steps_says_how_far_it_got(desk: Desk, fake_openai: FakeOpenAI) -> None:
    scripted(desk, fake_openai, LOOKED, tool("ls"), tool("glob", pattern="*"))
    async with desk.session(explore={"max_steps": 2}) as opened:
        records = await turn(opened.conversation, "Where is the sky?")
        (result,) = of(records, ToolResult)
        assert result.outcome == "success"
        assert "stopped before it had an answer" in result.text
        assert "- README.md · read" in result.text
        (end,) = of_log(opened, SubAgentEnd)
        assert (end.outcome, end.steps, end.calls) == ("stopped", 2, 3)


async def test_failure_is_the_result_of_the_call(desk: Desk, fake_openai: FakeOpenAI) -> None:
    scripted(desk, fake_openai, error(401, "No such key."))
    async with desk.session(explore={}) as opened:
        records = await turn(opened.conversation, "Where is the sky?")
        (result,) = of(records, ToolResult)
        assert (result.outcome, "The sub-agent failed" in result.text) == ("error", True)
        assert of_log(opened, SubAgentEnd)[0].outcome == "failed"
        assert of(records, AssistantMessage)[-1].text == "Above."


async def test_another_model_and_one_that_is_not_there(desk: Desk, fake_openai: FakeOpenAI) -> None:
    scripted(desk, fake_openai, Text("From it."))
    async with desk.session(explore={"model": "offline:extractive"}) as opened:
        await turn(opened.conversation, "Where is the sky?")
        (start,) = of_log(opened, SubAgentStart)
        assert start.model == "offline:extractive"
        assert "sky is above" in of_log(opened, ToolResult)[-1].text


@pytest.mark.parametrize("enabled", [True, False])
async def test_switched_off(desk: Desk, fake_openai: FakeOpenAI, enabled: bool) -> None:
    scripted(desk, fake_openai, outer=(Text("Hello."),))
    async with desk.session(explore={"enabled": enabled}) as opened:
        await turn(opened.conversation, "Hello?")
        names = [each["function"]["name"] for each in fake_openai.journal[0]["tools"]]
        assert ("explore" in names) is enabled


async def test_its_own_context_is_governed(desk: Desk, fake_openai: FakeOpenAI) -> None:
    for name in "abcd":
        (desk.cwd / f"{name}.txt").write_text("\n".join(f"{name}{n} sea and sky" for n in range(300)))
    reads = [tool("read_file", path=f"{name}.txt") for name in "abcd"]
    desk.server("local", fake_openai.base_url, window=8_000)
    fake_openai.add(SENT, Text("Above."))
    fake_openai.add(*reads, Text("All read."), phrase="for another assistant")
    fake_openai.add(
        *(Text("Title: Sea\n## Intent\nFind the sky.") for _ in range(4)), phrase="Write the notes"
    )
    async with desk.session(explore={}) as opened:
        records = await turn(opened.conversation, "Where is the sky?")
        assert words(of(records, ToolResult)[-1]) == "All read."
        (end,) = of_log(opened, SubAgentEnd)
        assert (end.outcome, end.calls) == ("done", 4)
        inner = [each for each in fake_openai.journal if "for another assistant" in str(each)]
        assert all(len(str(each["messages"])) / 4 < 8_000 for each in inner)
        # Compactions in the subagent are not part of the session's context.
        assert not of_log(opened, CompactionStart)
        assert opened.conversation.usage.total < 2_000


async def test_cut_off_with_the_program(desk: Desk, fake_openai: FakeOpenAI) -> None:
    scripted(desk, fake_openai, outer=(Text("Hello."),))
    call = ToolCallPart("explore", {"task": TASK}, tool_call_id="c1")
    message = ModelMessagesTypeAdapter.dump_json([ModelResponse(parts=[call])]).decode()[1:-1]
    async with desk.session(explore={}) as opened:
        await turn(opened.conversation, "Hello?")
        session, store = opened.conversation.session, opened.store
        store.append(session, AssistantMessage(text="", call_ids=("c1",)), message, time=1.0)
        store.append(session, ToolCall(tool_call_id="c1", name="explore", args="{}"), None, time=1.0)
        start = SubAgentStart(tool_call_id="c1", task=TASK, model="local:scripted", max_steps=20)
        store.append(session, start, None, time=1.0)
        step = SubAgentStep(
            tool_call_id="c1", calls=(SubAgentCall(name="ls", args="{}"),), model="m", cost_usd=0.25
        )
        store.append(session, step, None, time=1.0)
    async with desk.session(explore={}, session=session) as opened:
        rows = fold_user_view(opened.store.heads(session)).entries
        row = next(entry for entry in rows if entry.kind == "tool")
        assert (row.state, row.calls) == ("interrupted", 1)
        assert StatsReader(opened.store.path, session).read().cost_usd == 0.25
        assert of_log(opened, ToolResult)[-1].outcome == "interrupted"


# Agents defined by the user or the project.


def lay_agent(folder: Path, name: str, **values: str) -> None:
    front = "\n".join(f"{key}: {value}" for key, value in {"description": f"It is {name}.", **values}.items())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\n{front}\n---\nYou are {name}, and you are short.\n")


async def test_several_agents_of_ones_own_work_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    lay_agent(desk.cwd / ".claude/agents", "mate", model="local:small")
    lay_agent(desk.home / "config/agents", "cook")
    desk.server("local", fake_openai.base_url, window=32_000)
    calls = (
        ("delegate", {"agent": "mate", "task": "Look up."}),
        ("delegate", {"agent": "cook", "task": "Look down."}),
        ("delegate", {"agent": "nobody", "task": "Look away."}),
    )
    fake_openai.add(Tool(calls), Text("All looked."))
    fake_openai.add(Tool((("read_file", {"path": "README.md"}),)), Text("Blue."), phrase="You are mate")
    fake_openai.add(Text("Wet."), phrase="You are cook")
    async with desk.session(explore={}) as opened:
        records = await turn(opened.conversation, "Look everywhere.")
        asked = fake_openai.exchanges[0].text()
        assert "- mate: It is mate." in asked
        assert "- cook: It is cook." in asked
        results = {
            words(each): each.outcome for each in of(records, ToolResult) if isinstance(each, ToolResult)
        }
        assert results.pop("Blue.") == results.pop("Wet.") == "success"
        ((text, outcome),) = results.items()
        assert "There is no agent 'nobody'. There are: mate, cook." in text
        assert outcome == "error"
        starts = {each.agent: each.model for each in of_log(opened, SubAgentStart)}
        assert starts == {"mate": "local:small", "cook": "local:scripted"}
        assert len(of_log(opened, SubAgentEnd)) == 2
        rows = [each for each in fold_user_view(opened.store.heads(opened.conversation.session)).entries]
        (row,) = (row for row in rows if row.title.startswith("delegate mate"))
        assert row.calls == 1
        assert row.used > 0
        assert [agent.name for agent in opened.extras.overview().agents.found] == ["mate", "cook"]
        assert {share.name for share in opened.extras.shares()} >= {"agents"}
        assert_valid(opened.conversation)


@pytest.mark.parametrize("allowed", [True, False])
async def test_an_agent_changes_files_only_as_the_rules_let_it(
    desk: Desk, fake_openai: FakeOpenAI, allowed: bool
) -> None:
    lay_agent(desk.cwd / ".plimsoll/agents", "mate", tools="Write")
    lay_agent(desk.cwd / ".plimsoll/agents", "cook")
    desk.server("local", fake_openai.base_url, window=32_000)
    send = [("delegate", {"agent": name, "task": "Write."}) for name in ("mate", "cook")]
    fake_openai.add(Tool(tuple(send)), Text("Done."))
    for name in ("mate", "cook"):
        write = Tool((("write_file", {"path": f"{name}.txt", "content": "x"}),))
        fake_openai.add(write, Text("So."), Text("So."), phrase=f"You are {name}")
    rules = {"allow": ("write_file *.txt",)} if allowed else {}
    async with desk.session(explore={}, read_only=False, approvals=rules) as opened:
        await turn(opened.conversation, "Write.")
        assert (desk.cwd / "mate.txt").exists() is allowed
        assert not (desk.cwd / "cook.txt").exists(), "it has no tool to write with"
        assert_valid(opened.conversation)


async def test_the_question_names_the_agent_and_the_agent_knows_the_instructions(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    lay_agent(desk.cwd / ".plimsoll/agents", "mate", tools="Write")
    (desk.cwd / "AGENTS.md").write_text("Never use tabs.")
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(tool("delegate", agent="mate", task="Write."), Text("Done."))
    write = tool("write_file", path="new.txt", content="x")
    fake_openai.add(write, Text("So."), phrase="You are mate")
    opened = open_session(replace(desk.opening(explore={}, read_only=False), attended=True))
    try:
        watching = Following(opened.conversation.bus)
        opened.conversation.submit(Prompt("Write."))
        asked = await until(watching, lambda payload: isinstance(payload, ApprovalRequested))
        assert isinstance(asked.data, ApprovalRequested)
        assert asked.data.note == "new file, by agent mate-1"
        assert opened.conversation.tooling.approvals.decide(asked.data.id, Decision("once"))
        await opened.conversation.settle()
        assert (desk.cwd / "new.txt").exists()
        assert "Never use tabs." in fake_openai.exchanges[1].text()
    finally:
        await opened.close()


async def test_agents_of_a_folder_without_trust_are_not_there(desk: Desk, fake_openai: FakeOpenAI) -> None:
    lay_agent(desk.cwd / ".plimsoll/agents", "mate")
    desk.server("local", fake_openai.base_url, window=32_000)
    desk.env = {}
    async with desk.session(explore={}) as opened:
        await turn(opened.conversation, "Hello.")
        assert "delegate" not in fake_openai.exchanges[0].text()
        assert "agents (mate)" in opened.extras.left_out


@pytest.mark.parametrize("denied", [True, False])
async def test_a_rule_on_questions_holds_for_an_agent_of_ones_own(
    desk: Desk, fake_openai: FakeOpenAI, denied: bool
) -> None:
    lay_agent(desk.cwd / ".plimsoll/agents", "mate")
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(tool("delegate", agent="mate", task="Ask."), Text("Done."))
    fake_openai.add(tool("ask_user", question="Which tide?"), Text("So."), Text("So."), phrase="You are mate")
    rules = {"deny": ("ask_user",)} if denied else {}
    async with desk.session(explore={}, read_only=False, approvals=rules) as opened:
        await turn(opened.conversation, "Send.")
        assert ('the rule "ask_user" forbids it' in str(fake_openai.journal)) is denied
