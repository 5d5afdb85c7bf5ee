"""Program that kills imports, migrations, deletions and backups: ``killing_others.py HOME ROUNDS SEED``.

Each round forks a child that is killed with SIGKILL during its work, and then a second child that checks the
result: each session is stored completely or not at all, and every session opens. Prints one JSON object per
round.
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.conversation.killing import die, forked
from tests.session.older import build_older
from tui_app.context.counting.encodings import TextCounter
from tui_app.conversation.imports.imports import import_session
from tui_app.events import SessionEnd, SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.session.backup import back_up
from tui_app.session.damage import Health, examine
from tui_app.session.management import delete_session
from tui_app.session.repair import mend
from tui_app.session.stores import migrations
from tui_app.session.stores import sqlite_store as database
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.views.user_view import fold_user_view
from tui_app.session.workspace import SessionFolder

MESSAGES = 60
STEPS = 400
"""Upper bound of the kill point, in hundreds of SQLite instructions."""


def dying_connect(countdown: int, whole: Callable[..., sqlite3.Connection] = sqlite3.connect) -> Any:
    """Return a ``connect`` that kills the process after ``countdown`` hundreds of SQLite instructions."""
    left = [countdown]

    def step() -> int:
        left[0] -= 1
        if left[0] < 0:
            die()
        return 0

    def connect(*args: Any, **more: Any) -> sqlite3.Connection:
        db = whole(*args, **more)
        db.set_progress_handler(step, 100)
        return db

    return connect


def transcript(folder: Path) -> Path:
    """Write a conversation exported by another program, and return its path."""
    path = folder / "chat.json"
    said = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"Said {number}: " + "tide " * 40}
        for number in range(MESSAGES)
    ]
    path.write_text(json.dumps(said))
    return path


def imports(paths: Paths, chat: Path) -> None:
    while True:
        with closing(SqliteStore(paths.database)) as store:
            import_session(chat, store=store, cwd=paths.data, now=1.0)


def migrates(paths: Paths, _: Path) -> None:
    SqliteStore(paths.database).close()


def deletes(paths: Paths, _: Path) -> None:
    while True:
        with closing(SqliteStore(paths.database)) as store:
            session = store.create(SessionStart(cwd="/", model="a:b"), time=1.0)
            store.append_many(session, [(UserMessage(text=f"tide {n}"), None, 1.0) for n in range(40)])
            SessionFolder(paths.sessions_dir / session).write_tool_output("tool_outputs/a.txt", "x" * 100)
        delete_session(paths.database, paths.sessions_dir, session)


def copies(paths: Paths, _: Path) -> None:
    number = 0
    while True:
        number += 1
        back_up(paths.database, paths.data / f"copy{number}.db")


WORK = MappingProxyType({"import": imports, "migrate": migrates, "delete": deletes, "copy": copies})


def killed(work: Callable[[], None], countdown: int) -> bool:
    """Run ``work`` in a child with an armed connection; whether it was killed before it finished."""

    def armed() -> None:
        database.sqlite3.connect = dying_connect(countdown)  # type: ignore[attr-defined]
        work()

    status = os.waitpid(forked(armed), 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the child failed by itself"
    return False


def check(paths: Paths, before: dict[str, list[str]]) -> None:
    """Assert that every session opens and is complete, and that all earlier sessions are unchanged."""
    with closing(SqliteStore(paths.database)) as store:
        db = store._db
        assert [row[0] for row in db.execute("PRAGMA integrity_check")] == ["ok"]
        assert db.execute("PRAGMA user_version").fetchone()[0] == len(migrations.MIGRATIONS)
        for info in store.sessions():
            heads = list(store.heads(info.id))
            assert [head.seq for head in heads] == list(range(1, len(heads) + 1))
            fold_agent_view(heads)
            fold_user_view(heads)
            texts = [str(record.to_json()) for record, _ in store.records(info.id)]
            assert before.pop(info.id, texts) == texts
            if heads[0].title == "chat" or info.title == "chat":
                assert len(heads) == 1 or heads[-1].type == SessionEnd.TYPE, "an import is whole, or nothing"
        assert not before, f"lost: {sorted(before)}"
        speaking = db.execute(
            "SELECT COUNT(*) FROM events WHERE type IN ('user.message', 'assistant.message', 'tool.result',"
            " 'session.compaction_complete')"
        ).fetchone()
        assert db.execute("SELECT COUNT(*) FROM said_docsize").fetchone() == speaking
    for copy in paths.data.glob("copy*.db"):
        SqliteStore(copy).close()
        copy.unlink()
    # A deletion removes the log first, so a session's folder may be left over; examine() reports it as an
    # orphan.
    health = examine(paths.database, paths.sessions_dir)
    assert health == Health(orphans=health.orphans)
    assert len(health.orphans) <= 1
    mend(health, paths.database, paths.sessions_dir, stamp=str(os.getpid()))
    assert examine(paths.database, paths.sessions_dir) == Health()
    for path in paths.data.glob(".*.tmp*"):
        path.unlink()


def everything(paths: Paths) -> dict[str, list[str]]:
    """Return each session's events as text."""
    with closing(SqliteStore(paths.database)) as store:
        return {
            info.id: [str(record.to_json()) for record, _ in store.records(info.id)]
            for info in store.sessions()
        }


def main(home: Path, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    TextCounter("o200k_base").load()
    home.mkdir(parents=True, exist_ok=True)
    chat = transcript(home)
    paths = Paths.from_env({"PLIMSOLL_HOME": str(home)})
    paths.ensure()
    for number in range(rounds):
        name = chance.choice(list(WORK))
        if name == "migrate":
            for part in paths.data.glob("sessions.db*"):
                part.unlink()
            shutil.rmtree(paths.sessions_dir)
            paths.ensure()
            before = build_older(paths.database, chance.randrange(1, len(migrations.MIGRATIONS)), sessions=8)
        else:
            before = everything(paths)
        countdown = chance.randrange(8 if name == "migrate" else STEPS)
        died = killed(lambda: WORK[name](paths, chat), countdown)  # noqa: B023 - done before the next round
        checking = forked(lambda: check(paths, dict(before)))  # noqa: B023 - the same
        assert os.waitpid(checking, 0)[1] == 0, f"round {number}: {name} {countdown}"
        print(json.dumps({"round": number, "work": name, "died": died}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
