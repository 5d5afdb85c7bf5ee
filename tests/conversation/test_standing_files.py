"""The plan and the todo list of a session's folder, carried along by its compactions."""

import pytest

from tests.conversation.driving import Desk, done, turn
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Compact

LONG = "The sea is below and the sky is above, as everybody knows. " * 40
NOTES = "Title: Sea\n## Intent\nKnow the sea.\n## Current state\nAll is said."


def summary(opened: OpenSession) -> str:
    message = opened.conversation.history.items()[0].message
    return str(message.parts[0].content)  # type: ignore[union-attr]


async def talk(opened: OpenSession, server: FakeOpenAI, turns: int) -> None:
    for number in range(turns):
        server.add(Text(f"{number} {LONG}"))
        await turn(opened.conversation, f"Question {number}: {LONG}")


@pytest.mark.parametrize("policy", ["plimsoll", "background"])
async def test_they_are_read_anew_for_each_compaction(
    desk: Desk, fake_openai: FakeOpenAI, policy: str
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session(policy=policy) as opened:
        await talk(opened, fake_openai, 5)
        opened.folder.plan_file.write_text("Round the cape.")
        opened.folder.todo_file.write_text("- [ ] reef the sail")
        fake_openai.add(Text(NOTES))
        await done(opened.conversation, Compact())
        assert "## Current plan\nRound the cape.\n\n## Todo list\n- [ ] reef the sail" in summary(opened)
        await talk(opened, fake_openai, 5)
        opened.folder.plan_file.unlink()
        opened.folder.todo_file.write_text("- [x] reef the sail")
        fake_openai.add(Text(NOTES))
        await done(opened.conversation, Compact())
        assert "Current plan" not in summary(opened)
        assert summary(opened).count("reef the sail") == 1
        asked = [each.text() for each in fake_openai.exchanges if "<transcript>" in each.text()]
        assert not any("reef the sail" in text for text in asked), "code carries them, not the summary"


async def test_what_cannot_be_read_is_not_there(desk: Desk) -> None:
    async with desk.session() as opened:
        assert [each.text for each in opened.extras.additions()] == ["", ""]
        opened.folder.plan_file.mkdir(parents=True)
        opened.folder.todo_file.write_bytes(b"caf\xe9")
        assert [each.text for each in opened.extras.additions()] == ["", "caf\N{REPLACEMENT CHARACTER}"]
