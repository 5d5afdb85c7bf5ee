"""Restarting MCP servers: whoever asks and whatever is cancelled, at most one of each is running."""

import asyncio
from collections.abc import Collection
from pathlib import Path

import pytest
from pydantic_ai.tools import ToolDefinition

from tests.agent.test_mcp_servers import sign_ins
from tests.conversation.hook_commands import place
from tui_app.agent.mcp import servers as module
from tui_app.agent.mcp.offers import Offer
from tui_app.agent.mcp.seen_tools import SeenTools
from tui_app.agent.mcp.servers import McpServers
from tui_app.agent.mcp.status import McpStatus
from tui_app.settings.tables import McpServer
from tui_app.system.trust import ProgramPlace


class Alone:
    """A toolset without other tools."""

    def other_names(self) -> Collection[str]:
        return ()

    def on_status(self, status: McpStatus) -> None:
        pass

    def without(self, servers: object) -> None:
        pass

    async def ask(self, server: str, message: str, schema: object) -> None:
        return None

    def room(self) -> int:
        return 0

    def sent(self) -> Collection[str]:
        return ()

    def weigh(self, tool: ToolDefinition) -> int:
        return 0


class Fake:
    """A server that stops when the test lets it."""

    made: list["Fake"]
    may_end: asyncio.Event

    def __init__(
        self,
        settings: McpServer,
        place: ProgramPlace,
        changed: object,
        *_: object,
    ) -> None:
        self.settings, self.offer, self.ready = settings, Offer(), False
        self.status = McpStatus(name=settings.name)
        self.alive = False
        self.stopping = asyncio.Event()
        Fake.made.append(self)

    def start(self) -> None:
        self.alive = True

    async def stop(self) -> None:
        self.stopping.set()
        await Fake.may_end.wait()
        self.alive = False


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> McpServers:
    Fake.made, Fake.may_end = [], asyncio.Event()
    monkeypatch.setattr(module, "Server", Fake)
    defined = {name: McpServer(name=name, command="x") for name in ("a", "b")}
    return McpServers(defined, place(tmp_path), SeenTools(tmp_path / "mcp.json"), Alone(), sign_ins(tmp_path))


def alive(name: str) -> list[Fake]:
    return [each for each in Fake.made if each.alive and each.settings.name == name]


async def test_two_reloads_at_once_start_one_server_and_none_is_left(servers: McpServers) -> None:
    servers.start()
    both = asyncio.gather(servers.reload(["a"]), servers.reload())
    await Fake.made[0].stopping.wait()
    Fake.may_end.set()
    await both
    assert [len(alive("a")), len(alive("b"))] == [1, 1]
    assert len(Fake.made) == 4
    await servers.close()
    assert not alive("a") + alive("b")


async def test_a_reload_that_is_cancelled_starts_the_server_again(servers: McpServers) -> None:
    servers.start()
    reload = asyncio.create_task(servers.reload(["a"]))
    await Fake.made[0].stopping.wait()
    reload.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reload
    Fake.may_end.set()
    await servers.reload(["b"])
    assert alive("a") not in ([], [Fake.made[0]])
    await servers.close()
    assert not alive("a") + alive("b")


async def test_nothing_is_started_behind_the_end(servers: McpServers) -> None:
    servers.start()
    reload = asyncio.create_task(servers.reload())
    await Fake.made[0].stopping.wait()
    close = asyncio.create_task(servers.close())
    Fake.may_end.set()
    await asyncio.gather(close, reload)
    await servers.reload()
    assert len(Fake.made) == 2
    assert not alive("a") + alive("b")


async def test_a_server_that_was_started_by_a_reload_is_not_started_twice(servers: McpServers) -> None:
    Fake.may_end.set()
    await servers.reload(["a"])
    servers.start()
    assert [len(alive("a")), len(alive("b"))] == [1, 1]
    await servers.close()
