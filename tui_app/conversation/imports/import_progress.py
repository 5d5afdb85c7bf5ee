"""How far an import is, and stopping it while that is still possible."""

import threading
from collections.abc import Callable
from typing import Literal

from tui_app.records import frozen


class ImportStopped(Exception):
    """The user stopped the import; nothing of it was written."""


class ImportedAlready(Exception):
    """A session holds the file as it is; nothing was written.

    Args:
        session: Its id.
    """

    def __init__(self, session: str) -> None:
        super().__init__(session)
        self.session = session


@frozen
class ImportProgress:
    """How far an import is."""

    doing: Literal["reading", "counting", "writing"]
    done: int = 0
    """Events that are counted."""
    total: int = 0
    """Events altogether; 0 while the file is read."""


Watch = Callable[[ImportProgress], None]
"""Called with progress; it may raise :class:`ImportStopped` until the writing begins."""


def unwatched(_progress: ImportProgress) -> None:
    """A watch that ignores progress."""


class Stoppable:
    """Stops an import that runs in another thread, if it has not begun to write."""

    def __init__(self, report: Watch) -> None:
        """Pass progress on.

        Args:
            report: Called with progress, in the thread of the import.
        """
        self._report = report
        self._lock = threading.Lock()
        self._stopped = False
        self._writing = False

    def watch(self, progress: ImportProgress) -> None:
        """Take note of progress.

        Raises:
            ImportStopped: if it was stopped meanwhile.
        """
        with self._lock:
            if self._stopped:
                raise ImportStopped
            self._writing = progress.doing == "writing"
        self._report(progress)

    def stop(self) -> bool:
        """Stop it. Return whether that was possible: what is being written is written to its end."""
        with self._lock:
            self._stopped = not self._writing
            return self._stopped
