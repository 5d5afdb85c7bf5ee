"""A program that is killed while it reads a session for memory: ``dying_reader.py HOME CWD WHERE [URL]``.

``WHERE`` is ``added``, behind the second entry, or ``telling``, in front of noting that the log was told.
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
"""Name under which a server knows who reads."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(store: "type[SqliteBoardStore] | type[PostgresBoardStore]", where: str) -> None:
    """Let a store kill the process at a place."""
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
    """Read what is due."""
    wire.this_machine = lambda: MACHINE
    arm(PostgresBoardStore if url else SqliteBoardStore, where)
    more = {"store": url} if url else {}
    async with Desk(Path(home), Path(cwd)).session(model="offline:extractive", **more) as opened:
        opened.remembering.catch_up()
        await opened.remembering.settle()


if __name__ == "__main__":
    asyncio.run(read(*sys.argv[1:]))
