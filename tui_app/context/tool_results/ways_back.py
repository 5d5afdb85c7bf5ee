"""How the model retrieves what a stage removed."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from tui_app.tool_specs import SEARCH_HISTORY

FOLDER = "tool_outputs"

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]|\.(?=\.)|(?<=\.)\.|^[.-]")

_TOOL_CHARS = 60

_CALL_CHARS = 8


class WaysBack:
    """How the model retrieves what a stage removes: by files, each with its own name, and by handles.

    Files are named ``tool_outputs/{tool}_{UTC time}_{call id}.txt``.
    """

    def __init__(
        self, timestamp: datetime, existing: Iterable[str] | None = (), *, handles: bool = True
    ) -> None:
        """Start with the existing names.

        Args:
            timestamp: Time for the names; a naive one counts as UTC.
            existing: Relative names of existing files, including the folder; None if no file can be kept.
            handles: Whether the model has a tool that retrieves a message by its handle.
        """
        self.keeps_files, self.handles = existing is not None, handles
        aware = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
        self._time = aware.astimezone(UTC).strftime("%Y%m%d_%H%M%S")
        self._existing = () if existing is None else existing
        self._taken: set[str] | None = None

    def new(self, tool: str, call_id: str) -> str:
        """Return a new name, relative to the session's folder."""
        named, call = _safe(tool, _TOOL_CHARS, "tool"), _safe(call_id, _CALL_CHARS, "call")
        stem = f"{FOLDER}/{named}_{self._time}_{call}"
        if self._taken is None:
            # Only now: hardly any pass needs a name. Some file systems do not distinguish upper and lower
            # case.
            self._taken = {name.casefold() for name in self._existing}
        name, number = f"{stem}.txt", 1
        while name.casefold() in self._taken:
            number += 1
            name = f"{stem}-{number}.txt"
        self._taken.add(name.casefold())
        return name

    def recall(self, key: int) -> str:
        """Return a clause on how the model retrieves a message; empty if it cannot."""
        return f'; {SEARCH_HISTORY.name} "#{key}" has all of it' if self.handles else ""

    def reads_on(self, key: int, line: int, offset: int) -> str:
        """Return a clause on how the model reads on from a position; empty if it cannot."""
        place = f", start={line}{f', offset={offset}' if offset else ''}"
        call = f'{SEARCH_HISTORY.name}(query="#{key}"{place})'
        return f"; {call} reads what was left out" if self.handles else ""


def _safe(text: str, limit: int, instead: str) -> str:
    """Return a safe piece of a file name, which neither hides a file nor looks like an option."""
    return _UNSAFE.sub("_", text[:limit]) or instead
