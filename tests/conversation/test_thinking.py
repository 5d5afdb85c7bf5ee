"""How much a model thinks is asked of it in its own words, or not at all."""

import pytest

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import TurnEnd
from tui_app.settings import Endpoint


@pytest.mark.parametrize(
    ("level", "asked"), [("default", None), ("low", "low"), ("high", "high"), ("off", "none")]
)
async def test_the_level_reaches_the_model(
    desk: Desk, fake_openai: FakeOpenAI, level: str, asked: str | None
) -> None:
    desk.endpoints["thinker"] = Endpoint(name="thinker", base_url=fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Thought about."))
    async with desk.session(model="thinker:gpt-5.2", thinking=level) as opened:
        happened = await turn(opened.conversation, "Think.")
        assert of(happened, TurnEnd)[-1].outcome == "done"
    assert fake_openai.journal[-1].get("reasoning_effort") == asked
