"""Repairing a damaged session database into a new file; the old file is kept."""

import os
import random
import re
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from tui_app.context.storage_errors import StorageError
from tui_app.events import AssistantMessage, Error, SessionStart, UserMessage
from tui_app.memory.entries import Draft, DueSession
from tui_app.memory.store import SqliteBoardStore
from tui_app.session.damage import Health, examine
from tui_app.session.event_rows import row_of
from tui_app.session.lock import WriterLock
from tui_app.session.repair import InUse, mend
from tui_app.session.search import search_sessions
from tui_app.session.stores.sqlite_connection import connect
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.word_index import add_index_words
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.workspace import SessionFolder

PAGE = 4_096
STAMP = "20260101-120000"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Twenty sessions, closed, all in one file."""
    store = SqliteStore(tmp_path / "sessions.db")
    for number in range(20):
        session = store.create(SessionStart(cwd="/p", model="a:b", title=f"Session {number}"), time=1.0)
        events = [
            (UserMessage(text=f"albatross {number} {turn} {'x' * 900}"), '{"m": 1}', 2.0 + turn)
            if turn % 2
            else (AssistantMessage(text=f"answer {number} {turn} {'y' * 900}"), '{"m": 2}', 2.0 + turn)
            for turn in range(20)
        ]
        store.append_many(session, events)
    store.close()
    return store.path


def contents(path: Path) -> dict[tuple[str, int], str]:
    with closing(SqliteStore(path)) as store:
        return {
            (info.id, record.seq): str(record.to_json())
            for info in store.sessions()
            for record, _ in store.records(info.id)
            # Each lost event is replaced by an error.
            if not isinstance(record.data, Error)
        }


def boards(path: Path) -> SqliteBoardStore:
    return SqliteBoardStore(partial(connect, path, read_only=False))


def spoil(path: Path, pages: list[int], seed: int = 1) -> None:
    raw, chance = bytearray(path.read_bytes()), random.Random(seed)
    for page in pages:
        raw[page * PAGE : (page + 1) * PAGE] = chance.randbytes(PAGE)
    path.write_bytes(raw)


def repaired(path: Path) -> list[str]:
    sessions = path.parent / "sessions"
    return mend(examine(path, sessions), path, sessions, stamp=STAMP)


def test_nothing_to_mend(file: Path) -> None:
    before = file.read_bytes()
    assert examine(file, file.parent / "sessions") == Health()
    assert repaired(file) == []
    assert file.read_bytes() == before


@pytest.mark.parametrize("seed", range(12))
def test_damaged_pages(file: Path, seed: int) -> None:
    """Wherever the damage is, everything recovered is unchanged, and little is missing."""
    before, chance = contents(file), random.Random(seed)
    count = file.stat().st_size // PAGE
    pages = chance.sample(range(2, count), 3)
    spoil(file, pages, seed)
    damaged = file.read_bytes()
    health = examine(file, file.parent / "sessions")
    assert health.damage
    (told,) = repaired(file)
    kept = file.with_name(f"sessions.db.damaged-{STAMP}")
    assert str(kept) in told
    assert kept.read_bytes() == damaged
    assert kept.stat().st_mode & 0o777 == 0o600
    assert examine(file, file.parent / "sessions") == Health()
    after = contents(file)
    same = {key for key in after if before.get(key) == after[key]}
    made = {key for key in after if key not in same}
    assert all(seq == 1 for _, seq in made), "only the beginning of a session is ever made up"
    assert len(same) > 0.8 * len(before), f"of {len(before)} only {len(same)}"
    assert search_sessions(file, "albatross")
    with closing(SqliteStore(file)) as store:
        for info in store.sessions():
            heads = list(store.heads(info.id))
            assert heads[0].seq == 1
            rows = [row_of(record, message) for record, message in store.records(info.id)]
            size = sum(len((text or "").encode()) for row in rows for text in row[4:])
            assert store.sizes()[info.id] == size
            fold_agent_view(heads)
            store.append(info.id, UserMessage(text="goes on"), None, time=9.0)
    assert sorted(path.name for path in file.parent.iterdir() if path.name.startswith(".")) == []


def test_the_log_that_was_written_last_is_saved_too(file: Path) -> None:
    """Events that a killed process left in the write-ahead log are recovered as well."""
    with closing(SqliteStore(file)) as store:
        session = store.sessions()[0].id
        store.append(session, UserMessage(text="the very last"), None, time=99.0)
        saved = {side: file.with_name(file.name + side).read_bytes() for side in ("", "-wal")}
    for side, data in saved.items():
        file.with_name(file.name + side).write_bytes(data)
    spoil(file, [40])
    assert "new file" in repaired(file)[0]
    assert [found.session for found in search_sessions(file, '"the very last"')] == [session]
    assert file.with_name(f"sessions.db.damaged-{STAMP}-wal").read_bytes() == saved["-wal"]


@pytest.mark.parametrize("pages", [[0], [0, 1], [1, 2, 3]])
def test_the_pages_that_lead_to_all_others(file: Path, pages: list[int]) -> None:
    """Pages with the schema and the tables' positions; the rows are on other pages."""
    before = contents(file)
    spoil(file, pages)
    assert "new file" in repaired(file)[0]
    after = contents(file)
    assert sum(before[key] == after.get(key) for key in before) >= len(before) - 25


@pytest.mark.parametrize("content", [b"# Notes\n" * 900, random.Random(1).randbytes(50_000)])
def test_a_file_in_which_nothing_is_ours(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "sessions.db"
    file.write_bytes(content)
    with pytest.raises(StorageError, match=r"Nothing in"):
        repaired(file)
    assert file.read_bytes() == content
    assert sorted(path.name for path in file.parent.iterdir()) == ["sessions.db"]


def test_the_file_is_gone_and_its_log_is_there(file: Path) -> None:
    """Nothing started in the meantime may let SQLite delete the write-ahead log."""
    with closing(SqliteStore(file)) as store:
        session = store.create(SessionStart(cwd="/p", model="a:b", title="Last"), time=1.0)
        log = file.with_name("sessions.db-wal").read_bytes()
    for left in (b"", None):
        file.unlink(missing_ok=True)
        if left is not None:
            file.write_bytes(left)
        file.with_name("sessions.db-wal").write_bytes(log)
        with pytest.raises(StorageError, match="doctor --repair"):
            SqliteStore(file)
        assert "sessions.db-wal is there" in examine(file, file.parent / "sessions").missing
    assert "new file" in repaired(file)[0]
    assert (session, 1) in contents(file)
    assert examine(file, file.parent / "sessions") == Health()


def test_a_damaged_log_takes_nothing_else_along(file: Path) -> None:
    """SQLite would silently drop every commit after the damaged one."""
    with closing(SqliteStore(file)) as store:
        session = store.sessions()[0].id
        for number in range(6):
            store.append(session, UserMessage(text=f"late {number}"), None, time=99.0)
        log = bytearray(file.with_name("sessions.db-wal").read_bytes())
        raw, before = file.read_bytes(), contents(file)
    log[32 + 24 + 40] ^= 4
    file.write_bytes(raw)
    file.with_name("sessions.db-wal").write_bytes(log)
    assert "cannot be trusted" in examine(file, file.parent / "sessions").damage[0]
    repaired(file)
    assert contents(file) == before


@pytest.mark.parametrize("percent", [95, 90, 80, 60, 45, 30])
def test_a_file_that_was_cut_off(file: Path, percent: int) -> None:
    """As by an aborted copy: everything before the cut is recovered, and the rest is not searched for."""
    before = contents(file)
    os.truncate(file, file.stat().st_size * percent // 100)
    (told,) = repaired(file)
    after = contents(file)
    assert {key for key in after if before.get(key) != after[key]} <= {key for key in after if key[1] == 1}
    assert len(after) > 0.6 * percent / 100 * len(before), f"of {len(before)} only {len(after)}"
    lost = int(re.findall(r"([\d,]+) events? could not", told)[0].replace(",", ""))
    assert lost <= len(before) - len(after) + 20, "numbers that no event ever had are not missed"
    assert examine(file, file.parent / "sessions") == Health()


def test_the_context_boards_are_saved_too(file: Path, tmp_path: Path) -> None:
    board = boards(file)
    scope = board.scope(tmp_path)
    draft = Draft(text="Ticket 41 is fixed", kind="rule", made_by="user", session="f12f203a", seq=3)
    kept = board.add(draft, scope.repository, scope.branch, (), 5.0)
    board.request_reading(
        DueSession(session="f12f203a", repository=scope.repository, branch=scope.branch, asked=6.0)
    )
    waiting = board.due_sessions()
    spoil(file, [40])
    assert "new file" in repaired(file)[0]
    assert boards(file).entries(scope) == [kept]
    assert boards(file).due_sessions() == waiting


def test_a_file_of_an_older_version_has_no_boards_to_save(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("DROP TABLE memories")
        db.execute("DROP TABLE consolidations")
        db.execute("PRAGMA user_version = 3")
    spoil(file, [40])
    assert "new file" in repaired(file)[0]
    assert boards(file).due_sessions() == []


def test_a_file_of_which_the_cut_left_no_event(file: Path) -> None:
    os.truncate(file, 3 * PAGE)
    cut = file.read_bytes()
    with pytest.raises(StorageError, match=r"Nothing in .* can be read"):
        repaired(file)
    assert file.read_bytes() == cut
    assert not [path.name for path in file.parent.iterdir() if ".tmp" in path.name or "damaged" in path.name]


def test_the_index_is_made_anew(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("INSERT INTO said (said) VALUES ('delete-all')")
        db.commit()
    assert "0 of 400 messages" in examine(file, file.parent).stale_index
    assert repaired(file) == ["The word index is rebuilt: 400 messages"]
    assert len(search_sessions(file, "albatross 7")) > 0
    assert examine(file, file.parent / "sessions") == Health()


def test_rows_that_another_program_has_numbered_anew(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE events SET rowid = rowid - 21")
        db.commit()
    assert "cannot be found" in examine(file, file.parent).stale_index
    repaired(file)
    (found, *_) = search_sessions(file, '"albatross 19 3"')
    assert "albatross 19 3" in found.snippet


def test_sessions_that_are_not_listed(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        add_index_words(db)
        first, second = (row[0] for row in db.execute("SELECT id FROM sessions ORDER BY title LIMIT 2"))
        db.execute("DELETE FROM sessions WHERE id IN (?, ?)", (first, second))
        db.execute("DELETE FROM events WHERE session = ? AND seq = 1", (second,))
        db.commit()
    assert set(examine(file, file.parent / "sessions").unlisted) == {first, second}
    repaired(file)
    with closing(SqliteStore(file)) as store:
        assert (store.info(first).title, store.info(first).cwd) == ("Session 0", "/p")
        assert store.info(first).messages == 20
        assert store.info(second).title == "Rescued session"
        assert next(store.heads(second)).seq == 1


def test_folders_that_belong_to_nobody_are_set_aside(file: Path) -> None:
    sessions = file.parent / "sessions"
    orphan, held = SessionFolder(sessions / "0badcafe"), SessionFolder(sessions / "0badbeef")
    for folder in (orphan, held):
        folder.write_tool_output("tool_outputs/a.txt", "kept")
    (sessions / "notes").mkdir()
    with WriterLock(held.lock_file):
        assert examine(file, sessions).orphans == (orphan.path,)
        with pytest.raises(InUse, match="0badbeef is open in another window"):
            repaired(file)
    assert orphan.path.exists()
    assert len(repaired(file)) == 2
    assert (file.parent / "set-aside" / f"0badcafe-{STAMP}" / "tool_outputs" / "a.txt").read_text() == "kept"
    assert [path.name for path in sessions.iterdir()] == ["notes"]


def test_a_full_disk_leaves_the_damaged_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(file, [30])
    damaged = file.read_bytes()

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("tui_app.session.repair.shutil.copyfile", refuse)
        with pytest.raises(OSError, match="No space"):
            repaired(file)
    assert file.read_bytes() == damaged
    assert not [path for path in file.parent.iterdir() if not path.name.startswith("sessions.db")]
