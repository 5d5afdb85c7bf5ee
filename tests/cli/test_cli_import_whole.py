"""An import is written as a whole or not at all, however it ends."""

from pathlib import Path

import pytest

from tests.session.importing import foreign
from tui_app.conversation.import_watch import (
    ImportProgress,
    ImportStopped,
    Stoppable,
    earlier_imports,
    imported_as,
)
from tui_app.conversation.imports import import_session
from tui_app.session.sqlite_store import SqliteStore


@pytest.fixture
def rollout(tmp_path: Path) -> Path:
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(foreign.jsonl(foreign.codex() * 12))
    return path


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "sessions.db")


def test_progress_is_told_from_reading_to_writing(rollout: Path, store: SqliteStore, tmp_path: Path) -> None:
    told: list[ImportProgress] = []
    import_session(rollout, store=store, cwd=tmp_path, now=1.0, watch=told.append)
    assert [each.doing for each in told[:2]] == ["reading", "counting"]
    assert told[-1].doing == "writing"
    counted = [each.done for each in told if each.doing == "counting"]
    assert counted == sorted(counted)
    assert len(counted) > 2
    store.close()


@pytest.mark.parametrize("step", ["reading", "counting"])
def test_what_is_stopped_leaves_nothing(rollout: Path, store: SqliteStore, tmp_path: Path, step: str) -> None:
    def told(progress: ImportProgress) -> None:
        if progress.doing == step:
            assert job.stop()

    job = Stoppable(told)
    with pytest.raises(ImportStopped):
        import_session(rollout, store=store, cwd=tmp_path, now=1.0, watch=job.watch)
    assert store.sessions() == []
    store.close()


def test_what_is_being_written_is_written_to_its_end(
    rollout: Path, store: SqliteStore, tmp_path: Path
) -> None:
    def told(progress: ImportProgress) -> None:
        if progress.doing == "writing":
            assert not job.stop()

    job = Stoppable(told)
    report = import_session(rollout, store=store, cwd=tmp_path, now=1.0, watch=job.watch)
    assert [info.id for info in store.sessions()] == [report.session]
    store.close()


def test_the_newest_import_of_a_file_is_known(rollout: Path, store: SqliteStore, tmp_path: Path) -> None:
    import_session(rollout, store=store, cwd=tmp_path, now=1.0)
    newest = import_session(rollout, store=store, cwd=tmp_path, now=2.0)
    known = imported_as(rollout, earlier_imports(store))
    assert known is not None
    assert (known.session, known.time) == (newest.session, 2.0)
    assert imported_as(tmp_path / "other", earlier_imports(store)) is None
    store.close()
