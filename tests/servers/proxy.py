"""A loopback proxy for any model server that records requests and can cut answers.

It forwards bytes and knows no protocol. It records requests for servers that keep no journal, and simulates a
broken connection for servers that never fail.
"""

import asyncio
import json
import re
import threading
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.servers.signals import Signal


@dataclass(frozen=True)
class Sent:
    """One request."""

    path: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Broken:
    """A fault in one answer after a number of bytes, head included."""

    after: int = 0
    hangs: bool = False
    """Whether the connection stays open and silent instead of being dropped."""
    corrupt: bool = False
    """Whether the answer continues with one byte of each event corrupted."""


class Proxy:
    """The proxy; it runs in a thread with its own event loop."""

    def __init__(self, upstream: str, renamed: tuple[bytes, bytes] = (b"", b"")) -> None:
        """Prepare a proxy for the server at this address; entering it starts it.

        Args:
            upstream: The server's root URL.
            renamed: Path prefix as clients send it, and the prefix the server expects.
        """
        self._renamed = renamed
        self._handlers: set[asyncio.Task[Any] | None] = set()
        parts = urlsplit(upstream)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)
        self.sent: list[Sent] = []
        """Every request with a body, in order; read it only after the client has finished."""
        self.faults: deque[Broken] = deque()
        """Faults for the next answers of the model; without one an answer is forwarded unchanged."""
        self._stop, self._ready, self._own_port = Signal(), threading.Event(), 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def address(self) -> str:
        """The proxy's root URL."""
        return f"http://127.0.0.1:{self._own_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 20)
        self._own_port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        handlers = asyncio.all_tasks() - {asyncio.current_task()}
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._handlers.add(asyncio.current_task())  # asyncio itself keeps no strong reference
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = [
                line
                for line in head.split(b"\r\n")
                if not line.lower().startswith((b"connection:", b"host:"))
            ]
            length = next((line for line in lines if line.lower().startswith(b"content-length:")), b":0")
            body = await reader.readexactly(int(length.partition(b":")[2]))
            own = f"Host: {self._host}:{self._port}\r\nConnection: close".encode()
            first = lines[0].replace(*self._renamed) if self._renamed[0] else lines[0]
            request = b"\r\n".join([first, own, *lines[1:]]) + body
            fault = None
            if body:
                self.sent.append(Sent(lines[0].split(b" ")[1].decode(), json.loads(body)))
                fault = self.faults.popleft() if self.faults else None
            await self._relay(request, writer, fault)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # One side has disconnected; the other task notices.
        except asyncio.CancelledError:
            pass  # The proxy is stopping; asyncio would report the cancelled task.
        finally:
            writer.close()

    async def _relay(self, request: bytes, writer: asyncio.StreamWriter, fault: Broken | None) -> None:
        answer, upstream = await asyncio.open_connection(self._host, self._port)
        try:
            upstream.write(request)
            await upstream.drain()
            passed = 0
            while piece := await answer.read(4096):
                if not passed:  # one request per connection, whatever the server announces
                    piece = re.sub(
                        rb"(?i)\r\nconnection: keep-alive", b"\r\nConnection: close", piece, count=1
                    )
                if fault is not None and not fault.corrupt and passed + len(piece) > fault.after:
                    writer.write(piece[: fault.after - passed])
                    await writer.drain()
                    await _break(writer, fault)
                    return
                if fault is not None and fault.corrupt:
                    piece = piece.replace(b"data: {", b"data: [")
                writer.write(piece)
                await writer.drain()
                passed += len(piece)
        finally:
            upstream.close()


async def _break(writer: asyncio.StreamWriter, fault: Broken) -> None:
    if fault.hangs:
        await asyncio.Event().wait()
    writer.transport.abort()
