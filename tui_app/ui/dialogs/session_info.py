"""What a session is and holds, and what its compactions lost: ``/status``, ``/history``, ``/audit``."""

import asyncio
import sqlite3
from typing import Any

from textual.app import App

from tui_app.conversation.requests.policies import choose_policy, policy_names
from tui_app.settings.spec import SessionServer
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.details import DetailsScreen, labelled
from tui_app.ui.dialogs.extensions.mcp import overview, status_lines
from tui_app.ui.panels.gauge import marks
from tui_app.ui.panels.welcome import branch_of
from tui_app.ui.words.load import Load
from tui_app.ui.words.reports import audit_lines, read_audit
from tui_app.ui.words.text import cost, count, one_line

WEB_SEARCH = "by providers that offer it, at their price for each search"


async def show_status(app: App[Any], session: ChatSession) -> None:
    """Show model, policy, context and session."""
    state, launch = session.state, session.launch
    background, blocking = marks(launch.settings, state.usage, state.policy)
    filled = Load(state.usage, background, blocking).text
    branch = await asyncio.to_thread(branch_of, launch, "none checked out", ", with uncommitted changes", 200)
    rows = (
        ("Session", session.id or "not started"),
        ("Folder", str(launch.cwd)),
        ("Branch", branch),
        *(("" if number else "Added", one_line(str(each), 200)) for number, each in enumerate(launch.added)),
        ("Model", state.model),
        ("Effort", state.effort or launch.settings.thinking),
        ("Policy", state.policy),
        ("Context", filled.replace("·", "-" if launch.settings.plain else "·")),
        ("Cost", "unknown" if state.costs.usd is None else cost(state.costs.usd)),
        ("Web search", WEB_SEARCH if launch.settings.web_search else ""),
        ("Files", str(session.folder)),
        ("Kept on", launch.database.shown if isinstance(launch.database, SessionServer) else ""),
    )
    facts = (line for label, each in rows if each for line in labelled(label, [each]))
    lines = [*facts, *status_lines(await overview(session))]
    await app.push_screen_wait(DetailsScreen("Status", "\n".join(lines)))


async def show_history(app: App[Any], session: ChatSession) -> None:
    heads = session.presenter.agent_view.visible()
    entries = session.presenter.view.entries
    turns = sum(entry.kind == "user" and entry.state != "failed" for entry in entries)
    lines = [
        f"{count(turns, 'turn')}, {count(len(entries), 'row')} in the conversation.",
        f"{count(len(heads), 'message')} in the next request.",
    ]
    text = "\n".join(lines) if entries else "Nothing has been said yet."
    await app.push_screen_wait(DetailsScreen("History", text))


async def show_audit(app: App[Any], session: ChatSession) -> None:
    """Show what the session's compactions lost; the log is read, and replayed, in a thread."""
    launch = session.launch

    def read() -> str:
        if not session.id:
            return "Nothing has been said yet."
        policies = [choose_policy(launch.settings, name) for name in policy_names(launch.settings)]
        try:
            found = read_audit(launch.database, session.id, policies=policies)
        except (sqlite3.Error, OSError) as error:
            return f"The log cannot be read: {error}. Try /audit again."
        return "\n".join(audit_lines(found.to_json()))

    await app.push_screen_wait(DetailsScreen("Audit", read))
