"""A second way to the server, for what nobody must wait for: no question takes longer than its time."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from tui_app.context.storage_errors import StorageError
from tui_app.session.location import Server
from tui_app.session.postgres import schema
from tui_app.session.postgres.wire import Connection, Wire

T = TypeVar("T")
_IDLE_S = 10.0
"""Seconds after which a connection that nobody uses is closed."""
_Job = tuple[Callable[[Connection], Any], "Future[Any]"]


class SideLine:
    """Asks from a thread of its own, which holds nobody up at the program's end. May be used from any thread.

    Args:
        server: Which database; it is connected to with the first question.
        patience_s: Seconds a question may take, connecting included.
    """

    def __init__(self, server: Server, patience_s: float) -> None:
        self._server, self._patience_s = server, patience_s
        self._turn = threading.Lock()
        self._jobs: queue.SimpleQueue[_Job] | None = None

    def ask(self, work: Callable[[Connection], T]) -> T:
        """Do something with a connection; once more on a new one where the old one turns out to be lost.

        Raises:
            StorageError: if the server cannot be asked, or has not answered in time; it may still do it.
        """
        answer: Future[T] = Future()
        with self._turn:
            if self._jobs is None:
                self._jobs = queue.SimpleQueue()
                threading.Thread(target=self._serve, args=(self._jobs,), daemon=True).start()
            jobs = self._jobs
            jobs.put((work, answer))
        try:
            return answer.result(self._patience_s)
        except TimeoutError:
            self._abandon(jobs)
            raise StorageError(
                f"The session server {self._server.shown} has not answered in {self._patience_s:g} seconds.",
                "Everything saved before is kept there. Try again when it answers.",
            ) from None

    def _abandon(self, jobs: "queue.SimpleQueue[_Job]") -> None:
        """Let the next question begin anew, on another connection."""
        with self._turn:
            if self._jobs is jobs:
                self._jobs = None

    def _idle(self, jobs: "queue.SimpleQueue[_Job]") -> bool:
        """Whether nobody asks any more; from then on nobody does."""
        with self._turn:
            if not jobs.empty():
                return False
            if self._jobs is jobs:
                self._jobs = None
            return True

    def _serve(self, jobs: "queue.SimpleQueue[_Job]") -> None:
        wire: Wire | None = None
        try:
            while True:
                try:
                    work, answer = jobs.get(timeout=_IDLE_S)
                except queue.Empty:
                    if self._idle(jobs):
                        return
                    continue
                try:
                    wire = wire or self._opened()
                    answer.set_result(wire.ask(work))
                except BaseException as error:  # whoever asked is told, whatever it is
                    answer.set_exception(error)
        finally:
            if wire is not None:
                wire.close()

    def _opened(self) -> Wire:
        wire = Wire(self._server, read_only=False)
        try:
            with wire.told():
                schema.migrate(wire.db, self._server)
        except BaseException:
            wire.close()
            raise
        return wire
