"""Taking text out of the program: the clipboard and files."""

import asyncio
from pathlib import Path
from typing import Any

from textual.app import App

from tui_app.atomic import write_atomic
from tui_app.session.export import export_markdown
from tui_app.session.places import open_store
from tui_app.ui.chat_session import ChatSession


def copy_answer(app: App[Any], session: ChatSession) -> None:
    """Put the last answer on the clipboard as Markdown (OSC 52, where the terminal takes it)."""
    answers = [entry for entry in session.presenter.view.entries if entry.kind == "assistant"]
    if not answers:
        session.say("There is no answer to copy yet.")
        return
    text = session.bodies.body(answers[-1]).text
    app.copy_to_clipboard(text)
    count = text.count("\n") + 1
    session.say(f"Copied {count} line{'s' if count != 1 else ''}.")


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
    store = open_store(session.launch.database, read_only=True)
    try:
        records = [record for record, _ in store.records(session.id)]
    finally:
        store.close()
    write_atomic(path, export_markdown(records, title=session.state.title or session.id))
