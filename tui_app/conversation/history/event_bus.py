"""Delivers events to everyone who watches a conversation."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from tui_app.events import Payload, Record

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class EventBus:
    """Delivers each record to every open subscription, in order. For one event loop."""

    _queues: "list[asyncio.Queue[Record | None]]" = field(default_factory=list)
    _listeners: list[Callable[[Record], None]] = field(default_factory=list)
    _closed: bool = False

    def publish(self, record: Record) -> None:
        """Give a record to all subscribers; never waits."""
        for queue in self._queues:
            queue.put_nowait(record)
        for listener in self._listeners:
            try:
                listener(record)
            except Exception:  # what happened has happened, whoever fails to take note of it
                _log.exception("a listener failed on %s", record.data.TYPE)

    def listen(self, listener: Callable[[Record], None]) -> None:
        """Call a listener with every record at once, for as long as the bus lasts; it must not wait."""
        self._listeners.append(listener)

    def tell(self, session: str, payload: Payload) -> None:
        """Publish something that no log keeps."""
        self.publish(Record(seq=0, time=time.time(), session=session, data=payload))

    def subscribe(self) -> "Subscription":
        """Start listening; nothing published from now on is missed."""
        queue: asyncio.Queue[Record | None] = asyncio.Queue()
        self._queues.append(queue)
        if self._closed:
            queue.put_nowait(None)
        return Subscription(self._queues, queue)

    def close(self) -> None:
        """End all subscriptions behind what was published before."""
        self._closed = True
        for queue in self._queues:
            queue.put_nowait(None)


@dataclass(slots=True)
class Subscription:
    """An async iterator over records; ends when the conversation closes.

    Whoever stops iterating may go on later: what is published meanwhile is kept until ``close``.
    """

    _open: "list[asyncio.Queue[Record | None]]"
    _queue: "asyncio.Queue[Record | None]"

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Record:
        record = await self._queue.get()
        if record is None:
            self.close()
            # Whoever asks again hears the same.
            self._queue.put_nowait(None)
            raise StopAsyncIteration
        return record

    def close(self) -> None:
        """Stop listening."""
        if self._queue in self._open:
            self._open.remove(self._queue)
