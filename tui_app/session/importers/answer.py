"""One response of a model, put together piece by piece."""

from dataclasses import dataclass, field
from typing import Any

from tui_app.session.importers import messages
from tui_app.session.importers.calls import Calls
from tui_app.session.importers.fields import count
from tui_app.session.importers.source import Json


@dataclass
class Answer:
    """The parts of a response so far."""

    line: int
    """Where it begins in the file."""
    time: float
    """Seconds since the epoch."""
    model: str = ""
    parts: list[Json] = field(default_factory=list)
    usage: Json = field(default_factory=dict)
    finish: str = ""
    """In pydantic-ai's words (``stop``, ``length``, ``tool_call``, ...); empty when unknown."""
    state: str = "complete"
    """``interrupted`` when the person stopped it."""
    cost: float | None = None
    """US dollars, as the other program reported."""
    lines: set[int] = field(default_factory=set)
    """Further lines of the file that belong to it."""

    def text(self, value: Any) -> None:
        """Append what the model said; what is no text, or blank, adds nothing."""
        if isinstance(value, str) and value.strip():
            self.parts.append({"part_kind": "text", "content": value})

    def thinking(self, value: Any) -> None:
        """Append what the model thought."""
        if isinstance(value, str) and value.strip():
            self.parts.append({"part_kind": "thinking", "content": value})

    def call(self, calls: Calls, file_id: str, name: str, args: Any) -> str:
        """Append a tool call and return the id it has in the import."""
        call_id = calls.begin(file_id, name)
        self.parts.append(messages.call_part(call_id, name, arguments(args)))
        return call_id

    def message(self) -> Json:
        """The response as pydantic-ai reads it."""
        return {
            "kind": "response",
            "parts": self.parts,
            "timestamp": messages.iso(self.time),
            "model_name": self.model or None,
            "finish_reason": self.finish or None,
            "usage": self.usage,
            "state": self.state,
        }


def arguments(value: Any) -> Json | str:
    """Arguments of a call: an object, or text that a model wrote; anything else is put under ``input``."""
    if isinstance(value, dict | str):
        return value
    return {"input": value} if value is not None else {}


def usage(fresh: Any, output: Any, cache_read: Any = 0, cache_write: Any = 0) -> Json:
    """Tokens of one response.

    Args:
        fresh: Input that came from no cache; pydantic-ai's input tokens hold all of it.
        output: What the model wrote.
        cache_read: Input read from a cache.
        cache_write: Input written to a cache.
    """
    read, written = count(cache_read), count(cache_write)
    return {
        "input_tokens": count(fresh) + read + written,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "output_tokens": count(output),
    }
