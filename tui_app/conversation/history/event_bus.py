"""Delivery of a conversation's events to listeners."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_app.events import Payload, Record

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class EventBus:
    """Delivers each record to every listener, in order. For one event loop."""

    _listeners: list[Callable[[Record], None]] = field(default_factory=list)

    def publish(self, record: Record) -> None:
        """Call all listeners with a record; never waits."""
        for listener in self._listeners:
            try:
                listener(record)
            except Exception:  # the event has happened, even if a listener fails on it
                _log.exception("a listener failed on %s", record.data.TYPE)

    def listen(self, listener: Callable[[Record], None]) -> None:
        """Call a listener with every record, immediately, for the lifetime of the bus. It must not wait."""
        self._listeners.append(listener)

    def publish_live(self, session: str, payload: Payload) -> None:
        """Publish an event that is not logged."""
        self.publish(Record(seq=0, time=time.time(), session=session, data=payload))
