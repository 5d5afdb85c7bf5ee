"""Following a session that another machine writes: the server says when there is something new."""

import time

import psycopg

from tui_app.context.storage_errors import StorageError
from tui_app.session.location import Server
from tui_app.session.postgres.lock import holder_of
from tui_app.session.postgres.wire import Wire
from tui_app.session.postgres.writing import CHANNEL

_AGAIN_S = 0.5
"""Seconds between two attempts to connect again."""


class ServerFollower:
    """Listens on a connection of its own.

    Args:
        server: Which database.
        session: Whole id of the session.

    Raises:
        StorageError: if the server cannot be used.
    """

    def __init__(self, server: Server, session: str) -> None:
        self._session = session
        self._wire = Wire(server, read_only=True)
        with self._wire.told():
            self._listen()

    @property
    def _hears(self) -> bool:
        """Whether the connection is the one that listens."""
        return self._wire.alive and self._wire.backend == self._listening

    def wait(self, timeout_s: float) -> bool:
        """Wait for news of the session; after a lost connection there may always be some."""
        try:
            if not self._hears:
                if not self._wire.alive:
                    self._wire.renew()
                self._listen()
                return True
            # All that has come is taken: several events of one moment are looked at once.
            news = list(self._wire.db.notifies(timeout=timeout_s, stop_after=1))
        except (psycopg.Error, StorageError):
            time.sleep(min(timeout_s, _AGAIN_S))
            return False
        return any(each.payload == self._session for each in news)

    def holder(self) -> str:
        """Who writes the session.

        Raises:
            StorageError: if the server cannot be asked.
        """
        return self._wire.ask(lambda db: holder_of(db, self._session))

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def _listen(self) -> None:
        self._wire.db.execute(f"LISTEN {CHANNEL}".encode())
        self._listening = self._wire.backend
