"""Waiting for whatever comes first."""

import asyncio
from collections.abc import Coroutine
from typing import Any


async def first_of(
    *waits: asyncio.Future[Any] | Coroutine[Any, Any, Any], timeout_s: float | None = None
) -> None:
    """Wait for the first of several, and cancel those that were not under way before.

    Args:
        waits: Tasks, which go on, and coroutines, which end with this.
        timeout_s: Seconds to wait at most.
    """
    tasks = [asyncio.ensure_future(each) for each in waits]
    begun = [task for task in tasks if task not in waits]
    try:
        await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
