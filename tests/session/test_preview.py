"""What is shown of a session before the agent side has loaded."""

from pathlib import Path

from tui_app.events import SessionStart, UserMessage
from tui_app.session.entries import Entry
from tui_app.session.preview import StoreBodies, load_preview
from tui_app.session.store import Store


def test_text_that_is_damaged_is_told_in_its_place(tmp_path: Path) -> None:
    """Rows are painted in the middle of a frame: nothing may be raised there."""
    path = tmp_path / "sessions.db"
    store = Store(path)
    session = store.create(SessionStart(cwd="/tmp", model="a:b"), time=1.0)
    store.append(session, UserMessage(text="The sea is salty."), None, time=2.0)
    page = store._db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()[0]
    size = store._db.execute("PRAGMA page_size").fetchone()[0]
    store.close()
    entry = load_preview(path, session).view.entries[0]
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)
    reading = Store(path, read_only=True)
    text = StoreBodies(reading, session).body(entry).text
    reading.close()
    assert text.startswith(f"Not a readable Plimsoll database: {path}")
    assert "Nothing was deleted" in text


def test_text_that_cannot_be_read_for_another_reason(tmp_path: Path) -> None:
    store = Store(tmp_path / "sessions.db")
    store.close()
    body = StoreBodies(store, "abcd").body(Entry(seq=2, kind="user", time=1.0, title="Hello"))
    assert body.text.startswith("This text cannot be read: ")
