"""Handing events to everyone who watches a conversation."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from tui_app.context.events import Record


@dataclass(slots=True)
class EventBus:
    """Delivers each record to every open subscription, in order. For one event loop."""

    _queues: list["asyncio.Queue[Record | None]"] = field(default_factory=list)
    _closed: bool = False

    def publish(self, record: Record) -> None:
        """Give a record to all subscribers; never waits."""
        for queue in self._queues:
            queue.put_nowait(record)

    def subscribe(self) -> "Subscription":
        """Start listening; nothing published from now on is missed."""
        queue: asyncio.Queue[Record | None] = asyncio.Queue()
        self._queues.append(queue)
        if self._closed:
            queue.put_nowait(None)
        return Subscription(self, queue)

    def unsubscribe(self, queue: "asyncio.Queue[Record | None]") -> None:
        """Stop delivering to a queue."""
        if queue in self._queues:
            self._queues.remove(queue)

    def close(self) -> None:
        """End all subscriptions behind what was published before."""
        self._closed = True
        for queue in self._queues:
            queue.put_nowait(None)


@dataclass(slots=True)
class Subscription:
    """An async iterator over records; ends when the conversation closes."""

    _bus: EventBus
    _queue: "asyncio.Queue[Record | None]"

    async def __aiter__(self) -> AsyncIterator[Record]:
        try:
            while (record := await self._queue.get()) is not None:
                yield record
        finally:
            self.close()

    def close(self) -> None:
        """Stop listening."""
        self._bus.unsubscribe(self._queue)
