"""Tools of a person's own agent are held back like any that nobody here knows."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.models.test import TestModel

from tests.conversation.driving import Desk, assert_valid, cancelled_within, of, turn, until
from tests.conversation.test_approving import NO, ONCE, decided, played, results, together
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Prompt
from tui_app.events import ApprovalDecided, ApprovalRequested, TurnEnd

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
    """An open session of one of the agents; its tools may do what they are allowed to."""
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


@pytest.fixture(autouse=True)
def _there(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.cwd)


def booked(desk: Desk) -> list[str]:
    path = desk.cwd / "book.txt"
    return path.read_text().split() if path.exists() else []


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


async def test_after_a_no_it_never_ran_and_the_model_reads_why(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("book", ferry="Elsa"), Text("All right."))
    async with opened(desk, fake_openai) as session:
        records = await played(session, "Book.", Decision("no", reason="Elsa is in the dock."))
        [(outcome, text)] = results(records)
        assert (outcome, "because: Elsa is in the dock." in text) == ("denied", True)
        assert_valid(session.conversation)
    assert "Elsa is in the dock." in str(fake_openai.journal[-1]["messages"][-1])
    assert booked(desk) == []


async def test_what_was_allowed_from_now_on_is_asked_about_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("book", ferry="Elsa"), tool("book", ferry="Nora"), Text("Done."))
    async with opened(desk, fake_openai) as session:
        await played(session, "Book.", Decision("always", pattern="book"))
    assert booked(desk) == ["Elsa", "Nora"]


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


async def test_what_the_agent_itself_says_no_to_is_not_asked_about(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("charter", ferry="Elsa"), Text("A pity."))
    async with opened(desk, fake_openai, "strict") as session:
        records = await played(session, "Go.")
        assert results(records) == [("denied", "Not on Sundays.")]
        assert not of(records, ApprovalDecided)


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


async def test_looking_for_a_tool_needs_no_yes_but_the_tool_does(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(
        tool("search_tools", queries=["book place"]), tool("book_place", ferry="Elsa"), Text("Done.")
    )
    async with opened(desk, fake_openai, "many", attended=False) as session:
        records = await turn(session.conversation, "Go.")
        assert [outcome for outcome, _ in results(records)] == ["success", "denied"]
        assert decided(records) == [("denied", "unattended", "once", "")]


async def test_a_turn_is_stopped_while_it_asks(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(together(tool("sink", ferry="Elsa"), tool("book", ferry="Nora")))
    async with opened(desk, fake_openai) as session:
        seen = session.conversation.watch()
        session.conversation.submit(Prompt("Go."))
        await until(seen, lambda payload: isinstance(payload, ApprovalRequested))
        await cancelled_within(session.conversation)
        assert_valid(session.conversation)
        # The yes that is missing is missing in the next turn too.
        fake_openai.add(tool("book", ferry="Nora"), Text("Done."))
        await played(session, "Again.", NO)
    assert booked(desk) == []


async def test_another_prompt_is_let_in_behind_the_answer(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("book", ferry="Elsa"), Text("And Nora."))
    async with opened(desk, fake_openai) as session:
        conversation = session.conversation
        seen = conversation.watch()
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


async def test_the_agent_itself_is_left_as_it_was(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("book", ferry="Elsa"), Text("Done."))
    async with opened(desk, fake_openai) as session:
        await played(session, "Book.", NO)
    agent = sys.modules["plimsoll_agent_agents"].helper
    await agent.run("Book.", model=TestModel(call_tools=["book"]))
    assert len(booked(desk)) == 1, "where nobody governs it, it is asked about by nobody"
