"""Files that hold what a stage takes out of the conversation: their names and checksums.

They are UTF-8 without any translation of line ends; only then does the checksum in a notice hold.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime

FOLDER = "tool_outputs"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]|\.(?=\.)|(?<=\.)\.|^[.-]")
_TOOL_CHARS = 60
_CALL_CHARS = 8


class SpillNames:
    """Gives out names ``tool_outputs/{tool}_{UTC time}_{call id}.txt``, each only once."""

    def __init__(self, timestamp: datetime, existing: Iterable[str] = ()) -> None:
        """Start with the names that are taken.

        Args:
            timestamp: Time to put into the names; a naive one is taken for UTC.
            existing: Relative names of the files that are there, with the folder in front.
        """
        aware = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
        self._time = aware.astimezone(UTC).strftime("%Y%m%d_%H%M%S")
        self._existing = existing
        self._taken: set[str] | None = None

    def new(self, tool: str, call_id: str) -> str:
        """A name nobody has had, relative to the session's folder."""
        stem = (
            f"{FOLDER}/{_safe(tool, _TOOL_CHARS, 'tool')}_{self._time}_{_safe(call_id, _CALL_CHARS, 'call')}"
        )
        if self._taken is None:
            # Only now: hardly any pass gives out a name. Some file systems do not tell upper from lower case.
            self._taken = {name.casefold() for name in self._existing}
        name, number = f"{stem}.txt", 1
        while name.casefold() in self._taken:
            number += 1
            name = f"{stem}-{number}.txt"
        self._taken.add(name.casefold())
        return name


def sha256_of(text: str) -> str:
    """SHA-256 of a text in UTF-8, as hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _safe(text: str, limit: int, instead: str) -> str:
    """A piece of a file name: safe characters only, and nothing that hides a file or looks like an option."""
    return _UNSAFE.sub("_", text[:limit]) or instead
