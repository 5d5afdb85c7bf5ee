"""What the files of the workspace hold now: asked before a text they hold leaves the conversation."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tui_app.agent.tools.workspace import ToolProblem, Workspace

_LARGEST = 4_000_000
"""Bytes; what was written to a larger file stays in the conversation."""


@dataclass(frozen=True, slots=True)
class FilesOnDisk:
    """Reads files within the folders that the tools may read."""

    workspace: Workspace

    def checksum(self, path: str) -> str | None:
        """SHA-256 of a file, as hexadecimal digits; None when there is none to read."""
        data = self._read(path)
        return None if data is None else hashlib.sha256(data).hexdigest()

    def contains(self, path: str, text: str) -> bool:
        """Whether a file holds a text."""
        data = self._read(path)
        return data is not None and text.encode("utf-8", "surrogatepass") in data

    def _read(self, path: str) -> bytes | None:
        try:
            file: Path = self.workspace.file(path)
            return file.read_bytes() if file.stat().st_size <= _LARGEST else None
        except (ToolProblem, OSError):
            return None
