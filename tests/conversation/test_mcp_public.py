"""Public MCP servers from npm and PyPI: each is started, called by a model, and gone afterwards.

The tests install nothing. ``PLIMSOLL_NODE_MODULES`` names the ``node_modules`` folder with the servers from
npm, and ``PLIMSOLL_MCP_PROGRAMS`` the ``bin`` folder of an environment with those from PyPI. ``.ci/mcp.sh``
creates both.
"""

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import Text, Tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import ToolResult
from tui_app.settings.tables import McpServer

pytestmark = pytest.mark.mcp_public

MODULES = Path(os.environ.get("PLIMSOLL_NODE_MODULES", "missing")) / "@modelcontextprotocol"
PROGRAMS = Path(os.environ.get("PLIMSOLL_MCP_PROGRAMS", "missing"))
STARTS_S = 60.0


def from_npm(name: str, *args: str) -> McpServer:
    script = MODULES / f"server-{name}/dist/index.js"
    assert script.exists(), "PLIMSOLL_NODE_MODULES has no such server"
    return McpServer(name=name, command="node", args=(str(script), *args), timeout=STARTS_S)


def from_pypi(name: str, *args: str) -> McpServer:
    program = PROGRAMS / f"mcp-server-{name}"
    assert program.exists(), "PLIMSOLL_MCP_PROGRAMS has no such server"
    return McpServer(name=name, command=str(program), args=args, timeout=STARTS_S)


def running(server: McpServer) -> bool:
    """Whether a process of the server is running."""
    wanted = server.args[0] if server.command == "node" else server.command
    listed = subprocess.run(["ps", "-ewwo", "args"], capture_output=True, text=True, check=True).stdout
    return any(wanted in line for line in listed.splitlines())


async def asked(
    desk: Desk, model: FakeOpenAI, server: McpServer, *calls: tuple[str, dict[str, Any]]
) -> list[str]:
    """Return the results of some calls of a server's tools, and assert that no process is left."""
    desk.server("local", model.base_url, 128_000)
    for name, args in calls:
        model.add(Tool(((f"{server.name}_{name}", args),)))
    model.add(Text("Done."))
    allow = {"allow": (f"{server.name}_*",)}
    async with desk.session(read_only=False, approvals=allow, mcp={server.name: server}) as opened:
        records = await turn(opened.conversation, "Go.")
        (status,) = opened.extras.servers.statuses()
        assert status.state == "ready", status.error
        assert not status.left_out
        assert await asyncio.to_thread(running, server)
        assert all(tool.tokens > 0 for tool in status.tools)
    results = of(records, ToolResult)
    assert [each.outcome for each in results] == ["success"] * len(calls), [each.text for each in results]
    assert not await asyncio.to_thread(running, server)
    return [each.text for each in results]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[str]:
    """The address of a page on loopback."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "tides.html").write_text("<h1>Tides</h1><p>Low water at 09:40.</p>")
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/tides.html"
    server.shutdown()
    thread.join()
    server.server_close()


async def test_everything(desk: Desk, fake_openai: FakeOpenAI) -> None:
    echo, total, picture = await asked(
        desk,
        fake_openai,
        from_npm("everything", "stdio"),
        ("echo", {"message": "ahoy"}),
        ("get-sum", {"a": 2, "b": 40}),
        ("get-tiny-image", {}),
    )
    assert echo == "Echo: ahoy"
    assert "42" in total
    assert "image" in picture


async def test_filesystem(desk: Desk, fake_openai: FakeOpenAI) -> None:
    (desk.cwd / "tides.txt").write_text("Low water at 09:40.\n")
    path = str(desk.cwd / "tides.txt")
    read, listed = await asked(
        desk,
        fake_openai,
        from_npm("filesystem", str(desk.cwd)),
        ("read_text_file", {"path": path}),
        ("list_directory", {"path": str(desk.cwd)}),
    )
    assert "Low water at 09:40." in read
    assert "tides.txt" in listed


async def test_memory(desk: Desk, fake_openai: FakeOpenAI) -> None:
    boat = {"name": "Gull", "entityType": "boat", "observations": ["sails on Sundays"]}
    _, found = await asked(
        desk,
        fake_openai,
        from_npm("memory"),
        ("create_entities", {"entities": [boat]}),
        ("search_nodes", {"query": "Gull"}),
    )
    assert "sails on Sundays" in found


@pytest.fixture
def repository(desk: Desk) -> Path:
    subprocess.run(["git", "init", "-q", str(desk.cwd)], check=True)
    return desk.cwd


async def test_git(desk: Desk, fake_openai: FakeOpenAI, repository: Path) -> None:
    (repository / "new.txt").write_text("x")
    (status,) = await asked(
        desk,
        fake_openai,
        from_pypi("git", "--repository", str(repository)),
        ("git_status", {"repo_path": str(repository)}),
    )
    assert "new.txt" in status


async def test_fetch(desk: Desk, fake_openai: FakeOpenAI, page: str) -> None:
    server = from_pypi("fetch", "--ignore-robots-txt", "--allow-private-ips")
    (text,) = await asked(desk, fake_openai, server, ("fetch", {"url": page}))
    assert "Low water at 09:40." in text


async def test_time(desk: Desk, fake_openai: FakeOpenAI) -> None:
    server = from_pypi("time", "--local-timezone", "Europe/Berlin")
    noon = {"source_timezone": "Asia/Tokyo", "time": "20:00", "target_timezone": "UTC"}
    (text,) = await asked(desk, fake_openai, server, ("convert_time", noon))
    assert "11:00" in text


def over_http(port: int) -> "subprocess.Popen[bytes]":
    """Start the server *everything* over HTTP, and wait until it listens."""
    script = from_npm("everything").args[0]
    server = subprocess.Popen(
        ["node", script, "streamableHttp"],
        env={**os.environ, "PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert server.stderr is not None
    assert any(str(port) in line.decode() for line in server.stderr)
    return server


async def test_a_server_over_http_is_restarted_between_calls(desk: Desk, fake_openai: FakeOpenAI) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    desk.server("local", fake_openai.base_url, 128_000)
    web = McpServer(name="web", url=f"http://127.0.0.1:{port}/mcp", timeout=STARTS_S)
    up = await asyncio.to_thread(over_http, port)
    try:
        async with desk.session(read_only=False, approvals={"allow": ("web_*",)}, mcp={"web": web}) as opened:
            for number in range(5):
                fake_openai.add(Tool((("web_echo", {"message": f"call {number}"}),)), Text("Done."))
                records = await turn(opened.conversation, "Go.")
                assert [each.text for each in of(records, ToolResult)] == [f"Echo: call {number}"]
                up.kill()
                await asyncio.to_thread(up.communicate)
                up = await asyncio.to_thread(over_http, port)
    finally:
        up.kill()
        await asyncio.to_thread(up.communicate)
