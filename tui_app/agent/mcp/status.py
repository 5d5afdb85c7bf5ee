"""Status of an MCP server, as plain values for the screen. Imports nothing heavy."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from tui_app.records import frozen
from tui_app.text import count

SCHEMA_CHARS = 40_000
"""Maximum characters of one schema."""
ServerState = Literal["off", "starting", "ready", "stopped", "failed"]


@frozen(kw_only=True)
class McpTool:
    """One tool of a server, as the model sees it."""

    name: str
    """With the server's name as prefix."""
    description: str = ""
    tokens: int = 0
    """Tokens of its definition in each request."""
    deferred: bool = False
    """Whether it is sent only after the model has searched for it."""
    claims_read_only: bool = False
    """The server's own claim: a hint that must not be relied on."""


@frozen(kw_only=True)
class McpResource:
    """A resource of a server."""

    server: str
    uri: str
    about: str = ""

    @property
    def mention(self) -> str:
        """Its name in a prompt, after an ``@``."""
        return f"{self.server}:{self.uri}"


@frozen(kw_only=True)
class McpPrompt:
    """A prompt of a server."""

    server: str
    name: str
    about: str = ""
    arguments: tuple[str, ...] = ()
    """Names of its arguments; optional ones are in brackets."""

    @property
    def command(self) -> str:
        """Name of its slash command."""
        return f"{self.server}:{self.name}".lower()

    def values(self, words: Sequence[str]) -> "dict[str, str] | str":
        """Assign words to the arguments, in order or as ``name=value``. Returns a sentence if that fails.

        Words left over belong to the last argument.
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
    """The status of one server."""

    name: str
    where: str = ""
    """Program or address."""
    state: ServerState = "starting"
    tools: tuple[McpTool, ...] = ()
    resources: tuple[McpResource, ...] = ()
    prompts: tuple[McpPrompt, ...] = ()
    instructions: str = ""
    """Its instructions, as far as they are sent to the model."""
    error: str = ""
    """Why it failed, or its newest error."""
    restarts: int = 0
    """Number of automatic restarts."""
    required: bool = False
    """Whether no turn may start without it."""
    left_out: tuple[str, ...] = ()
    """Tools that cannot be used, each with the reason, as sentences."""

    @property
    def is_address(self) -> bool:
        """Whether it is reached over HTTP."""
        return self.where.startswith(("http://", "https://"))

    @property
    def tokens(self) -> int:
        """Tokens of its tools in each request."""
        return sum(tool.tokens for tool in self.tools if not tool.deferred)

    @property
    def saved(self) -> int:
        """Tokens of its tools that the model has not searched for."""
        return sum(tool.tokens for tool in self.tools if tool.deferred)

    @property
    def description(self) -> str:
        """Its state for the user."""
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
    """What the user is asked to agree to."""

    address: str
    host: str
    """The host that asks."""
    scopes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        asked = f" It will be asked for: {', '.join(self.scopes)}." if self.scopes else ""
        return f"Sign in at {self.host} in your browser.{asked} If it did not open, go to:\n{self.address}"


class CallFailed(Exception):
    """A call failed. The message is for the model and the user."""


class ServerRequired(Exception):
    """A required server is not ready, so no turn may start. The message is sentences."""
