"""The tools of all MCP servers as a toolset for the agent."""

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
"""Invalid calls of one tool in a row after which the turn fails."""
_ANY_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema()))
"""The server checks arguments against its own schema."""


class McpTools(AbstractToolset[Any]):
    """Offers the tools of the ready servers. Every call of an MCP tool passes ``call_tool``.

    For approvals, the metadata of each definition has the server, the tool and the server's own claim:
    ``mcp_server``, ``mcp_tool``, ``read_only_hint``. The claim is only a hint.
    """

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    @property
    def id(self) -> str:
        return "mcp"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools that can be called now. Waits a while for starting servers, not for one that hangs."""
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
        """Call a tool of a server. A failure is a result that the model reads, never the end of the turn.

        Raises:
            ToolFailed: if the call fails or its server is not running; the model reads why.
        """
        about = tool.tool_def.metadata or {}
        try:
            server = await self._servers.started(about["mcp_server"])
            return await server.call(about["mcp_tool"], tool_args)
        except CallFailed as error:
            raise ToolFailed(str(error)) from error


def mcp_tool_search() -> ToolSearch[Any]:
    """The search for tools that are not sent; absent if there are none.

    The search is by words, in this process, so the log has the same calls and results for every provider. A
    provider that can hide a definition reveals it once it is found, with the start of the request unchanged.
    """
    return ToolSearch(strategy="keywords", tool_description=PROMPTS["search_tools"])
