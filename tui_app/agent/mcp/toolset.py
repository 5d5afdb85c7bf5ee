"""The tools of all MCP servers as the agent is given them."""

from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from tui_app.agent.instructions.prompts import PROMPTS
from tui_app.agent.mcp.servers import McpServers
from tui_app.agent.mcp.status import CallFailed

MAX_RETRIES = 8
"""Times a model may get the arguments of one tool wrong in a row before the turn fails."""
_ANY_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""The server checks arguments against its own schema."""


class McpTools(AbstractToolset[Any]):
    """Offers what the servers that are ready have. Every call of an MCP tool passes ``call_tool``.

    What asks the user about calls finds server, tool and the server's own claim in the metadata of the
    definition: ``mcp_server``, ``mcp_tool``, ``read_only_hint``. The claim is a hint: the server makes it.
    """

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    @property
    def id(self) -> str:
        return "mcp"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """What can be called now; waits a while for servers that are starting, never for one that hangs."""
        await self._servers.gather()
        searched = self._servers.searched()
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=replace(tool, defer_loading=server.settings.name in searched),
                max_retries=MAX_RETRIES,
                args_validator=_ANY_ARGUMENTS,
            )
            for server, tool in self._servers.offered()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Call a server; whatever goes wrong is a result that the model reads, never the end of the turn.

        Raises:
            ToolFailed: if the call fails or its server does not run; the model reads why.
        """
        about = tool.tool_def.metadata or {}
        try:
            server = await self._servers.started(about["mcp_server"])
            return await server.call(about["mcp_tool"], tool_args)
        except CallFailed as error:
            raise ToolFailed(str(error)) from error


def mcp_tool_search() -> ToolSearch[Any]:
    """How tools are found that are not sent; without any of them it is not there.

    The search is by words, in this process: so the log holds the same calls and results whoever is asked, and
    a provider that can hide a definition shows it once it is found, with all before it unchanged.
    """
    return ToolSearch(strategy="keywords", tool_description=PROMPTS["search_tools"])
