"""What each agent of a session last saw of a file, so that none overwrites what it does not know."""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from tui_app.agent.tools.edits import CHANGED, MAX_BYTES, FileChange
from tui_app.agent.tools.workspace import ToolProblem, open_regular
from tui_app.files import write_atomic


@dataclass(slots=True)
class SeenFiles:
    """SHA-256 of files as they were when they were read or written; all methods may block."""

    kept: Path | None = None
    """Where a session keeps them for when it is resumed."""
    _known: dict[str, dict[str, str]] | None = field(default=None, init=False)
    _busy: Lock = field(default_factory=Lock, init=False)

    def note(self, agent: str, path: Path) -> None:
        """Remember a file as it is, before an agent is shown any of it.

        Raises:
            ToolProblem: if it is no file that can be read.
        """
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
        # A larger one is never written.
        if len(data) <= MAX_BYTES:
            self._put(agent, path, data)

    def check(self, agent: str, change: FileChange) -> None:
        """See that a file which is to be written whole is as the agent knows it, if it has seen it.

        Raises:
            ToolProblem: if somebody else has changed it since.
        """
        known = self._seen(agent).get(str(change.path))
        if change.before is not None and known not in (None, _digest(change.before)):
            raise ToolProblem(CHANGED.format(change.shown))

    def note_change(self, agent: str, change: FileChange) -> None:
        """Remember what an agent has made of a file, unless there is more in it that it does not know."""
        known = self._seen(agent).get(str(change.path))
        if change.whole or (change.before is not None and known == _digest(change.before)):
            self._put(agent, change.path, change.after)

    def _seen(self, agent: str) -> dict[str, str]:
        if self._known is None:
            self._known = {}
            # Without the file nothing is known, as at the beginning.
            with suppress(OSError, ValueError):
                self._known = json.loads(self.kept.read_bytes()) if self.kept is not None else {}
        return self._known.setdefault(agent, {})

    def _put(self, agent: str, path: Path, data: bytes) -> None:
        seen, digest = self._seen(agent), _digest(data)
        with self._busy:
            changed = seen.get(str(path)) != digest
            seen[str(path)] = digest
            if self.kept is not None and changed:
                # What cannot be kept is known until the session is closed.
                with suppress(OSError):
                    write_atomic(self.kept, json.dumps(self._known))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
