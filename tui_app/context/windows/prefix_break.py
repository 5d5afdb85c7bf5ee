"""Prefix breaks: where a request first differs from the previous one, and the source of the changed bytes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import groupby

from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from tui_app.context.counting.tokens import TokenCounter, wire_text
from tui_app.events import PrefixBreak, SentPart
from tui_app.records import frozen

Sources = Callable[[str], Sequence[tuple[str, str]]]
"""Splits a text of the instructions into pieces with their sources."""
_HASH_BYTES = 6


@frozen
class Source:
    """One piece of what is sent before the messages."""

    name: str
    text: str
    tool: bool = False
    by: str = ""
    """Name of the MCP server it is from."""


@dataclass(slots=True)
class SourceWatch:
    """Comparison of what is sent before the messages with the previous request."""

    counter: TokenCounter
    sources: Sources
    _texts: Sequence[str] | None = field(default=None, init=False)
    _tools: Sequence[ToolDefinition] = field(default=(), init=False)
    _pieces: Sequence[Source] = field(default=(), init=False)

    def next(
        self, request: ModelRequestContext, tools: Sequence[ToolDefinition]
    ) -> tuple[tuple[SentPart, ...] | None, PrefixBreak | None]:
        """Return the parts, None if unchanged, and the first difference."""
        texts = [part.content for part in request.model_request_parameters.instruction_parts or ()]
        if texts == self._texts and tools == self._tools:
            return None, None
        before, first = self._pieces, self._texts is None
        self._texts, self._tools = texts, tools
        self._pieces = now = [
            *(Source(each.name, wire_text(each), True, server_of(each)) for each in tools),
            *(Source(name, text) for each in texts for name, text in self.sources(each) if text),
        ]
        return tuple(self._parts(now, tools)), None if first else first_break(before, now)

    def _parts(self, pieces: Sequence[Source], tools: Sequence[ToolDefinition]) -> Iterable[SentPart]:
        for (name, by), each in groupby(pieces, lambda one: ("tools" if one.tool else one.name, one.by)):
            texts = [one.text for one in each]
            own = [tool for tool in tools if server_of(tool) == by] if name == "tools" else []
            size = self.counter.tools(own) if own else sum(map(self.counter.instructions, texts))
            digest = blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=_HASH_BYTES).hexdigest()
            whole = f"{name} of {by}" if by else name
            yield SentPart(name=whole, tokens=size, hash=digest, count=len(texts))


def server_of(tool: ToolDefinition) -> str:
    """Return the MCP server of a tool; empty for any other tool."""
    return str((tool.metadata or {}).get("mcp_server") or "")


def first_break(before: Sequence[Source], now: Sequence[Source]) -> PrefixBreak | None:
    """Return where two beginnings first differ; None if they are the same."""
    pairs = zip(before, now, strict=False)
    place = next((at for at, (old, new) in enumerate(pairs) if old != new), min(len(before), len(now)))
    old = before[place] if place < len(before) else None
    new = now[place] if place < len(now) else None
    if old is not None and new is not None and old.name == new.name:
        byte, line = difference(old.text.encode("utf-8", "replace"), new.text.encode("utf-8", "replace"))
        return PrefixBreak(part=new.name, how="changed", byte=byte, line=line, by=new.by)
    if old is not None and old.name not in {each.name for each in now}:
        return PrefixBreak(part=old.name, how="removed", by=old.by)
    if new is not None:
        return PrefixBreak(part=new.name, how="added", by=new.by)
    return None


def message_break(
    before: Sequence[ModelMessage], place: int, now: Sequence[object], form: Callable[[object], bytes]
) -> PrefixBreak:
    """Return which part of a message changed.

    Args:
        before: The messages of the earlier request.
        place: Index of the first part that differs.
        now: The parts of the later request.
        form: Serializes a part as it is sent.
    """
    number, part = [(at, part) for at, message in enumerate(before, 1) for part in message.parts][place]
    kind = f"{part.part_kind} {part.tool_name}" if isinstance(part, ToolReturnPart) else part.part_kind
    name = f"message {number}: {kind}"
    if place >= len(now):
        return PrefixBreak(part=name, how="removed")
    return PrefixBreak(part=name, how="changed", byte=difference(form(part), form(now[place]))[0])


def difference(before: bytes, now: bytes) -> tuple[int, int]:
    """Return the first byte that differs, from 0, and its line, from 1."""
    low, high = 0, min(len(before), len(now))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if before[low:middle] == now[low:middle] else (low, middle - 1)
    return low, before.count(b"\n", 0, low) + 1
