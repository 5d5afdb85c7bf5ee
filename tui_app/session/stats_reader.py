"""Reads what the figures of a session need from its log, each event once."""

from contextlib import closing

from tui_app.session.location import Database
from tui_app.session.stats import SessionStats, StatsFold
from tui_app.session.stores import open_store


class StatsReader:
    """The figures of one session, brought up to date by every reading.

    Args:
        database: Where the session is.
        session: Whole id of the session.
    """

    def __init__(self, database: Database, session: str) -> None:
        self._database, self._session = database, session
        self._fold: StatsFold | None = None

    def read(self) -> SessionStats:
        """Fold what has been added since the last reading. Blocks while the file is read.

        Raises:
            StorageError: if the file is no database, or none of ours.
            sqlite3.Error: if it cannot be read.
        """
        # A connection for each reading: it may be done in another thread.
        with closing(open_store(self._database, read_only=True)) as store:
            fold = self._fold or store.kept_stats(self._session)
            for seq, kind, figures in store.figures(self._session, fold.last):
                fold.apply(seq, kind, figures)
        self._fold = fold
        return fold.stats()

    @property
    def last(self) -> int:
        """Log number of the newest event that was read; 0 before any was."""
        return self._fold.last if self._fold is not None else 0

    @property
    def known(self) -> SessionStats:
        """The figures as of the last reading."""
        return (self._fold or StatsFold()).stats()
