"""The MCP server of ``mcp_stdio``, over streamable HTTP on loopback."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.mcp_stdio import reply


@dataclass
class McpOverHttp:
    """Address, faults and received requests of an MCP server."""

    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list)
    broken: tuple[int, bytes] | None = None
    """Status and body sent in response to every request."""
    session: int = 1
    """Number of the current session. Changing it simulates a restart of the server."""
    unknown: tuple[int, bytes] = (404, b"")
    """Status and body for requests of an unknown session; ``ID`` is replaced with the id of the request."""
    late: bool = False
    """Whether refusals after the first one keep tool calls waiting until a session has been opened anew."""
    opened: threading.Event = field(default_factory=threading.Event)
    refused: int = 0
    meeting: threading.Barrier | None = None
    """Barrier that tool calls wait at before they are answered."""
    ended: bool = False
    """Whether the port is closed."""
    stop: Callable[[], None] = lambda: None
    """Closes the port before the end of the block."""

    def come(self, message: dict[str, Any]) -> None:
        """Record a request before it is answered; tool calls wait at the barrier."""
        self.opened.set()
        if self.meeting is not None and message["method"] == "tools/call":
            self.meeting.wait(10)

    def refusal_of(self, message: dict[str, Any]) -> tuple[int, bytes, str]:
        """The response to a request of an unknown session."""
        self.refused += 1
        if self.late and self.refused > 1 and message["method"] == "tools/call":
            self.opened.wait(20)
        code, body = self.unknown
        kind = "application/json" if body.startswith(b"{") else "text/plain"
        return code, body.replace(b"ID", json.dumps(message.get("id")).encode()), kind


def handler_of(state: McpOverHttp) -> type[BaseHTTPRequestHandler]:
    """The request handler of a server with this state."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            message = json.loads(body)
            if state.ended:
                self.close_connection = True
            elif state.broken:
                self.answer(*state.broken, "text/plain")
            elif self.headers.get("mcp-session-id", str(state.session)) != str(state.session):
                self.answer(*state.refusal_of(message))
            else:
                self.reply(message)

        def reply(self, message: dict[str, Any]) -> None:
            if "id" in message:
                state.come(message)
                self.answer(200, json.dumps(reply(message, "plain")).encode(), "application/json")
            else:
                self.answer(202, b"", "text/plain")

        def do_GET(self) -> None:
            self.answer(405, b"", "text/plain")

        do_DELETE = do_GET

        def answer(self, code: int, body: bytes, kind: str) -> None:
            self.send_response(code)
            self.send_header("content-type", kind)
            self.send_header("mcp-session-id", str(state.session))
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Suppress logging."""

    return Handler


@contextmanager
def serving(
    state: McpOverHttp,
    handler: type[BaseHTTPRequestHandler],
    port: int = 0,
    trust: ssl.SSLContext | None = None,
) -> Iterator[None]:
    """Serve on loopback for the duration of the block."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    if trust is not None:
        server.socket = trust.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    state.url = f"http{'s' if trust else ''}://127.0.0.1:{server.server_address[1]}/mcp"

    def stop() -> None:
        if not state.ended:
            state.ended = True
            server.shutdown()
            server.server_close()
            thread.join()

    state.stop = stop
    try:
        yield
    finally:
        stop()


@contextmanager
def mcp_http(port: int = 0) -> Iterator[McpOverHttp]:
    """Run a server for the duration of the block.

    Args:
        port: Port to listen on; 0 for a free one.
    """
    state = McpOverHttp()
    with serving(state, handler_of(state), port):
        yield state
