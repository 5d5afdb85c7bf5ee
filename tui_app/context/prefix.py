"""How much of a request its provider may still hold in its prompt cache: what it shares with the one before.

Caches of providers match from the first byte on, so one changed tool result costs all that follows it.
"""

import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import eq

from pydantic_ai.messages import ModelMessage, ModelRequest
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from tui_app.context.parts import to_json_text
from tui_app.context.tokens import TokenCounter, wire_text

_NEVER_SENT = {"timestamp", "metadata"}
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Piece:
    """A tool definition, the instructions, or one part of a message."""

    digest: bytes
    tokens: int


def prefix_kept(before: Sequence[Piece], now: Sequence[Piece]) -> float:
    """The share of a request's tokens that the next request begins with.

    Args:
        before: Pieces of the earlier request, in the order they are sent.
        now: Pieces of the later one.

    Returns:
        1.0 only when everything was kept; a piece that has changed counts as changed from its beginning.
    """
    same = map(eq, (piece.digest for piece in before), (piece.digest for piece in now))
    kept = next((place for place, equal in enumerate(same) if not equal), min(len(before), len(now)))
    if kept == len(before):
        return 1.0
    tokens = sum(piece.tokens for piece in before)
    share = sum(piece.tokens for piece in before[:kept]) / tokens if tokens else 0.0
    # Rounding must not make a whole out of almost all.
    return min(round(share, 4), 0.9999)


@dataclass(slots=True)
class PrefixMeter:
    """Compares the requests of one conversation, each with the one before it.

    Parts of messages are never changed once they have been sent; one is known again by its identity, and only
    new ones are read.
    """

    counter: TokenCounter
    _before: list[Piece] = field(default_factory=list)
    _known: dict[int, "tuple[weakref.ref[object], bytes]"] = field(default_factory=dict)

    def next(
        self, instructions: str, tools: Sequence[ToolDefinition], messages: Sequence[ModelMessage]
    ) -> float | None:
        """Take note of a request that is about to be sent.

        Args:
            instructions: Sent in front of the messages.
            tools: Their definitions, sent in front of everything.
            messages: The messages as they are sent.

        Returns:
            Share of the previous request's tokens that this one begins with; None for the first one.
        """
        before, self._before = self._before, [*self._head(instructions, tools), *self._pieces(messages)]
        return prefix_kept(before, self._before) if before else None

    def _head(self, instructions: str, tools: Sequence[ToolDefinition]) -> Iterator[Piece]:
        for tool in tools:
            yield Piece(_digest(wire_text(tool).encode()), self.counter.tools([tool]))
        if instructions:
            yield Piece(_digest(instructions.encode()), self.counter.instructions(instructions))

    def _pieces(self, messages: Sequence[ModelMessage]) -> Iterator[Piece]:
        for message in messages:
            role = "user" if isinstance(message, ModelRequest) else "assistant"
            for part in message.parts:
                yield Piece(self._digest_of(part), self.counter.part(part, role))

    def _digest_of(self, part: object) -> bytes:
        known = self._known.get(id(part))
        if known is not None and known[0]() is part:
            return known[1]
        digest, key, parts = _digest(_sent(part)), id(part), self._known
        # What cannot be referred to weakly is read again each time.
        with suppress(TypeError):
            # When the part goes, so does its entry: its id may be given to another object.
            parts[key] = (weakref.ref(part, lambda _gone: parts.pop(key, None)), digest)
        return digest


def _sent(part: object) -> bytes:
    """What stands for a part on the wire: all of it but what no provider is sent."""
    try:
        return to_json(
            part, exclude=_NEVER_SENT, fallback=repr, inf_nan_mode="constants", bytes_mode="base64"
        )
    except (ValueError, TypeError, RecursionError):
        return to_json_text(part).encode()


def _digest(sent: bytes) -> bytes:
    return blake2b(sent, digest_size=_DIGEST_BYTES).digest()
