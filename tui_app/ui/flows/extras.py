"""What a session has beside its own tools: ``/mcp``, ``/skills``, and what ``/status`` says of them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.agent.mcp.status import McpStatus
from tui_app.conversation.message_actions import Overview
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.details import DetailsScreen
from tui_app.ui.screens.mcp import McpScreen
from tui_app.ui.screens.skills import SkillsScreen

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.app import PlimsollApp

USAGE = "/mcp shows the servers; /mcp reload starts them again, /mcp reload NAME one of them."
_LONGEST = 200_000


async def overview(session: ChatSession) -> Overview:
    """How everything stands; nothing where the session can only be looked at, or has not loaded."""

    async def look(opened: "OpenSession") -> Overview:
        return opened.extras.overview()

    if session.read_only or not session.link.ready:
        return Overview()
    return await session.link.ask(look)


async def show_mcp(app: "PlimsollApp", session: ChatSession, argument: str) -> None:
    """Show the servers, or start them again."""
    words = argument.split()
    if session.read_only:
        session.say(session.read_only)
    elif not words:
        await _show_servers(app, session)
    elif words[0].lower() == "reload" and len(words) < 3:
        await _reload_named(session, words[1:])
    else:
        session.say(USAGE)


async def _show_servers(app: "PlimsollApp", session: ChatSession) -> None:
    async def servers(opened: "OpenSession") -> Sequence[McpStatus]:
        return opened.extras.servers.statuses()

    async def read() -> Sequence[McpStatus]:
        return await session.link.ask(servers)

    async def reload(name: str) -> None:
        await _reload(session, [name])

    await app.push_screen_wait(McpScreen(await read(), read, reload))


async def _reload_named(session: ChatSession, names: list[str]) -> None:
    defined = session.launch.settings.mcp
    if unknown := next((name for name in names if name not in defined), ""):
        there = ", ".join(defined) or "none"
        session.say(f"No MCP server is called {one_line(unknown, 40)}. There are: {there}.")
    elif not defined:
        session.say("No MCP server is set.")
    else:
        session.say(f"Starting again: {', '.join(names or defined)}. /mcp shows how they do.")
        await _reload(session, names)


async def _reload(session: ChatSession, names: list[str]) -> None:
    async def start(opened: "OpenSession") -> None:
        await opened.extras.servers.reload(names)

    await session.link.ask(start)


async def show_skills(app: "PlimsollApp", session: ChatSession) -> None:
    """List the skills; one that is chosen is shown in full."""
    all_of_it = await overview(session)
    folder = session.launch.cwd.resolve()
    chosen = await app.push_screen_wait(SkillsScreen(all_of_it.skills, all_of_it.refused, folder=folder))
    if chosen:
        await app.push_screen_wait(DetailsScreen("Skill", await asyncio.to_thread(_text, Path(chosen))))


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_LONGEST).decode("utf-8", "replace")
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}."


def status_lines(all_of_it: Overview) -> list[str]:
    """Lines of ``/status``: instructions that are followed, servers, skills."""
    lines = []
    if not all_of_it.instructed:
        lines.append("Rules      off: project_instructions is false")
    shares = {share.name: share.tokens for share in all_of_it.shares if share.category == "memory"}
    for number, file in enumerate(all_of_it.files):
        size = f" {shares[file.path]:,} tokens" if file.text and file.path in shares else ""
        note = f" ({file.note})" if file.note else ""
        lines.append(f"{'' if number else 'Rules':<11}{one_line(file.path, 100)}{size}{note}")
    for number, server in enumerate(all_of_it.servers):
        lines.append(f"{'' if number else 'MCP':<11}{server.name}: {server.words}")
    if all_of_it.skills:
        names = ", ".join(one_line(skill.name, 40) for skill in all_of_it.skills)
        lines.append(f"Skills     {one_line(names, 200)}")
    return lines
