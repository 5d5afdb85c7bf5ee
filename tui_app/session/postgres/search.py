"""Finding what was said in any session that a server keeps."""

from collections.abc import Iterable, Sequence
from contextlib import closing

from tui_app.session.location import Server
from tui_app.session.postgres.store import PostgresReader, phrases, said

Row = tuple[str, int, str, float, str, str, str]
"""Session, number, type and time of an event, title and folder of its session, and its text."""


def search(server: Server, terms: Iterable[tuple[Sequence[str], bool]], limit: int) -> list[Row]:
    """Messages and summaries that hold all of some phrases, the best fits first.

    Args:
        server: Where the sessions are.
        terms: Words that stand side by side, and whether the last one may go on.
        limit: How many to return at most.

    Raises:
        StorageError: if the server cannot be reached.
    """
    wanted = phrases(terms)
    if not wanted:
        return []
    with closing(PostgresReader(server, read_only=True)) as reader:
        rows = reader.found(wanted, limit)
    return [(*row[:6], said(row[6])) for row in rows]
