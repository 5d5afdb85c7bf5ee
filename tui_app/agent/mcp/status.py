"""How an MCP server does, in plain values: the screen shows it. Imports nothing heavy."""

from dataclasses import dataclass, replace
from typing import Literal

from tui_app.text import count

ServerState = Literal["off", "starting", "ready", "stopped", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpTool:
    """One tool of a server, as the model sees it."""

    name: str
    """With the server's name in front."""
    description: str = ""
    tokens: int = 0
    """What its definition takes of each request."""
    claims_read_only: bool = False
    """What the server says of itself; a hint, nothing to rely on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpStatus:
    """One server."""

    name: str
    where: str = ""
    """Program or address."""
    state: ServerState = "starting"
    tools: tuple[McpTool, ...] = ()
    error: str = ""
    """Why it failed, or what went wrong last."""
    restarts: int = 0
    """Times it was started again by itself because it was lost."""
    required: bool = False
    """Whether no turn may begin without it."""
    left_out: tuple[str, ...] = ()
    """Tools that cannot be used, each with the reason, as sentences."""

    @property
    def is_address(self) -> bool:
        """Whether it is spoken to over HTTP."""
        return self.where.startswith(("http://", "https://"))

    @property
    def tokens(self) -> int:
        """What its tools take of each request."""
        return sum(tool.tokens for tool in self.tools)

    @property
    def words(self) -> str:
        """Its state as the user reads it."""
        match self.state:
            case "ready":
                return f"ready, {count(len(self.tools), 'tool')}"
            case "off":
                return "switched off"
            case _:
                return self.state

    def failed(self, why: str) -> "McpStatus":
        return replace(self, state="failed", tools=(), error=why)


class ServerRequired(Exception):
    """A server without which no turn may begin is not there. The message is sentences."""
