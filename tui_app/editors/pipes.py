"""One JSON message a line over stdin and stdout, which belong to the protocol alone from here on.

Whatever else prints goes to stderr, and programs that tools start find stdin empty: neither can break into
the stream. Reading and writing happen on daemon threads, because pipes, files and terminals block in
different ways and an editor that has stopped reading must not hold up the end of the process.
"""

import asyncio
import contextlib
import json
import os
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]

LINE_BYTES = 64 * 1024 * 1024
"""Bytes of one message at most; a longer line is thrown away."""
_READ_BYTES = 64 * 1024
_LAST_WORDS_S = 1.0
"""How long what is still to be written may take at the end."""
_PARSE_ERROR, _INVALID_REQUEST = -32700, -32600


@contextmanager
def own_pipes() -> Iterator[tuple[int, int]]:
    """Take stdin and stdout away from the rest of the process, for the length of a block.

    Yields:
        The file descriptors to read from and to write to.
    """
    reading, writing = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)
    try:
        yield reading, writing
    finally:
        os.dup2(reading, 0)
        os.dup2(writing, 1)
        # ``reading`` stays open: its thread may be inside a read until the process ends.
        os.close(writing)


@dataclass(slots=True)
class Pipes:
    """The protocol's messages over two file descriptors. Belongs to one event loop."""

    reading: int
    writing: int
    _inbox: "asyncio.Queue[bytes | None]" = field(default_factory=asyncio.Queue)
    _outbox: "queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None]" = field(
        default_factory=queue.SimpleQueue
    )
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    _writer: threading.Thread | None = None

    def open(self) -> None:
        """Start reading and writing."""
        threading.Thread(target=self._read, name="acp-reader", daemon=True).start()
        self._writer = threading.Thread(target=self._write, name="acp-writer", daemon=True)
        self._writer.start()

    async def receive(self) -> Message | None:
        """The next message; None when the other side has closed. What is none is answered and skipped."""
        while (line := await self._inbox.get()) is not None:
            if not line.strip():
                continue
            message, problem = read_message(line)
            if message is not None:
                return message
            if problem is not None:
                await self.send(problem)
        # Whoever asks again hears the same.
        self._inbox.put_nowait(None)
        return None

    async def send(self, message: Message) -> None:
        """Write a message and wait until the system has taken it.

        Raises:
            ConnectionError: if nobody reads any more.
        """
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        written: asyncio.Future[None] = self._loop.create_future()
        self._outbox.put((line, written))
        await written

    async def close(self) -> None:
        """Write what still waits, for a moment at most."""
        self._outbox.put(None)
        if self._writer is not None:
            await asyncio.to_thread(self._writer.join, _LAST_WORDS_S)

    def _read(self) -> None:
        pending, skipping = bytearray(), False
        while data := self._chunk():
            *lines, rest = (bytes(pending) + data).split(b"\n")
            for line in lines:
                self._hand_over(b"?" if skipping else line)
                skipping = False
            skipping = skipping or len(rest) > LINE_BYTES
            pending = bytearray(b"" if skipping else rest)
        self._hand_over(None)

    def _chunk(self) -> bytes:
        try:
            return os.read(self.reading, _READ_BYTES)
        except OSError:
            return b""

    def _write(self) -> None:
        while (item := self._outbox.get()) is not None:
            line, written = item
            try:
                left = memoryview(line)
                while left:
                    left = left[os.write(self.writing, left) :]
            except OSError as error:
                self._tell(written, ConnectionError(error.strerror or str(error)))
                # Nobody reads: as good as closed, also where stdin is still open.
                self._hand_over(None)
            else:
                self._tell(written, None)

    def _tell(self, written: "asyncio.Future[None]", error: ConnectionError | None) -> None:
        def tell() -> None:
            if written.done():
                return
            if error is None:
                written.set_result(None)
            else:
                written.set_exception(error)

        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(tell)

    def _hand_over(self, line: bytes | None) -> None:
        with contextlib.suppress(RuntimeError):  # as above
            self._loop.call_soon_threadsafe(self._inbox.put_nowait, line)


def read_message(line: bytes) -> tuple[Message | None, Message | None]:
    """Read one line.

    Returns:
        The message, or else what is to be answered; neither for a stray answer that fits no question.
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None, _refusal(None, _PARSE_ERROR, "This line is no JSON; a message is an object on one line.")
    if not isinstance(value, dict):
        return None, _refusal(None, _INVALID_REQUEST, "A message is a JSON object.")
    id = value.get("id")
    if not isinstance(id, str | int | None) or isinstance(id, bool):
        return None, _refusal(None, _INVALID_REQUEST, "The id of a message is a number or a text.")
    if "method" in value:
        if isinstance(value["method"], str):
            return value, None
        return None, _refusal(id, _INVALID_REQUEST, "The method of a message is a text.")
    if id is None:
        return None, _refusal(None, _INVALID_REQUEST, "A message has a method, or answers one.")
    return (_readable(value), None) if isinstance(id, int) else (None, None)


def _readable(answer: Message) -> Message:
    """An answer whose error, if there is one, has the form that errors have."""
    match answer.get("error"):
        case None | {"code": int(), "message": str()}:
            return answer
        case _:
            error = {"code": _INVALID_REQUEST, "message": "The answer has an error that cannot be read."}
            return {"jsonrpc": "2.0", "id": answer["id"], "error": error}


def _refusal(id: str | int | None, code: int, sentence: str) -> Message:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": sentence}}
