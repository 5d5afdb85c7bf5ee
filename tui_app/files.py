"""Files: written whole or not at all, read from a project without leaving it, and front matter."""

import os
from contextlib import suppress
from pathlib import Path

_NAME_CHARS = 50
"""Characters of a file's name in the temporary one, which must not be longer than names may be."""


def make_private(folder: Path) -> None:
    """Create a folder, missing parents included, that only its owner may enter.

    Raises:
        OSError: if the disk refuses.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


def write_atomic(path: Path, text: str, *, errors: str = "backslashreplace") -> None:
    """Replace a file's content; owner-only rights.

    When this returns it is on disk, under its name as far as the system lets folders be synced.

    Args:
        path: The file; its folder is created when missing.
        text: New content.
        errors: What becomes of half surrogate pairs, as for ``str.encode``; escapes by default.

    Raises:
        OSError: if the disk refuses.
    """
    write_bytes_atomic(path, text.encode("utf-8", errors))


def write_bytes_atomic(path: Path, data: bytes) -> None:
    """Replace a file's content, as :func:`write_atomic` does.

    Raises:
        OSError: if the disk refuses.
    """
    make_private(path.parent)
    # By no other name: another thread may be writing the same file.
    temporary = path.with_name(f".{path.name[:_NAME_CHARS]}.{os.urandom(6).hex()}.tmp")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
            os.fsync(file)
        finally:
            os.close(file)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            sync_folder(folder)
        finally:
            os.close(folder)


def sync_folder(folder: int) -> None:
    """Bring the names in an open folder to the disk, where the system can; they have changed either way."""
    with suppress(OSError):
        # One that was opened to be passed through cannot be synced itself.
        names = os.open(".", os.O_RDONLY, dir_fd=folder)
        try:
            os.fsync(names)
        finally:
            os.close(names)
