"""What a session has beside its own tools: MCP servers, the project's instructions, skills; their cost."""

from collections.abc import Collection, Sequence
from dataclasses import InitVar, dataclass, field

from pydantic_ai.tools import ToolDefinition

from tui_app.agent.mcp.offered import Offered
from tui_app.agent.mcp.seen import SeenTools
from tui_app.agent.mcp.servers import McpServers
from tui_app.agent.mcp.status import McpStatus
from tui_app.agent.project_instructions import instructions_text
from tui_app.agent.skills import skills_text
from tui_app.context.compaction.plan import Addition
from tui_app.conversation.bus import EventBus
from tui_app.conversation.carried import Carried
from tui_app.conversation.request import Opening
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.shares import Overview, Share, SkillRow
from tui_app.conversation.standing import SkillsInUse, Standing
from tui_app.conversation.standing_files import StandingFiles
from tui_app.conversation.switching import ModelSwitch
from tui_app.events import Notice

OURS = "Plimsoll"
"""What the program's own tools are called among those of servers."""


@dataclass(slots=True)
class Extras:
    """Belongs to one session."""

    opening: InitVar[Opening]
    history: SessionHistory
    standing: Standing
    in_use: SkillsInUse
    own: Sequence[ToolDefinition] = field(default_factory=tuple)
    """The program's own tools."""
    carried: Carried = field(default_factory=Carried)
    servers: McpServers = field(init=False)
    _models: ModelSwitch | None = None
    """Measures anew; None for a session that is only looked at."""

    def __post_init__(self, opening: Opening) -> None:
        """Know the servers that are set; none is started."""
        self.servers = McpServers(
            # A person's own agent brings its own tools along.
            {} if opening.agent else opening.settings.mcp,
            opening.env,
            opening.cwd,
            SeenTools(opening.paths.state / "mcp.json"),
            self,
        )

    def additions(self) -> Sequence[Addition]:
        """What compactions carry along: plan, todo list, skills in use."""
        return (*StandingFiles(self.history.archive.folder)(), *self.in_use())

    def follow(self, models: ModelSwitch) -> None:
        """Measure anew whenever a server comes or goes, and say which one failed."""
        self._models = models

    def heard(self, status: McpStatus) -> None:
        """See ``McpHost``."""
        if self._models is None:
            return
        if status.state == "failed":
            self.history.append(Notice(text=f"MCP server {status.name}: {status.error} /mcp shows more."))
        self.carried.tools = (*self.own, *self._offered())
        self._models.measure()

    def other_names(self) -> Collection[str]:
        """See ``McpHost``."""
        return [tool.name for tool in self.own]

    def overview(self) -> Overview:
        """How everything stands, in plain values."""
        in_use = self.in_use.names()
        return Overview(
            servers=self.servers.statuses(),
            files=self.standing.files,
            skills=tuple(
                SkillRow(skill.name, skill.description, skill.place, str(skill.file), skill.name in in_use)
                for skill in self.standing.skills.found
            ),
            refused=self.standing.skills.refused,
            shares=self.shares(),
            instructed=self.standing.instructed,
        )

    def shares(self) -> tuple[Share, ...]:
        """What the tools of each server, instructions and skills take of each request."""
        servers = [Share("tools", status.name, status.tokens) for status in self.servers.statuses()]
        return self._shares([share for share in servers if share.tokens])

    def last_known(self) -> tuple[list[ToolDefinition], tuple[Share, ...]]:
        """Definitions that the servers had when they last ran, and the shares with them; none is started."""
        known = {
            name: self.servers.seen.of(server) or []
            for name, server in self.servers.defined.items()
            if server.enabled
        }
        shares = [Share("tools", name, self._tools(tools)) for name, tools in known.items() if tools]
        return [tool for tools in known.values() for tool in tools], self._shares(shares)

    def _shares(self, servers: Sequence[Share]) -> tuple[Share, ...]:
        ours = Share("tools", OURS, self._tools(self.own))
        instructions = [
            Share("memory", file.path, self._text(instructions_text([file])))
            for file in self.standing.files
            if file.text
        ]
        skills = Share("memory", "skills", self._text(skills_text(self.standing.skills)))
        return tuple(each for each in (ours, *servers, *instructions, skills) if each.tokens)

    def _offered(self) -> list[ToolDefinition]:
        return [tool.definition for _, tool in self.servers.offered()]

    def weigh(self, tool: Offered) -> int:
        """Tokens of a tool's definition in the current model's own tokens."""
        return self._tools([tool.definition])

    def _tools(self, tools: Sequence[ToolDefinition]) -> int:
        return round(self.history.counter.tools(tools) * self.history.factor)

    def _text(self, text: str) -> int:
        return round(self.history.counter.text(text) * self.history.factor) if text else 0


def extras_of(opening: Opening, history: SessionHistory, bus: EventBus | None = None) -> Extras:
    """Read what the project and the person have; no server is started.

    Args:
        opening: Which session, with what settings.
        history: Its view and log.
        bus: Where compactions are heard of; None for a session that is only looked at.
    """
    standing = Standing(opening.cwd, opening.paths.config, opening.settings.project_instructions)
    if not opening.agent:
        standing.read()
        if bus is not None:
            bus.listen(standing.heard)
    return Extras(opening, history, standing, SkillsInUse(history, standing))
