"""A browser page: a separate program connected by a web socket, which ends with the page."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from tui_app.system.processes import Listener, NotStarted, Pipes, ProcessGroup, start_group

WIDEST, HIGHEST = 600, 250
"""Maximum size of a terminal in cells; the rest of a larger one stays empty."""
_USUAL = (80, 24)
GRACE_S = 5.0
"""Seconds for a program to end when its page is closed."""
_BEAT_S = 15.0
_MOST_WAITING = 1 << 20
"""Maximum bytes of output that the browser has not taken yet."""
_MOST_TYPED = 16 << 20
"""Maximum bytes of input that the program has not read; with more its page is closed."""
_START = b"__GANGLION__\n"
_HEAD = 5
"""Bytes before each portion: its kind and length."""


def page_command(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the command of a page's program, with the interpreter that runs this one.

    Without ``-P``, modules in the folder would be imported instead of ours.

    Args:
        arguments: Arguments of ``plimsoll``, for example a folder and a model.
    """
    return (sys.executable, "-P", "-m", "tui_app", *arguments)


async def serve_page(
    request: web.Request, words: Sequence[str], pages: set[web.WebSocketResponse]
) -> web.WebSocketResponse:
    """Run a program for one page until either ends.

    Args:
        request: The request for the web socket.
        words: The program and its arguments.
        pages: All open pages.
    """
    socket = web.WebSocketResponse(heartbeat=_BEAT_S)
    await socket.prepare(request)
    width, height = bounded_size(request.query.get("width", ""), request.query.get("height", "")) or _USUAL
    try:
        # In the session of the server, but not in its group: ctrl+c is for the server.
        group = await start_group(
            _Screen, words, cwd=Path.cwd(), env=_environment(width, height),
            pipes=Pipes(stdin=asyncio.subprocess.PIPE, stderr=2, leads_session=False),
        )  # fmt: skip
    except NotStarted:
        await socket.close()
        return socket
    showing = asyncio.create_task(_show(group, socket))
    pages.add(socket)
    try:
        await _hand_on(group, socket)
    finally:
        pages.discard(socket)
        try:
            await _end(group)
        finally:
            showing.cancel()
        await socket.close()
    return socket


def _environment(width: int, height: int) -> dict[str, str]:
    return {
        **os.environ, "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver", "TEXTUAL_FPS": "60",
        "TEXTUAL_COLOR_SYSTEM": "truecolor", "TERM_PROGRAM": "textual",
        "TERM_PROGRAM_VERSION": version("textual-serve"), "COLUMNS": str(width), "ROWS": str(height),
    }  # fmt: skip


def bounded_size(width: object, height: object) -> tuple[int, int] | None:
    """Return a size within the bounds; None for an invalid one."""
    texts = [str(each) for each in (width, height)]
    if not all(text.isdecimal() and text.isascii() and len(text) < 10 for text in texts):
        return None
    columns, rows = map(int, texts)
    return (min(columns, WIDEST), min(rows, HIGHEST)) if columns and rows else None


class _Screen(Listener):
    """Parses the output of a page's program."""

    def __init__(self) -> None:
        super().__init__()
        self.portions: asyncio.Queue[tuple[bytes, bytes]] = asyncio.Queue()
        self.pipe: asyncio.ReadTransport | None = None
        self._waiting = 0
        self._rest = bytearray()
        self._has_begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        pipe = transport.get_pipe_transport(1) if isinstance(transport, asyncio.SubprocessTransport) else None
        self.pipe = pipe if isinstance(pipe, asyncio.ReadTransport) else None

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Queue the complete portions."""
        rest = self._rest
        rest += data
        if not self._has_begun:
            begin = rest.find(_START)
            if begin < 0:
                del rest[: -len(_START)]
                return
            del rest[: begin + len(_START)]
            self._has_begun = True
        while len(rest) >= _HEAD and len(rest) >= (end := _HEAD + int.from_bytes(rest[1:_HEAD], "big")):
            self.portions.put_nowait((bytes(rest[:1]), bytes(rest[_HEAD:end])))
            self._count(end)
            del rest[:end]

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.portions.put_nowait((b"", b""))

    async def next_portion(self) -> tuple[bytes, bytes]:
        """Return kind and content of the next portion; empty at the end."""
        kind, portion = await self.portions.get()
        self._count(-_HEAD - len(portion))
        return kind, portion

    def _count(self, more: int) -> None:
        """Pause the program's output while the browser does not read."""
        self._waiting += more
        if self.pipe is not None:
            (self.pipe.pause_reading if self._waiting > _MOST_WAITING else self.pipe.resume_reading)()


async def _show(group: ProcessGroup[_Screen], socket: web.WebSocketResponse) -> None:
    """Send the program's output to the browser."""
    with suppress(ConnectionError):
        while (packet := await group.listener.next_portion())[0]:
            kind, portion = packet
            if kind == b"D":
                await socket.send_bytes(portion)
            elif kind == b"M":
                await _show_meta(json.loads(portion), socket)
    await socket.close()


async def _show_meta(meta: dict[str, Any], socket: web.WebSocketResponse) -> None:
    if meta.get("type") == "exit":
        await socket.close()
    elif meta.get("type") == "open_url":
        await socket.send_json(["open_url", {"url": meta["url"], "new_tab": meta["new_tab"]}])


async def _hand_on(group: ProcessGroup[_Screen], socket: web.WebSocketResponse) -> None:
    """Send the browser's input to the program, until the page is closed or the program has ended."""
    pipe = group.transport.get_pipe_transport(0)
    async for message in socket:
        event = _parsed(message.data) if message.type is WSMsgType.TEXT else []
        match event:
            case ["stdin", str() as typed]:
                _write(group, b"D", typed.encode("utf-8", "replace"))
            case ["resize", {"width": width, "height": height}] if size := bounded_size(width, height):
                _write_meta(group, {"type": "resize", "width": size[0], "height": size[1]})
            case ["ping", str() as sent]:
                await socket.send_json(["pong", sent])
            case [("blur" | "focus") as kind, *_]:
                _write_meta(group, {"type": kind})
        if isinstance(pipe, asyncio.WriteTransport) and pipe.get_write_buffer_size() > _MOST_TYPED:
            break


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _write_meta(group: ProcessGroup[_Screen], meta: dict[str, object]) -> None:
    _write(group, b"M", json.dumps(meta).encode())


def _write(group: ProcessGroup[_Screen], kind: bytes, data: bytes) -> None:
    pipe = group.transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport) and not pipe.is_closing():
        pipe.write(kind + len(data).to_bytes(4, "big") + data)


async def _end(group: ProcessGroup[_Screen]) -> None:
    """Ask a program to end, then kill it."""
    cancelled = False
    _write_meta(group, {"type": "quit"})
    try:
        async with asyncio.timeout(GRACE_S):
            await group.listener.exited.wait()
    except TimeoutError:
        pass
    except asyncio.CancelledError:
        cancelled = True
    if await group.end() or cancelled:
        raise asyncio.CancelledError
