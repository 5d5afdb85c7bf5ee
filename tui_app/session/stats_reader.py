"""Reads what the figures of a session need from its log, each event once."""

import json
from contextlib import closing
from pathlib import Path

from tui_app.session.database import connect
from tui_app.session.stats import COUNTED, FIGURES, SessionStats, StatsFold

_PATHS = ", ".join(f"'$.{name}'" for name in FIGURES)
_QUERY = (
    f"SELECT seq, type, json_extract(data, {_PATHS}) FROM events"
    f" WHERE session = ? AND seq > ? AND type IN ({', '.join('?' * len(COUNTED))}) ORDER BY seq"
)
"""Texts stay in the database: only their events' figures come out of it."""


class StatsReader:
    """The figures of one session, brought up to date by every reading.

    Args:
        database: The sessions file.
        session: Whole id of the session.
    """

    def __init__(self, database: Path, session: str) -> None:
        self._database, self._session = database, session
        self._fold, self._last = StatsFold(), 0

    def read(self) -> SessionStats:
        """Fold what has been added since the last reading. Blocks while the file is read.

        Raises:
            StorageError: if the file is no database, or none of ours.
            sqlite3.Error: if it cannot be read.
        """
        # A connection for each reading: it may be done in another thread.
        with closing(connect(self._database, read_only=True)) as db:
            for seq, kind, figures in db.execute(_QUERY, (self._session, self._last, *COUNTED)):
                self._fold.apply(seq, kind, dict(zip(FIGURES, json.loads(figures), strict=True)))
                self._last = seq
        return self.known

    @property
    def known(self) -> SessionStats:
        """The figures as of the last reading."""
        return self._fold.stats()
