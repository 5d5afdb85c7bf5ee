"""Files that tools may use: a root folder, plus the session's own folders."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from tui_app.system.descriptors import open_named
from tui_app.tool_specs import GLOB, LS, READ_FILE

_KERNEL_TREES = (Path("/proc"), Path("/sys"), Path("/dev"))
"""Never project files, even if the workspace is ``/``."""


class ToolProblem(Exception):
    """A tool cannot do what was asked; the text is one sentence that tells the model what to do instead."""


class OutsideWorkspace(ToolProblem):
    """A path leads out of the folders the tools may read."""


class Workspace:
    """Resolves paths before they are checked, so that ``..``, links and absolute paths cannot get out.

    Args:
        root: The folder the user opened.
        extra: Further folders that may be read, such as the session's ``tool_outputs``. They need not exist
            yet, and are reached by absolute path, or as ``NAME/...`` unless the root has that entry.
        closed: The program's own folders. Nothing is written there; below the root nothing is read there
            either, except what is in ``extra``.
        withheld: Returns files in ``extra`` that must not be read now; called in any thread.
        added: Further folders the user has opened, to be read and written by absolute path.
        session: The session's folder, which stores what is known of files.
    """

    def __init__(
        self,
        root: Path,
        extra: Sequence[Path] = (),
        closed: Sequence[Path] = (),
        withheld: Callable[[], frozenset[Path]] = frozenset,
        added: Sequence[Path] = (),
        session: Path | None = None,
    ) -> None:
        self.root = root.resolve()
        self._roots = (self.root, *(folder.resolve() for folder in added))
        self._extra = tuple(folder.resolve() for folder in extra)
        self._closed = tuple(folder.resolve() for folder in closed)
        # If the user opens such a folder itself, it may be read.
        self._below = frozenset(each for each in self._closed if not {*self._roots}.isdisjoint(each.parents))
        self._withheld = withheld
        self.seen_file = session / "seen_files.json" if session is not None else None

    @property
    def hidden(self) -> frozenset[Path]:
        """Folders below the root, and files of the session, that are neither read nor listed."""
        return self._below | self._withheld()

    def resolve(self, path: str) -> Path:
        """Return the real path of ``path``; it need not exist.

        Raises:
            OutsideWorkspace: if it is not inside one of the allowed folders.
            ToolProblem: if it is no usable path at all.
        """
        try:
            given = Path(path or ".")
            extra = self._extra_of(given)
            target = self.root / given if extra is None else extra.joinpath(*given.parts[1:])
            real = (_spelled(target) if ODD_SIGN in path else target).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolProblem(f"{path!r:.200} is not a usable path.") from error
        inside = any(real.is_relative_to(folder) for folder in (*self._roots, *self._extra))
        if not inside or any(real.is_relative_to(tree) for tree in _KERNEL_TREES):
            raise OutsideWorkspace(
                f"{path!r:.200} is outside the workspace; give a path relative to it, such as '.'."
            )
        if real in self._withheld():
            raise OutsideWorkspace(f"{path!r:.200} is excluded by the user: not read.")
        if _depth(real, self._below) > _depth(real, self._extra):
            raise OutsideWorkspace(f"{path!r:.200} is in a folder of Plimsoll itself: not read.")
        return real

    def _extra_of(self, given: Path) -> Path | None:
        """The extra folder that a relative path leads into. Entries of the root take precedence."""
        if given.is_absolute() or not given.parts or os.path.lexists(self.root / given):
            return None
        found = next((each for each in self._extra if each.name == given.parts[0]), None)
        taken = os.path.lexists(self.root / given.parts[0])
        if found is None or (taken and not os.path.lexists(found.joinpath(*given.parts[1:]))):
            return None
        return found

    def writable(self, path: str) -> Path:
        """Return the real path of ``path`` if a file may be written there; it need not exist.

        Raises:
            OutsideWorkspace: if it is not inside the root or an added folder, or in a folder of the program's
                own.
            ToolProblem: if it is no usable path at all, or a folder.
        """
        if not path.strip() or path.endswith("/"):
            raise ToolProblem("The path does not name a file; give one relative to the workspace.")
        real = self.resolve(path)
        opened = any(real.is_relative_to(each) for each in self._roots)
        if not opened or any(real.is_relative_to(each) for each in self._closed):
            raise OutsideWorkspace(f"{path!r:.200} is read-only; write inside the workspace.")
        if real in self._roots or (_mode(real) is not None and real.is_dir()):
            raise ToolProblem(f"{path!r:.200} is a folder; name a file.")
        return real

    def display(self, path: Path) -> str:
        """Name a resolved path the way :meth:`resolve` accepts it, with forward slashes."""
        if path.is_relative_to(self.root):
            return readable_name(path.relative_to(self.root).as_posix())
        for folder in self._extra:
            if path.is_relative_to(folder) and self._extra_of(path.relative_to(folder.parent)) == folder:
                return readable_name(path.relative_to(folder.parent).as_posix())
        return readable_name(path.as_posix())

    def file(self, path: str) -> Path:
        """Resolve the path of an existing regular file.

        Raises:
            ToolProblem: if there is none, or if it is a folder, a pipe, a socket or a device.
        """
        real = self.resolve(path)
        mode = _mode(real)
        if mode is None:
            raise ToolProblem(f"There is no file {path!r:.200}; find its name with {GLOB.name} or {LS.name}.")
        if S_ISDIR(mode):
            raise ToolProblem(f"{path!r:.200} is a folder; list it with {LS.name}.")
        if not S_ISREG(mode):
            raise ToolProblem(f"{path!r:.200} is not a regular file and is not read.")
        return real

    def folder(self, path: str) -> Path:
        """Resolve the path of an existing folder.

        Raises:
            ToolProblem: if there is none.
        """
        real = self.resolve(path)
        mode = _mode(real)
        if mode is None:
            raise ToolProblem(f"There is no folder {path!r:.200}; list what is there with {LS.name}.")
        if not S_ISDIR(mode):
            raise ToolProblem(f"{path!r:.200} is not a folder; read it with {READ_FILE.name}.")
        return real


_ODD = re.compile("[\ud800-\udfff]")
ODD_SIGN = "\ufffd"
"""Replaces each byte of a name that is not UTF-8; such a name can still be resolved."""


def readable_name(name: str) -> str:
    """A file name as text that can be sent, stored and shown."""
    return name if name.isascii() else _ODD.sub(ODD_SIGN, name)


def _spelled(path: Path) -> Path:
    """The path meant by a name with replacement characters.

    Raises:
        ToolProblem: if several names match.
    """
    found = Path(path.anchor)
    for part in path.parts[1:]:
        if ODD_SIGN not in part or os.path.lexists(found / part):
            found /= part
            continue
        try:
            alike = [each.name for each in found.iterdir() if readable_name(each.name) == part]
        except OSError:
            alike = []
        if len(alike) > 1:
            raise ToolProblem(f"{len(alike)} names there look like {part!r:.200}; rename one of them first.")
        found /= alike[0] if alike else part
    return found


_FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK


def open_regular(path: Path) -> BinaryIO:
    """Open a resolved file for reading, without ever waiting on a pipe or following a link created since.

    Raises:
        ToolProblem: if it is no longer a regular file, or may not be read.
    """
    try:
        return _regular(open_named(path, _FILE_FLAGS), path.name)
    except OSError as error:
        name = readable_name(path.name)
        raise ToolProblem(f"{name!r:.200} cannot be read: {error.strerror or error}.") from error


def open_at(folder: int, name: str) -> BinaryIO:
    """Open a file of an open folder in the same way.

    Raises:
        OSError: if it does not exist, or may not be read.
        ToolProblem: if it is not a regular file.
    """
    return _regular(os.open(name, _FILE_FLAGS | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder), name)


def _regular(descriptor: int, name: str) -> BinaryIO:
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ToolProblem(f"{readable_name(name)!r:.200} is not a regular file and is not read.")
    return os.fdopen(descriptor, "rb")


def _depth(path: Path, folders: Iterable[Path]) -> int:
    """Depth of the deepest of the folders that contain a path; 0 if none does."""
    return max((len(each.parts) for each in folders if path.is_relative_to(each)), default=0)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolProblem(f"{path.name!r:.200} cannot be reached: {error.strerror or error}.") from error
