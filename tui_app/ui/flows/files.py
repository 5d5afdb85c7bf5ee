"""Taking text out of the program: files."""

import asyncio
from pathlib import Path

from tui_app.atomic import write_atomic
from tui_app.session.export import export_markdown
from tui_app.session.store import Store
from tui_app.ui.chat_session import ChatSession


async def export_session(session: ChatSession, target: str) -> None:
    """Write the conversation as Markdown; without a name next to the workspace's files."""
    path = _destination(session, target)
    try:
        if await asyncio.to_thread(path.exists):
            session.say(f"Not exported: {path} exists already. Give another name: /export NAME.")
            return
        await asyncio.to_thread(_write, session, path)
    except OSError as error:
        session.say(f"Not exported: {path} cannot be written ({error.strerror}).")
        return
    session.say(f"Exported to {path}")


def _destination(session: ChatSession, target: str) -> Path:
    path = Path(target).expanduser() if target else Path(f"plimsoll-{session.id}.md")
    return path if path.is_absolute() else session.launch.cwd / path


def _write(session: ChatSession, path: Path) -> None:
    store = Store(session.launch.paths.database, read_only=True)
    try:
        records = [record for record, _ in store.records(session.id)]
    finally:
        store.close()
    write_atomic(path, export_markdown(records, title=session.state.title or session.id))
