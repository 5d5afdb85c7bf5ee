"""The plan and the todo list of a session's folder, carried along by its compactions."""

from pathlib import Path

import pytest

from tests.conversation.driving import Desk, done, of, turn
from tests.servers.behaviours import Text, Tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Compact, Restate, Rewind
from tui_app.events import ToolResult

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
        assert "## Plan\nRound the cape.\n\n## Todo list\n- [ ] reef the sail" in summary(opened)
        await talk(opened, fake_openai, 5)
        opened.folder.plan_file.unlink()
        opened.folder.todo_file.write_text("- [x] reef the sail")
        fake_openai.add(Text(NOTES))
        await done(opened.conversation, Compact())
        assert "## Plan" not in summary(opened)
        assert summary(opened).count("reef the sail") == 1
        asked = [each.text() for each in fake_openai.exchanges if "<transcript>" in each.text()]
        assert not any("reef the sail" in text for text in asked), "code carries them, not the summary"


async def test_what_cannot_be_read_is_not_there(desk: Desk) -> None:
    async with desk.session() as opened:
        assert [each.text for each in opened.extras.additions()] == ["", ""]
        opened.folder.plan_file.mkdir(parents=True)
        opened.folder.todo_file.write_bytes(b"caf\xe9")
        assert [each.text for each in opened.extras.additions()] == ["", "caf\N{REPLACEMENT CHARACTER}"]


# Instructions of a project and skills: they go along with every request, once, and outlive compactions.


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


SKILL = "---\nname: reefing\ndescription: How to make the sail smaller.\n---\nFirst ease the halyard.\n"


async def test_instructions_are_sent_once_and_read_anew_behind_a_compaction(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    write(desk.cwd / "AGENTS.md", "Answer like a sailor.")
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session() as opened:
        await talk(opened, fake_openai, 5)
        assert opened.conversation.usage.parts.memory > 0
        write(desk.cwd / "AGENTS.md", "Answer like a pilot.")
        await talk(opened, fake_openai, 1)
        assert fake_openai.exchanges[-1].text().count("like a sailor") == 1, "it stays until a compaction"
        fake_openai.add(Text(NOTES))
        await done(opened.conversation, Compact())
        await talk(opened, fake_openai, 1)
        sent = fake_openai.exchanges[-1].text()
        assert sent.count("like a pilot") == 1
        assert "like a sailor" not in sent
        assert [file.path for file in opened.extras.overview().files] == ["AGENTS.md"]


async def test_they_can_be_switched_off(desk: Desk, fake_openai: FakeOpenAI) -> None:
    write(desk.cwd / "AGENTS.md", "Answer like a sailor.")
    desk.server("local", fake_openai.base_url)
    async with desk.session(project_instructions=False) as opened:
        await talk(opened, fake_openai, 1)
        assert "like a sailor" not in fake_openai.exchanges[-1].text()
        assert opened.conversation.usage.parts.memory == 0


async def test_a_skill_is_loaded_on_demand_and_kept_by_a_compaction(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    write(desk.cwd / ".plimsoll/skills/reefing/SKILL.md", SKILL)
    desk.server("local", fake_openai.base_url, window=32_000)
    async with desk.session() as opened:
        fake_openai.add(Tool((("use_skill", {"name": "reefing"}),)), Text("Done."))
        records = await turn(opened.conversation, "Make it smaller.")
        assert "How to make the sail smaller" in fake_openai.exchanges[0].text()
        assert "halyard" not in fake_openai.exchanges[0].text()
        (result,) = of(records, ToolResult)
        assert "First ease the halyard." in result.text
        assert [skill.in_use for skill in opened.extras.overview().skills] == [True]
        await talk(opened, fake_openai, 5)
        fake_openai.add(Text(NOTES))
        await done(opened.conversation, Compact())
        assert "## Skill in use: reefing\nFirst ease the halyard." in summary(opened)
        session = opened.conversation.session
    async with desk.session(session=session) as opened:
        assert opened.extras.in_use.names() == ["reefing"], "a resumed session knows it too"
        held = opened.conversation.history.view.held()
        first = min(head.seq for head in held if head.type == "user.message")
        await done(opened.conversation, Rewind(first))
        assert opened.extras.in_use.names() == []
        await done(opened.conversation, Restate(undo=True))
        assert opened.extras.in_use.names() == ["reefing"]
