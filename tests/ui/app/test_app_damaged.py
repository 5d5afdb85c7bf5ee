"""Rows of a log, and files beside it, that cannot be read: said in their place, and all else goes on."""

import sqlite3
from contextlib import closing

from tests.ui.app.story import Story
from tests.ui.kit import Desk, shown


def spoil(desk: Desk, session: str, seq: int) -> None:
    """Leave something that is no event."""
    with closing(sqlite3.connect(desk.paths.database)) as db:
        db.execute("UPDATE events SET data = '[]' WHERE session = ? AND seq = ?", (session, seq))
        db.commit()


async def test_an_event_that_is_damaged_is_said_where_it_stands_and_when_it_is_opened(served: Desk) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    with served.log() as store:
        [seq] = [head.seq for head in store.heads(session) if head.type == "assistant.message"]
    spoil(served, session, seq)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.says("how late?")
        await deck.says(f"Event {seq} of session {session} is damaged")
        deck.transcript.focus()
        await deck.press("up", "ctrl+o")
        await deck.says("This row cannot be read.")
