"""Waiting for a step of a conversation that the user may stop meanwhile."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The user has stopped what was waited for."""


@dataclass(slots=True)
class StoppableStep:
    """One step at a time, such as loading a model or a pause. Belongs to one event loop."""

    _running: "asyncio.Task[Any] | None" = None

    @property
    def is_running(self) -> bool:
        return self._running is not None

    async def wait_for(self, step: Coroutine[Any, Any, T]) -> T:
        """Wait for a step to its end; where this is cancelled, the step is too.

        Raises:
            Stopped: if it was stopped.
            Exception: whatever the step raises.
        """
        self._running = running = asyncio.create_task(step)
        try:
            return await running
        except asyncio.CancelledError:
            # Stopped by itself, or with all that is under way.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise Stopped from None
        finally:
            self._running = None

    def interrupt(self) -> bool:
        """Stop the step under way; whether there was one."""
        return self._running is not None and self._running.cancel()
