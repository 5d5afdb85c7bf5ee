"""Explanations of storage errors for the user: a full disk, a damaged sessions file."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tui_app.wires.error_text import chain

_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_SHORT_OF = dict.fromkeys((errno.EMFILE, errno.ENFILE), "Too many files are open for this system.")
_SHORT_OF[errno.ENOMEM] = "There is not enough memory."
_KEPT = "Everything saved before is kept."
_UNUSABLE = frozenset({errno.EROFS, errno.EIO})
_SQLITE_UNUSABLE = frozenset(
    {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
)
_SQLITE_UNREADABLE = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_NOT_READ = ("malformed JSON", "Could not decode to UTF-8")
"""Beginning of messages about an unreadable event; they have no code."""

_ROOM = 1 << 20
"""Bytes; a disk with less counts as full: the log's shared memory alone takes 32 KiB."""


class StorageError(sqlite3.DatabaseError):
    """A file on disk cannot be used; the text may be shown as it is.

    Args:
        message: What happened and why, in one sentence.
        hint: What is kept, and what to do next.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message} {hint}")
        self.message = message
        self.hint = hint


class DiskFull(StorageError):
    """There is no room to write."""

    def __init__(self, what: str) -> None:
        full = f"The disk is full: {what} could not be written."
        super().__init__(full, f"{_KEPT} Free some disk space, then try again.")


class ForeignDatabase(sqlite3.DatabaseError):
    """The file is a database, but not one of ours; the message describes the problem."""


def storage_error(error: BaseException, database: Path | None = None) -> StorageError | None:
    """Explain an error caused, directly or indirectly, by the disk or the sessions file.

    Args:
        error: The exception.
        database: The sessions file, if known.

    Returns:
        The explanation, to be raised or shown; None for an error of another kind.
    """
    for one in chain(error):
        match one:
            case StorageError():
                return one
            case sqlite3.Error():
                if (failure := _by_code(one, database)) is not None:
                    return failure
            case MemoryError() | OSError() if getattr(one, "errno", errno.ENOMEM) in _SHORT_OF:
                shortage = _SHORT_OF[getattr(one, "errno", errno.ENOMEM)]
                return StorageError(shortage, f"{_KEPT} Close some programs or sessions, then try again.")
            case OSError() if one.errno in _FULL:
                return DiskFull(_named(one, database))
            case OSError() if one.errno in _UNUSABLE:
                return _unusable(_named(one, database), one.strerror or str(one))
    return None


def _named(error: OSError, database: Path | None) -> str:
    """Return the affected file; an error without a name is about a file next to the sessions file."""
    file = f"a file in {database.parent}" if database else "a file"
    return str(error.filename or f"{file}, or what the output goes to,")


def _by_code(error: sqlite3.Error, database: Path | None) -> StorageError | None:
    file = f"the sessions file {database}" if database else "the sessions file"
    # Extended codes keep the kind of error in their lowest byte.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # Without room for its shared memory, SQLite does not report why input or output fails.
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and database and _no_room(database)):
        return DiskFull(file)
    if code == sqlite3.SQLITE_CANTOPEN:
        # SQLite does not report why; a database takes three files.
        fds: list[int] = []
        try:
            fds.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(3))
        except OSError as why:
            return storage_error(why)
        finally:
            list(map(os.close, fds))
    if code == sqlite3.SQLITE_BUSY:
        what = f"{file[0].upper()}{file[1:]} is in use by another program, which did not finish."
        return StorageError(what, f"{_KEPT} Try again; if it stays so, close the other program.")
    if code in _SQLITE_UNUSABLE:
        return _unusable(file, str(error))
    if code in _SQLITE_UNREADABLE or isinstance(error, ForeignDatabase):
        saving = "To save what can be read: plimsoll doctor --repair. "
        return StorageError(
            f"Not a readable Plimsoll database: {database or file} ({error}).",
            f"Nothing was deleted. {saving if code == sqlite3.SQLITE_CORRUPT else ''}"
            "Move it away, with any -wal and -shm file next to it, and start again.",
        )
    if str(error).startswith(_NOT_READ):
        damage = f"Something in {file} is damaged, and its session with it."
        return StorageError(damage, "Nothing was deleted. To keep everything else: plimsoll doctor --repair.")
    return None


def _no_room(file: Path) -> bool:
    # Imported when needed: it loads the compression libraries, and the first frame waits for this file.
    import shutil

    try:
        return shutil.disk_usage(file.parent)[2] < _ROOM
    except OSError:
        return False


def _unusable(what: str, reason: str) -> StorageError:
    return StorageError(
        f"{what[0].upper()}{what[1:]} cannot be used: {reason}.",
        f"{_KEPT} Check that the disk has space and is writable, then try again.",
    )


@contextmanager
def storage_explained(database: Path) -> Iterator[None]:
    """Raise errors of the disk and of the sessions file with an explanation and a hint.

    Raises:
        StorageError: in place of one that can be explained.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        failure = storage_error(error, database)
        if failure is None or failure is error:
            raise
        raise failure from error


@contextmanager
def as_disk_errors() -> Iterator[None]:
    """Raise errors of SQLite as ``OSError``, like those of any file that cannot be written.

    Raises:
        OSError: in place of an error of SQLite, with its message.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(str(error)) from error
