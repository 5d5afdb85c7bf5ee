"""Following a session that another machine writes."""

import time

import psycopg
from psycopg import sql

from tui_app.context.storage_errors import StorageError
from tui_app.session.stores.postgres_server import Wire
from tui_app.session.stores.postgres_store import channel_of, holder_of
from tui_app.settings.spec import SessionServer

_AGAIN_S = 0.5
"""Seconds between two attempts to reconnect."""


class PostgresFollower:
    """Listens for news of one session, on a connection of its own.

    Args:
        server: The server.
        session: Full id of the session.

    Raises:
        StorageError: if the server cannot be used.
    """

    def __init__(self, server: SessionServer, session: str) -> None:
        self._session = session
        self._wire = Wire(server, read_only=True)
        with self._wire.explaining():
            self._listen()

    def wait(self, timeout_s: float) -> bool:
        """Wait for news of the session; after a lost connection, report that there may be some."""
        try:
            if not (self._wire.alive and self._wire.backend == self._listening):
                if not self._wire.alive:
                    self._wire.renew()
                self._listen()
                return True
            # Takes all that arrived together, so that several events at once cause one reload.
            news = list(self._wire.db.notifies(timeout=timeout_s, stop_after=1))
        except (psycopg.Error, StorageError):
            time.sleep(min(timeout_s, _AGAIN_S))
            return False
        return bool(news)

    def holder(self) -> str:
        return self._wire.ask(lambda db: holder_of(db, self._session))

    def close(self) -> None:
        self._wire.close()

    def _listen(self) -> None:
        self._wire.db.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel_of(self._session))))
        self._listening = self._wire.backend
