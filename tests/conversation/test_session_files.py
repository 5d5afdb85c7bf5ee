"""A session's files follow its log: leftovers of a crash go, missing files come back, limits hold."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, turn
from tests.conversation.logged import answer, opened, result, say
from tests.conversation.test_rewrites import LINES, arrived
from tests.conversation.test_session_history import filled, proposal
from tui_app.conversation.assembly import open_session
from tui_app.conversation.files.session_files import SessionFiles
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import CheckpointCreated, CompactionComplete, SessionStart
from tui_app.session.event_heads import Head
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import Event

STEM = "{:03d}-before-compaction"


def compacted(history: SessionHistory, times: int = 1) -> SessionFiles:
    """Fill a history with compactions whose summaries name the file of the whole conversation."""
    filled(history)
    for number in range(1, times + 1):
        where = history.archive.folder.conversation_history / f"{STEM.format(number)}.md"
        history.commit(proposal(history, keep=9 - 3 * number, text=f"Salty. All of it: {where}"))
        answer(history, f"More {number}.")
    return SessionFiles(history)


def contents(files: SessionFiles) -> dict[str, bytes]:
    paths = [path for path in files.folder.path.rglob("*") if path.is_file()]
    return {str(path.relative_to(files.folder.path)): path.read_bytes() for path in paths}


def test_what_a_crash_left_is_taken_away(history: SessionHistory) -> None:
    files = compacted(history)
    arrived(history, LINES)
    before = contents(files)
    folder = files.folder
    for path in (
        folder.checkpoints / "002-never-applied.md",
        folder.conversation_history / f"{STEM.format(2)}.json",
        folder.conversation_history / f".{STEM.format(2)}.md.4242.tmp",
        folder.tool_outputs / "grep_20260101_120000_ab12cd34.txt",
        folder.path / ".workspace.yaml.1.tmp",
    ):
        path.write_text("half")
    for mine in (folder.tool_outputs / "my notes.txt", folder.checkpoints / "README.md", folder.plan_file):
        mine.write_text("mine")
        before[str(mine.relative_to(folder.path))] = b"mine"
    assert len(files.sweep()) == 5
    assert contents(files) == before
    assert files.sweep() == []


def test_what_is_missing_is_written_again_as_it_was(history: SessionHistory) -> None:
    files = compacted(history, times=2)
    arrived(history, LINES)
    arrived(history, "x" * 250_000)
    before = contents(files)
    assert len([name for name in before if name.startswith("tool_outputs/")]) == 2
    assert files.missing() == []
    for path in files.folder.path.rglob("*"):
        if path.is_file():
            path.unlink()
    missing = files.missing()
    assert missing
    assert files.restore() == missing
    kept = set(before) - {f"conversation_history/{STEM.format(1)}.{end}" for end in ("md", "json")}
    again = contents(files)
    assert set(again) == kept, "only the newest summary says where the history is"
    assert again == {name: before[name] for name in kept}
    history.restate(history.view.compactions[-1], undo=True)
    assert files.restore() == [f"{STEM.format(1)}.md", f"{STEM.format(1)}.json"]
    after = contents(files)
    for end in ("md", "json"):
        name = f"conversation_history/{STEM.format(1)}.{end}"
        assert after[name] == before[name]


def test_histories_that_no_summary_stands_for_come_back_as_far_as_there_is_room(
    history: SessionHistory,
) -> None:
    files = compacted(history, times=3)
    before, folder = contents(files), files.folder.conversation_history
    ages = {path.name: path.stat().st_mtime for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    files.restore()
    first = [f"{STEM.format(1)}.{end}" for end in ("md", "json")]
    assert not {path.name for path in folder.iterdir()} & set(first)
    room = sum(len(text) for name, text in before.items() if name.startswith("conversation_history/"))
    for _ in range(2):
        assert SessionFiles(history, room - 1).restore_histories() == []
        assert not {path.name for path in folder.iterdir()} & set(first)
    assert SessionFiles(history, room).restore_histories() == first
    assert contents(files) == before
    assert {path.name: path.stat().st_mtime for path in folder.iterdir()} == pytest.approx(ages, abs=5)
    assert files.restore_histories() == []


def test_an_undone_compaction_leaves_its_checkpoint_and_an_index_that_does_not_list_it(
    history: SessionHistory,
) -> None:
    files = compacted(history)
    history.restate(history.view.compactions[-1], undo=True)
    folder = files.folder
    before = {path: path.read_bytes() for path in folder.checkpoints.iterdir()}
    assert len(before) == 2
    for path in before:
        path.unlink()
    assert files.restore() == [path.name for path in sorted(before)]
    assert {path: path.read_bytes() for path in folder.checkpoints.iterdir()} == before
    assert files.missing() == []


@pytest.mark.parametrize("limit", [0, 10**9])
def test_within_the_limit_nothing_goes(history: SessionHistory, limit: int) -> None:
    compacted(history)
    files = SessionFiles(history, limit)
    before = contents(files)
    files.keep_within()
    assert contents(files) == before


def test_the_oldest_goes_first_and_never_what_the_view_points_to(history: SessionHistory) -> None:
    for number in range(3):
        say(history, "Look.")
        answer(history, "", call=f"c{number}")
        result(history, f"c{number}", f"{number} {LINES}")
    files = SessionFiles(history)
    arrived(history, LINES)
    names = sorted(history.spilled())
    assert len(names) == 4
    for age, name in enumerate(names):
        os.utime(files.folder.path / name, (1_000 + age, 1_000 + age))
    before = contents(files)
    SessionFiles(history, 1).keep_within()
    assert contents(files) == before, "the view points to all of them"
    where = files.folder.conversation_history / f"{STEM.format(1)}.md"
    history.commit(proposal(history, keep=1, text=f"All of it: {where}"))
    size = (files.folder.path / names[0]).stat().st_size
    total = sum(path.stat().st_size for path in files._prunable()[0].iterdir())
    total += sum(path.stat().st_size for path in files._prunable()[1].iterdir())
    before = contents(files)
    SessionFiles(history, total - size // 2).keep_within()
    assert before.keys() - contents(files).keys() == {names[0]}
    SessionFiles(history, 1).keep_within()
    left = set(contents(files))
    assert {f"conversation_history/{STEM.format(1)}.{end}" for end in ("md", "json")} <= left
    assert [name for name in left if name.startswith("tool_outputs/")] == [
        name for name in names if name.split("/")[1] in str(history.items())
    ]
    assert any(name.startswith("checkpoints/") for name in left)
    # The log still has it: undoing the compaction restores the files that the view needs again.
    history.restate(history.view.compactions[-1], undo=True)
    files.restore()
    assert sorted(history.spilled()) == names
    assert (files.folder.path / names[0]).stat().st_size == size


def test_a_disk_that_refuses_stops_nobody(history: SessionHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    files = compacted(history)
    (files.folder.checkpoints / "002-x.md").write_text("half")

    def refuse(*_args: object, **_more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    files.tidy()
    assert (files.folder.checkpoints / "002-x.md").exists()


def test_opened_read_only_nothing_changes(
    history: SessionHistory, store: SqliteStore, tmp_path: Path
) -> None:
    files = compacted(history)
    (files.folder.checkpoints / "002-x.md").write_text("half")
    opened(store, history.session, [], tmp_path)
    assert (files.folder.checkpoints / "002-x.md").exists()


async def test_opening_a_session_looks_after_its_files(desk: Desk) -> None:
    async with desk.session(model="offline:extractive") as first:
        await turn(first.conversation, "what is in README.md?")
        folder = first.folder
    stray = folder.checkpoints / "001-never.md"
    stray.parent.mkdir(exist_ok=True)
    stray.write_text("half")
    again = open_session(desk.opening(session=first.conversation.session, model="offline:extractive"))
    try:
        assert not stray.exists()
    finally:
        await again.prepare()
        await again.close()


def test_opening_looks_at_no_more_compactions_than_it_needs(store: SqliteStore, tmp_path: Path) -> None:
    start = SessionStart(cwd="/w", model="a:b", title="")
    session = store.create(start, time=1.0)
    log: list[Event] = []
    for number in range(1, 301):
        done = CompactionComplete(job=f"j{number}", outcome="success", trigger="manual", summary="Salty.")
        path = f"checkpoints/{number:03d}-salty.md"
        log += [(done, None, 1.0), (CheckpointCreated(number=number, title="salty", path=path), None, 1.0)]
    store.append_many(session, log)
    looked: list[str] = []
    newest = store.newest

    def counted(of: str, types: Collection[str]) -> Iterator[Head]:
        for head in newest(of, types):
            looked.append(head.type)
            yield head

    store.newest = counted  # type: ignore[method-assign]
    history = opened(store, session, [], tmp_path)
    files = SessionFiles(history)
    history.archive.folder.write_checkpoint_file("300-salty.md", 300, "salty", "Salty.")
    assert files.sweep() == []
    assert len(looked) < 10
    # Reading the whole list gives every checkpoint.
    assert [each.number for each in history.archive.checkpoints] == list(range(1, 301))
    assert history.archive.event_of(300) == 600
    history.append(CompactionComplete(job="j", outcome="success", trigger="manual", summary="Salty."))
    history.append(CheckpointCreated(number=301, title="salty", path="checkpoints/301-salty.md"))
    assert (history.archive.compactions, history.archive.event_of(301)) == (301, 602)
