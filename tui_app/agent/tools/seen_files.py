"""File contents as each agent of a session last saw them, so that none overwrites unknown changes."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic_ai import RunContext

from tui_app.agent.tools.edits import CHANGED, MAX_BYTES, FileChange
from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_regular
from tui_app.files import read_object, write_atomic
from tui_app.records import frozen

_BUSY = Lock()


def seen_files(ctx: RunContext[Any], workspace: Workspace) -> "SeenFiles":
    """The files seen by the calling agent: a subagent has seen others than its sender."""
    return SeenFiles(ctx.agent.name or "" if ctx.agent is not None else "", workspace.seen_file)


@frozen
class SeenFiles:
    """SHA-256 of files as an agent knows them, kept for resumed sessions. All methods block."""

    agent: str
    kept: Path | None
    """Where they are stored; None to remember nothing."""

    def remember(self, path: Path) -> None:
        """Remember a file in its current state, before the agent is shown any of it.

        Raises:
            ToolProblem: if it is no readable file.
        """
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
        # A larger one is never written.
        if len(data) <= MAX_BYTES:
            self._put(path, data)

    def check(self, change: FileChange) -> None:
        """Check that a file to be overwritten is as the agent knows it, if it has seen it.

        Raises:
            ToolProblem: if it has changed since.
        """
        if change.whole and not self._knows(change, unseen=True):
            raise ToolProblem(CHANGED.format(change.shown))

    def remember_change(self, change: FileChange) -> None:
        """Remember the agent's change of a file, unless the rest of it is unknown to the agent."""
        if change.whole or self._knows(change, unseen=False):
            self._put(change.path, change.after)

    def _knows(self, change: FileChange, *, unseen: bool) -> bool:
        known = self._read().get(self.agent, {}).get(str(change.path))
        return unseen if known is None or change.before is None else known == _digest(change.before)

    def _read(self) -> dict[str, dict[str, str]]:
        # Without the file, nothing is known, as at the start.
        return {} if self.kept is None else read_object(self.kept)

    def _put(self, path: Path, data: bytes) -> None:
        # A failing disk must not prevent reading.
        with _BUSY, suppress(OSError):
            known = self._read()
            seen, digest = known.setdefault(self.agent, {}), _digest(data)
            if self.kept is not None and seen.get(str(path)) != digest:
                seen[str(path)] = digest
                write_atomic(self.kept, json.dumps(known))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
