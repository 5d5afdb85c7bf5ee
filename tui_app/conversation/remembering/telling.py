"""Writing what happens to boards into the logs of sessions: each change once, also after a killed process."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from tui_app.events import MemoryAdded, MemoryPruned, Payload
from tui_app.memory.entries import Change
from tui_app.memory.store import BoardStore
from tui_app.session.lock import SessionLocked
from tui_app.session.port import SessionDeleted, SessionStore

_Told = set[tuple[str, int]]
"""Types and entries of the changes that a log holds."""


@dataclass(slots=True)
class Telling:
    """Tells the log of the session a change belongs to.

    A board marks a change as told once a log holds it. Who finds one unmarked looks into the log first: a
    process may have been killed in between. A log that somebody writes on another machine is told later.
    """

    boards: BoardStore
    append: Callable[[str, Payload], object]
    """Writes an event to a session's log.

    Raises:
        SessionDeleted: if it is no longer there.
        SessionLocked: if only somebody else may write it now.
    """
    sessions: SessionStore

    def tell(self, session: str = "", entries: Collection[int] | None = None) -> list[Payload]:
        """Write what no log holds yet.

        Args:
            session: Whose log, for changes made there; empty is that of the session an entry comes from.
            entries: Leave out changes of all others; None leaves none out.

        Returns:
            What was told, in order, also where there is no log for it.
        """
        known: dict[str, _Told] = {}
        told: list[Payload] = []
        for change in self.boards.untold():
            if entries is None or change.entry.id in entries:
                payload, log = payload_of(change), session or change.entry.session
                if self._write(log, payload, change.entry.id, known):
                    self.boards.told(change)
                    told.append(payload)
        return told

    def _write(self, log: str, payload: Payload, entry: int, known: dict[str, _Told]) -> bool:
        """Whether nothing is left to be told."""
        if not log:
            return True  # a person's own, made outside of any session
        if log not in known:
            known[log] = {(head.type, head.ref) for head in self.sessions.heads(log) if head.type in _TYPES}
        if (payload.TYPE, entry) in known[log]:
            return True
        try:
            self.append(log, payload)
        except SessionDeleted:
            return True  # its log is gone, and nobody looks for the event there
        except SessionLocked:
            return False
        known[log].add((payload.TYPE, entry))
        return True


_TYPES = frozenset({MemoryAdded.TYPE, MemoryPruned.TYPE})


def payload_of(change: Change) -> Payload:
    """A change as an event."""
    entry = change.entry
    if change.kind == "pruned":
        return MemoryPruned(
            entry=entry.id,
            text=entry.text,
            by=entry.pruned_by,
            reason=entry.reason,
            replaced_by=entry.replaced_by,
        )
    return MemoryAdded(
        entry=entry.id,
        text=entry.text,
        kind=entry.kind,
        made_by=entry.made_by,
        source=entry.seq,
        source_session=entry.session,
        repository=entry.repository,
        branch=entry.branch,
    )


@dataclass(slots=True)
class LogOf:
    """Writes to the log of any session; what belongs to the open one is shown as well."""

    sessions: SessionStore
    now: Callable[[], float]
    own: str = ""
    """Id of the open session."""
    here: Callable[[Payload], object] = field(default=lambda _: None)
    """Writes to the open session's log and shows it."""

    def __call__(self, session: str, payload: Payload) -> None:
        """Write one event."""
        if session == self.own:
            self.here(payload)
        else:
            self.sessions.append(session, payload, None, time=self.now())
