"""The preview of a session, shown before the agent side has loaded."""

from pathlib import Path
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from tests.session.test_folds import EVERY
from tests.session.test_snapshots import Written, stored
from tui_app.events import SessionStart, UserMessage
from tui_app.session import preview as previews
from tui_app.session.preview import StoreBodies, all_rows, load_preview
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.entries import Entry
from tui_app.session.views.user_view import fold_user_view


def test_text_that_is_damaged_is_told_in_its_place(tmp_path: Path) -> None:
    """Rows are rendered in the middle of a frame, where an exception must not occur."""
    path = tmp_path / "sessions.db"
    store = SqliteStore(path)
    session = store.create(SessionStart(cwd="/tmp", model="a:b"), time=1.0)
    store.append(session, UserMessage(text="The sea is salty."), None, time=2.0)
    page = store._db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()[0]
    size = store._db.execute("PRAGMA page_size").fetchone()[0]
    store.close()
    entry = load_preview(path, session).view.entries[0]
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)
    reading = SqliteStore(path, read_only=True)
    text = StoreBodies(reading, session).body(entry).text
    reading.close()
    assert text.startswith(f"Not a readable Plimsoll database: {path}")
    assert "Nothing was deleted" in text


def test_text_that_cannot_be_read_for_another_reason(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    store.close()
    body = StoreBodies(store, "abcd").body(Entry(seq=2, kind="user", time=1.0, title="Hello"))
    assert body.text.startswith("This text cannot be read: ")


@given(EVERY, EVERY, st.integers(1, 9))
def test_the_newest_rows_are_those_that_the_whole_log_makes(
    before: list[tuple[str, int]], after: list[tuple[str, int]], rows: int
) -> None:
    with stored(5) as store, mock.patch.object(previews, "_ROWS", rows):
        session = Written(store=store)
        session.begin()
        for step, choice in before:
            # Rewinding needs the number of a prompt.
            session.play(step.replace("any rewind", "rewind"), choice)
        shown = load_preview(store.path, session.session)
        whole = all_rows(store.path, session.session, shown.last)
        assert whole == fold_user_view(session.heads)
        assert shown.agent_view == session.agent
        newest = [row for row in whole.entries if row.seq >= shown.view.since]
        assert shown.view.entries == newest
        folded = len(session.heads)
        for step, choice in after:
            session.play(step.replace("any rewind", "rewind"), choice)
        for head in session.heads[folded:]:
            whole.apply(head)
        assert whole.entries == session.user.entries
