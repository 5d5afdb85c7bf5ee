"""What goes wrong on the wire and in what a model writes: more behaviours for the scripted server."""

import asyncio
import json
from dataclasses import dataclass

from tests.servers.behaviours import Stage, Text, pieces


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
