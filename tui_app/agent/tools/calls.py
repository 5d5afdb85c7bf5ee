"""Execution of tools: on threads, and with refusals that the model can act on."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio.to_thread
from pydantic_ai import ModelRetry

from tui_app.agent.tools.commands import Stop
from tui_app.agent.tools.workspace import ToolProblem
from tui_app.system.processes import NotStarted

T = TypeVar("T")


@contextmanager
def as_model_retry(deed: str = "done") -> Iterator[None]:
    """Convert failures of a tool to messages for the model.

    Args:
        deed: What the disk or the system may refuse, as part of a sentence.

    Raises:
        ModelRetry: for an invalid call, and for what the disk or the system refuses.
    """
    try:
        yield
    except ToolProblem as problem:
        raise ModelRetry(str(problem)) from problem
    except NotStarted as problem:
        raise ModelRetry(f"The command cannot be started: {problem}.") from problem
    except OSError as error:
        raise ModelRetry(f"That could not be {deed}: {error.strerror or error}.") from error


async def on_thread(work: Callable[[], T]) -> T:
    """Run short blocking work on a thread. Cancellation waits for it, so no file is left half written."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise


async def search_on_thread(work: Callable[[Stop], T]) -> T:
    """Run blocking work on a thread. Cancellation ends the wait at once, and the thread soon after."""
    cancelled = threading.Event()
    stop = Stop(cancelled)
    try:
        with as_model_retry("read"):
            return await anyio.to_thread.run_sync(lambda: work(stop), abandon_on_cancel=True)
    finally:
        cancelled.set()
