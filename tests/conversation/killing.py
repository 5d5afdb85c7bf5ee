"""Program that kills conversations with SIGKILL: ``killing.py HOME CWD ROUNDS SEED``.

Imports happen once. Each round forks a child that drives a session until it is killed, at a random event it
has shown or at a random write to disk, and then a second child that opens and checks the session. Prints one
JSON object per round; a failed check ends the program with a traceback.
"""

import asyncio
import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conversation.driving import Desk, Following, assert_valid, done, of, turn
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.files.session_files import SessionFiles
from tui_app.conversation.work import Compact, Restate
from tui_app.events import TurnEnd
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.views.user_view import fold_user_view

OFFLINE = "offline:extractive"
STEPS = ("fsync", "replace", "commit", "committed", "append")
"""Operations at which a child can kill itself. The alternative is ``shown``: killed after a shown event."""


def forked(work: Callable[[], None]) -> int:
    """Run ``work`` in a forked child and return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(step: str, countdown: int) -> None:
    """Make this process kill itself at a step, after skipping ``countdown`` occurrences of it.

    It dies before the step, except at ``committed``, which is right after a commit.
    """
    left = [countdown]

    def due() -> bool:
        left[0] -= 1
        return left[0] < 0

    fsync, replace, append_many = os.fsync, os.replace, SqliteStore.append_many

    def dying_fsync(file: Any) -> None:
        if step == "fsync" and due():
            die()
        fsync(file)

    def dying_replace(*names: Any, **folders: Any) -> None:
        if step == "replace" and due():
            die()
        replace(*names, **folders)

    def dying_append(self: SqliteStore, session: str, events: Any) -> Any:
        commit = len(events) > 1
        if (step == "commit" and commit and due()) or (step == "append" and due()):
            die()
        records = append_many(self, session, events)
        if step == "committed" and commit and due():
            die()
        return records

    os.fsync, os.replace, SqliteStore.append_many = dying_fsync, dying_replace, dying_append  # type: ignore[assignment, method-assign]


async def drive(desk: Desk, session: str, show: Callable[[str], None]) -> None:
    """Run turns, compactions, undos and redos forever, showing each event once it is delivered."""
    async with desk.session(session=session, model=OFFLINE) as opened:
        conversation = opened.conversation
        watching = Following(conversation.bus)

        async def follow() -> None:
            async for record in watching:
                if record.seq:
                    show(f"{record.seq} {record.data.TYPE}\n")

        following = asyncio.create_task(follow())
        while not following.done():
            for number in range(3):
                await turn(conversation, f"what does README.md say about the sea? {number}")
            await done(conversation, Compact())
            await done(conversation, Restate(undo=True), Restate(undo=False))


def check(desk: Desk, session: str, shown: list[str]) -> None:
    """Assert that every shown event is stored, the session opens unlocked and valid, and a new turn works."""

    async def look() -> None:
        opened = open_session(desk.opening(session=session, model=OFFLINE))
        kept = {f"{record.seq} {record.data.TYPE}" for record, _ in opened.store.records(session)}
        assert set(shown) <= kept, f"lost: {set(shown) - kept}"
        await opened.prepare()
        verify(opened)
        ends = of(await turn(opened.conversation, "what does README.md say about the sky?"), TurnEnd)
        assert [end.outcome for end in ends if isinstance(end, TurnEnd)] == ["done"]
        verify(opened)
        await opened.close()

    asyncio.run(look())


def verify(opened: OpenSession) -> None:
    assert_valid(opened.conversation)
    heads = list(opened.store.heads(opened.conversation.session))
    view = opened.conversation.history.view
    assert [head.seq for head in heads] == list(range(1, len(heads) + 1))
    assert fold_agent_view(heads) == view
    assert not [row for row in fold_user_view(heads).entries if row.state == "running"]
    assert opened.folder.listed() in (None, len(view.compactions))
    assert [path for path in files_of(opened) if path.stat().st_size == 0] == []
    files = SessionFiles(opened.conversation.history)
    assert files.sweep() == [], "nothing lies about that the log does not know"
    assert files.missing() == []


def files_of(opened: OpenSession) -> list[Path]:
    """All files of a session except the lock, which is empty while unlocked."""
    return [path for path in opened.folder.path.rglob("*") if path.is_file() and path.suffix != ".lock"]


def killed(desk: Desk, session: str, step: str, countdown: int) -> list[str]:
    """Drive a session in a child until it is killed, and return the events it has shown."""
    reading, writing = os.pipe()

    def work() -> None:
        os.close(reading)
        if step != "shown":
            arm(step, countdown)
        asyncio.run(drive(desk, session, lambda line: (os.write(writing, line.encode()), None)[1]))

    child = forked(work)
    os.close(writing)
    shown: list[str] = []
    with os.fdopen(reading) as lines:
        for line in lines:
            shown.append(line.strip())
            if step == "shown" and len(shown) > countdown:
                os.kill(child, signal.SIGKILL)
                break
        shown += [line.strip() for line in lines if line.endswith("\n")]
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status), f"the child ended by itself with {status}"
    assert os.WTERMSIG(status) == signal.SIGKILL
    return shown


def main(home: Path, cwd: Path, rounds: int, seed: int) -> None:
    chance, desk = random.Random(seed), Desk(home, cwd)

    async def begin() -> str:
        async with desk.session(model=OFFLINE) as opened:
            await turn(opened.conversation, "what is in README.md?")
            return opened.conversation.session

    session = asyncio.run(begin())
    for number in range(rounds):
        step = chance.choice(("shown", "shown", *STEPS))
        countdown = chance.randrange(2 if step in ("commit", "committed") else 14)
        shown = killed(desk, session, step, countdown)
        checking = forked(lambda shown=shown: check(desk, session, shown))  # type: ignore[misc]
        assert os.waitpid(checking, 0)[1] == 0, f"round {number}: {step} {countdown}, shown {shown[-5:]}"
        print(json.dumps({"round": number, "step": step, "shown": len(shown)}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
