"""What a model brings back reaches it as it was given: no stage takes a part out again."""

import json

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import Text, Tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import ToolNormalised, ToolOffloaded, ToolResult, UserMessage


async def test_the_end_of_a_long_message_is_reached_by_its_handle(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=128_000)
    usage = (20_000, 10)
    contract = "\n".join([*(f"Clause {n}: the harbour keeps its tides." for n in range(3_000)), "Clause X."])
    fake_openai.add(Text("Read.", usage=usage))
    async with desk.session() as opened:
        said = of(await turn(opened.conversation, contract), UserMessage)
        assert said
        seq = next(item.key for item in opened.conversation.history.items())
        for start in (1, 2_990):
            query = {"query": f"#{seq}", "start": start}
            fake_openai.add(Tool(calls=(("search_history", query),), usage=usage))
        fake_openai.add(Text("Done.", usage=usage))
        happened = await turn(opened.conversation, "What does the last clause say?")
    assert of(happened, ToolNormalised, ToolOffloaded) == []
    first, last = of(happened, ToolResult)
    assert isinstance(first, ToolResult)
    assert isinstance(last, ToolResult)
    assert "read on with search_history" in first.text
    assert last.text.endswith("\nClause X.")
    sent = [m["content"] for m in fake_openai.journal[-1]["messages"] if m["role"] == "tool"]
    assert sent == [first.text, last.text], json.dumps(sent)[:500]
