"""Files by descriptor: opened, examined and removed without ever following a link.

A command can replace a folder by a link at any moment. A path that is walked from the root without following
links leads to the named place or nowhere. All functions raise ``OSError`` if the place is missing or a link
is on the way.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

PLACE = getattr(os, "O_PATH", os.O_RDONLY)
"""Flag to open a place without reading it."""
_FOLDER = getattr(os, "O_SEARCH", PLACE) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Folders on the way may be traversable but not listable."""
StrPath = str | os.PathLike[str]


@contextlib.contextmanager
def folder_of(path: StrPath, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder of an absolute path, created if missing; yield it with the name in it."""
    *folders, name = [part for part in os.fspath(path).split("/") if part] or ["."]
    if ".." in (*folders, name):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    folder = os.open("/", _FOLDER)
    try:
        for part in folders:
            try:
                below = os.open(part, _FOLDER, dir_fd=folder)
            except FileNotFoundError:
                if not make:
                    raise
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
                below = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
        yield folder, name
    finally:
        os.close(folder)


def open_named(path: StrPath, flags: int = PLACE, mode: int = 0o644) -> int:
    with folder_of(path) as (folder, name):
        opened = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=folder)
    if stat.S_ISLNK(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return opened


@contextlib.contextmanager
def open_folder(path: StrPath) -> Iterator[int]:
    """Open a folder to list it."""
    opened = open_named(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield opened
    finally:
        os.close(opened)


def stat_named(path: StrPath) -> os.stat_result:
    """Return the status of a place; for a link, of the link itself."""
    with folder_of(path) as (folder, name):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)


def remove_named(path: StrPath) -> None:
    """Remove a file, a link, or a folder with its content."""
    with folder_of(path) as (folder, name):
        # Renamed at once: a program that acts on it may come at any moment.
        new_name = f"{name[:200]}.removed-{os.urandom(4).hex()}"
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=folder)
        if stat.S_ISDIR(os.stat(new_name, dir_fd=folder, follow_symlinks=False).st_mode):
            import shutil  # most commands do not need it

            shutil.rmtree(new_name, dir_fd=folder)
        else:
            os.unlink(new_name, dir_fd=folder)


def first_link(path: StrPath, root: StrPath) -> str:
    """Return the first link among the folders between a root and a path; empty if there is none."""
    at, parts = os.fspath(root).rstrip("/"), os.path.relpath(path, root).split("/")[:-1]
    for part in parts:
        at = f"{at}/{part}"
        if os.path.islink(at):  # noqa: PTH114
            return at
    return ""
