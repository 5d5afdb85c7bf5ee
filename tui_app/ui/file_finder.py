"""Looking for files by a part of their name, in threads: the screen never waits for a disk."""

import asyncio
import threading
from collections.abc import Sequence
from heapq import nsmallest
from pathlib import Path, PurePosixPath
from time import monotonic

from tui_app.ui.mentions import is_writable

KEPT_S = 10.0
"""Seconds for which the list of files is good; then the folder is walked again."""
SCAN_S = 5.0
"""Seconds that one walk may take; what it has not seen by then is not offered."""
SHOWN = 50
"""Paths that are offered at most."""


class FileFinder:
    """Knows the files and folders of one workspace, as its tools see them. Belongs to one event loop.

    Args:
        root: The workspace.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._walk: asyncio.Task[tuple[str, ...]] | None = None
        self._stop = threading.Event()
        self._walked_at = 0.0

    async def find(self, wanted: str) -> list[str]:
        """Paths that fit, the likeliest first, folders ending in a slash."""
        return await asyncio.to_thread(rank, await self._paths(), wanted)

    def stop(self) -> None:
        """End a walk that is still under way; what it would have found is not wanted any more."""
        if self._walk is not None and not self._walk.done():
            self._stop.set()
            self._walk = None

    async def _paths(self) -> tuple[str, ...]:
        if self._walk is None or (self._walk.done() and monotonic() - self._walked_at > KEPT_S):
            self._stop, self._walked_at = threading.Event(), monotonic()
            self._walk = asyncio.create_task(asyncio.to_thread(scan, self.root, self._stop), name="files")
        # Whoever types on is another one who waits for the same walk.
        return await asyncio.shield(self._walk)


def scan(root: Path, cancelled: threading.Event) -> tuple[str, ...]:
    """Walk a folder; blocks.

    Args:
        root: Where to begin. Links are not followed, so nothing outside it is seen.
        cancelled: Ends the walk when set.

    Returns:
        Files and folders relative to it, folders ending in a slash.
    """
    # Not needed for the first frame.
    from tui_app.agent.tools.commands import Cancelled, Stop
    from tui_app.agent.tools.files import Walk

    files: list[str] = []
    try:
        stop = Stop(cancelled, monotonic() + SCAN_S)
        files.extend(path.relative_to(root).as_posix() for path in Walk(root, stop).files())
    except Cancelled:
        return ()
    folders = {f"{folder}/" for path in files for folder in PurePosixPath(path).parents if folder.name}
    return tuple(path for path in (*sorted(folders), *files) if is_writable(path))


def rank(paths: Sequence[str], wanted: str, limit: int = SHOWN) -> list[str]:
    """Sort out the paths that hold what is wanted.

    The whole path comes first, then paths that begin so, names that begin so, names and paths that hold it,
    and last those that hold its letters in order; among equals the one that is less deep, then the shorter.
    """
    low = wanted.lower().removeprefix("./")
    fitting = ((fit, path) for path in paths if (fit := _fit(path, low)) is not None)
    return [path for _, path in nsmallest(limit, fitting)]


def _fit(path: str, wanted: str) -> tuple[int, int, int] | None:
    low = path.lower()
    name = low.rstrip("/").rpartition("/")[2]
    depth = low.rstrip("/").count("/")
    order = (depth, len(low))
    if low.rstrip("/") == wanted.rstrip("/") and wanted:
        return (0, *order)
    if low.startswith(wanted):
        return (1, *order)
    if name.startswith(wanted):
        return (2, *order)
    if wanted in name:
        return (3, *order)
    if wanted in low:
        return (4, *order)
    return (5, *order) if _in_order(wanted, low) else None


def _in_order(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)
