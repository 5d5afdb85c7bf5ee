"""Contents of files before a tool changed them, stored by checksum."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from tui_app.files import write_bytes_atomic

QUOTA_BYTES = 256_000_000
"""Limit for one session. What exceeds it is not stored, and ``put`` returns False."""


def checksum(data: bytes | None) -> str:
    """Return the SHA-256 as hexadecimal digits; empty for a missing file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


@dataclass(slots=True)
class KeptFiles:
    """Bytes by checksum. Equal content is stored once."""

    folder: Path
    quota: int = QUOTA_BYTES
    _used: int | None = field(default=None)

    def put(self, data: bytes | None) -> bool:
        """Store some bytes; return whether there was room. A missing file (None) needs none.

        Raises:
            OSError: if they cannot be written.
        """
        if data is None:
            return True
        path = self._path(checksum(data))
        if path.exists():
            return True
        if self._size() + len(data) > self.quota:
            return False
        write_bytes_atomic(path, data)
        self._used = self._size() + len(data)
        return True

    def get(self, digest: str) -> bytes | None:
        """Return stored bytes; None if they are missing or damaged."""
        if len(digest) != 64 or not digest.isalnum():
            return None
        try:
            data = self._path(digest).read_bytes()
        except OSError:
            return None
        return data if checksum(data) == digest else None

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest

    def _size(self) -> int:
        if self._used is None:
            self._used = sum(path.stat().st_size for path in self.folder.glob("*/*") if path.is_file())
        return self._used
