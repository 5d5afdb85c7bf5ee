"""A sub-agent on the screen: its row while it works, what it did once it is opened, its pictures."""

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from tests.servers.behaviours import HangMidStream, Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import Scene
from tests.ui.app.story import MODEL, Story
from tests.ui.kit import Deck, Desk, shown
from tests.ui.looks import Look
from tui_app.events import (
    AssistantMessage,
    SubAgentCall,
    SubAgentEnd,
    SubAgentStart,
    SubAgentStep,
    ToolCall,
    ToolResult,
)
from tui_app.ui.dialogs.rows import sub_agent_text

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
    """A talk in which a sub-agent was sent out."""
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
    assert "cut off with the program" in sub_agent_text(DID[:2])
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
