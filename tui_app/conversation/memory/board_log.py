"""Logging of changes to boards in sessions' logs, once each."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import time

from tui_app.context.history import ignore
from tui_app.events import MemoryAdded, MemoryPruned, Payload
from tui_app.memory.entries import Change
from tui_app.memory.store import BoardStore
from tui_app.records import like
from tui_app.session.lock import SessionLocked
from tui_app.session.stores.store import SessionDeleted, SessionStore

_log = logging.getLogger(__name__)

_Told = set[tuple[str, int]]
"""Types and entries of the changes in a log."""


@dataclass(slots=True)
class BoardLog:
    """Writes each change of a board to the log of the session it belongs to.

    A board marks a change as told once it is in a log. For an unmarked change, the log is checked first, as a
    process may have been killed in between. A log that another machine is writing gets the change later.
    """

    boards: BoardStore
    sessions: SessionStore
    own: str = ""
    """Id of the open session: its changes are also published."""
    here: Callable[[Payload], object] = ignore
    """Logs and publishes an event in the open session."""

    def write_pending(self, session: str = "", entries: Collection[int] | None = None) -> list[Payload]:
        """Log changes that are in no log yet.

        Args:
            session: The log for changes made there; empty for that of the session each entry comes from.
            entries: Only changes of these; None for all.

        Returns:
            The logged changes, in order, including those without a log.
        """
        known: dict[str, _Told] = {}
        logged: list[Payload] = []
        for change in self.boards.untold():
            if entries is None or change.entry.id in entries:
                payload, log = payload_of(change), session or change.entry.session
                if self._write_change(log, payload, change.entry.id, known):
                    self.boards.mark_logged(change)
                    logged.append(payload)
        return logged

    def note_reading(self, session: str, payload: Payload) -> None:
        """Log the result of reading a session, if its log can be written now."""
        try:
            self._append(session, payload)
        except SessionDeleted:
            _log.info("%s was deleted while it was read", session)
        except SessionLocked as who:
            _log.info("%s was opened in %s while it was read", session, who)

    def _append(self, session: str, payload: Payload) -> None:
        if session == self.own:
            self.here(payload)
        else:
            self.sessions.append(session, payload, None, time=time())

    def _write_change(self, log: str, payload: Payload, entry: int, known: dict[str, _Told]) -> bool:
        """Log a change, unless it is there already. Returns False if that must be tried again later."""
        if not log:
            return True  # the user's own, made outside any session
        if log not in known:
            known[log] = {(head.type, head.ref) for head in self.sessions.newest(log, _TYPES)}
        if (payload.TYPE, entry) in known[log]:
            return True
        try:
            self._append(log, payload)
        except SessionDeleted:
            return True  # its log is gone, so nothing is left to do
        except SessionLocked:
            return False
        known[log].add((payload.TYPE, entry))
        return True


_TYPES = frozenset({MemoryAdded.TYPE, MemoryPruned.TYPE})


def payload_of(change: Change) -> Payload:
    entry = change.entry
    if change.kind == "pruned":
        return like(MemoryPruned, entry, entry=entry.id, by=entry.pruned_by)
    return like(MemoryAdded, entry, entry=entry.id, source=entry.seq, source_session=entry.session)
