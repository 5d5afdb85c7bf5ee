"""Reading sessions from the server; whatever is read is read once more where the connection was lost."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tui_app.events import Payload, Record
from tui_app.session.heads import Head
from tui_app.session.info import SessionInfo
from tui_app.session.location import Server
from tui_app.session.postgres import queries, schema
from tui_app.session.postgres.lock import holder_of
from tui_app.session.postgres.wire import Wire
from tui_app.session.postgres.writing import storable


class PostgresReader:
    """The half of the store that changes nothing; see ``SessionStore``.

    Args:
        server: Which database.
        read_only: Change nothing, not even the schema.

    Raises:
        StorageError: if the server cannot be used, or was used by a newer version.
    """

    path = None

    def __init__(self, server: Server, *, read_only: bool) -> None:
        self._wire = Wire(server, read_only=read_only)
        try:
            with self._wire.told():
                (schema.check if read_only else schema.migrate)(self._wire.db, server)
        except BaseException:
            self._wire.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def holder(self, session: str, _file: Path) -> str:
        """See ``SessionStore``; the lock file is not needed."""
        return self._wire.ask(lambda db: holder_of(db, session))

    def sessions(self) -> list[SessionInfo]:
        """See ``SessionStore``."""
        return self._wire.ask(queries.sessions)

    def info(self, session: str) -> SessionInfo:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: queries.info(db, session))

    def heads(self, session: str, after: int = 0) -> Iterator[Head]:
        """See ``SessionStore``."""
        while part := self._wire.ask(partial(queries.heads, session=session, after=after)):
            yield from part
            after = part[-1].seq

    def record(self, session: str, seq: int) -> Record | None:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: queries.record(db, session, seq))

    def records(self, session: str) -> Iterator[tuple[Record, str | None]]:
        """See ``SessionStore``."""
        after = 0
        while part := self._wire.ask(partial(queries.records, session=session, after=after)):
            yield from part
            after = part[-1][0].seq

    def message(self, session: str, seq: int) -> str | None:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: queries.message(db, session, seq))

    def matching(self, session: str, words: Iterable[str], limit: int = 64) -> list[tuple[int, Payload]]:
        """See ``SessionStore``."""
        wanted = list(words)
        return self._wire.ask(lambda db: queries.matching(db, session, wanted, limit))

    def found(self, wanted: str, limit: int) -> list[tuple[str, int, str, float, str, str, Payload]]:
        """Messages and summaries of any session that a ``tsquery`` fits, the best first; see ``queries``."""
        return self._wire.ask(lambda db: queries.found(db, wanted, limit))

    def last_of(self, session: str, kind: str) -> Record | None:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: queries.last_of(db, session, kind))

    def figures(self, session: str, after: int = 0) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
        """See ``SessionStore``."""
        yield from self._wire.ask(lambda db: queries.figures(db, session, after))

    def sizes(self) -> dict[str, int]:
        """See ``SessionStore``."""
        return self._wire.ask(queries.sizes)

    def prompts(self, cwd: str, most: int, chars: int) -> list[tuple[str, int, float, str]]:
        """See ``SessionStore``."""
        return self._wire.ask(lambda db: queries.prompts(db, storable(cwd), most, chars))
