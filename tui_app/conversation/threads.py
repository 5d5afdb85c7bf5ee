"""Threads and tasks that run without anyone waiting for them."""

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(ThreadPoolExecutor):
    """Runs each call on its own daemon thread.

    At exit, the interpreter waits for the threads of an ordinary pool, so a user who quits while a vendor's
    SDK is loading would get the shell back seconds later. An event loop accepts only a
    ``ThreadPoolExecutor``; nothing but the interface of that class is used here.
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
            except BaseException as error:  # as in every executor, the waiting caller gets the exception
                future.set_exception(error)
            else:
                future.set_result(result)

        threading.Thread(target=run, name="plimsoll-work", daemon=True).start()
        return future


def log_defect(log: logging.Logger, what: str) -> Callable[["asyncio.Task[Any]"], None]:
    """A done callback for tasks that are never awaited. It logs their exception."""

    def note(task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error(what, exc_info=error)

    return note
