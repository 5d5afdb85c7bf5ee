"""The same small MCP server over streamable HTTP, on loopback."""

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
    """What the server is reached by, and what it was sent."""

    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list)
    broken: tuple[int, bytes] | None = None
    """What it answers everything with instead."""
    session: int = 1
    """Names the session that it knows; another one than before is as if it had been started again."""
    unknown: tuple[int, bytes] = (404, b"")
    """What it answers where a request names another session; ``ID`` stands for that of the request."""
    late: bool = False
    """Whether it refuses only one request of a forgotten session at once, others once it is opened anew."""
    opened: threading.Event = field(default_factory=threading.Event)
    refused: int = 0
    meeting: threading.Barrier | None = None
    """Where calls of tools wait for each other before they are answered."""
    ended: bool = False
    """Whether it has let go of its address."""
    stop: Callable[[], None] = lambda: None
    """Lets go of the address before the block ends."""

    def come(self, message: dict[str, Any]) -> None:
        """Note a request that it will answer; calls of tools wait for each other."""
        self.opened.set()
        if self.meeting is not None and message["method"] == "tools/call":
            self.meeting.wait(10)

    def refusal_of(self, message: dict[str, Any]) -> tuple[int, bytes, str]:
        """What a request of a forgotten session is told."""
        self.refused += 1
        if self.late and self.refused > 1 and message["method"] == "tools/call":
            self.opened.wait(20)
        code, body = self.unknown
        kind = "application/json" if body.startswith(b"{") else "text/plain"
        return code, body.replace(b"ID", json.dumps(message.get("id")).encode()), kind


def handler_of(state: McpOverHttp) -> type[BaseHTTPRequestHandler]:
    """What answers requests as the state says."""

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
            """Nobody reads it."""

    return Handler


@contextmanager
def serving(
    state: McpOverHttp,
    handler: type[BaseHTTPRequestHandler],
    port: int = 0,
    trust: ssl.SSLContext | None = None,
) -> Iterator[None]:
    """Answer at an address of this machine for the time of the block."""
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
    """A server for the time of the block.

    Args:
        port: Where it listens; 0 for a free one.
    """
    state = McpOverHttp()
    with serving(state, handler_of(state), port):
        yield state
