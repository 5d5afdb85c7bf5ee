"""Program killed while extracting memories from a session: ``dying_reader.py HOME CWD WHERE [URL]``.

``WHERE`` is ``added`` (after the second entry is stored) or ``telling`` (before the log is marked as read).
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.conversation.driving import Desk
from tui_app.memory.store import PostgresBoardStore, SqliteBoardStore
from tui_app.session.stores import postgres_server as wire

MACHINE = "desk"
"""Name under which the PostgreSQL server knows the reading machine."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(store: "type[SqliteBoardStore] | type[PostgresBoardStore]", where: str) -> None:
    """Make the store kill the process at the given point."""
    add, told, count = store.add, store.mark_logged, 0

    def dying_add(self, *args):  # type: ignore[no-untyped-def]
        nonlocal count
        made = add(self, *args)
        count += 1
        if where == "added" and count == 2:
            die()
        return made

    def dying_told(self, change):  # type: ignore[no-untyped-def]
        if where == "telling":
            die()
        told(self, change)

    store.add, store.mark_logged = dying_add, dying_told  # type: ignore[method-assign]


async def read(home: str, cwd: str, where: str, url: str = "") -> None:
    """Extract memories from the sessions that are due."""
    wire.this_machine = lambda: MACHINE
    arm(PostgresBoardStore if url else SqliteBoardStore, where)
    more = {"store": url} if url else {}
    async with Desk(Path(home), Path(cwd)).session(model="offline:extractive", **more) as opened:
        opened.remembering.catch_up()
        await opened.remembering.settle()


if __name__ == "__main__":
    asyncio.run(read(*sys.argv[1:]))
