"""A wait that the user can stop."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The user stopped the step."""


@dataclass(slots=True)
class StoppableStep:
    """One step at a time, such as loading a model or a pause. Not thread-safe: use it on one event loop."""

    _running: "asyncio.Task[Any] | None" = None

    @property
    def is_running(self) -> bool:
        return self._running is not None

    async def wait_for(self, step: Coroutine[Any, Any, T]) -> T:
        """Wait for a step to end. If this is cancelled, the step is cancelled too.

        Raises:
            Stopped: if the step was stopped.
            Exception: whatever the step raises.
        """
        self._running = running = asyncio.create_task(step)
        try:
            return await running
        except asyncio.CancelledError:
            # Either only this step was stopped, or the whole task is being cancelled.
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise Stopped from None
        finally:
            self._running = None

    def interrupt(self) -> bool:
        """Stop the running step. Returns whether there was one."""
        return self._running is not None and self._running.cancel()
