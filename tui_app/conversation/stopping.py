"""A person's wish to stop the turn under way, from its first moment on."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The person has stopped the turn."""


@dataclass(slots=True)
class Stop:
    """Whether a turn is under way, and whether it was stopped. Belongs to one event loop."""

    under_way: bool = False
    _asked: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A turn is under way inside the block; what was wished for one before is forgotten."""
        self._asked.clear()
        self.under_way = True
        try:
            yield
        finally:
            self.under_way = False

    def ask(self) -> None:
        """Stop the turn under way."""
        self._asked.set()

    async def unless(self, step: Coroutine[Any, Any, T]) -> T:
        """Wait for a step of the turn, no longer than it is wanted.

        Args:
            step: What may be left at any of its waits: it has done nothing by halves then.

        Raises:
            Stopped: if the turn was stopped before or meanwhile; the step is cancelled.
            Exception: whatever the step raises.
        """
        doing = asyncio.ensure_future(step)
        asked = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait([doing, asked], return_when=asyncio.FIRST_COMPLETED)
            if self._asked.is_set():
                raise Stopped
            return doing.result()
        finally:
            asked.cancel()
            doing.cancel()
            await asyncio.gather(asked, doing, return_exceptions=True)
