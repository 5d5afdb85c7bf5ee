"""Waits for the first of several, and tasks bound to a block."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


async def first_of(
    *waits: asyncio.Future[Any] | Coroutine[Any, Any, Any], timeout_s: float | None = None
) -> None:
    """Wait for the first of several, then cancel those that this started.

    Args:
        waits: Tasks, which continue, and coroutines, which are cancelled at the end.
        timeout_s: Maximum seconds to wait.
    """
    tasks = [asyncio.ensure_future(each) for each in waits]
    begun = [task for task in tasks if task not in waits]
    try:
        await asyncio.wait(tasks, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await end_tasks(*begun)


@asynccontextmanager
async def run_alongside(work: Awaitable[T]) -> AsyncIterator[asyncio.Future[T]]:
    """Run something concurrently with a block; it is cancelled at the end of the block."""
    task = asyncio.ensure_future(work)
    try:
        yield task
    finally:
        await end_tasks(task)


async def end_tasks(*tasks: asyncio.Future[Any]) -> None:
    """Cancel tasks and wait for them to end; their exceptions are ignored."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
