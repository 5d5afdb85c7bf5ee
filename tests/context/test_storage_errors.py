"""Messages for a full disk and for files that are not ours."""

import errno
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tui_app.context.storage_errors import ForeignDatabase, StorageError, storage_error

FILE = Path("/somewhere/sessions.db")


def full_database() -> sqlite3.Error:
    """Return the error that SQLite itself raises."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("PRAGMA max_page_count = 10")
        db.execute("CREATE TABLE big (x)")
        with pytest.raises(sqlite3.OperationalError) as caught:
            db.execute("INSERT INTO big VALUES (zeroblob(1000000))")
    return caught.value


def coded(code: int, text: str) -> sqlite3.Error:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


def wrapped(error: Exception) -> OSError:
    outer = OSError(str(error))
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize(
    "error",
    [full_database(), wrapped(full_database()), OSError(errno.ENOSPC, "No space left on device")],
    ids=["sqlite", "wrapped", "system"],
)
def test_full_disk(error: Exception) -> None:
    told = storage_error(error)
    assert told is not None
    assert told.message.startswith("The disk is full: ")
    assert "kept" in told.hint
    assert "Free some disk space" in told.hint
    assert str(told) == f"{told.message} {told.hint}"


@pytest.mark.parametrize(("free", "full"), [(0, True), (40_000_000_000, False)])
def test_input_or_output_that_fails_for_want_of_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, full: bool
) -> None:
    """SQLite reports nothing more specific when there is no space for its shared memory."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: (50_000_000_000, 50_000_000_000 - free, free))
    error = coded(sqlite3.SQLITE_IOERR_SHMSIZE, "disk I/O error")
    told = storage_error(error, tmp_path / "sessions.db")
    assert told is not None
    assert told.message.startswith("The disk is full") is full
    told = storage_error(error)
    assert told is not None
    assert "has space" in told.hint


def test_which_file_did_not_fit() -> None:
    told = storage_error(full_database(), FILE)
    assert told is not None
    assert str(FILE) in told.message
    told = storage_error(OSError(errno.EDQUOT, "Disk quota exceeded", "/home/me/export.md"), FILE)
    assert told is not None
    assert "/home/me/export.md" in told.message
    assert str(FILE) not in told.message
    told = storage_error(OSError(errno.ENOSPC, "No space left on device"), FILE)
    assert told is not None
    assert f"a file in {FILE.parent}, or what the output goes to," in told.message


@pytest.mark.parametrize(
    "error",
    [
        coded(sqlite3.SQLITE_IOERR_WRITE, "disk I/O error"),
        coded(sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
        coded(sqlite3.SQLITE_READONLY_DBMOVED, "attempt to write a readonly database"),
        coded(sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
        OSError(errno.EROFS, "Read-only file system", str(FILE)),
        OSError(errno.EIO, "Input/output error", str(FILE)),
    ],
    ids=str,
)
def test_disk_that_cannot_be_written(error: Exception) -> None:
    told = storage_error(error, FILE)
    assert told is not None
    assert str(FILE) in told.message
    assert "cannot be used" in told.message
    assert (getattr(error, "strerror", None) or str(error)) in told.message
    assert "kept" in told.hint


@pytest.mark.parametrize(
    "error",
    [
        coded(sqlite3.SQLITE_NOTADB, "file is not a database"),
        coded(sqlite3.SQLITE_CORRUPT, "database disk image is malformed"),
        ForeignDatabase("it belongs to another program"),
    ],
    ids=str,
)
def test_file_that_is_no_database_of_ours(error: Exception) -> None:
    told = storage_error(error, FILE)
    assert told is not None
    assert str(told).startswith(f"Not a readable Plimsoll database: {FILE} ({error}).")
    assert "Nothing was deleted" in told.hint
    assert "Move it away" in told.hint


@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError("database or disk is full"),
        PermissionError(errno.EACCES, "Permission denied", "/etc/shadow"),
        ValueError("disk is full"),
    ],
    ids=repr,
)
def test_everything_else_is_none_of_its_business(error: Exception) -> None:
    assert storage_error(error, FILE) is None


def test_what_was_told_already_stays_as_it_is() -> None:
    told = StorageError("It broke.", "Mend it.")
    assert storage_error(told, FILE) is told
    assert storage_error(wrapped(told)) is told
