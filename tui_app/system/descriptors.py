"""Files by descriptor: opened, asked about and removed under the name they have, never where a link leads.

A command can exchange a folder for a link at any moment. A path that is walked from the root without
following one leads to the place that it names or nowhere. Each of these raises ``OSError`` where that place
is not there or a link is on the way.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

PLACE = getattr(os, "O_PATH", os.O_RDONLY)
"""To open a place without reading it."""
_FOLDER = getattr(os, "O_SEARCH", PLACE) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""A folder on the way may be one that may be passed through but not listed."""
StrPath = str | os.PathLike[str]


@contextlib.contextmanager
def folder_of(path: StrPath, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder that an absolute path is in, open, and its name there; it is made where it is missing."""
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
    """A folder, to read its names."""
    opened = open_named(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield opened
    finally:
        os.close(opened)


def stat_named(path: StrPath) -> os.stat_result:
    """What the system says of a place, of a link about itself."""
    with folder_of(path) as (folder, name):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)


def remove_named(path: StrPath) -> None:
    """Take away a file, a link or a folder with all in it."""
    with folder_of(path) as (folder, name):
        # At once, whatever it is: whoever obeys it may come any moment.
        gone = f"{name[:200]}.removed-{os.urandom(4).hex()}"
        os.rename(name, gone, src_dir_fd=folder, dst_dir_fd=folder)
        if stat.S_ISDIR(os.stat(gone, dir_fd=folder, follow_symlinks=False).st_mode):
            import shutil  # most commands need none of it

            shutil.rmtree(gone, dir_fd=folder)
        else:
            os.unlink(gone, dir_fd=folder)


def first_link(path: StrPath, root: StrPath) -> str:
    """The first link among the folders between a root and a path; empty for none."""
    at, parts = os.fspath(root).rstrip("/"), os.path.relpath(path, root).split("/")[:-1]
    for part in parts:
        at = f"{at}/{part}"
        if os.path.islink(at):  # noqa: PTH114
            return at
    return ""
