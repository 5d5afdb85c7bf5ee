"""Writing files so that a crash leaves the old or the new one, never a half."""

import os
from pathlib import Path


def make_private(folder: Path) -> None:
    """Create a folder, missing parents included, that only its owner may enter.

    Raises:
        OSError: if the disk refuses.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


def write_atomic(path: Path, text: str, *, errors: str = "backslashreplace") -> None:
    """Replace a file's content; owner-only rights, on disk when this returns.

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
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
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
