"""The overhead of every request: instructions and tool definitions."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from tui_app.agent.mcp.servers import McpServers
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.requests.request_meter import sent_tools
from tui_app.conversation.requests.project_context import ProjectContext
from tui_app.usage import Breakdown


@dataclass(slots=True)
class RequestOverhead:
    """The overhead as far as known: as built at the start, then as in the last real request.

    Tools may come and go, and those of the user's own agent are known only from a request.
    """

    instructions: str = ""
    tools: Sequence[ToolDefinition] = ()
    project: ProjectContext | None = None
    """Its text counts as memory, except the surroundings; None if the agent does not get it."""
    servers: McpServers | None = None
    """Their instructions count as memory too."""

    def sources(self, text: str) -> Sequence[tuple[str, str]]:
        """The sources of a piece of the instructions, each with its text."""
        project, servers, surroundings = self._apart()
        if self.project is not None and text == project:
            return self.project.pieces()
        if text == servers:
            return [("what servers say", text)]
        if text != surroundings:
            return [("system prompt", text)]
        lines = text.split("\n")
        return [("surroundings", "\n".join(lines[:-2])), ("clock", "\n".join(lines[-2:]))]

    def tokens(self, counter: TokenCounter) -> Breakdown:
        project, servers, surroundings = self._apart()
        memory = counter.instructions(project) + counter.instructions(servers)
        system = "\n\n".join(filter(None, (self.instructions, surroundings)))
        return counter.overhead(system, self.tools) + Breakdown(memory=memory)

    async def note_request(self, request: ModelRequestContext) -> None:
        """Take the overhead from a real request."""
        parameters, apart = request.model_request_parameters, self._apart()
        parts = [part.content for part in parameters.instruction_parts or ()]
        self.instructions = "\n\n".join(part for part in parts if part not in apart)
        self.tools = sent_tools(parameters)

    def _apart(self) -> tuple[str, str, str]:
        """Texts of the project and the servers, and the surroundings, which differ between sessions."""
        servers = self.servers.instructions() if self.servers is not None else ""
        if self.project is None:
            return "", servers, ""
        return self.project.instructions(), servers, self.project.surroundings()
