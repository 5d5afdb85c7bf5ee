"""What a scripted server does with one request: each behaviour plays one answer over an open connection."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.servers.signals import Signal

Json = dict[str, Any]


class Stage(Protocol):
    """How a behaviour answers; the server provides it."""

    @property
    def body(self) -> Json:
        """The request, parsed."""
        ...

    @property
    def paused(self) -> Signal:
        """Set by a behaviour when it has reached the point where it hangs."""
        ...

    async def delta(self, delta: Json) -> None:
        """Send a piece of the answer; buffered when the request does not stream."""
        ...

    async def say(self, words: Sequence[str]) -> None:
        """Send words of the answer in one piece that counts as one for each of them."""
        ...

    async def finish(self, reason: str | None, usage: tuple[int, int] | None = None) -> None:
        """End the answer. Without ``usage`` (prompt, completion) tokens are characters over four."""
        ...

    async def end(self) -> None:
        """End the body in order, and say nothing of the answer's end: neither why nor its usage."""
        ...

    async def fail(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        """Answer with an error instead."""
        ...

    async def cut(self) -> None:
        """Drop the connection without ending the answer."""
        ...

    async def raw(self, data: str) -> None:
        """Send an event whose data is whatever is given."""
        ...


class Behaviour(Protocol):
    """One way to answer a request."""

    async def play(self, stage: Stage) -> None:
        """Answer on this stage."""
        ...


def pieces(text: str, count: int | None = None) -> list[str]:
    """Cut a text in pieces for streaming: at its words, or evenly into ``count``."""
    if count is None:
        words = text.split(" ")
        return [word if index == 0 else f" {word}" for index, word in enumerate(words)]
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)]


ALONE, TOGETHER = 12, 8
"""Words that come alone, and the pieces in which the rest of a text comes: each costs a client about 1 ms."""


@dataclass(frozen=True)
class Text:
    """A text, streamed word by word as far as anybody looks.

    With ``hold`` the stream stops after ``hold_after`` pieces until the signal is set, so that "in the middle
    of an answer" is a state; ``exchange.paused`` says when that state is reached.
    """

    text: str
    usage: tuple[int, int] | None = None
    finish_reason: str | None = "stop"
    hold: Signal | None = None
    hold_after: int = 1
    chunks: int | None = None
    """Number of pieces; None cuts at words."""

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
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
    """One or more tool calls in one answer, each a pair of name and arguments."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    text: str = ""
    usage: tuple[int, int] | None = None
    ids: tuple[str, ...] = ()
    """Ids of the calls; made up from the number of messages when empty."""
    hold: Signal | None = None
    """What the call waits for, once the answer has begun."""

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``. Arguments arrive in two halves, as they do from real servers."""
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
    """Nothing at all is sent until ``release`` is set (or ever), then an ordinary answer."""

    release: Signal | None = None
    text: str = "At last."

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await _held(stage, self.release or Signal())
        await Text(self.text).play(stage)


@dataclass(frozen=True)
class HangMidStream:
    """A few words, then silence with the connection open until ``release`` is set (or for ever)."""

    text: str = "These words arrive and then nothing more ever does."
    after: int = 3
    release: Signal | None = None

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await Text(self.text, hold=self.release or Signal(), hold_after=self.after).play(stage)


@dataclass(frozen=True)
class Failure:
    """An HTTP error. A ``body`` that is no string is sent as JSON."""

    status: int
    body: object
    headers: Mapping[str, str] = field(default_factory=dict)

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.fail(self.status, self.body, self.headers)


def error(status: int, message: str, **more: Any) -> Failure:
    """An error in the usual envelope; ``more`` adds ``code``, ``type`` and the like."""
    return Failure(status, {"error": {"message": message, **more}})


def too_long(limit: int, requested: int) -> Failure:
    """The error of a prompt that does not fit, as OpenAI words it."""
    message = (
        f"This model's maximum context length is {limit} tokens. However, your messages resulted in "
        f"{requested} tokens. Please reduce the length of the messages."
    )
    return error(400, message, type="invalid_request_error", code="context_length_exceeded", param="messages")


@dataclass(frozen=True)
class CutStream:
    """The connection drops after a few words, without an end."""

    text: str = "This answer breaks off long before it has said what it meant to say."
    after: int = 4

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.delta({"role": "assistant", "content": ""})
        for piece in pieces(self.text)[: self.after]:
            await stage.delta({"content": piece})
        await self.stop(stage)

    async def stop(self, stage: Stage) -> None:
        """Break off."""
        await stage.cut()


@dataclass(frozen=True)
class EndsEarly(CutStream):
    """The same as seen behind a proxy that gave up its server: the body ends in order."""

    async def stop(self, stage: Stage) -> None:
        """See ``CutStream``."""
        await stage.end()


@dataclass(frozen=True)
class Nothing:
    """A stream that ends in order before its first event."""

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.fail(200, "", {"content-type": "text/event-stream"})


@dataclass(frozen=True)
class Damaged:
    """An answer with a chunk in it that is none of the protocol's."""

    chunk: str

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.delta({"role": "assistant", "content": "Well "})
        await stage.raw(self.chunk)
        await stage.finish("stop", None)


@dataclass(frozen=True)
class Empty:
    """An answer that ends well and says nothing (or only blanks)."""

    text: str = ""

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.delta({"role": "assistant", "content": self.text})
        await stage.finish("stop")


@dataclass(frozen=True)
class ReasoningOnly:
    """An answer that thinks and then says nothing."""

    reasoning: str = "I should think about this for a while."
    usage: tuple[int, int] | None = None
    finish_reason: str = "stop"

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.delta({"role": "assistant", "content": ""})
        for piece in pieces(self.reasoning):
            await stage.delta({"reasoning_content": piece})
        await stage.finish(self.finish_reason, self.usage)


async def _held(stage: Stage, hold: Signal | None) -> None:
    if hold is not None:
        stage.paused.set()
        await hold.wait()


# What goes wrong on the wire and in what a model writes: more behaviours for the scripted server.


@dataclass(frozen=True)
class CutAtOnce:
    """The connection drops before the first byte."""

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.cut()


@dataclass(frozen=True)
class CutCall:
    """The connection drops in the middle of a call's arguments."""

    name: str = "read_file"
    arguments: str = '{"path": "READ'

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.delta({"role": "assistant", "content": "I will look."})
        await stage.delta({"tool_calls": [_call(0, "call_cut", self.name, self.arguments)]})
        await stage.cut()


@dataclass(frozen=True)
class EndsBehindCall:
    """The body ends in order behind a whole call, and nothing says that the answer does."""

    name: str = "read_file"
    arguments: str = '{"path": "README.md"}'

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.delta({"tool_calls": [_call(0, "call_cut", self.name, self.arguments)]})
        await stage.end()


@dataclass(frozen=True)
class EndsInCall:
    """The answer ends, well by its own account, in the middle of a call's arguments."""

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.delta({"tool_calls": [_call(0, "call_short", "read_file", '{"path": "READ')]})
        await stage.finish("length")


@dataclass(frozen=True)
class Garbage:
    """Some words, then something that is none of the protocol's events."""

    data: str = '{"choices": [{"index": 0, "delta": {"conte'
    words: str = "So far so good,"

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        for piece in pieces(self.words) if self.words else []:
            await stage.delta({"content": piece})
        await stage.raw(self.data)
        await stage.finish("stop")


@dataclass(frozen=True)
class Drip:
    """A text that comes letter by letter, with a pause before each."""

    text: str
    pause_s: float

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        for letter in self.text:
            await asyncio.sleep(self.pause_s)
            await stage.delta({"content": letter})
        await stage.finish("stop")


@dataclass(frozen=True)
class Calls:
    """Calls of tools with ids and arguments as they are given, however wrong."""

    calls: tuple[tuple[str, str, str], ...]
    """Id, name and text of the arguments of each."""

    async def play(self, stage: Stage) -> None:
        """See ``Behaviour``."""
        await stage.delta({"role": "assistant", "content": None})
        for index, (call_id, name, arguments) in enumerate(self.calls):
            await stage.delta({"tool_calls": [_call(index, call_id, name, arguments)]})
        await stage.finish("tool_calls")


def call(name: str, arguments: str, call_id: str = "call_1") -> Calls:
    """One such call."""
    return Calls(((call_id, name, arguments),))


def read(path: str, call_id: str) -> tuple[str, str, str]:
    """A call that reads a file."""
    return (call_id, "read_file", json.dumps({"path": path}))


def counted(text: str, prompt: int, completion: int) -> Text:
    """An answer whose server counts in its own way."""
    return Text(text, usage=(prompt, completion))


def _call(index: int, call_id: str, name: str, arguments: str) -> dict[str, object]:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": call_id, "type": "function", "function": function}
