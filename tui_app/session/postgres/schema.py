"""The schema on the server, version by version. A migration is never changed once released; add the next one.

Texts are stored as text, never as ``jsonb``: that refuses NULs and half characters, which people do paste.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from tui_app.context.storage_errors import StorageError
from tui_app.session.location import Server
from tui_app.session.postgres.wire import Connection, Wire

_TURN = 0x506C696D736F6C6C
"""Key of the lock under which one process at a time migrates: "Plimsoll"."""
_THERE = "SELECT count(*) FROM pg_tables WHERE schemaname = 'plimsoll' AND tablename = 'version'"
"""Asks the tables themselves: ``to_regclass`` answers from a cache that waiting for a lock does not renew."""

_VERSION_1 = (
    """
    CREATE TABLE plimsoll.sessions (
        id text PRIMARY KEY,
        place bigint GENERATED ALWAYS AS IDENTITY,
        title text NOT NULL,
        cwd text NOT NULL,
        model text NOT NULL,
        created double precision NOT NULL,
        updated double precision NOT NULL,
        last integer NOT NULL DEFAULT 0,
        messages integer NOT NULL DEFAULT 0,
        tokens bigint NOT NULL DEFAULT 0,
        epoch bigint NOT NULL DEFAULT 0,
        writer text NOT NULL DEFAULT ''
    )
    """,
    """
    CREATE TABLE plimsoll.events (
        session text NOT NULL REFERENCES plimsoll.sessions (id),
        seq integer NOT NULL,
        type text NOT NULL,
        time double precision NOT NULL,
        head text NOT NULL,
        data text NOT NULL,
        message text,
        figures text,
        words tsvector,
        PRIMARY KEY (session, seq)
    )
    """,
    "CREATE INDEX events_by_type ON plimsoll.events (session, type, seq)",
    "CREATE INDEX events_by_word ON plimsoll.events USING gin (words) WHERE words IS NOT NULL",
    "CREATE INDEX sessions_by_folder ON plimsoll.sessions (cwd)",
)
# The context boards. The code that reads and writes them lives in the room ``memory``.
_VERSION_2 = (
    """
    CREATE TABLE plimsoll.memories (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        token text NOT NULL UNIQUE,
        repository text NOT NULL,
        branch text NOT NULL,
        text text NOT NULL,
        kind text NOT NULL,
        made_by text NOT NULL,
        session text NOT NULL,
        seq integer NOT NULL,
        time double precision NOT NULL,
        weight double precision NOT NULL,
        machine text NOT NULL,
        pruned double precision NOT NULL DEFAULT 0,
        pruned_by text NOT NULL DEFAULT '',
        reason text NOT NULL DEFAULT '',
        replaced_by integer NOT NULL DEFAULT 0,
        pruned_on text NOT NULL DEFAULT '',
        added_told boolean NOT NULL DEFAULT false,
        pruned_told boolean NOT NULL DEFAULT false
    )
    """,
    "CREATE INDEX memories_by_scope ON plimsoll.memories (repository, branch)",
    """
    CREATE TABLE plimsoll.consolidations (
        session text PRIMARY KEY,
        repository text NOT NULL,
        branch text NOT NULL,
        machine text NOT NULL,
        asked double precision NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        read_until integer NOT NULL DEFAULT 0
    )
    """,
)
# A message is an item of the model's view, on every screen: each tool result counts by itself.
_VERSION_3 = (
    """
    UPDATE plimsoll.sessions SET messages = (
        SELECT count(*) FROM plimsoll.events WHERE session = sessions.id
        AND type IN ('system.message', 'user.message', 'assistant.message', 'tool.result', 'memory.inbox')
    )
    """,
)
# How large each log is, kept up to date with every event.
_VERSION_4 = (
    "ALTER TABLE plimsoll.sessions ADD COLUMN bytes bigint NOT NULL DEFAULT 0",
    """
    UPDATE plimsoll.sessions SET bytes = (
        SELECT COALESCE(SUM(octet_length(head) + octet_length(data) + COALESCE(octet_length(message), 0)), 0)
        FROM plimsoll.events WHERE session = sessions.id
    )
    """,
)
# What the folds of a session have come to; it repeats the log, is changed as that grows, and may always go.
_VERSION_5 = (
    """
    CREATE TABLE plimsoll.snapshots (
        session text NOT NULL,
        part integer NOT NULL,
        seq integer NOT NULL,
        data text NOT NULL,
        PRIMARY KEY (session, part)
    )
    """,
)
MIGRATIONS: tuple[tuple[str, ...], ...] = (_VERSION_1, _VERSION_2, _VERSION_3, _VERSION_4, _VERSION_5)
"""Statements that lead from version N to N+1."""
WITH_SNAPSHOTS = 5
"""The first version that has a table of them."""


def version_of(db: Connection) -> int:
    """Version of the schema; 0 where there is nothing of ours yet."""
    if not _one(db, _THERE):
        return 0
    return int(str(_one(db, "SELECT number FROM plimsoll.version")))


def check(db: Connection, server: Server) -> int:
    """Version of the schema, which must be one that this program knows.

    Raises:
        StorageError: if it was made by a newer version of the program.
    """
    version = version_of(db)
    if version > len(MIGRATIONS):
        raise StorageError(
            f"The sessions on {server.shown} have schema {version}, this program knows {len(MIGRATIONS)}.",
            "Nothing was changed. Update Plimsoll on this machine.",
        )
    return version


def migrate(db: Connection, server: Server) -> int:
    """Bring the schema to this version: all steps or none, one process at a time.

    Returns:
        That version.

    Raises:
        StorageError: if it was made by a newer version of the program.
        psycopg.Error: if the server refuses.
    """
    if check(db, server) == len(MIGRATIONS):
        return len(MIGRATIONS)
    with db.transaction():
        # Freed with the transaction, however that ends.
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_TURN,))
        version = check(db, server)
        if not version:
            _begin(db)
        for step in MIGRATIONS[version:]:
            for statement in step:
                db.execute(statement.encode())
        db.execute("UPDATE plimsoll.version SET number = %s", (len(MIGRATIONS),))
    return len(MIGRATIONS)


def _begin(db: Connection) -> None:
    # Asked first: who may only use a schema that somebody else has made may not say "if not exists" either.
    if not _one(db, "SELECT count(*) FROM pg_namespace WHERE nspname = 'plimsoll'"):
        db.execute("CREATE SCHEMA plimsoll")
    db.execute("CREATE TABLE plimsoll.version (number integer NOT NULL)")
    db.execute("INSERT INTO plimsoll.version VALUES (0)")


def _one(db: Connection, query: str) -> object:
    row = db.execute(query.encode()).fetchone()
    return row[0] if row else None


# A second way to the server, for what nobody must wait for: no question takes longer than its time.

T = TypeVar("T")
_IDLE_S = 10.0
"""Seconds after which a connection that nobody uses is closed."""
_Job = tuple[Callable[[Connection], Any], "Future[Any]"]


class SideLine:
    """Asks from a thread of its own, which holds nobody up at the program's end. May be used from any thread.

    Args:
        server: Which database; it is connected to with the first question.
        patience_s: Seconds a question may take, connecting included.
    """

    def __init__(self, server: Server, patience_s: float) -> None:
        self._server, self._patience_s = server, patience_s
        self._turn = threading.Lock()
        self._jobs: queue.SimpleQueue[_Job] | None = None

    def ask(self, work: Callable[[Connection], T]) -> T:
        """Do something with a connection; once more on a new one where the old one turns out to be lost.

        Raises:
            StorageError: if the server cannot be asked, or has not answered in time; it may still do it.
        """
        answer: Future[T] = Future()
        with self._turn:
            if self._jobs is None:
                self._jobs = queue.SimpleQueue()
                threading.Thread(target=self._serve, args=(self._jobs,), daemon=True).start()
            jobs = self._jobs
            jobs.put((work, answer))
        try:
            return answer.result(self._patience_s)
        except TimeoutError:
            self._abandon(jobs)
            raise StorageError(
                f"The session server {self._server.shown} has not answered in {self._patience_s:g} seconds.",
                "Everything saved before is kept there. Try again when it answers.",
            ) from None

    def _abandon(self, jobs: "queue.SimpleQueue[_Job]") -> None:
        """Let the next question begin anew, on another connection."""
        with self._turn:
            if self._jobs is jobs:
                self._jobs = None

    def _idle(self, jobs: "queue.SimpleQueue[_Job]") -> bool:
        """Whether nobody asks any more; from then on nobody does."""
        with self._turn:
            if not jobs.empty():
                return False
            if self._jobs is jobs:
                self._jobs = None
            return True

    def _serve(self, jobs: "queue.SimpleQueue[_Job]") -> None:
        wire: Wire | None = None
        try:
            while True:
                try:
                    work, answer = jobs.get(timeout=_IDLE_S)
                except queue.Empty:
                    if self._idle(jobs):
                        return
                    continue
                try:
                    wire = wire or self._opened()
                    answer.set_result(wire.ask(work))
                except BaseException as error:  # whoever asked is told, whatever it is
                    answer.set_exception(error)
        finally:
            if wire is not None:
                wire.close()

    def _opened(self) -> Wire:
        wire = Wire(self._server, read_only=False)
        try:
            with wire.told():
                migrate(wire.db, self._server)
        except BaseException:
            wire.close()
            raise
        return wire
