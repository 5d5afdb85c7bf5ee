"""Progress of an import, which can be stopped until it writes."""

import threading
from collections.abc import Callable
from typing import Literal

from tui_app.records import frozen


class ImportStopped(Exception):
    """The user stopped the import; nothing was written."""


class ImportedAlready(Exception):
    """A session already has this file in its current state; nothing was written.

    Args:
        session: Its id.
    """

    def __init__(self, session: str) -> None:
        super().__init__(session)
        self.session = session


@frozen
class ImportProgress:
    """Progress of an import."""

    doing: Literal["reading", "counting", "writing"]
    done: int = 0
    """Events counted so far."""
    total: int = 0
    """Number of all events; 0 while the file is being read."""


Watch = Callable[[ImportProgress], None]
"""Receives progress. It may raise :class:`ImportStopped` until writing begins."""


def unwatched(_progress: ImportProgress) -> None:
    """No-op progress callback."""


class Stoppable:
    """Stops an import that runs in another thread, unless it is already writing."""

    def __init__(self, report: Watch) -> None:
        """Forward progress.

        Args:
            report: Receives progress, on the thread of the import.
        """
        self._report = report
        self._lock = threading.Lock()
        self._stopped = False
        self._writing = False

    def watch(self, progress: ImportProgress) -> None:
        """Receive progress.

        Raises:
            ImportStopped: if it was stopped meanwhile.
        """
        with self._lock:
            if self._stopped:
                raise ImportStopped
            self._writing = progress.doing == "writing"
        self._report(progress)

    def stop(self) -> bool:
        """Stop the import. Returns whether that was possible: writing is never interrupted."""
        with self._lock:
            self._stopped = not self._writing
            return self._stopped
