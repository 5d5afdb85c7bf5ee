"""A proxy on loopback in front of any model server: keeps requests as they were sent, and cuts answers.

It speaks no protocol: it passes bytes on. That makes it the journal of servers that keep none, and the cable
that breaks in front of servers that never fail.
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
    """What happens to one answer after so many bytes, head included."""

    after: int = 0
    hangs: bool = False
    """Whether the connection stays open, silent, instead of being dropped."""
    corrupt: bool = False
    """Whether it goes on, with a byte of each event spoilt."""


class Proxy:
    """The proxy; it runs in a thread with a loop of its own."""

    def __init__(self, upstream: str, renamed: tuple[bytes, bytes] = (b"", b"")) -> None:
        """Prepare a proxy in front of the server at this address; entering it starts it.

        Args:
            upstream: The server's root address.
            renamed: The beginning of a path as clients write it, and as the server wants it.
        """
        self._renamed = renamed
        self._handlers: set[asyncio.Task[Any] | None] = set()
        parts = urlsplit(upstream)
        self._host, self._port = str(parts.hostname), int(parts.port or 80)
        self.sent: list[Sent] = []
        """Every request with a body, in order; read it only when what sent it has ended."""
        self.faults: deque[Broken] = deque()
        """What happens to the next answers of a model; with none left they pass."""
        self._stop, self._ready, self._own_port = Signal(), threading.Event(), 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def address(self) -> str:
        """Its root address."""
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
            pass  # One of the two has gone; the other one notices.
        except asyncio.CancelledError:
            pass  # The proxy stops; asyncio would report the cancelled task.
        finally:
            writer.close()

    async def _relay(self, request: bytes, writer: asyncio.StreamWriter, fault: Broken | None) -> None:
        answer, upstream = await asyncio.open_connection(self._host, self._port)
        try:
            upstream.write(request)
            await upstream.drain()
            passed = 0
            while piece := await answer.read(4096):
                if not passed:  # a connection carries one request here, whatever the server would like
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
