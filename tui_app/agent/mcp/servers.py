"""The MCP servers of a session, started together; each fails on its own."""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pydantic_ai.tools import ToolDefinition

from tui_app.agent.instructions.prompts import PROMPTS
from tui_app.agent.mcp.offers import Offer, without_clashes
from tui_app.agent.mcp.seen_tools import SeenTools
from tui_app.agent.mcp.server import Server, first_status
from tui_app.agent.mcp.status import CallFailed, Consent, McpPrompt, McpStatus, McpTool, ServerRequired
from tui_app.agent.mcp.tokens import TokenStore
from tui_app.settings.tables import McpServer
from tui_app.system.project_files import Refused
from tui_app.system.trust import ProgramPlace
from tui_app.text import count, plain_text

WAIT_S = 5.0
"""Maximum seconds that a request waits for servers that are still starting."""


class McpHost(Protocol):
    """The session that servers belong to."""

    def other_names(self) -> Collection[str]: ...

    def on_status(self, status: McpStatus) -> None:
        """A server has become ready, has failed or was stopped."""

    def without(self, servers: Sequence[McpStatus]) -> None:
        """A request is sent although these servers are still starting."""

    async def ask(self, server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        """Ask the user a question of a server; None if there is no answer."""

    def weigh(self, tool: ToolDefinition) -> int: ...

    def room(self) -> int:
        """Maximum tokens that the tools of all servers may take of each request; 0 for no limit."""

    def sent(self) -> Collection[str]:
        """Names of the tools in the newest request."""


MOST_TOOLS = 128
"""Maximum tools per request for OpenAI and others."""


def found_by_search(
    sizes: Mapping[str, int], room: int, numbers: Mapping[str, int] | None = None, others: int = 0
) -> frozenset[str]:
    """The servers whose tools are sent only after the model has searched for them.

    Args:
        sizes: Tokens of each server's tools.
        room: Maximum tokens of all together; 0 for no limit.
        numbers: Number of tools of each server.
        others: Number of other tools.

    Returns:
        The largest ones, as many as it takes for the rest to fit.
    """
    numbers = numbers or {}
    total, number, found = sum(sizes.values()), others + sum(numbers.values()), set[str]()
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        if (not room or total <= room) and number <= MOST_TOOLS:
            break
        found.add(name)
        total, number = total - sizes[name], number - numbers.get(name, 0)
    return frozenset(found)


@dataclass(slots=True)
class McpServers:
    """The MCP servers of a session. Not thread-safe: use it on one event loop."""

    defined: Mapping[str, McpServer]
    place: ProgramPlace
    seen: SeenTools
    """Stores definitions, to count them without starting a server."""
    host: McpHost
    tokens: TokenStore
    """What the user has signed in to."""
    patient: bool = False
    """Whether a request waits for a server's full start time, because no user is waiting."""
    _servers: dict[str, Server] = field(default_factory=dict)
    _announce: dict[str, Callable[[Consent], None]] = field(default_factory=dict)
    """By server, receives the consent to show at its next start."""
    _restarts: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """Running restarts, at most one per server. Cancelling a caller does not cancel them."""
    _started: bool = False
    _closed: bool = False
    _decided: tuple[object, frozenset[str]] = (None, frozenset())
    """Input of the last decision, and the servers whose tools are found by search."""

    def start(self) -> None:
        if self._started or self._closed:
            return
        self._started = True
        for name in self.defined:
            if name not in self._servers:
                self._begin(name)

    async def reload(self, names: Sequence[str] = ()) -> None:
        """Restart servers with their current settings; without names all of them.

        Concurrent requests for the same server share one restart.
        """
        if self._closed:
            return

        async def again(name: str) -> None:
            try:
                if (server := self._servers.get(name)) is not None:
                    await server.stop()
                if not self._closed:
                    self._begin(name)
            finally:
                del self._restarts[name]

        targets = [name for name in names or self.defined if name in self.defined]
        for name in targets:
            if name not in self._restarts:
                self._restarts[name] = asyncio.create_task(again(name), name=f"mcp-restart-{name}")
        await asyncio.gather(*(asyncio.shield(self._restarts[name]) for name in targets))

    def instructions(self) -> str:
        """Instructions of the ready servers, marked as theirs, and which servers' tools need a search."""
        by_name = {name: server.status.instructions for name, server in self._ready().items()}
        texts = [f"{name}:\n{text}" for name, text in by_name.items() if text]
        searched = self.searched()
        numbers = Counter(server.settings.name for server, _ in self.offered())
        named = ", ".join(f"{name} ({count(numbers[name], 'tool')})" for name in numbers if name in searched)
        found = [PROMPTS["searched"].format(named)] if named else []
        return "\n\n".join([*found, *([PROMPTS["servers"], *texts] if texts else [])])

    async def read(self, mention: str) -> str | bytes | None:
        """The content of ``SERVER:URI``; None if there is no such server. Raises ``CallFailed``."""
        name, sign, uri = mention.partition(":")
        if not sign or not uri or name not in self.defined:
            return None
        return await (await self.started(name)).read(uri)

    async def started(self, name: str) -> Server:
        """A server, once it is ready or will not become ready. Raises ``CallFailed``."""
        self.start()
        if (server := self._servers.get(name)) is None:
            raise CallFailed(f"The MCP server {name} is not running.")
        server.revive()
        # A moment more than its own limit, so that it can report itself what went wrong.
        await self.settle(server.settings.timeout + 1.0, server)
        return server

    async def prompt_text(self, prompt: McpPrompt, words: Sequence[str]) -> str:
        """The text of a server's prompt.

        Args:
            prompt: Which one.
            words: The words after its command.

        Raises:
            Refused: if something is missing, or the server fails; tells why.
        """
        values = prompt.values(words)
        if isinstance(values, str):
            raise Refused(values.rstrip("."))
        try:
            server = await self.started(prompt.server)
            text = plain_text(await server.prompt(prompt.name, values))
        except CallFailed as error:
            raise Refused(plain_text(str(error))[:300].rstrip(".")) from error
        if not text.strip():
            raise Refused("it is empty")
        return text

    async def switch(self, name: str, *, on: bool) -> None:
        """Turn a server on or off for this session."""
        self.defined = {**self.defined, name: replace(self.defined[name], enabled=on)}
        await self.reload([name])

    async def sign_in(self, name: str, announce: Callable[[Consent], None]) -> McpStatus:
        """Restart a server and let the user sign in.

        Args:
            name: Which one.
            announce: Receives the consent to show.
        """
        self._announce[name] = announce
        await self.reload([name])
        server = self._servers[name]
        await self.settle(server.start_s + 1.0, server)
        return next(status for status in self.statuses() if status.name == name)

    async def close(self) -> None:
        """Stop all servers, and their programs."""
        self._closed = True
        # Restarts too: they no longer start anything now.
        await asyncio.gather(*(server.stop() for server in self._servers.values()), *self._restarts.values())

    async def gather(self) -> None:
        """Wait for starting servers as long as a request does, and report those it goes without.

        Raises:
            ServerRequired: if a required server is not ready.
        """
        self.start()
        for server in self._servers.values():
            server.revive()
        enabled = [server for server in self._servers.values() if server.settings.enabled]
        # A moment more than its own limit, so that it can report itself what went wrong.
        longest = max((server.settings.timeout for server in enabled), default=0.0) + 1.0
        await self.settle(longest if self.patient else WAIT_S)
        for server in enabled:
            if server.settings.required and not server.ready:
                if server.status.state == "starting":
                    await self.settle(server.settings.timeout, server)
                if not server.ready:
                    why = server.status.error or "It has not started yet."
                    raise ServerRequired(f"The MCP server {server.settings.name} is required. {why}")
        if late := [server.status for server in self._servers.values() if not server.settled.is_set()]:
            self.host.without(late)

    async def settle(self, timeout_s: float = WAIT_S, *servers: Server) -> None:
        """Wait, with a time limit, for some servers, or for all."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                for server in servers or tuple(self._servers.values()):
                    await server.settled.wait()

    def offered(self) -> list[tuple[Server, ToolDefinition]]:
        """Every tool that can be called now, in the order of the settings."""
        return [(self._servers[name], tool) for name, each in self._offers().items() for tool in each.tools]

    def _ready(self) -> dict[str, Server]:
        servers = {name: self._servers[name] for name in self.defined if name in self._servers}
        return {name: server for name, server in servers.items() if server.ready}

    def _offers(self) -> dict[str, Offer]:
        ready = {name: server.offer for name, server in self._ready().items()}
        return without_clashes(ready, self.host.other_names)

    def searched(self) -> frozenset[str]:
        """The servers whose tools are found by search; recomputed if tools or room have changed."""
        offered, room = self.offered(), self.host.room()
        what = (room, *((server.settings.name, tool) for server, tool in offered))
        if what != self._decided[0]:
            sizes, numbers = Counter[str](), Counter(server.settings.name for server, _ in offered)
            for server, tool in offered:
                sizes[server.settings.name] += self.host.weigh(tool)
            found = found_by_search(sizes, room, numbers, len(self.host.other_names()))
            self._decided = what, found
        return self._decided[1]

    def statuses(self) -> tuple[McpStatus, ...]:
        searched, sent, kept = self.searched(), self.host.sent(), self._offers()
        found = []
        for name, settings in self.defined.items():
            server = self._servers.get(name)
            status = server.status if server is not None else first_status(settings)
            if name in kept:
                tools = tuple(
                    McpTool(
                        name=tool.name,
                        description=tool.description or "",
                        tokens=self.host.weigh(tool),
                        deferred=name in searched and tool.name not in sent,
                        claims_read_only=bool((tool.metadata or {})["read_only_hint"]),
                    )
                    for tool in kept[name].tools
                )
                status = replace(status, tools=tools, left_out=kept[name].left_out)
            found.append(replace(status, required=settings.required))
        return tuple(found)

    def _begin(self, name: str) -> None:
        server = self._servers[name] = Server(
            self.defined[name],
            self.place,
            self._changed,
            self.tokens,
            self._announce.pop(name, None),
            self.host.ask,
        )
        server.start()

    def _changed(self, server: Server) -> None:
        if self._closed or self._servers.get(server.settings.name) is not server:
            return
        if server.status.state == "ready":
            self.seen.note(server.settings, server.offer.tools)
        self.host.on_status(server.status)
