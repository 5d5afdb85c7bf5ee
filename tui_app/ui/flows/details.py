"""Opening what a row stands for: a compaction with its summary, an error with its raw text."""

from pathlib import Path
from typing import Any

from textual.app import App

from tui_app.context.events import CompactionComplete, Error, Record
from tui_app.session.agent_view import in_ranges
from tui_app.session.entries import Entry
from tui_app.session.places import Database, open_store
from tui_app.session.view_diff import Difference, compaction_diff
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.screens.compaction_detail import CompactionDetail, CompactionView
from tui_app.ui.screens.details import DetailsScreen


async def open_entry(app: App[Any], session: ChatSession, entry: Entry) -> None:
    """Show the details of a row."""
    record = session.bodies.record(session.id, entry.seq)
    if record is None:
        return
    match record.data:
        case CompactionComplete(outcome="success"):
            await _compaction(app, session, entry, record)
        case CompactionComplete(reason=reason):
            await app.push_screen_wait(DetailsScreen("Compaction", reason or entry.title))
        case Error(message=message, hint=hint, detail=detail):
            text = "\n\n".join(part for part in (message, hint, detail) if part)
            await app.push_screen_wait(DetailsScreen("What went wrong", text))
        case _:
            body = session.bodies.body(entry)
            text = "\n\n".join(part for part in (body.args, body.thinking, body.text) if part)
            await app.push_screen_wait(DetailsScreen(entry.title, text))


async def _compaction(app: App[Any], session: ChatSession, entry: Entry, record: Record) -> None:
    done = record.data
    assert isinstance(done, CompactionComplete)
    standing = session.presenter.agent_view.compactions
    undone = session.presenter.agent_view.undone
    entries = session.presenter.view.entries
    left = [e for e in entries if _carried(e) and in_ranges(e.result_seq or e.seq, done.removed)]
    gone = {e.seq for e in left}
    view = CompactionView(
        done=done,
        seq=entry.seq,
        time=record.time,
        undone=entry.state == "undone",
        left=left,
        stayed=[e for e in entries if _carried(e) and e.seq < entry.seq and e.seq not in gone],
        can_undo=not session.read_only and entry.seq in (*standing[-1:], *undone[-1:]),
        diff=lambda: read_diff(session.launch.database, session.id, entry.seq),
        checkpoint_text=lambda: read_checkpoint(done),
    )
    choice = await app.push_screen_wait(CompactionDetail(view, glyphs=session.glyphs))
    if choice == "undo":
        session.restate(undo=True, compaction=entry.seq)
    elif choice == "redo":
        session.restate(undo=False, compaction=entry.seq)


def _carried(entry: Entry) -> bool:
    """Whether a row stands for messages of the model's view."""
    return entry.kind in ("user", "assistant", "tool", "system")


def read_diff(database: Database, session: str, compaction: int) -> list[Difference]:
    """What a compaction did to the view, read with a connection of the caller's own."""
    store = open_store(database, read_only=True)
    try:
        return compaction_diff(store.heads(session), compaction)
    finally:
        store.close()


def read_checkpoint(done: CompactionComplete) -> str:
    """Text of a checkpoint file; where that cannot be read, why not, and the summary as the log has it."""
    try:
        return Path(done.checkpoint_path).read_text(encoding="utf-8")
    except FileNotFoundError:
        why = f"{done.checkpoint_path} is not on this machine: files stay where they were written."
    except OSError as error:
        why = f"The checkpoint file cannot be read: {error.strerror}."
    return f"{why}\n\nThe summary, from the log:\n\n{done.summary}"
