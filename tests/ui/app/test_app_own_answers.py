"""What an agent of a person's own returns in a form of its own reads like any answer."""

from tests.servers.behaviours import tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import Desk, shown

AGENT = """
from pydantic import BaseModel
from pydantic_ai import Agent

class Ferry(BaseModel):
    ferry: str
    times: list[str]

typed = Agent(output_type=Ferry)
"""


async def test_it_stands_in_the_chat_one_value_to_a_line(desk: Desk, fake_openai: FakeOpenAI) -> None:
    (desk.cwd / "agents.py").write_text(AGENT)
    fake_openai.add(tool("final_result", ferry="Elsa", times=["09:00", "17:30"]))
    async with shown(desk.serve(fake_openai).app(agent="agents.py:typed")) as deck:
        await deck.ready()
        await deck.send("Which ferry?")
        await deck.answered()
        assert deck.kinds == ["user", "tool", "assistant"]
        rows = [row.partition("│")[0].strip() for row in deck.rows]
        assert '"ferry": "Elsa",' in rows
        assert '"17:30"' in rows
