"""One request to the scripted server and its answer, over a raw connection."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from tests.servers.behaviours import Json
from tests.servers.signals import Signal


class Exchange:
    """A request, the answer as far as it was sent, and the state of the connection."""

    def __init__(
        self, path: str, headers: Mapping[str, str], body: Json, writer: asyncio.StreamWriter
    ) -> None:
        self.path = path
        self.headers = headers
        """Header names are lower case."""
        self.body = body
        self.started = Signal()
        """The first byte of the answer was sent."""
        self.paused = Signal()
        """The behaviour has reached the point where it hangs."""
        self.finished = Signal()
        """The answer was sent completely."""
        self.closed = Signal()
        """The client closed the connection before the answer was complete, which aborts the request."""
        self.closed_at: float | None = None
        """``time.monotonic()`` when the client closed the connection."""
        self._writer = writer
        self._deltas: list[Json] = []
        self._streams = bool(body.get("stream"))

    @property
    def messages(self) -> list[Json]:
        return list(self.body.get("messages", []))

    def text(self) -> str:
        """The text of all messages, to search for a phrase."""
        return "\n".join(_content_text(message.get("content")) for message in self.messages)

    def mark_closed(self) -> None:
        """Record that the client closed the connection."""
        self.closed_at = time.monotonic()
        self.closed.set()

    async def delta(self, delta: Json) -> None:
        self._deltas.append(delta)
        if self._streams:
            await self._event(self._chunk(delta, None))

    async def say(self, words: Sequence[str]) -> None:
        self._deltas += [{"content": word} for word in words]
        if self._streams:
            await self._event(self._chunk({"content": "".join(words)}, None))

    async def finish(self, reason: str | None, usage: tuple[int, int] | None = None) -> None:
        counted = self._usage(usage)
        if self._streams:
            await self._event(self._chunk({}, reason))
            await self._event({**self._frame("chat.completion.chunk"), "choices": [], "usage": counted})
            await self._send(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        else:
            choice = {"index": 0, "message": merged(self._deltas), "finish_reason": reason}
            body = {**self._frame("chat.completion"), "choices": [choice], "usage": counted}
            await self.answer(200, body, {})
        self.finished.set()

    async def fail(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        await self.answer(status, body, headers)
        self.finished.set()

    async def end(self) -> None:
        if self._streams:
            await self._send(b"0\r\n\r\n")
        else:
            choice = {"index": 0, "message": merged(self._deltas)}
            body = {**self._frame("chat.completion"), "choices": [choice]}
            await self.answer(200, body, {})
        self.finished.set()

    async def cut(self) -> None:
        self._writer.transport.abort()
        self.finished.set()

    async def raw(self, data: str) -> None:
        await self._sent(data.encode())

    async def answer(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        """Send a complete response."""
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        kind = "text/plain" if isinstance(body, str) else "application/json"
        await self._head(status, {"content-type": kind, "content-length": str(len(raw)), **headers})
        await self._send(raw)

    async def _event(self, data: Json) -> None:
        await self._sent(json.dumps(data).encode())

    async def _sent(self, data: bytes) -> None:
        """Send one server-sent event per HTTP chunk, so that a cut connection is an incomplete body."""
        if not self.started.is_set():
            await self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        raw = b"data: " + data + b"\n\n"
        await self._send(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")

    async def _head(self, status: int, headers: Mapping[str, str]) -> None:
        known = status in HTTPStatus.__members__.values()
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase if known else 'Other'}", "connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        await self._send(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.started.set()

    async def _send(self, raw: bytes) -> None:
        self._writer.write(raw)
        await self._writer.drain()

    def _frame(self, kind: str) -> Json:
        return {"id": "chatcmpl-scripted", "object": kind, "created": 0, "model": self.body.get("model", "")}

    def _chunk(self, delta: Json, reason: str | None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {**self._frame("chat.completion.chunk"), "choices": [choice]}

    def _usage(self, usage: tuple[int, int] | None) -> Json:
        prompt, completion = usage or (len(self.text()) // 4, len(json.dumps(self._deltas)) // 8)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def merged(deltas: list[Json]) -> Json:
    """Merge streamed deltas into the message that a non-streamed response would contain."""
    message: Json = {"role": "assistant", "content": None}
    calls: dict[int, Json] = {}
    for delta in deltas:
        for name in ("content", "reasoning_content"):
            if delta.get(name) is not None:
                message[name] = (message.get(name) or "") + delta[name]
        for piece in delta.get("tool_calls", []):
            _add_piece(calls, piece)
    if calls:
        message["tool_calls"] = list(calls.values())
    return message


def _add_piece(calls: dict[int, Json], piece: Json) -> None:
    if piece["index"] in calls:
        calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    else:
        calls[piece["index"]] = {**piece, "function": dict(piece["function"])}


def _content_text(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")
