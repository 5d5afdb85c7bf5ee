"""Threads and tasks that nobody waits for."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(ThreadPoolExecutor):
    """Runs each call on a daemon thread of its own.

    The interpreter waits at its end for the threads of an ordinary pool, so a user who quits while a
    vendor's SDK is loading would get the shell back seconds later. An event loop takes only a
    ``ThreadPoolExecutor``; of that class nothing but the interface is used here.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Start a call at once.

        Returns:
            A future for what it returns or raises.
        """
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # as every executor: whoever waits is told
                future.set_exception(error)
            else:
                future.set_result(result)

        threading.Thread(target=run, name="plimsoll-work", daemon=True).start()
        return future


def log_defect(log: logging.Logger, what: str) -> Callable[["asyncio.Task[Any]"], None]:
    """Make what is called when a task is done that nobody waits for: it logs what went wrong there."""

    def note(task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error(what, exc_info=error)

    return note
