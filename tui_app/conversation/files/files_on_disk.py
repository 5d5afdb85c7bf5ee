"""Workspace files in their current state, and detection of outdated reads."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from tui_app.agent.tools.files import read_file
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.records import frozen
from tui_app.system.project_files import MayRead, anything

_LARGEST = 4_000_000
"""Bytes; text written to a larger file stays in the conversation."""


@frozen
class FilesOnDisk:
    """Reads files within the folders that tools may read."""

    workspace: Workspace
    may_read: MayRead = anything
    """Applies the rules to a file."""

    def page(self, path: str) -> str | None:
        """The start of a file as ``read_file`` shows it; None if it may not or cannot be read."""
        try:
            refused = self.may_read(Path(path), self.workspace.file(path))
            return None if refused else read_file(self.workspace, path)
        except (ToolProblem, OSError):
            return None

    def checksum(self, path: str) -> str | None:
        """Hexadecimal SHA-256 of a file; None if it cannot be read."""
        data = self._read(path)
        return None if data is None else hashlib.sha256(data).hexdigest()

    def contains(self, path: str, text: str) -> bool:
        data = self._read(path)
        return data is not None and text.encode("utf-8", "surrogatepass") in data

    def _read(self, path: str) -> bytes | None:
        try:
            file: Path = self.workspace.file(path)
            return file.read_bytes() if file.stat().st_size <= _LARGEST else None
        except (ToolProblem, OSError):
            return None


_OURS = re.compile(r"\d+\t|\[.* is empty\]$", re.DOTALL)
"""Start of a result of our own tool; results of other tools cannot be reproduced."""

Staleness = Literal["changed", "gone"]


@frozen
class Read:
    """One call of ``read_file`` with its result."""

    seq: int
    """Log number of the result."""
    args: str
    """Arguments of the call, as JSON."""
    text: str


def stale_reads(reads: Iterable[Read], workspace: Workspace) -> Mapping[int, Staleness]:
    """Read files again to find outdated results. Blocks on the disk.

    Returns:
        The state of each file, by log number of the result; without results that are still true or cannot be
        judged.
    """
    found = ((read.seq, _judge(read, workspace)) for read in reads)
    return {seq: state for seq, state in found if state is not None}


def _judge(read: Read, workspace: Workspace) -> Staleness | None:
    if not _OURS.match(read.text):
        return None
    try:
        args = json.loads(read.args)
        path, start, lines = str(args["path"]), int(args.get("start", 1)), int(args.get("lines", 400))
        now = read_file(workspace, path, start, lines)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    except (ToolProblem, OSError):
        return "gone"
    return "changed" if now != read.text else None
