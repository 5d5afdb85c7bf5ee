"""One at a time for each file: calls that a model makes in parallel must not write over each other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class FileLocks:
    """Locks by resolved path; a lock that nobody wants is forgotten. For one event loop."""

    _locks: dict[Path, asyncio.Lock] = field(default_factory=dict)
    _wanted: dict[Path, int] = field(default_factory=dict)

    @asynccontextmanager
    async def hold(self, path: Path) -> AsyncIterator[None]:
        """Wait until nobody else works on a file, and keep others away meanwhile."""
        lock = self._locks.setdefault(path, asyncio.Lock())
        self._wanted[path] = self._wanted.get(path, 0) + 1
        try:
            async with lock:
                yield
        finally:
            self._wanted[path] -= 1
            if not self._wanted[path]:
                del self._wanted[path], self._locks[path]
