"""What one window holds that no log has yet, on disk while it lives: a kill must not take it along.

Each window has a file of its own and holds a lock beside it, which the kernel takes back. The next visit
takes over what windows left that are gone.
"""

import threading
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from tui_app.atomic import write_atomic
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.unsent import keep_unsent, line_of, lines_of

_FRESH_S = 60.0
"""Seconds for which a lock without a file may belong to a window that is just about to write."""


class UnsentJournal:
    """The file of one window; nothing is made before there is something to keep.

    Args:
        directory: Where all windows have theirs.
        folder: The workspace that prompts are kept for.
    """

    def __init__(self, directory: Path, folder: Path) -> None:
        self._file, self._folder = directory / f"{uuid4().hex}.jsonl", folder
        self._lock: WriterLock | None = None
        self._written: tuple[str, ...] = ()
        self._one = threading.Lock()
        """A write under way in its thread must not come behind the end."""
        self._over = False

    def write(self, prompts: tuple[str, ...]) -> None:
        """Keep these prompts, oldest first, and no others; blocks on the disk.

        Raises:
            OSError: if the disk refuses.
        """
        with self._one:
            if self._over or prompts == self._written:
                return
            if self._lock is None:
                self._lock = WriterLock(self._file.with_suffix(".lock"))
            write_atomic(self._file, "".join(f"{line_of(self._folder, text)}\n" for text in prompts))
            self._written = prompts

    def end(self, *, kept: bool = False) -> None:
        """Write nothing any more; blocks on the disk.

        Args:
            kept: Whether what is written stays for the next visit, as after the death of the process.
        """
        with self._one:
            self._over = True
            if self._lock is None:
                return
            if not kept:
                with suppress(OSError):  # what the disk does not give up is offered again
                    self._file.unlink(missing_ok=True)
                    self._file.with_suffix(".lock").unlink(missing_ok=True)
            self._lock.release()


def take_over(directory: Path, file: Path) -> None:
    """Move what dead windows left to the prompts that were never sent; blocks on the disk.

    Args:
        directory: Where all windows have their files.
        file: Where prompts are kept that were never sent.

    Raises:
        OSError: if the disk refuses; nothing is lost then.
    """
    for lock_file in sorted(directory.glob("*.lock")):
        with suppress(SessionLocked, FileNotFoundError):
            _take_over(lock_file, file)


def _take_over(lock_file: Path, file: Path) -> None:
    age, left = time.time() - lock_file.stat().st_mtime, lock_file.with_suffix(".jsonl")
    with WriterLock(lock_file):
        if not left.exists() and age < _FRESH_S:
            return
        for folder, text in lines_of(left):
            keep_unsent(file, Path(folder), [text])
        left.unlink(missing_ok=True)
        lock_file.unlink()
