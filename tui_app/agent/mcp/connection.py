"""One connection to an MCP server. The client library is loaded only here, when a server is first started."""

import importlib
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tui_app.agent.mcp import warden
from tui_app.agent.mcp.environment import header_values, program_environment
from tui_app.extras import install_command
from tui_app.paths import from_home
from tui_app.settings.mcp import McpServer

if TYPE_CHECKING:
    from fastmcp.client.transports import ClientTransport
    from pydantic_ai.mcp import MCPToolset

_SAID_CHARS = 2_000


class ClientMissing(Exception):
    """The optional client is not installed. The message says what to do."""


def load_client() -> None:
    """Import the client library; takes seconds, so call it in a thread.

    Raises:
        ClientMissing: if it is not installed.
    """
    # It would read settings for itself from a file of the folder, and write on our terminal.
    os.environ.setdefault("FASTMCP_ENV_FILE", os.devnull)
    os.environ.setdefault("FASTMCP_LOG_ENABLED", "false")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for module in ("pydantic_ai.mcp", "fastmcp.client.transports"):
                importlib.import_module(module)
    except ImportError as error:
        told = f"The client for MCP servers is not installed. Install it: {install_command('mcp')}"
        raise ClientMissing(told) from error
    for name in ("mcp", "fastmcp", "client"):
        # What a server sends that is no message would be written out as it is.
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


class Connection:
    """A server while it is connected; made and used on one event loop.

    Args:
        server: Its settings.
        env: Our own environment.
        cwd: Folder of the session.
    """

    def __init__(self, server: McpServer, env: Mapping[str, str], cwd: Path) -> None:
        self._server = server
        self._said: TextIO | None = None
        self.toolset = self._toolset(env, cwd)

    def _toolset(self, env: Mapping[str, str], cwd: Path) -> "MCPToolset[Any]":
        from pydantic_ai.mcp import MCPToolset

        timeout = self._server.timeout
        return MCPToolset(
            self._transport(env, cwd),
            id=self._server.name,
            init_timeout=timeout,
            read_timeout=timeout,
            tool_error_behavior="failed",
        )

    def _transport(self, env: Mapping[str, str], cwd: Path) -> "ClientTransport":
        from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

        server = self._server
        if server.url:
            return StreamableHttpTransport(server.url, headers=header_values(server, env))
        inherited = program_environment(server, env)
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - see close
        return StdioTransport(
            command=sys.executable,
            args=["-I", "-S", str(Path(warden.__file__)), server.command, *server.args],
            env=inherited,
            cwd=str(cwd / from_home(server.cwd)),
            keep_alive=False,
            log_file=self._said,
        )

    @property
    def said(self) -> str:
        """The end of what the server's program has said on standard error."""
        return self._read().partition(warden.END_MARK)[0].strip()[-_SAID_CHARS:]

    @property
    def ended(self) -> str:
        """Why the server's program is gone, as part of a sentence; empty while it runs."""
        return self._read().partition(warden.END_MARK)[2].strip()

    def _read(self) -> str:
        if self._said is None or self._said.closed:
            return ""
        size = os.fstat(self._said.fileno()).st_size
        start = max(0, size - 4 * _SAID_CHARS)
        return os.pread(self._said.fileno(), size - start, start).decode("utf-8", "replace")

    def close(self) -> None:
        """Let go of what the program has said."""
        if self._said is not None:
            self._said.close()
