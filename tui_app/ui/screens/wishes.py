"""What a person wants of a list that stays open while it is done."""

import asyncio
from typing import Generic, TypeVar

W = TypeVar("W")


class Wishes(Generic[W]):
    """Hands wishes over one at a time: what is pressed while one is being done is for what that shows."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[W | None] = asyncio.Queue()
        self._free = True

    def ask(self, wish: W) -> None:
        """Want something, unless something else is being done."""
        if self._free:
            self._free = False
            self._queue.put_nowait(wish)

    def close(self) -> None:
        """Want nothing any more."""
        self._free = False
        self._queue.put_nowait(None)

    async def next(self) -> W | None:
        """Wait for what is wanted next; None when the list was closed."""
        self._free = self._queue.empty()
        return await self._queue.get()
