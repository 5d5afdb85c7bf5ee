"""How an MCP server does, in plain values: the screen shows it. Imports nothing heavy."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from tui_app.records import frozen
from tui_app.text import count

SCHEMA_CHARS = 40_000
"""Characters of one schema."""
ServerState = Literal["off", "starting", "ready", "stopped", "failed"]


@frozen(kw_only=True)
class McpTool:
    """One tool of a server, as the model sees it."""

    name: str
    """Begins with the server's name."""
    description: str = ""
    tokens: int = 0
    """What its definition takes of each request."""
    deferred: bool = False
    """Whether it is not sent: the model has to search for it first."""
    claims_read_only: bool = False
    """What the server says of itself; a hint, nothing to rely on."""


@frozen(kw_only=True)
class McpResource:
    """Something a server has to read."""

    server: str
    uri: str
    about: str = ""

    @property
    def mention(self) -> str:
        """How a prompt names it, after an ``@``."""
        return f"{self.server}:{self.uri}"


@frozen(kw_only=True)
class McpPrompt:
    """A prompt that a server has ready."""

    server: str
    name: str
    about: str = ""
    arguments: tuple[str, ...] = ()
    """Names of what is put into it; one that may be left out is in brackets."""

    @property
    def command(self) -> str:
        """Name of its slash command."""
        return f"{self.server}:{self.name}".lower()

    def values(self, words: Sequence[str]) -> "dict[str, str] | str":
        """Give its arguments their values, in order or as ``name=value``; else a sentence that says how.

        What follows the last argument belongs to it.
        """
        names = [name.strip("[]") for name in self.arguments]
        found: dict[str, str] = {}
        free = []
        for word in words:
            name, sign, value = word.partition("=")
            if sign and name in names:
                found[name] = value
            else:
                free.append(word)
        left = [name for name in names if name not in found]
        if free and not left:
            return f"/{self.command} takes no more arguments: {' '.join(free)[:80]}"
        for name in left[:-1]:
            if free:
                found[name] = free.pop(0)
        if free:
            found[left[-1]] = " ".join(free)
        missing = [name for name in self.arguments if not name.startswith("[") and name not in found]
        return f"/{self.command} needs {', '.join(missing)}." if missing else found


@frozen(kw_only=True)
class McpStatus:
    """One server."""

    name: str
    where: str = ""
    """Program or address."""
    state: ServerState = "starting"
    tools: tuple[McpTool, ...] = ()
    resources: tuple[McpResource, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()
    instructions: str = ""
    """What it says of how it is to be used, as far as the model is told."""
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
        return sum(tool.tokens for tool in self.tools if not tool.deferred)

    @property
    def saved(self) -> int:
        """What its tools would take that the model has not searched for."""
        return sum(tool.tokens for tool in self.tools if tool.deferred)

    @property
    def description(self) -> str:
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


@frozen
class Consent:
    """What the user is about to agree to."""

    address: str
    host: str
    """Who asks, as the network names it."""
    scopes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        asked = f" It will be asked for: {', '.join(self.scopes)}." if self.scopes else ""
        return f"Sign in at {self.host} in your browser.{asked} If it did not open, go to:\n{self.address}"


class CallFailed(Exception):
    """A call came to nothing. The message is for the model and the user."""


class ServerRequired(Exception):
    """A server without which no turn may begin is not there. The message is sentences."""
