"""Policies that compact when a turn has ended."""

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.view import is_summary
from tui_app.events import CompactionComplete

LONG = "The sea is below and the sky is above, as everybody knows. " * 40
ASKS = "Write the notes for this transcript"


async def test_reserve_compacts_behind_the_turn(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=20_000)
    fake_openai.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(6)))
    fake_openai.add(
        *(Text("Title: Sea\n## Intent\nTell the sea from the sky.") for _ in range(6)), phrase=ASKS
    )
    async with desk.session(policy="reserve") as opened:
        for number in range(6):
            await turn(opened.conversation, f"Question {number}? {LONG}")
            await opened.conversation.settle()
        records = [record for record, _ in opened.store.records(opened.conversation.session)]
        done = [one for one in of(records, CompactionComplete) if isinstance(one, CompactionComplete)]
        assert {one.trigger for one in done if one.outcome == "success"} == {"turn_end"}
        (summary,) = [
            item.message for item in opened.conversation.history.items() if is_summary(item.message)
        ]
        assert str(summary.parts[0]).count("[Notes on what was said before]") == 1
