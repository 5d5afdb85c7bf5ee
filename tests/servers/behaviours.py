"""Scripted behaviours: each one answers one request over an open connection."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.servers.signals import Signal

Json = dict[str, Any]


class Stage(Protocol):
    """The operations with which a behaviour sends its answer; implemented by the server."""

    @property
    def body(self) -> Json:
        """The parsed request."""
        ...

    @property
    def paused(self) -> Signal:
        """Set by a behaviour once it has reached the point where it hangs."""
        ...

    async def delta(self, delta: Json) -> None:
        """Send one chunk of the answer; collected into one response when the request does not stream."""
        ...

    async def say(self, words: Sequence[str]) -> None:
        """Send words in one chunk, counted as one chunk per word."""
        ...

    async def finish(self, reason: str | None, usage: tuple[int, int] | None = None) -> None:
        """Finish the answer. Without ``usage`` (prompt, completion), a token is four characters."""
        ...

    async def end(self) -> None:
        """Close the body properly without a finish reason or usage."""
        ...

    async def fail(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        """Respond with an error."""
        ...

    async def cut(self) -> None:
        """Drop the connection before the answer is complete."""
        ...

    async def raw(self, data: str) -> None:
        """Send an event with arbitrary data."""
        ...


class Behaviour(Protocol):
    """One way to answer a request."""

    async def play(self, stage: Stage) -> None:
        """Answer the request."""
        ...


def pieces(text: str, count: int | None = None) -> list[str]:
    """Split a text into chunks for streaming: at word boundaries, or evenly into ``count``."""
    if count is None:
        words = text.split(" ")
        return [word if index == 0 else f" {word}" for index, word in enumerate(words)]
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]


ALONE, TOGETHER = 12, 8
"""Words sent one per chunk, and the number of chunks for the rest. Each chunk costs a client about 1 ms."""


@dataclass(frozen=True)
class Text:
    """A text, streamed word by word at first (see ``ALONE``).

    With ``hold`` the stream stops after ``hold_after`` chunks until the signal is set, so that a test can act
    in the middle of an answer. ``exchange.paused`` is set when that point is reached.
    """

    text: str
    usage: tuple[int, int] | None = None
    finish_reason: str | None = "stop"
    hold: Signal | None = None
    hold_after: int = 1
    chunks: int | None = None
    """Number of chunks; None splits at word boundaries."""

    async def play(self, stage: Stage) -> None:
        await stage.delta({"role": "assistant", "content": ""})
        words = pieces(self.text, self.chunks)
        place = self.hold_after if self.hold else 0
        await self._say(stage, words[:place])
        if place < len(words):
            await _held(stage, self.hold)
        await self._say(stage, words[place:])
        await stage.finish(self.finish_reason, self.usage)

    async def _say(self, stage: Stage, words: list[str]) -> None:
        alone = len(words) if self.chunks else ALONE
        size = max(1, -(-(len(words) - alone) // TOGETHER))
        for word in words[:alone]:
            await stage.say([word])
        for start in range(alone, len(words), size):
            await stage.say(words[start : start + size])


@dataclass(frozen=True)
class Tool:
    """One or more tool calls in one answer, each a pair of tool name and arguments."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    text: str = ""
    usage: tuple[int, int] | None = None
    ids: tuple[str, ...] = ()
    """Ids of the calls; derived from the number of messages when empty."""
    hold: Signal | None = None
    """Signal that the call waits for after the answer has started."""

    async def play(self, stage: Stage) -> None:
        """The arguments are sent in two halves, as real servers do."""
        await stage.delta({"role": "assistant", "content": self.text or None})
        turn = len(stage.body.get("messages", []))
        await _held(stage, self.hold)
        for index, (name, args) in enumerate(self.calls):
            call_id = self.ids[index] if self.ids else f"call_{turn}_{index}"
            text = json.dumps(dict(args))
            half = len(text) // 2
            start = {"name": name, "arguments": text[:half]}
            call = {"index": index, "id": call_id, "type": "function", "function": start}
            await stage.delta({"tool_calls": [call]})
            rest = {"index": index, "function": {"arguments": text[half:]}}
            await stage.delta({"tool_calls": [rest]})
        await stage.finish("tool_calls", self.usage)


def tool(name: str, **args: Any) -> Tool:
    """An answer that calls one tool."""
    return Tool(calls=((name, args),))


@dataclass(frozen=True)
class HangBeforeHeaders:
    """No bytes are sent until ``release`` is set (or ever), then an ordinary answer."""

    release: Signal | None = None
    text: str = "At last."

    async def play(self, stage: Stage) -> None:
        await _held(stage, self.release or Signal())
        await Text(self.text).play(stage)


@dataclass(frozen=True)
class HangMidStream:
    """A few words, then silence on an open connection until ``release`` is set (or for ever)."""

    text: str = "These words arrive and then nothing more ever does."
    after: int = 3
    release: Signal | None = None

    async def play(self, stage: Stage) -> None:
        await Text(self.text, hold=self.release or Signal(), hold_after=self.after).play(stage)


@dataclass(frozen=True)
class Failure:
    """An HTTP error. A ``body`` that is not a string is sent as JSON."""

    status: int
    body: object
    headers: Mapping[str, str] = field(default_factory=dict)

    async def play(self, stage: Stage) -> None:
        await stage.fail(self.status, self.body, self.headers)


def error(status: int, message: str, **more: Any) -> Failure:
    """An error in OpenAI's envelope; ``more`` adds fields such as ``code`` and ``type``."""
    return Failure(status, {"error": {"message": message, **more}})


def too_long(limit: int, requested: int) -> Failure:
    """The error for a prompt larger than the context window, in OpenAI's wording."""
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
        f"{requested} tokens. Please reduce the length of the messages."
    )
    return error(400, message, type="invalid_request_error", code="context_length_exceeded", param="messages")


@dataclass(frozen=True)
class CutStream:
    """The connection drops after a few words, before the end of the answer."""

    text: str = "This answer breaks off long before it has said what it meant to say."
    after: int = 4

    async def play(self, stage: Stage) -> None:
        await stage.delta({"role": "assistant", "content": ""})
        for piece in pieces(self.text)[: self.after]:
            await stage.delta({"content": piece})
        await self.stop(stage)

    async def stop(self, stage: Stage) -> None:
        """Drop the connection."""
        await stage.cut()


@dataclass(frozen=True)
class EndsEarly(CutStream):
    """As ``CutStream``, but the body is closed properly, as by a proxy that lost its upstream."""

    async def stop(self, stage: Stage) -> None:
        """Close the body."""
        await stage.end()


@dataclass(frozen=True)
class Nothing:
    """An empty stream that is closed properly."""

    async def play(self, stage: Stage) -> None:
        await stage.fail(200, "", {"content-type": "text/event-stream"})


@dataclass(frozen=True)
class Damaged:
    """An answer with one chunk that violates the protocol."""

    chunk: str

    async def play(self, stage: Stage) -> None:
        await stage.delta({"role": "assistant", "content": "Well "})
        await stage.raw(self.chunk)
        await stage.finish("stop", None)


@dataclass(frozen=True)
class Empty:
    """A successful answer without text (or with blanks only)."""

    text: str = ""

    async def play(self, stage: Stage) -> None:
        await stage.delta({"role": "assistant", "content": self.text})
        await stage.finish("stop")


@dataclass(frozen=True)
class ReasoningOnly:
    """An answer with reasoning and no text."""

    reasoning: str = "I should think about this for a while."
    usage: tuple[int, int] | None = None
    finish_reason: str = "stop"

    async def play(self, stage: Stage) -> None:
        await stage.delta({"role": "assistant", "content": ""})
        for piece in pieces(self.reasoning):
            await stage.delta({"reasoning_content": piece})
        await stage.finish(self.finish_reason, self.usage)


async def _held(stage: Stage, hold: Signal | None) -> None:
    if hold is not None:
        stage.paused.set()
        await hold.wait()


# Faults of the connection and of the model's output.


@dataclass(frozen=True)
class CutAtOnce:
    """The connection drops before the first byte of the answer."""

    async def play(self, stage: Stage) -> None:
        await stage.cut()


@dataclass(frozen=True)
class CutCall:
    """The connection drops in the middle of a tool call's arguments."""

    name: str = "read_file"
    arguments: str = '{"path": "READ'

    async def play(self, stage: Stage) -> None:
        await stage.delta({"role": "assistant", "content": "I will look."})
        await stage.delta({"tool_calls": [_call(0, "call_cut", self.name, self.arguments)]})
        await stage.cut()


@dataclass(frozen=True)
class EndsBehindCall:
    """The body is closed after a complete tool call, without a finish reason."""

    name: str = "read_file"
    arguments: str = '{"path": "README.md"}'

    async def play(self, stage: Stage) -> None:
        await stage.delta({"tool_calls": [_call(0, "call_cut", self.name, self.arguments)]})
        await stage.end()


@dataclass(frozen=True)
class EndsInCall:
    """The answer finishes normally in the middle of a tool call's arguments."""

    async def play(self, stage: Stage) -> None:
        await stage.delta({"tool_calls": [_call(0, "call_short", "read_file", '{"path": "READ')]})
        await stage.finish("length")


@dataclass(frozen=True)
class Garbage:
    """Some words, then data that is not an event of the protocol."""

    data: str = '{"choices": [{"index": 0, "delta": {"conte'
    words: str = "So far so good,"

    async def play(self, stage: Stage) -> None:
        for piece in pieces(self.words) if self.words else []:
            await stage.delta({"content": piece})
        await stage.raw(self.data)
        await stage.finish("stop")


@dataclass(frozen=True)
class Drip:
    """A text sent letter by letter, with a pause before each."""

    text: str
    pause_s: float

    async def play(self, stage: Stage) -> None:
        for letter in self.text:
            await asyncio.sleep(self.pause_s)
            await stage.delta({"content": letter})
        await stage.finish("stop")


@dataclass(frozen=True)
class Calls:
    """Tool calls with the given ids and argument texts, valid or not."""

    calls: tuple[tuple[str, str, str], ...]
    """Id, tool name and argument text of each call."""

    async def play(self, stage: Stage) -> None:
        await stage.delta({"role": "assistant", "content": None})
        for index, (call_id, name, arguments) in enumerate(self.calls):
            await stage.delta({"tool_calls": [_call(index, call_id, name, arguments)]})
        await stage.finish("tool_calls")


def call(name: str, arguments: str, call_id: str = "call_1") -> Calls:
    """A ``Calls`` of one tool call."""
    return Calls(((call_id, name, arguments),))


def read(path: str, call_id: str) -> tuple[str, str, str]:
    """A tool call that reads a file."""
    return (call_id, "read_file", json.dumps({"path": path}))


def counted(text: str, prompt: int, completion: int) -> Text:
    """An answer with a custom token count."""
    return Text(text, usage=(prompt, completion))


def _call(index: int, call_id: str, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": call_id, "type": "function", "function": function}
