"""Files: written whole or not at all, read from a project without leaving it, and front matter."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from tui_app.system.descriptors import PLACE

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
    folder = os.open(path.parent, PLACE)
    try:
        replace_at(folder, path.name, data, 0o600)
    finally:
        os.close(folder)


def replace_at(folder: int, name: str, data: bytes, mode: int | None) -> None:
    """Replace the content of a file in an open folder, in the same way.

    Args:
        folder: The folder.
        name: Of the file.
        data: New content.
        mode: Rights of the file; None gives those that any program of the user would.

    Raises:
        OSError: if the disk refuses.
    """
    # By no other name: another thread may be writing the same file.
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
    """What a file of JSON holds by name; nothing where it is missing or damaged."""
    try:
        return object_in(file.read_bytes()) or {}
    except OSError:
        return {}


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object that a text is; None where it is something else, or nested too deeply."""
    import json  # not for the first frame

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def sync_folder(folder: int) -> None:
    """Bring the names in an open folder to the disk, where the system can; they have changed either way."""
    with suppress(OSError):
        # One that was opened to be passed through cannot be synced itself.
        names = os.open(".", os.O_RDONLY, dir_fd=folder)
        try:
            os.fsync(names)
        finally:
            os.close(names)


def toml_beside(module: str, name: str) -> dict[str, Any]:
    """A table of the program's own, which is a file beside a module.

    Args:
        module: File of the module.
        name: Name of the table's file, without its ending.
    """
    import tomllib  # not for the first frame

    return tomllib.loads(Path(module).with_name(f"{name}.toml").read_text("utf-8"))
