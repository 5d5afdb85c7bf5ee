"""What fills the context, and the session in words."""

from typing import Any

from textual.app import App

from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.context_source import SessionContext
from tui_app.ui.flows.extras import overview, status_lines
from tui_app.ui.screens.context import ContextScreen
from tui_app.ui.screens.details import DetailsScreen
from tui_app.ui.widgets.chat_pane import marks
from tui_app.ui.widgets.gauge_text import gauge_text


async def show_context(app: App[Any], session: ChatSession) -> int:
    """Show what fills the context; the number of the message the person wants to see, 0 for none."""
    source = SessionContext(session)
    wanted = await app.push_screen_wait(ContextScreen(source, await source.read(), glyphs=session.glyphs))
    rows_of = {entry.result_seq: entry.seq for entry in session.presenter.view.entries if entry.result_seq}
    return rows_of.get(wanted or 0, wanted or 0)


async def show_status(app: App[Any], session: ChatSession) -> None:
    """Model, policy, context and session in words."""
    state, launch = session.state, session.launch
    background, blocking = marks(launch.settings, state.usage, state.policy)
    lines = [
        f"Session    {session.id or 'not started'}",
        f"Folder     {launch.cwd}",
        f"Model      {state.model}",
        f"Policy     {state.policy}",
        f"Context    {gauge_text(state.usage, background=background, blocking=blocking)}",
        f"Cost       {'unknown' if state.spent is None else f'${state.spent:.4f}'}",
        f"Files      {session.folder}",
        *status_lines(await overview(session)),
    ]
    await app.push_screen_wait(DetailsScreen("Status", "\n".join(lines)))


async def show_history(app: App[Any], session: ChatSession) -> None:
    """Count turns and messages."""
    heads = session.presenter.agent_view.visible()
    entries = session.presenter.view.entries
    turns = sum(entry.kind == "user" for entry in entries)
    lines = [
        f"{turns} turns, {len(entries)} entries in the log.",
        f"{len(heads)} messages in the next request.",
    ]
    await app.push_screen_wait(DetailsScreen("History", "\n".join(lines)))


async def show_checkpoints(app: App[Any], session: ChatSession) -> None:
    """List the checkpoint files."""
    entries = [entry for entry in session.presenter.view.entries if entry.kind == "checkpoint"]
    lines = [f"{entry.title}" for entry in entries]
    where = f"\n{session.folder / 'checkpoints'}"
    none = "Checkpoints are written when the conversation is compacted."
    text = "\n".join([*lines, where]) if lines else none
    await app.push_screen_wait(DetailsScreen("Checkpoints", text))
