"""MCP servers, skills, instructions of the project and commands from files, on the screen, and pictures."""

import sys

import pytest

from tests.servers import mcp_stdio
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import Deck, Desk, shown
from tui_app.settings.tables import McpServer
from tui_app.ui.dialogs.base import DetailsScreen
from tui_app.ui.dialogs.extensions import NONE, McpScreen, SkillsScreen
from tui_app.ui.dialogs.help import HelpScreen


def program(name: str = "files", mode: str = "plain") -> McpServer:
    args = ("-S", mcp_stdio.__file__, mode)
    return McpServer(name=name, command=sys.executable, args=args, timeout=20)


def write(desk: Desk, name: str, text: str) -> None:
    file = desk.cwd / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def mcp(deck: Deck) -> None:
    await deck.send("/mcp")
    await deck.until(lambda: isinstance(deck.app.screen, McpScreen), "the servers")


# MCP


async def test_servers_tools_and_errors_are_shown_and_one_is_started_again(desk: Desk) -> None:
    pytest.importorskip("fastmcp")
    servers = {"files": program(), "evil": program("evil", "evil"), "broken": program("broken", "crash")}
    desk.change(mcp=servers)
    async with shown(desk.app()) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says("ready, 7 tools")
        await deck.until(lambda: "failed" in deck.text and "starting" not in deck.text, "an end")
        assert "files_echo" in deck.text
        assert "[b]red[/b]" in deck.text, "text is never markup"
        assert "\x1b" not in deck.text
        await deck.press(*"broken")
        await deck.says("No harbour")
        assert "exited with status 7" in deck.text
        await deck.press("f5")
        await deck.until(lambda: "failed" in deck.text)
        await deck.press("escape", "escape")
        await deck.send("/mcp reload fils")
        await deck.says("No MCP server is called fils. There are: files, evil, broken.")
        await deck.send("/mcp reload files")
        await deck.says("Starting again: files.")
        await deck.send("/mcp what")
        await deck.says("/mcp reload NAME")


async def test_without_servers_it_says_how(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says(NONE.split(".")[0])


async def test_tools_are_split_by_server_in_the_context(desk: Desk) -> None:
    pytest.importorskip("fastmcp")
    write(desk, "AGENTS.md", "Answer like a sailor.")
    desk.change(mcp={"files": program()})
    async with shown(desk.app()) as deck:
        await deck.ready()
        await mcp(deck)
        await deck.says("ready, 7 tools")
        await deck.press("escape")
        await deck.press("f3")
        await deck.says("Plimsoll")
        names = [row.strip("│ ").split("  ")[0] for row in deck.rows]
        at = names.index("tool definitions")
        assert names[at + 1 : at + 3] == ["Plimsoll", "files"]
        assert names[names.index("memory") + 1] == "AGENTS.md"
        await deck.press("escape")
        await deck.send("/status")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the status")
        assert "files: ready, 7 tools" in deck.text
        assert "AGENTS.md" in deck.text


# Skills


async def test_skills_are_listed_and_can_be_read(desk: Desk) -> None:
    write(
        desk, ".plimsoll/skills/reefing/SKILL.md", "---\ndescription: Make [b]less[/b] sail.\n---\nEase it.\n"
    )
    write(desk, ".plimsoll/skills/bad/SKILL.md", "nothing in front")
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("/skills")
        await deck.until(lambda: isinstance(deck.app.screen, SkillsScreen), "the skills")
        assert "Make [b]less[/b] sail." in deck.text
        assert "no description" in deck.text
        assert " .plimsoll/skills/reefing/SKILL.md" in deck.text, "from the working folder on"
        await deck.press("enter")
        await deck.says("Ease it.")


# Commands


async def test_a_command_of_a_file_is_offered_last_and_sends_its_text(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    write(
        served,
        ".plimsoll/commands/review.md",
        "---\ndescription: Look at a file\n---\nReview $1 for $2. All: $ARGUMENTS",
    )
    write(served, ".plimsoll/commands/compact.md", "Never sent.")
    fake_openai.add(Text("It is fine."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.until(lambda: deck.editor.custom, "the commands")
        assert [command.name for command in deck.editor.custom] == ["review"]
        await deck.type("/re")
        offered = [row for row in deck.rows if "/re" in row]
        built_in = next(at for at, row in enumerate(offered) if "/resume" in row)
        own = next(at for at, row in enumerate(offered) if "/review" in row)
        assert built_in < own
        await deck.press("ctrl+u")
        await deck.until(lambda: not deck.editor.text, "an empty prompt")
        await deck.send('/review import.py "dead code"')
        await deck.answered()
        sent = fake_openai.exchanges[-1].text()
        assert 'Review import.py for dead code. All: import.py "dead code"' in sent


async def test_what_was_typed_for_a_command_whose_file_is_gone_comes_back(served: Desk) -> None:
    write(served, ".plimsoll/commands/review.md", "Review $1.")
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.until(lambda: deck.editor.custom, "the commands")
        (served.cwd / ".plimsoll/commands/review.md").unlink()
        await deck.send("/review a long argument")
        await deck.says("/review cannot be used")
        assert deck.editor.text == "/review a long argument"


async def test_an_inexact_name_is_not_sent_and_help_lists_the_exact_one(served: Desk) -> None:
    write(served, ".plimsoll/commands/overhaul.md", "Overhaul it.")
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.until(lambda: deck.editor.custom, "the commands")
        await deck.send("/overha")
        assert deck.editor.text.strip() == "/overhaul"
        await deck.press("ctrl+u")
        await deck.send("/help")
        await deck.until(lambda: isinstance(deck.app.screen, HelpScreen), "help")
        await deck.press(*"overhaul")
        await deck.says("its exact name.")


# Pictures
