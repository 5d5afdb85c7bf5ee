"""MCP servers, skills, project instructions, commands from files, and images on the screen."""

import asyncio
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from textual import events

from tests.servers import mcp_stdio
from tests.servers.behaviours import HangMidStream, Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import Scene
from tests.ui.app.story import MODEL, Story
from tests.ui.app.test_app_compaction import BRIEF, compacted
from tests.ui.kit import WIDE, Deck, Desk, shown
from tests.ui.looks import Look
from tui_app.agent.mcp.offers import own_name
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.conversation.assembly import OpenSession
from tui_app.events import (
    AssistantMessage,
    SubAgentCall,
    SubAgentEnd,
    SubAgentStart,
    SubAgentStep,
    ToolCall,
    ToolResult,
)
from tui_app.settings import OFFLINE_MODEL
from tui_app.settings.tables import Hook, McpServer
from tui_app.ui import approvals
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.chat import pane
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.extensions.mcp import NONE, McpScreen
from tui_app.ui.dialogs.extensions.skills import SkillsScreen
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.questions import ChoiceDialog, EditDialog
from tui_app.ui.dialogs.setup.tools import ToolsScreen
from tui_app.ui.keyboard import stray_keys
from tui_app.ui.prompt.editor import PromptEditor
from tui_app.ui.words.sub_agent_report import sub_agent_text


def program(name: str = "files", mode: str = "plain") -> McpServer:
    args = ("-S", mcp_stdio.__file__, mode)
    return McpServer(name=name, command=sys.executable, args=args, timeout=20)


def write(desk: Desk, name: str, text: str) -> None:
    file = desk.cwd / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def mcp(deck: Deck) -> None:
    await deck.send("/mcp")
    await deck.until(lambda: isinstance(deck.app.screen, McpScreen), "the servers")


# MCP


async def test_servers_tools_and_errors_are_shown_and_one_is_started_again(desk: Desk) -> None:
    pytest.importorskip("mcp")
    servers = {"files": program(), "evil": program("evil", "evil"), "broken": program("broken", "crash")}
    desk.change(mcp=servers)
    async with shown(desk.app()) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says("ready, 10 tools")
        await deck.until(lambda: "failed" in deck.text and "starting" not in deck.text, "an end")
        assert "files_echo" in deck.text
        assert "[b]red[/b]" in deck.text, "text is never markup"
        assert "\x1b" not in deck.text
        await deck.press(*"broken")
        await deck.says("No harbour")
        assert "exited with status 7" in deck.text
        await deck.press("f5")
        await deck.until(lambda: "failed" in deck.text)
        await deck.press("escape", "escape")
        await deck.send("/mcp reload fils")
        await deck.says("No MCP server fils. Configured: files, evil, broken.")
        await deck.send("/mcp reload files")
        await deck.says("Starting again: files.")
        await deck.send("/mcp what")
        await deck.says("/mcp reload NAME")


async def test_a_server_is_switched_off_and_on_again(desk: Desk) -> None:
    pytest.importorskip("mcp")
    desk.change(mcp={"files": program()})
    async with shown(desk.app()) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says("ready, 10 tools")
        await deck.press("f6")
        await deck.says("files is a program: there is nothing to sign in to.")
        await deck.press("f8")
        await deck.says("switched off")
        await deck.press("f8")
        await deck.says("ready, 10 tools")


async def test_without_servers_it_says_how(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says(NONE.split(".")[0])


async def test_instructions_have_one_size_at_the_start_and_in_the_context(desk: Desk) -> None:
    write(desk, "AGENTS.md", "Answer like a sailor, and name the tide. " * 30)
    learnt = LearntModels(desk.paths.learnt_file)
    for _ in range(5):
        learnt.observe(OFFLINE_MODEL, 10_000, 16_000)
    async with shown(desk.app()) as deck:
        await deck.ready()
        sizes = re.compile(r"AGENTS\.md ([\d.]+k?) tokens")
        await deck.until(lambda: sizes.search(deck.text) is not None, "its size")
        first = sizes.search(deck.text)
        await deck.press("f3")
        await deck.says("memory (AGENTS.md")
        assert first is not None
        assert f"memory (AGENTS.md {first[1]})" in deck.text


async def test_tools_are_split_by_server_in_the_context(desk: Desk) -> None:
    pytest.importorskip("mcp")
    write(desk, "AGENTS.md", "Answer like a sailor.")
    desk.change(mcp={"files": program()}, add_dirs=str(desk.home))
    async with shown(desk.app()) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says("ready, 10 tools")
        await deck.press("escape")
        await deck.press("f3")
        await deck.says("Plimsoll")
        assert re.search(r"tools \(Plimsoll [\d.]+k, files [\d.]+k\)", deck.text)
        assert re.search(r"memory \(AGENTS.md [\d.k]+\)", deck.text)
        await deck.press("escape")
        await deck.send("/status")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the status")
        assert "files: ready, 10 tools" in deck.text
        assert "AGENTS.md" in deck.text
        assert re.search(r"Added +/", deck.text)


# Tools


async def test_tools_are_listed_and_switched_off_for_the_session(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    pytest.importorskip("mcp")
    served.change(mcp={"files": program()}, read_only=False, tools={"off": ("todo", "plan")})
    fake_openai.add(Text("Aye."), Text("Aye aye."), Text("Aye aye, sir."))
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says("ready, 10 tools")
        await deck.press("escape")
        await deck.send("/tools")
        await deck.until(lambda: isinstance(deck.app.screen, ToolsScreen), "the tools")
        assert re.search(r"edit_file +on +[\d.k]+", deck.text)
        for name, state in (("edit_file", "off"), ("files_echo", "off"), ("todo", "on")):
            await deck.press(*name, "enter")
            await deck.until(lambda row=rf"{name} +{state}": re.search(row, deck.text), f"{name} is {state}")
            await deck.press("escape")
        await deck.press("escape")
        await deck.send("Look.")
        await deck.says("Aye.")
        names = {tool["function"]["name"] for tool in fake_openai.exchanges[-1].body["tools"]}
        assert "write_file" in names
        assert names.isdisjoint({"edit_file", "files_echo"})
        await deck.send("/tools")
        await deck.until(lambda: isinstance(deck.app.screen, ToolsScreen), "the tools")
        await deck.press(*"edit_file", "enter")
        await deck.until(lambda: re.search("edit_file +on", deck.text), "it is on again")
        await deck.press("escape", "escape")
        await deck.send("Again.")
        await deck.says("Aye aye.")
        assert "edit_file" in {tool["function"]["name"] for tool in fake_openai.exchanges[-1].body["tools"]}
        session = deck.app.chat.session.id
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says("ready, 10 tools")
        await deck.press("escape")
        await deck.send("Once more.")
        await deck.says("Aye aye, sir.")
        names = {tool["function"]["name"] for tool in fake_openai.exchanges[-1].body["tools"]}
        assert {"edit_file", "todo"} <= names
        assert names.isdisjoint({"files_echo", "plan"})


# Skills


async def test_skills_are_listed_and_can_be_read(desk: Desk) -> None:
    write(
        desk, ".plimsoll/skills/reefing/SKILL.md", "---\ndescription: Make [b]less[/b] sail.\n---\nEase it.\n"
    )
    write(desk, ".plimsoll/skills/bad/SKILL.md", "nothing in front")
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("/skills")
        await deck.until(lambda: isinstance(deck.app.screen, SkillsScreen), "the skills")
        assert "Make [b]less[/b] sail." in deck.text
        assert "no description" in deck.text
        assert " .plimsoll/skills/reefing/SKILL.md" in deck.text, "from the working folder on"
        await deck.press("enter")
        await deck.says("Ease it.")


# Agents


async def test_agents_are_listed_and_ask_like_the_model(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals, "QUIET_S", 0.0)
    monkeypatch.setattr(pane, "QUIET_S", 0.01)
    write(
        served,
        ".plimsoll/agents/mate.md",
        "---\ndescription: Keeps [b]the[/b] log.\ntools: Write\n---\nYou are mate.\n",
    )
    write(served, ".plimsoll/agents/bad.md", "nothing in front")
    served.change(explore={}, read_only=False)
    fake_openai.add(Tool((("delegate", {"agent": "mate", "task": "Write it."}),)), Text("All written."))
    log = Tool((("write_file", {"path": "log.txt", "content": "calm"}),))
    fake_openai.add(log, Text("It is in the log."), phrase="You are mate")
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("/agents")
        await deck.says("Keeps [b]the[/b] log.")
        assert re.search(r"Agents +1\n", deck.text)
        assert "write_file" in deck.text
        assert "no description" in deck.text
        await deck.press("enter")
        await deck.says("You are mate.")
        await deck.press("escape", "escape")
        await deck.send("Have it written.")
        await deck.until(lambda: deck.app.chat.pane.query_one(ApprovalBox).has_focus, "the question")
        await deck.press("y")
        await deck.says("All written.")
        assert (served.cwd / "log.txt").read_text() == "calm"
        await deck.send("/status")
        await deck.says("Agents        mate")


# Commands


async def test_a_command_of_a_file_is_offered_last_and_sends_its_text(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    write(
        served,
        ".plimsoll/commands/review.md",
        "---\ndescription: Look at a file\n---\nReview $1 for $2. All: $ARGUMENTS",
    )
    write(served, ".plimsoll/commands/compact.md", "Never sent.")
    fake_openai.add(Text("It is fine."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.until(lambda: deck.editor.completer.custom, "the commands")
        assert [command.name for command in deck.editor.completer.custom] == ["review"]
        await deck.type("/re")
        offered = [row for row in deck.rows if "/re" in row]
        built_in = next(at for at, row in enumerate(offered) if "/resume" in row)
        own = next(at for at, row in enumerate(offered) if "/review" in row)
        assert built_in < own
        await deck.press("ctrl+u")
        await deck.until(lambda: not deck.editor.text, "an empty prompt")
        await deck.send('/review import.py "dead code"')
        await deck.answered()
        sent = fake_openai.exchanges[-1].text()
        assert 'Review import.py for dead code. All: import.py "dead code"' in sent


async def test_what_was_typed_for_a_command_whose_file_is_gone_comes_back(served: Desk) -> None:
    write(served, ".plimsoll/commands/review.md", "Review $1.")
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.until(lambda: deck.editor.completer.custom, "the commands")
        (served.cwd / ".plimsoll/commands/review.md").unlink()
        await deck.send("/review a long argument")
        await deck.says("/review cannot be used")
        assert deck.editor.text == "/review a long argument"


async def test_an_inexact_name_is_not_sent_and_help_lists_the_exact_one(served: Desk) -> None:
    write(served, ".plimsoll/commands/overhaul.md", "Overhaul it.")
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.until(lambda: deck.editor.completer.custom, "the commands")
        await deck.send("/overha")
        assert deck.editor.text.strip() == "/overhaul"
        await deck.press("ctrl+u")
        await deck.send("/help")
        await deck.until(lambda: isinstance(deck.app.screen, HelpScreen), "help")
        await deck.press(*"overhaul")
        await deck.says("its exact name.")


# Pictures


# Hooks on the screen: nothing on success, a row for output, a notice on failure.


def hooked(desk: Desk, hook: str, *lines: str) -> Desk:
    desk.env["PATH"] = os.environ["PATH"]
    return desk.change(hooks={hook: tuple(Hook(command=line) for line in lines)})


def notices(deck: Deck) -> tuple[str, ...]:
    return deck.app.chat.session.state.notices


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo 'no \x1b[31mred' >&2; exit 7", "The preCompact hook echo ended with exit code 7: no red."),
        ("exit 2", "one that is manual cannot be vetoed."),
    ],
)
async def test_a_failing_hook_is_a_notice_and_a_row_and_the_compaction_goes_on(
    served: Desk, fake_openai: FakeOpenAI, line: str, said: str
) -> None:
    fake_openai.add(BRIEF)
    desk = hooked(served, "preCompact", line)
    async with shown(desk.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await compacted(deck)
        assert [said in notice for notice in notices(deck)] == [True]
        assert notices(deck)[0].endswith("Nothing changed.")
        assert deck.kinds[-3:] == ["hook", "compaction", "checkpoint"]
        assert "preCompact hook" in deck.text


async def test_one_that_just_worked_is_not_seen_and_what_it_prints_opens_with_enter(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(BRIEF, Text("Good."))
    desk = hooked(served, "postCompact", "cat > /dev/null", "printf 'filed\\nunder 7\\n'")
    async with shown(desk.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await compacted(deck)
        await deck.says("postCompact hook printf · filed under 7")
        assert deck.kinds.count("hook") == 1
        assert notices(deck) == ()
        row = next(e for e in deck.app.chat.session.presenter.view.entries if e.kind == "hook")
        body = deck.app.chat.session.bodies.body(row)
        assert body.text == "filed\nunder 7"


# Sub-agents on the screen: the row while running, the details, the looks.


TASK = "Find where the ferry import decides which weekdays count, and name the tests that cover it."
FOUND = "`import.py:2` drops weekday 0. No test has a Sunday: `tests/test_import.py:11` begins with Monday."
CALL = "call_explore"
DID = (
    SubAgentStart(tool_call_id=CALL, task=TASK, model=MODEL, max_steps=20),
    SubAgentStep(
        tool_call_id=CALL,
        text="I look for the word first.",
        calls=(
            SubAgentCall(
                name="grep", args='{"pattern": "weekday"}', outcome="success", chars=60,
                text="import.py:2: if row.weekday\ntests/test_import.py:11: weekday=1",
            ),
            SubAgentCall(
                name="read_file", args='{"path": "import.py"}', outcome="success", chars=9_000, text="1\tdef"
            ),
        ),
        model=MODEL, input_tokens=1_210, output_tokens=64, cost_usd=0.0021,
    ),
    SubAgentStep(
        tool_call_id=CALL,
        calls=(SubAgentCall(name="read_file", args='{"path": "gone.py"}', outcome="error", text="No."),),
        model=MODEL, input_tokens=3_050, output_tokens=41, cost_usd=0.0044,
    ),
    SubAgentStep(
        tool_call_id=CALL, text=FOUND, model=MODEL, input_tokens=3_310, output_tokens=90, cost_usd=0.0049
    ),
    SubAgentEnd(
        tool_call_id=CALL, outcome="done", steps=3, calls=3, input_tokens=7_570, output_tokens=195,
        cost_usd=0.0114, duration_s=12.4,
    ),
)  # fmt: skip


def sent() -> Story:
    """A conversation in which a sub-agent was started."""
    args = f'{{"task": "{TASK}"}}'
    story = Story("sunday import").user("Why does the import fail on Sundays?")
    story.add(
        AssistantMessage(text="", call_ids=(CALL,), tokens={"tool_calls": 30}, model=MODEL),
        ModelResponse(parts=[ToolCallPart("explore", args, tool_call_id=CALL)]),
    )
    story.add(ToolCall(tool_call_id=CALL, name="explore", args=args))
    for event in DID:
        story.add(event)
    done = ToolResult(tool_call_id=CALL, name="explore", text=FOUND, tokens={"tool_results": 48})
    story.add(done, ModelRequest(parts=[ToolReturnPart("explore", FOUND, tool_call_id=CALL)]))
    return story.answer("It drops rows whose weekday is 0.", reported=9_700)


async def row(deck: Deck) -> None:
    await deck.says("3 calls")


async def detail(deck: Deck) -> None:
    deck.transcript.jump_to(4)
    deck.transcript.focus()
    await deck.press("ctrl+o")
    await deck.says("Task: ")


@pytest.mark.parametrize("scene", [row, detail])
async def test_sub_agent(look: Look, scene: Scene) -> None:
    await look(sent(), scene)


def test_what_it_did_in_words() -> None:
    text = sub_agent_text(DID)
    assert 'grep "weekday" · 2 hits' in text
    assert "read_file import.py · 9,000 characters" in text
    assert "read_file gone.py · failed" in text
    assert text.endswith("3 calls · 7.8k tokens · $0.0114 · 12 s")
    assert "cut off when the program ended" in sub_agent_text(DID[:2])
    assert sub_agent_text(()) == ""


async def test_row_counts_while_it_works_and_escape_stops_it(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("explore", task=TASK), Text("Known."))
    looks_twice = Tool(calls=(("ls", {}), ("glob", {"pattern": "*"})))
    fake_openai.add(looks_twice, HangMidStream(), phrase="for another assistant")
    desk.serve(fake_openai).change(explore={"enabled": True})
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("Why on Sundays?")
        await deck.says("2 calls")
        await deck.press("escape")
        await deck.says("interrupted")
        assert "2 calls" in deck.text


async def test_resources_prompts_and_questions_of_a_server(desk: Desk) -> None:
    pytest.importorskip("mcp")
    desk.change(mcp={"files": program("files", "rich")})
    async with shown(desk.app()) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says("It also has 3 resources, 1 prompt, instructions.")
        await deck.press("escape")
        editor = deck.app.screen.query_one(PromptEditor)
        await deck.until(
            lambda: any(each.name == "files:hail" for each in editor.completer.custom), "the prompt"
        )
        await deck.press(*"@files")
        await deck.says("files:notes://chart")
        await deck.press("escape", "ctrl+c")
        await deck.send("/files:hail")
        await deck.says("/files:hail needs boat")
        await deck.press("ctrl+c")
        await deck.send("/files:hail Gull")
        await deck.says("Hail Gull, calmly.")


def asked_by_server(deck: Deck, **args: object) -> "asyncio.Task[object]":
    """Make the server send an elicitation, and return its answer."""

    async def ask(opened: OpenSession) -> object:
        await opened.extras.servers.settle(30)
        offered = opened.extras.servers.offered()
        server = next(server for server, tool in offered if own_name(tool) == "ask")
        return await server.call("ask", args)

    return asyncio.create_task(deck.app.screen.session.ask(ask))  # type: ignore[attr-defined]


async def test_a_server_asks_the_user(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp")
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)
    desk.change(mcp={"files": program()})
    async with shown(desk.app()) as deck:
        await deck.ready()
        answer = asked_by_server(deck, text="Which [b]boat[/b]?")
        await deck.says("files asks: Which [b]boat[/b]?")
        await deck.press(*"Gull", "enter")
        await deck.says("berths")
        await deck.press(*"many", "enter")
        await deck.says("That is not a whole number.")
        await deck.press("backspace", "backspace", "backspace", "backspace", *"3", "enter")
        await deck.says("jib")
        await deck.until(lambda: isinstance(deck.app.screen, ChoiceDialog), "the choice")
        await deck.press("up", "enter")
        await deck.until(lambda: "yes" in deck.text, "the second choice")
        await deck.press("up", "up", "enter")
        content = json.loads(str(await answer))["content"]
        assert content == {"boat": "Gull", "berths": 3, "sail": "main", "sure": True}


async def test_a_server_is_told_nothing_of_a_prompt_that_is_being_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp")
    monkeypatch.setattr(stray_keys, "QUIET_S", 60.0)
    desk.change(mcp={"files": program()})
    async with shown(desk.app()) as deck:
        await deck.ready()
        answer = asked_by_server(deck, text="Which boat?")
        await deck.says("files asks: Which boat?")
        await deck.press(*"words", "enter")
        assert isinstance(deck.app.screen, EditDialog)
        await deck.press("escape")
        assert json.loads(str(await answer)) == {"action": "decline"}
        await deck.says("words")


def field(**said: object) -> dict[str, object]:
    return {"type": "object", "properties": {"sure": {"type": "string", **said}}}


NOT_WHOLE: Sequence[tuple[str, Any, str]] = (
    ("May I count the boats?" + "x\n" * 40 + "And sink them?", {}, "too small to show all"),
    ("Which boat?", field(enum=["jib " * 20, "main"]), "too long to be shown"),
    ("Which boat?", field(description="x\n" * 40), "too small to show all"),
    ("Which boat?", field(title="jib " * 20), "too long to be shown"),
    ("Which boat?", field(enum=[str(each) for each in range(21)]), "it has 21 choices"),
    ("x" * 2_001, {}, "asks too much to be shown"),
)
"""Asked in this order: no two consecutive questions are declined for the same reason."""


async def test_what_cannot_be_shown_whole_is_declined(desk: Desk) -> None:
    pytest.importorskip("mcp")
    desk.change(mcp={"files": program()})
    async with shown(desk.app()) as deck:
        await deck.ready()
        for text, schema, told in NOT_WHOLE:
            answer = asked_by_server(deck, text=text, schema=schema or {"type": "object", "properties": {}})
            await deck.until(lambda: told in deck.status, told)  # noqa: B023 -- waited for here
            assert json.loads(str(await answer)) == {"action": "decline"}


async def test_the_choices_of_a_server_are_told_apart_from_each_other_and_from_ours(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp")
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)
    desk.change(mcp={"files": program()})
    async with shown(desk.app()) as deck:
        await deck.ready()
        words = "Count them. " * 30 + "Sure?"
        answer = asked_by_server(deck, text=words, schema=field(enum=["Decline", "go\u200b", "go"]))
        await deck.says("1. Decline")
        assert "Sure? · sure" in deck.text
        assert "Never type a password" in deck.text
        await deck.press("up", "enter")
        assert json.loads(str(await answer)) == {"action": "accept", "content": {"sure": "go"}}


async def test_a_terminal_that_loses_the_focus_is_called_when_a_turn_ends(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        assert deck.app.terminal_title.has_focus
        deck.app.post_message(events.AppBlur())
        await deck.until(lambda: not deck.app.terminal_title.has_focus, "the blur")
        assert deck.app.terminal_title.notify == "unfocused"
        deck.app.post_message(events.AppFocus())
        await deck.until(lambda: deck.app.terminal_title.has_focus, "the focus")
