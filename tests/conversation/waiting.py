"""Program that kills a writer at each write of a compaction: ``waiting.py HOME CWD``.

For each write, a child opens the session, starts a compaction and dies by SIGKILL there, while two others
keep trying to open the session. One of them must get it intact, and the other only after the first has closed
it. Prints for each write whether ``all`` or ``none`` of the compaction was stored.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.conversation.driving import Desk, done, turn
from tests.conversation.killing import OFFLINE, arm, forked, verify
from tui_app.conversation.assembly import open_session
from tui_app.conversation.work import Compact, Restate
from tui_app.session.lock import SessionLocked
from tui_app.session.workspace import SessionFolder

FILES = 5
"""Files that a compaction writes: the history twice, its checkpoint, the index and ``workspace.yaml``."""
PLACES = [
    *(("fsync", number) for number in range(FILES)),
    *(("replace", number) for number in range(FILES)),
    ("commit", 0),
    ("committed", 0),
]


def die_compacting(desk: Desk, session: str, place: tuple[str, int], ready: int, begin: int) -> None:
    """Open the session, wait for the others to be refused, then compact and die at ``place``."""

    async def drive() -> None:
        async with desk.session(session=session, model=OFFLINE) as opened:
            os.write(ready, b"open\n")
            os.read(begin, 1)
            arm(*place)
            await done(opened.conversation, Compact())

    asyncio.run(drive())


def wait(desk: Desk, session: str, tell: int, refused: int, go: int) -> None:
    """Retry until the session opens, verify it, and close it when signalled."""

    async def look() -> None:
        told = False
        while True:
            try:
                opened = open_session(desk.opening(session=session, model=OFFLINE))
                break
            except SessionLocked:
                if not told:
                    os.write(refused, b"refused\n")
                told = True
                await asyncio.sleep(0.02)
        await opened.prepare()
        verify(opened)
        standing = "all" if opened.conversation.history.view.compactions else "none"
        os.write(tell, f"{os.getpid()} {standing}\n".encode())
        os.read(go, 1)
        await done(opened.conversation, Restate(undo=True))
        verify(opened)
        await opened.close()

    asyncio.run(look())


def played(desk: Desk, session: str, place: tuple[str, int]) -> str:
    """Run one writer and two waiting processes; returns ``all`` or ``none``, what is left of it."""
    (told, tell), (go, let_go), (begin, start) = os.pipe(), os.pipe(), os.pipe()
    writer = forked(lambda: die_compacting(desk, session, place, tell, begin))
    with os.fdopen(told) as lines:
        assert lines.readline() == "open\n"
        others = [forked(lambda: wait(desk, session, tell, tell, go)) for _ in range(2)]
        assert [lines.readline() for _ in others] == ["refused\n"] * 2
        os.write(start, b".")
        assert os.WTERMSIG(os.waitpid(writer, 0)[1]) == signal.SIGKILL, "it died by itself"
        first, standing = lines.readline().split()
        lock = SessionFolder(desk.opening().paths.sessions_dir / session).lock_file
        assert lock.read_text() == first
        os.write(let_go, b".")
        second, undone = lines.readline().split()
        assert {int(first), int(second)} == set(others)
        assert undone == "none", "the second one has what the first one left"
        os.write(let_go, b".")
        assert [os.waitpid(each, 0)[1] for each in others] == [0, 0]
    for pipe in (tell, go, let_go, begin, start):
        os.close(pipe)
    return standing


def main(home: Path, cwd: Path) -> None:
    desk = Desk(home, cwd)

    async def talk() -> str:
        async with desk.session(model=OFFLINE) as opened:
            for number in range(3):
                await turn(opened.conversation, f"what does README.md say about the sea? {number}")
            return opened.conversation.session

    session = asyncio.run(talk())
    for place in PLACES:
        print(played(desk, session, place), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
