"""A user-written agent in a session: its tools and prompts, with our log and our governor."""

from dataclasses import dataclass, replace

import pytest

from tests.conversation.driving import Desk, assert_valid, of, turn
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.own_agent import UnusableAgent
from tui_app.conversation.assembly import open_session
from tui_app.events import AgentOutput, AssistantMessage, CompactionComplete, ToolResult, TurnEnd, ViewRewrite
from tui_app.session.preview import StoreBodies
from tui_app.session.views.user_view import fold_user_view

AGENT = '''
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, RunContext, ToolReturn
from pydantic_ai.models.test import TestModel

helper = Agent(system_prompt="You know the harbour.", instructions="Answer briefly.", deps_type=str)

@helper.tool
def departures(ctx: RunContext[str], day: str) -> str:
    """List the departures."""
    return f"{ctx.deps}, {day}: " + "09:00 and 17:30. " * 200

both = (helper, "North harbour")

class Answer(BaseModel):
    time: str

typed = Agent(output_type=Answer)
ready = Agent(TestModel(custom_output_text="Ready at once."))
named = Agent()

rich = Agent()

@rich.tool_plain
def departures(day: str) -> ToolReturn:
    """Look at the board, and take a picture of it."""
    picture = BinaryContent(b"PNG", media_type="image/png")
    return ToolReturn({"day": day}, content=["The 17:30 is late."] + [picture] * (day == "Monday"))

@named.tool_plain
def search_history(query: str) -> str:
    """Mine."""
    return "mine"
'''


@dataclass
class Own:
    desk: Desk
    server: FakeOpenAI

    def opening(self, attribute: str, **settings: object):
        settings.setdefault("approvals", {"looks": ("departures", "search_history")})
        opening = self.desk.opening(**settings)
        model = opening.model if attribute != "ready" else ""
        return replace(opening, model=model, agent=f"agents.py:{attribute}")


@pytest.fixture
def own(desk: Desk, fake_openai: FakeOpenAI) -> Own:
    (desk.cwd / "agents.py").write_text(AGENT)
    desk.server("local", fake_openai.base_url, window=8_000)
    return Own(desk, fake_openai)


async def test_its_tools_run_and_its_prompts_go_out_every_time(own: Own) -> None:
    own.server.add(tool("departures", day="Sunday"), Text("At nine."), Text("And at half past five."))
    opened = open_session(own.opening("both"))
    try:
        await opened.prepare()
        happened = await turn(opened.conversation, "When on Sundays?")
        assert "North harbour, Sunday" in of(happened, ToolResult)[0].text
        await turn(opened.conversation, "And later?")
        assert_valid(opened.conversation)
        usage = opened.conversation.usage
    finally:
        await opened.close()
    for request in own.server.journal:
        system = " ".join(str(each["content"]) for each in request["messages"] if each["role"] == "system")
        assert "You know the harbour." in system
        assert "Answer briefly." in system
        names = {each["function"]["name"] for each in request["tools"]}
        assert names == {"departures", "search_history"}
    # The agent's overhead also counts between turns.
    assert usage.parts.system > 0
    assert usage.parts.tools > 0


async def test_its_conversation_is_compacted_and_goes_on(own: Own) -> None:
    own.server.add(
        *(
            behaviour
            for n in range(14)
            for behaviour in (tool("departures", day=f"day {n}"), Text(f"Told {n}."))
        )
    )
    own.server.fallback = Text("Title: Harbour\nThe departures were listed.")
    opened = open_session(own.opening("both"))
    try:
        await opened.prepare()
        happened = [record for n in range(14) for record in await turn(opened.conversation, f"Day {n}?")]
        assert all(end.outcome == "done" for end in of(happened, TurnEnd))
        # A stage or a summary made room.
        assert of(happened, ViewRewrite, CompactionComplete)
        assert opened.conversation.usage.total < 8_000
        assert_valid(opened.conversation)
    finally:
        await opened.close()


async def test_a_typed_answer_is_on_record_and_the_next_turn_is_valid(own: Own) -> None:
    own.server.add(tool("final_result", time="09:00"), tool("final_result", time="10:00"))
    opened = open_session(own.opening("typed"))
    try:
        await opened.prepare()
        happened = await turn(opened.conversation, "When?")
        [result] = of(happened, ToolResult)
        assert (result.name, result.outcome) == ("final_result", "success")
        assert of(happened, AgentOutput) == [AgentOutput(text='{"time":"09:00"}')]
        bodies = StoreBodies(opened.store, opened.conversation.session)
        view = fold_user_view(opened.store.heads(opened.conversation.session))
        shown = [(row.kind, row.title, bodies.body(row).text) for row in view.entries][-1]
        assert shown == ("assistant", '{"time":"09:00"}', '```json\n{\n  "time": "09:00"\n}\n```')
        await turn(opened.conversation, "And then?")
        assert_valid(opened.conversation)
    finally:
        await opened.close()


async def test_what_a_tool_adds_for_the_model_is_part_of_its_result(own: Own) -> None:
    own.server.add(tool("departures", day="Sunday"), tool("departures", day="Monday"), Text("Late."))
    opened = open_session(own.opening("rich"))
    try:
        await opened.prepare()
        happened = await turn(opened.conversation, "Is it late?")
        assert_valid(opened.conversation)
    finally:
        await opened.close()
    assert of(happened, ToolResult)[0].text == '{"day":"Sunday"}\n\nThe 17:30 is late.'
    first, second = (str(own.server.journal[place]["messages"]) for place in (1, 2))
    assert "The 17:30 is late." in first
    assert second.count("The 17:30 is late.") == 2
    assert "data:image/png;base64," in second


async def test_a_tool_of_its_own_with_that_name_stays(own: Own) -> None:
    own.server.add(tool("search_history", query="x"), Text("Done."))
    opened = open_session(own.opening("named"))
    try:
        await opened.prepare()
        assert of(await turn(opened.conversation, "Look."), ToolResult)[0].text == "mine"
    finally:
        await opened.close()


async def test_the_model_it_brings_along_answers(own: Own) -> None:
    opened = open_session(own.opening("ready"))
    try:
        await opened.prepare()
        assert opened.conversation.model == "test:test"
        assert of(await turn(opened.conversation, "Now?"), AssistantMessage)[-1].text == "Ready at once."
    finally:
        await opened.close()


async def test_nothing_is_left_behind_by_a_name_that_leads_nowhere(own: Own) -> None:
    with pytest.raises(UnusableAgent):
        open_session(own.opening("absent"))
    database = own.desk.opening().paths.database
    assert not database.exists() or open_session(own.desk.opening()).store.sessions()[0].messages == 0
