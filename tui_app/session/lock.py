"""One writer per session: a file lock that the kernel releases when the process dies."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Self

from tui_app.context.storage_errors import StorageError
from tui_app.files import make_private

_LOOKS_S = (0.001, 0.002, 0.004, 0.008, *(0.016,) * 60)
"""Pauses in seconds between attempts to take a lock that another process only checks.

A check takes microseconds, or about a second if the machine suspends the checking process.
"""


class SessionLocked(Exception):
    """Raised when another living process writes this session; the message names it if known."""


class Overtaken(StorageError):
    """Raised when another writer took over while the connection was lost."""

    def __init__(self, who: str) -> None:
        super().__init__(
            f"This session has been written by {who or 'another window'} while the connection was lost.",
            "Nothing was lost. Open the session again with /sessions to continue.",
        )


class WriterLock:
    """The lock held while a session is open for writing.

    Args:
        path: The lock file. It contains the holder's process id.

    Raises:
        SessionLocked: if another process holds it.
        OSError: if the file cannot be created.
    """

    def __init__(self, path: Path) -> None:
        make_private(path.parent)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if not self._acquire():
            name = _name(self._file)
            os.close(self._file)
            raise SessionLocked(name)
        # Fails on a full disk, where sessions have to be deletable all the same.
        with suppress(OSError):
            os.ftruncate(self._file, 0)
            os.write(self._file, str(os.getpid()).encode())

    def _acquire(self) -> bool:
        """Take the lock, waiting for processes that only check it, which lock it for a moment too."""
        for pause in _LOOKS_S:
            if _try_lock(self._file):
                return True
            if not _only_looked_at(self._file):
                return False
            time.sleep(pause)
        return _try_lock(self._file)

    def release(self) -> None:
        """Let others write. Releasing twice is harmless."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()


def holder(path: Path) -> str:
    """Describe the holder of a lock; empty if there is none.

    Creates no file and keeps no lock. A lock that cannot be checked counts as free: taking it reports the
    reason.
    """
    with _open_lock(path, os.O_RDWR) as file:
        return "" if file is None else _name(file)


def holder_process(path: Path) -> int:
    """Process id of a lock's holder; 0 if there is none, or the file belongs to another user."""
    with _open_lock(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)) as file, suppress(OSError):
        if file is not None and (not hasattr(os, "geteuid") or os.fstat(file).st_uid == os.geteuid()):
            number = os.read(file, 32).strip()
            return int(number) if number.isdigit() else 0
    return 0


@contextmanager
def _open_lock(path: Path, flags: int) -> Iterator[int | None]:
    """Yield the open file of a lock that is held; None for one that is free or cannot be checked."""
    try:
        file = os.open(path, flags)
    except OSError:
        yield None
        return
    try:
        yield None if _try_lock(file, shared=True) else file
    finally:
        os.close(file)


def _name(file: int) -> str:
    """Describe a lock's holder: users know a window by its starting time, not by a process id."""
    # The file is written once, when the lock is taken.
    since, now = datetime.fromtimestamp(os.fstat(file).st_mtime), datetime.now()
    moment = f"{since:%H:%M}" if since.date() == now.date() else f"{since:%Y-%m-%d %H:%M}"
    return f"another window (since {moment})"


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int, *, shared: bool = False) -> bool:
        # On Windows a locked byte cannot be read: lock one far after the process id, which others read.
        os.lseek(file, 4096, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        return True

    # There is no shared lock here, so a check and a writer cannot be told apart.
    _LOOKS_S = _LOOKS_S[:4]

    def _only_looked_at(file: int) -> bool:
        return True

else:
    import fcntl

    def _try_lock(file: int, *, shared: bool = False) -> bool:
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _only_looked_at(file: int) -> bool:
        """Return whether the lock is shared, so that no process writes."""
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.flock(file, fcntl.LOCK_UN)
        return True
