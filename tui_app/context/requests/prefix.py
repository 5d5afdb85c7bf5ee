"""How much of a request its provider may still hold in its prompt cache: what it shares with the one before.

Caches of providers match from the first byte on, so one changed tool result costs all that follows it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, chain
from operator import eq

from pydantic_ai.messages import ModelMessage, ModelRequest
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from tui_app.context.counting.parts import to_json_text
from tui_app.context.counting.running import same_objects
from tui_app.context.counting.tokens import TokenCounter, wire_text

_NEVER_SENT = {"timestamp", "metadata"}
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Piece:
    """A tool definition, the instructions, or one part of a message."""

    digest: bytes
    tokens: int


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that went out, as pieces in their order."""

    head: tuple[Piece, ...] = ()
    """What stands in front of the messages."""
    messages: Sequence[ModelMessage] = ()
    pieces: Sequence[Piece] = ()
    """Those of the messages."""
    ends: Sequence[int] = ()
    """How many pieces there are up to the end of each message."""
    sums: Sequence[int] = ()
    """Tokens up to the end of each piece."""


def prefix_kept(before: Sent, now: Sent, same: int = 0) -> float:
    """The share of a request's tokens that the next request begins with.

    Args:
        before: The earlier request.
        now: The later one.
        same: How many pieces behind the head are known to be the same in both.

    Returns:
        1.0 only when everything was kept; a piece that has changed counts as changed from its beginning.
    """
    head = _alike(before.head, now.head)
    whole_head = head == len(before.head) == len(now.head)
    kept = same + _alike(before.pieces[same:], now.pieces[same:]) if whole_head else 0
    if (head == len(before.head) and not before.pieces) or (whole_head and kept == len(before.pieces)):
        return 1.0
    in_front = sum(piece.tokens for piece in before.head)
    total = in_front + (before.sums[-1] if before.sums else 0)
    shared = sum(piece.tokens for piece in before.head[:head]) + (before.sums[kept - 1] if kept else 0)
    # Rounding must not make a whole out of almost all.
    return min(round(shared / total, 4), 0.9999) if total else 0.0


def _alike(before: Sequence[Piece], now: Sequence[Piece]) -> int:
    """How many pieces at the beginning of both are the same."""
    same = map(eq, (piece.digest for piece in before), (piece.digest for piece in now))
    return next((place for place, equal in enumerate(same) if not equal), min(len(before), len(now)))


@dataclass(slots=True)
class PrefixMeter:
    """Compares the requests of one conversation, each with the one before it.

    Messages are never changed once they have been sent: those that are the same objects as before are not
    looked at again.
    """

    counter: TokenCounter
    _before: Sent | None = None

    def next(
        self, instructions: str, tools: Sequence[ToolDefinition], messages: Sequence[ModelMessage]
    ) -> float | None:
        """Take note of a request that is about to be sent.

        Args:
            instructions: Sent in front of the messages.
            tools: Their definitions, sent in front of everything.
            messages: The messages as they are sent, in a list that nobody changes afterwards.

        Returns:
            Share of the previous request's tokens that this one begins with; None for the first one.
        """
        before = self._before or Sent()
        same = same_objects(before.messages, messages)
        start = before.ends[same - 1] if same else 0
        groups = [self._pieces(message) for message in messages[same:]]
        fresh = list(chain.from_iterable(groups))
        sums = accumulate((piece.tokens for piece in fresh), initial=before.sums[start - 1] if start else 0)
        now = Sent(
            head=tuple(self._head(instructions, tools)),
            messages=messages,
            pieces=[*before.pieces[:start], *fresh],
            ends=[*before.ends[:same], *list(accumulate(map(len, groups), initial=start))[1:]],
            sums=[*before.sums[:start], *list(sums)[1:]],
        )
        first, self._before = self._before is None, now
        return None if first else prefix_kept(before, now, start)

    def _head(self, instructions: str, tools: Sequence[ToolDefinition]) -> Iterator[Piece]:
        for tool in tools:
            yield Piece(_digest(wire_text(tool).encode()), self.counter.tools([tool]))
        if instructions:
            yield Piece(_digest(instructions.encode()), self.counter.instructions(instructions))

    def _pieces(self, message: ModelMessage) -> list[Piece]:
        role = "user" if isinstance(message, ModelRequest) else "assistant"
        return [Piece(_digest(_sent(part)), self.counter.part(part, role)) for part in message.parts]


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
