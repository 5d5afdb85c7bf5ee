"""Failing disks and clocks during a session: reported clearly, nothing lost, and the session continues."""

import itertools
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conversation import killing, killing_others
from tests.conversation.driving import Desk, Following, assert_valid, done, of, turn
from tests.examples import PROFILE
from tests.forked import completed
from tui_app.context.storage_errors import StorageError
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Compact
from tui_app.events import CompactionComplete, Error, TurnEnd, UserMessage
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.views.user_view import fold_user_view

OFFLINE = "offline:extractive"
ASK = "what does README.md say about the sea?"


def logged(opened: OpenSession) -> list[str]:
    return [str(record.to_json()) for record, _ in opened.store.records(opened.conversation.session)]


def assert_whole(opened: OpenSession) -> None:
    heads = list(opened.store.heads(opened.conversation.session))
    assert [head.seq for head in heads] == list(range(1, len(heads) + 1))
    assert fold_agent_view(heads) == opened.conversation.history.view
    fold_user_view(heads)
    assert_valid(opened.conversation)


async def refused(opened: OpenSession) -> str:
    """Return the error that the user reads when a turn cannot be written."""
    records = await turn(opened.conversation, ASK)
    ends = [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)]
    assert "done" not in ends
    told = [error for error in of(records, Error) if isinstance(error, Error)]
    assert told, records
    assert "Traceback" not in str(told)
    return f"{told[-1].message} {told[-1].hint}"


async def goes_on(opened: OpenSession) -> None:
    records = await turn(opened.conversation, ASK)
    assert [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)] == ["done"]
    assert_whole(opened)


async def test_full_disk_and_room_again(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        await turn(opened.conversation, ASK)
        before, db = logged(opened), opened.store._db
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")
        # The last pages may have room for a few more events.
        said = next(filter(None, [await _until_full(opened) for _ in range(4)]))
        assert "The disk is full" in said
        assert "Everything saved before is kept." in said
        assert logged(opened)[: len(before)] == before
        db.execute("PRAGMA max_page_count = 1000000")
        await goes_on(opened)


async def _until_full(opened: OpenSession) -> str:
    records = await turn(opened.conversation, f"{ASK} {'sea ' * 2_000}")
    told = [error for error in of(records, Error) if isinstance(error, Error)]
    return f"{told[-1].message} {told[-1].hint}" if told else ""


async def test_disk_that_became_read_only(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        await turn(opened.conversation, ASK)
        before, db = logged(opened), opened.store._db
        db.execute("PRAGMA query_only = ON")
        said = await refused(opened)
        assert "cannot be used" in said
        assert "is writable" in said
        assert logged(opened) == before
        db.execute("PRAGMA query_only = OFF")
        await goes_on(opened)


async def test_clock_that_goes_backwards(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order follows log numbers; times are only displayed."""
    clock: Iterator[float] = (2e9 - 3_600.0 * step for step in itertools.count())
    async with desk.session(model=OFFLINE) as opened:
        monkeypatch.setattr("time.time", lambda: next(clock))
        for _ in range(3):
            await turn(opened.conversation, ASK)
        await done(opened.conversation, Compact())
        assert_whole(opened)
        kept = logged(opened)
    async with desk.session(session=opened.conversation.session, model=OFFLINE) as again:
        assert logged(again)[: len(kept)] == kept
        assert_whole(again)
        rows = fold_user_view(again.store.heads(again.conversation.session)).entries
        assert [row.seq for row in rows] == sorted(row.seq for row in rows)


async def test_folder_of_the_session_deleted_under_it(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        for _ in range(3):
            await turn(opened.conversation, ASK)
        shutil.rmtree(opened.folder.path)
        records = []
        watching = Following(opened.conversation.bus)
        await done(opened.conversation, Compact())
        watching.end()
        async for record in watching:
            records.append(record)
        outcomes = [each.outcome for each in of(records, CompactionComplete)]  # type: ignore[attr-defined]
        assert outcomes == ["success"]
        (file,) = opened.folder.checkpoints.glob("001-*.md")
        assert file.read_text().startswith("# 001")
        assert_whole(opened)


async def test_sessions_file_deleted_under_it(desk: Desk) -> None:
    """Whatever is written to a file without a name would vanish with the process."""
    with pytest.raises(StorageError, match="was deleted or moved"):  # noqa: PT012 - closing writes too
        async with desk.session(model=OFFLINE) as opened:
            await turn(opened.conversation, ASK)
            for side in ("", "-wal", "-shm"):
                opened.store.path.with_name(f"sessions.db{side}").unlink()
            said = await refused(opened)
    assert "was deleted or moved" in said


async def test_damaged_page(desk: Desk) -> None:
    async with desk.session(model=OFFLINE) as opened:
        for _ in range(4):
            await turn(opened.conversation, f"{ASK} {'sea ' * 1_500}")
        session, path = opened.conversation.session, opened.store.path
    with closing(sqlite3.connect(path)) as db:
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()[0]
    raw = bytearray(path.read_bytes())
    raw[(root - 1) * 4096 : root * 4096] = b"\xa5" * 4096
    path.write_bytes(raw)
    with pytest.raises(StorageError) as caught:
        open_session(desk.opening(session=session, model=OFFLINE))
    assert "Nothing was deleted" in str(caught.value)
    assert "plimsoll doctor --repair" in str(caught.value)
    assert path.read_bytes() == bytes(raw)


def test_two_processes_and_one_log(tmp_path: Path) -> None:
    """Without the lock's folder, two processes can write one session: numbers must still be unique."""
    from tui_app.events import SessionStart

    first, second = SqliteStore(tmp_path / "sessions.db"), SqliteStore(tmp_path / "sessions.db")
    session = first.create(SessionStart(cwd="/", model="a:b"), time=1.0)
    for number in range(20):
        (first, second)[number % 2].append(session, UserMessage(text=f"said {number}"), None, time=2.0)
    texts = [record.data.text for record, _ in first.records(session) if isinstance(record.data, UserMessage)]
    assert texts == [f"said {number}" for number in range(20)]
    first.close()
    second.close()


# ``kill -9`` at any moment: the next start has everything that was shown as finished.


ROOT = Path(__file__).parents[2]
SEEDS = (1,) if PROFILE == "quick" else (1, 2)
"""Seeds of the order of kills; longer test profiles use two."""
KILLS = int(os.environ.get("PLIMSOLL_KILLS", "20"))
"""Number of processes to kill; many more take minutes."""
ROUNDS = max(8, KILLS // 2 // len(SEEDS))
LIMIT_S = 60 + 5 * ROUNDS


def rounds_of(module: str, arguments: Sequence[object]) -> list[dict[str, Any]]:
    arguments = [*map(str, arguments)]
    done = completed(arguments, env=os.environ, cwd=ROOT, limit_s=LIMIT_S, module=module)
    assert done.returncode == 0, done.stderr + done.stdout[-2_000:]
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) == ROUNDS
    return rounds


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.timeout(LIMIT_S + 10)
@pytest.mark.parametrize("seed", SEEDS)
def test_killed_at_any_moment(desk: Desk, seed: int) -> None:
    """Killed while running turns, compacting, undoing and writing checkpoints."""
    rounds = rounds_of(killing.__name__, [desk.home, desk.cwd, ROUNDS, seed])
    assert len({each["step"] for each in rounds}) >= 4, "the children died in different places"
    assert sum(each["shown"] for each in rounds) > ROUNDS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.timeout(LIMIT_S + 10)
@pytest.mark.parametrize("seed", SEEDS)
def test_killed_while_importing_migrating_deleting_and_copying(tmp_path: Path, seed: int) -> None:
    rounds = rounds_of(killing_others.__name__, [tmp_path / "home", ROUNDS, seed])
    assert len({each["work"] for each in rounds}) >= 3
    assert sum(each["died"] for each in rounds) > ROUNDS // 2
