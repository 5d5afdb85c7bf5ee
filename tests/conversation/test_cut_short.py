"""Commands that a person stops before they come to their end."""

import asyncio
import json

from tests.conversation.driving import Desk, assert_valid, of
from tests.conversation.test_approving import ONCE, command, results, working
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import ApprovalRequested, Record, ToolOutput, TurnEnd

LONG = "printf 'begun\\non the way\\n\\n'; sleep 600"


async def test_what_a_stopped_command_had_printed_is_kept(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(command(LONG), Text("Gone on."))
    async with working(desk, fake_openai) as opened:
        records: list[Record] = []
        async with asyncio.timeout(20):
            async for record in opened.conversation.send("Run it."):
                records.append(record)
                match record.data:
                    case ApprovalRequested(id=id):
                        opened.conversation.tooling.approvals.decide(id, ONCE)
                    case ToolOutput(text=text) if "way" in text:
                        opened.conversation.cancel()
        [(outcome, text)] = results(records)
        assert outcome == "interrupted"
        assert text == "Interrupted by user. Printed until then:\nbegun\non the way"
        assert of(records, TurnEnd)[0].outcome == "cancelled"  # type: ignore[attr-defined]
        assert_valid(opened.conversation)
        async for _ in opened.conversation.send("Go on."):
            pass
        assert "on the way" in json.dumps(fake_openai.journal[-1])
