"""What fills the context, and the session in words."""

import asyncio
from pathlib import Path
from typing import Any

from textual.app import App

from tui_app.events import CheckpointCreated
from tui_app.session.location import Server
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.context_source import SessionContext
from tui_app.ui.flows.extras import overview, status_lines
from tui_app.ui.format import count
from tui_app.ui.gauge_marks import marks
from tui_app.ui.screens.checkpoints import CheckpointRow, CheckpointsScreen
from tui_app.ui.screens.context import ContextScreen
from tui_app.ui.screens.details import DetailsScreen
from tui_app.ui.widgets.gauge_text import gauge_text


async def show_context(app: App[Any], session: ChatSession) -> int:
    """Show what fills the context; the number of the message the person wants to see, 0 for none."""
    source = SessionContext(session)
    wanted = await app.push_screen_wait(ContextScreen(source, await source.read(), glyphs=session.glyphs))
    return wanted or 0


async def show_status(app: App[Any], session: ChatSession) -> None:
    """Model, policy, context and session in words."""
    state, launch = session.state, session.launch
    background, blocking = marks(launch.settings, state.usage, state.policy)
    filled = gauge_text(state.usage, background=background, blocking=blocking)
    lines = [
        f"Session    {session.id or 'not started'}",
        f"Folder     {launch.cwd}",
        f"Model      {state.model}",
        f"Policy     {state.policy}",
        f"Context    {filled.replace('·', session.glyphs.separator)}",
        f"Cost       {'unknown' if state.spent is None else f'${state.spent:.4f}'}",
        f"Files      {session.folder}",
        *([f"Kept on    {launch.database.shown}"] if isinstance(launch.database, Server) else []),
        *status_lines(await overview(session)),
    ]
    await app.push_screen_wait(DetailsScreen("Status", "\n".join(lines)))


async def show_history(app: App[Any], session: ChatSession) -> None:
    """Count turns and messages."""
    heads = session.presenter.agent_view.visible()
    entries = session.presenter.view.entries
    turns = sum(entry.kind == "user" and entry.state != "failed" for entry in entries)
    lines = [
        f"{count(turns, 'turn')}, {count(len(entries), 'row')} in the conversation.",
        f"{count(len(heads), 'message')} in the next request.",
    ]
    text = "\n".join(lines) if entries else "Nothing has been said yet."
    await app.push_screen_wait(DetailsScreen("History", text))


async def show_checkpoints(app: App[Any], session: ChatSession) -> None:
    """List the checkpoints, and open the files that are chosen, until the list is closed."""
    marked = 0
    while True:
        rows = await _checkpoints(session)
        if not rows:
            none = "There is no checkpoint yet. One is written whenever the conversation is compacted."
            await app.push_screen_wait(DetailsScreen("Checkpoints", none))
            return
        path = await app.push_screen_wait(CheckpointsScreen(rows, marked))
        if path is None:
            return
        marked = next((place for place, row in enumerate(rows) if row.path == path), 0)
        text = await asyncio.to_thread(_file_text, path)
        await app.push_screen_wait(DetailsScreen(Path(path).name, text))


def _file_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return f"{path} is not on this machine: files stay where they were written."
    except OSError as error:
        return f"The checkpoint file cannot be read: {error.strerror}."


async def _checkpoints(session: ChatSession) -> list[CheckpointRow]:
    standing = set(session.presenter.agent_view.compactions)
    rows: list[CheckpointRow] = []
    compaction = 0
    entries = session.presenter.view.entries
    written = await session.bodies.records([entry.seq for entry in entries if entry.kind == "checkpoint"])
    for entry in entries:
        if entry.kind == "compaction" and entry.state in ("ok", "undone"):
            compaction = entry.seq
        record = written.get(entry.seq)
        if record is not None and isinstance(record.data, CheckpointCreated):
            # The folder may have been moved since.
            path = session.folder / "checkpoints" / Path(record.data.path).name
            rows.append(CheckpointRow(title=entry.title, path=str(path), standing=compaction in standing))
    return rows
