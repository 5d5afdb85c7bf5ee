"""Sessions due to be read for memory, read without a screen and without opening them."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.conversation.memory.board_log import BoardLog
from tui_app.conversation.memory.boards import boards_in, lock_of, own_scope
from tui_app.conversation.memory.memory_reader import SessionReader
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import MemoryConsolidated
from tui_app.records import frozen
from tui_app.session.background import where_open
from tui_app.session.lock import WriterLock
from tui_app.session.stores.store import SessionInfo, SessionStore


@frozen
class Reading:
    """The outcome of reading one session."""

    session: str
    done: MemoryConsolidated | None = None
    """None if there was nothing new, or it could not be read now."""
    held: str = ""
    """Who has it open. It is then read when it ends."""
    elsewhere: str = ""
    """Its folder, if that is on another machine and its board is not known here."""


def waiting(store: SessionStore, opening: Opening) -> list[SessionInfo]:
    """Sessions due to be read, oldest request first."""
    known = {info.id: info for info in store.sessions()}
    due = boards_in(opening.database).due_sessions()
    return [known[each.session] for each in due if each.session in known]


async def read_sessions(
    opening: Opening, store: SessionStore, sessions: Sequence[SessionInfo]
) -> AsyncIterator[Reading]:
    """Read sessions one at a time, each for the board of its own folder.

    Args:
        opening: Settings and folders. If it names a model, that model reads all of them.
        store: Where they are.
        sessions: Which ones.

    Raises:
        SessionLocked: if another program is reading.
        sqlite3.Error: if the file cannot be used.
    """
    boards = boards_in(opening.database)
    telling = BoardLog(boards, store)
    due = {each.session: each for each in boards.due_sessions()}
    with WriterLock(lock_of(opening.paths)):
        telling.write_pending()
        for info in sessions:
            if who := where_open(store, opening.paths.sessions_dir, info.id):
                yield Reading(info.id, held=who)
                continue
            asked = due.get(info.id)
            scope = await asyncio.to_thread(own_scope, boards, opening.database, info, opening.cwd, asked)
            if scope is None:
                yield Reading(info.id, elsewhere=info.cwd)
                continue
            text = TextCounter(encoding_name(opening.model or info.model))
            reader = SessionReader(telling, opening, opening.shelf(), text)
            done = await reader.consolidate(info, scope, opening.model)
            boards.mark_read(info.id, 0, asked=None if asked is None else asked.asked)
            yield Reading(info.id, done)
