"""MCP servers in a session: tools are called like any other; failures are confined to their server."""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, of, turn
from tests.servers import mcp_stdio
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.exchange import Exchange
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.mcp import servers as servers_module
from tui_app.conversation.assembly import open_session
from tui_app.conversation.inspection import inspect_session
from tui_app.conversation.turns.turns import Turns
from tui_app.conversation.work import Prompt
from tui_app.events import (
    Error,
    Notice,
    Record,
    ServerAsked,
    SubAgentStep,
    ToolNormalised,
    ToolOffloaded,
    ToolResult,
    TurnEnd,
)
from tui_app.settings.tables import McpServer

pytest.importorskip("mcp")


LET = {"allow": ("files_*", "broken_*")}
"""Tools of MCP servers ask before they run."""


def program(name: str = "files", mode: str = "plain", timeout: float = 20.0) -> McpServer:
    args = ("-S", mcp_stdio.__file__, mode)
    return McpServer(name=name, command=sys.executable, args=args, timeout=timeout)


async def test_a_turn_calls_a_tool_of_a_server(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Tool((("files_echo", {"text": "ahoy"}),)), Text("It said ahoy.", usage=(1_400, 5)))
    async with desk.session(read_only=False, approvals=LET, mcp={"files": program()}) as opened:
        before = opened.conversation.usage.parts.tools
        records = await turn(opened.conversation, "Say ahoy.")
        (result,) = of(records, ToolResult)
        assert (result.name, result.text, result.outcome) == ("files_echo", "ahoy", "success")
        assert opened.conversation.usage.parts.tools > before or before > 0
        shares = {share.name: share.tokens for share in opened.extras.shares() if share.category == "tools"}
        assert set(shares) == {"Plimsoll", "files"}
        parts = opened.conversation.usage.parts
        # The shares are our count; the category follows the provider's figure for the whole request.
        assert sum(shares.values()) == pytest.approx(parts.tools, rel=0.03), "it adds up to the category"


async def test_a_crash_in_mid_call_is_a_result_and_the_turn_goes_on(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Tool((("files_die", {}),)), Text("It is gone."))
    async with desk.session(
        read_only=False, approvals=LET, mcp={"files": program(), "broken": program("broken", "crash")}
    ) as opened:
        records = await turn(opened.conversation, "Die.")
        (result,) = of(records, ToolResult)
        assert result.outcome == "error"
        assert "exited with status 3" in result.text
        told = [notice.text for notice in of(records, Notice)]
        assert any("MCP server files" in text for text in told)
        last = str(fake_openai.exchanges[-1].body["tools"])
        assert "files_echo" in last, "the next request waits until it was started again"
        assert any("MCP server files was started again" in text for text in told)


async def test_without_a_required_server_no_turn_begins(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url)
    needed = replace(program("needed", "crash"), required=True)
    async with desk.session(read_only=False, mcp={"needed": needed}) as opened:
        records = await turn(opened.conversation, "Hello?")
        (error,) = of(records, Error)
        assert "The MCP server needed is required" in error.message
        assert "required = false" in error.hint
        assert not fake_openai.exchanges
        assert of(records, TurnEnd)[0].prompt == "Hello?", "it goes back to the editor"


async def test_what_a_request_goes_without_is_said(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers_module, "WAIT_S", 0.0)
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Text("Yes."))
    opened = open_session(replace(desk.opening(mcp={"slow": program("slow", "hang")}), attended=True))
    try:
        await opened.prepare()
        records = await turn(opened.conversation, "Hello?")
        told = [notice.text for notice in of(records, Notice)]
        assert any("is sent without the tools of slow" in text for text in told)
    finally:
        await opened.close()


async def test_resources_and_instructions_reach_the_model(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Text("Fog."))
    async with desk.session(read_only=False, mcp={"files": program("files", "rich")}) as opened:
        conversation = opened.conversation
        ask = Prompt(
            "What is in @files:notes://log and @files:notes://big?",
            ("files:notes://log", "files:notes://big"),
        )
        told: list[str] = []
        opened.bus.listen(lambda one: told.append(one.data.text) if isinstance(one.data, Notice) else None)
        conversation.submit(ask)
        await conversation.settle()
        sent = fake_openai.exchanges[0].text()
        assert "Fog until nine." in sent
        assert "Boats are named before they are counted." in sent
        shares = {share.name: share for share in opened.extras.shares()}
        assert shares["MCP instructions"].category == "memory"
        assert "@files:notes://big is not attached: it is larger than 128 KB." in told


async def test_what_servers_say_counts_only_where_it_is_sent(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(tool("explore", task="Find out where the sky is."), Text("Above."))
    fake_openai.add(Text("The sky is above."), phrase="for another assistant")
    async with desk.session(explore={}, mcp={"files": program("files", "rich")}) as opened:
        conversation, agents = opened.conversation, opened.conversation.agents
        working = list[Turns]()

        def note(record: Record) -> None:
            turns = agents.every["explore-1"].turns if isinstance(record.data, SubAgentStep) else None
            working.extend([turns] if turns is not None else [])

        opened.bus.listen(note)
        await turn(conversation, "Where is the sky?")
        assert conversation.history.overhead.fixed.memory > 0
        assert [each.history.overhead.fixed.memory for each in working] == [0]


async def test_a_question_waits_for_the_user_who_may_take_longer_than_a_call(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Tool((("files_ask", {"text": "Which one?"}),)), Text("Gull."))
    opening = replace(
        desk.opening(read_only=False, approvals=LET, mcp={"files": program(timeout=1.5)}), attended=True
    )
    opened = open_session(opening)
    try:
        await opened.prepare()
        asked: list[ServerAsked] = []

        def hear(record: Record) -> None:
            if isinstance(record.data, ServerAsked):
                asked.append(record.data)
                later = asyncio.get_running_loop()
                later.call_later(2.0, opened.extras.answer, record.data.id, {"boat": "Gull"})

        opened.bus.listen(hear)
        (result,) = of(await turn(opened.conversation, "Ask."), ToolResult)
        assert asked[0].message == "Which one?"
        assert json.loads(result.text) == {"action": "accept", "content": {"boat": "Gull"}}
    finally:
        await opened.close()


async def test_without_a_user_a_question_is_declined_with_a_sentence(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Tool((("files_ask", {}),)), Text("Nobody."))
    async with desk.session(read_only=False, approvals=LET, mcp={"files": program()}) as opened:
        records = await turn(opened.conversation, "Ask.")
        assert '"decline"' in of(records, ToolResult)[0].text
        told = [notice.text for notice in of(records, Notice)]
        assert "MCP server files asks: Which boat? No one can answer here: declined." in told


async def test_a_tool_of_a_server_asks_before_it_runs(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Tool((("files_long", {}),)), Text("Not done."))
    async with desk.session(mcp={"files": program()}) as opened:
        [result] = of(await turn(opened.conversation, "Be long."), ToolResult)
        assert result.outcome == "denied"


async def test_a_long_result_is_made_smaller_like_any_other(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Tool((("files_long", {}),)), Text("Long."))
    async with desk.session(read_only=False, approvals=LET, mcp={"files": program()}) as opened:
        records = await turn(opened.conversation, "Be long.")
        assert of(records, ToolNormalised, ToolOffloaded)
        assert len(fake_openai.exchanges[-1].text()) < 60_000


async def test_what_is_measured_without_starting_anything_knows_the_servers(
    desk: Desk, fake_openai: FakeOpenAI, tmp_path: Path
) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Text("Yes."))
    servers = {"files": program()}
    async with desk.session(read_only=False, approvals=LET, mcp=servers) as opened:
        await turn(opened.conversation, "Hello?")
        session, live = opened.conversation.session, opened.conversation.usage.parts.tools
    inspection = await inspect_session(desk.opening(session=session, read_only=False, mcp=servers))
    try:
        assert inspection.history.usage().parts.tools == live
        assert [share.name for share in inspection.shares if share.category == "tools"] == [
            "Plimsoll",
            "files",
        ]
    finally:
        inspection.close()


# Tools that the model finds by searching.


def names(exchange: Exchange) -> list[str]:
    return [each["function"]["name"] for each in exchange.body.get("tools", ())]


@pytest.mark.parametrize("share", [0.0, 0.001])
async def test_tools_above_the_share_are_found_by_searching(
    desk: Desk, fake_openai: FakeOpenAI, share: float
) -> None:
    desk.server("local", fake_openai.base_url)
    settings = {"approvals": LET, "mcp": {"files": program()}, "tools": {"defer_above": share}}
    for number in range(3):
        fake_openai.add(Text(f"{number}.", usage=(0, 0)))
    async with desk.session(read_only=False, **settings) as opened:
        for _ in range(3):
            await turn(opened.conversation, "Hello?")
        first, *others = fake_openai.exchanges
        head = [json.dumps([each.body["tools"], each.body["messages"][0]]) for each in (first, *others)]
        assert len(set(head)) == 1, "the beginning stays the same while nothing is loaded"
        assert ("files_echo" in names(first)) is (share == 0.0)
        assert ("search_tools" in names(first)) is (share > 0.0)
        assert ("files (10 tools)" in head[0]) is (share > 0.0)
        [status] = opened.extras.servers.statuses()
        ours, files = (each for each in opened.extras.shares() if each.category == "tools")
        assert (files.tokens, files.saved) == (status.tokens, status.saved)
        assert bool(files.saved) is (share > 0.0)
        assert bool(files.tokens) is (share == 0.0)
        assert opened.conversation.usage.parts.tools == pytest.approx(ours.tokens + files.tokens, abs=250)
        session = opened.conversation.session
    inspection = await inspect_session(desk.opening(session=session, read_only=False, **settings))
    try:
        measured = {each.name: (each.tokens, each.saved) for each in inspection.shares}
        assert measured["files"] == (files.tokens, files.saved)
    finally:
        inspection.close()


async def test_what_was_found_is_sent_called_and_still_there_when_the_session_is_resumed(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(
        Tool((("search_tools", {"queries": ["says again"]}),)),
        Tool((("files_echo", {"text": "ahoy"}),)),
        Text("It said ahoy."),
        Text("Still here."),
    )
    settings = {"approvals": LET, "mcp": {"files": program()}, "tools": {"defer_above": 0.001}}
    async with desk.session(read_only=False, **settings) as opened:
        records = await turn(opened.conversation, "Say ahoy.")
        found, said = of(records, ToolResult)
        assert (found.name, said.name, said.text) == ("search_tools", "files_echo", "ahoy")  # type: ignore[attr-defined]
        before, after, _ = map(names, fake_openai.exchanges)
        assert set(after) - set(before) == {"files_echo"}, "only what was found"
        [status] = opened.extras.servers.statuses()
        assert [tool.name for tool in status.tools if not tool.deferred] == ["files_echo"]
        assert 0 < status.tokens < status.saved
        session = opened.conversation.session
    async with desk.session(session=session, read_only=False, **settings) as opened:
        await turn(opened.conversation, "Are you there?")
        assert names(fake_openai.exchanges[-1]) == after
