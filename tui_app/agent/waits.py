"""Waiting for whatever comes first, and tasks that end with what waits for them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


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
        await end_tasks(*begun)


@asynccontextmanager
async def run_alongside(work: Awaitable[T]) -> AsyncIterator[asyncio.Future[T]]:
    """Have something done beside what is inside; it ends with that at the latest."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        await end_tasks(task)


async def end_tasks(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks, and wait for their ends; what they raise is not told."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
