"""Writing files atomically, and reading small JSON and TOML files."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from tui_app.system.descriptors import PLACE

_NAME_CHARS = 50
"""Characters of a file's name used for the temporary file, whose name must not get too long."""


def make_private(folder: Path) -> None:
    """Create a folder, including missing parents, that only its owner may enter.

    Raises:
        OSError: if it cannot be created.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


def write_atomic(path: Path, text: str, *, errors: str = "backslashreplace") -> None:
    """Replace a file's content, with owner-only permissions.

    On return it is on disk, under its name as far as the system can sync folders.

    Args:
        path: The file; its folder is created if missing.
        text: New content.
        errors: Handling of lone surrogates, as for ``str.encode``; escapes by default.

    Raises:
        OSError: if it cannot be written.
    """
    write_bytes_atomic(path, text.encode("utf-8", errors))


def write_bytes_atomic(path: Path, data: bytes) -> None:
    """Replace a file's content like :func:`write_atomic`.

    Raises:
        OSError: if it cannot be written.
    """
    make_private(path.parent)
    folder = os.open(path.parent, PLACE)
    try:
        replace_at(folder, path.name, data, 0o600)
    finally:
        os.close(folder)


def replace_at(folder: int, name: str, data: bytes, mode: int | None) -> None:
    """Replace the content of a file in an open folder in the same way.

    Args:
        folder: The folder.
        name: Name of the file.
        data: New content.
        mode: Permissions of the file; None for the default of the user's programs.

    Raises:
        OSError: if it cannot be written.
    """
    # A unique name: another thread may be writing the same file.
    temporary = f".{name[:_NAME_CHARS]}.{os.urandom(6).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(temporary, flags, 0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as stream:
            if mode is not None:
                os.fchmod(file, mode)
            stream.write(data)
            stream.flush()
            os.fsync(file)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    sync_folder(folder)


def read_object(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file; empty if the file is missing or damaged."""
    try:
        return object_in(file.read_bytes()) or {}
    except OSError:
        return {}


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """Parse a JSON object; None if it is something else, or nested too deeply."""
    import json  # not for the first frame

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def sync_folder(folder: int) -> None:
    """Sync the names in an open folder to disk, if the system can. They have changed either way."""
    with suppress(OSError):
        # A folder opened without read access cannot be synced itself.
        names = os.open(".", os.O_RDONLY, dir_fd=folder)
        try:
            os.fsync(names)
        finally:
            os.close(names)


def toml_beside(module: str, name: str) -> dict[str, Any]:
    """Read a table of the program from a file next to a module.

    Args:
        module: File of the module.
        name: Name of the table's file, without its suffix.
    """
    import tomllib  # not for the first frame

    return tomllib.loads(Path(module).with_name(f"{name}.toml").read_text("utf-8"))
