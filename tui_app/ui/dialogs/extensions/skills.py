"""Skills and agents: what is available, from where, and what the conversation uses."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.conversation.message_actions import SkillRow
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.details import DetailsScreen, file_text
from tui_app.ui.dialogs.list import NARROW, Asked, ListDialog, ListSpec
from tui_app.ui.dialogs.sessions.session_choice import Chosen, go_to
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Host
from tui_app.ui.dialogs.extensions.mcp import overview

NO_SKILLS = (
    "There are no skills. Put one in .plimsoll/skills/NAME/SKILL.md; see docs/instructions-and-skills.md."
)

NO_AGENTS = "There are no agents. Put one in .plimsoll/agents/NAME.md; see docs/sub-agents.md."


class SkillsScreen(ListDialog[SkillRow]):
    """Dismisses with the skill to read, or ``None``."""

    KIND, NONE = "Skill", NO_SKILLS

    def __init__(
        self,
        rows: Sequence[SkillRow],
        refused: Sequence[str] = (),
        *,
        folder: Path | None = None,
        mark: str = "",
    ) -> None:
        """List skills, or agents, which are files of the same kind.

        Args:
            rows: All of them.
            refused: Problems of unusable files.
            folder: Paths inside it are shown relative to it; None shows absolute paths.
            mark: Name of the one marked first.
        """
        problems = [one_line(text, 300) for text in refused[:3]]
        kind, used = self.KIND.lower(), sum(row.in_use for row in rows)

        def note(row: SkillRow) -> str:
            file = row.file
            if folder is not None and Path(file).is_relative_to(folder):
                file = str(Path(file).relative_to(folder))
            details = [one_line(each, 300) for each in (file, row.detail) if each]
            return "\n".join([one_line(row.description, 500), *details, *problems])

        spec = ListSpec[SkillRow](
            name=f"{kind}s",
            search="filter by name or purpose",
            columns=(
                Column(lambda row: row.name, 24, "bold", leaves_at=NARROW),
                Column(lambda row: row.name, tone="bold", comes_below=NARROW),
                Column(
                    lambda row: "in use" if row.in_use else row.place,
                    10,
                    lambda row: "$text-success" if row.in_use else MUTED,
                ),
                Column(lambda row: row.description, tone="", leaves_at=NARROW),
            ),
            title=lambda _: f"{self.KIND}s" if kind == "agent" else f"{self.KIND}s · {used} in use",
            note=note,
            empty="\n".join([f"No matching {kind}.", *problems]),
            none="\n".join([self.NONE, *problems]),
            enter="read it",
            key=lambda row: row.name,
        )
        super().__init__(rows, spec, mark=mark)


class AgentsScreen(SkillsScreen, place="agents"):
    """Dismisses with the agent to read, a request, or ``None``."""

    KIND, NONE = "Agent", NO_AGENTS


_LONGEST = 200_000


async def show_skills(app: "Host", session: ChatSession) -> None:
    """List the skills and show the chosen one."""
    all_of_it = await overview(session)
    folder = session.launch.cwd.resolve()
    await _show_files(app, session, SkillsScreen(all_of_it.skills, all_of_it.refused, folder=folder))


async def show_agents(app: "Host", session: ChatSession) -> None:
    """List the running and available subagents, and show the chosen one or run a request."""
    mark = ""
    while True:
        rows = list[SkillRow]()
        if not session.read_only:
            rows = await session.ask(lambda opened: opened.conversation.agents.listed())
        files = (await overview(session)).agents
        for each in files.found:
            details = (", ".join(each.tools), each.model, each.policy, each.note)
            detail = "  ".join(filter(None, details))
            rows.append(SkillRow(each.name, each.description, each.place, str(each.file), detail=detail))
        screen = AgentsScreen(rows, files.refused, folder=session.launch.cwd.resolve(), mark=mark)
        asked = await _show_files(app, session, screen)
        if asked is None or asked.row is None or asked.row.brief is None:
            return
        mark = asked.row.name

        async def do(opened: "OpenSession", what: str = asked.what, name: str = mark) -> str:
            if what == "promote":
                return await opened.conversation.agents.promote(name)
            await opened.conversation.agents.stop_agent(name)
            return ""

        if id := await session.ask(do):
            await go_to(app, session, Chosen(id))
            return


async def _show_files(app: "Host", session: ChatSession, screen: SkillsScreen) -> Asked[SkillRow] | None:
    chosen = await app.push_screen_wait(screen)
    if isinstance(chosen, Asked):
        return chosen
    if chosen and chosen.brief is not None:
        await app.push_screen_wait(DetailsScreen(chosen.name, chosen.brief or "It has not ended yet."))
    elif chosen:
        text = await asyncio.to_thread(file_text, Path(chosen.file), _LONGEST)
        await app.push_screen_wait(DetailsScreen(screen.KIND, text))
    return None
