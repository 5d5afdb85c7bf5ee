"""Taking text out of the program: files."""

import asyncio
import sqlite3
from pathlib import Path

from tui_app.context.storage_errors import storage_error
from tui_app.conversation.exports import Format
from tui_app.conversation.exports import export_session as export_document
from tui_app.files import write_atomic
from tui_app.paths import from_home
from tui_app.session.database import open_store
from tui_app.ui.chat.session import ChatSession

NOTHING = "Nothing to export: nothing has been said yet."
_FORMATS: dict[str, Format] = {
    ".htm": "html",
    ".html": "html",
    ".json": "pydantic-ai",
    ".jsonl": "jsonl",
    ".markdown": "markdown",
    ".md": "markdown",
    ".txt": "markdown",
}
"""Formats by the end of a file's name; one without an end is of Markdown."""


async def export_session(session: ChatSession, target: str) -> None:
    """Write the conversation in the format that the name ends in; without a name, as Markdown."""
    if not session.presenter.view.entries:
        session.say(NOTHING)
        return
    path = _destination(session, target)
    if path.suffix and path.suffix.lower() not in _FORMATS:
        session.say(f"Not exported: {path.suffix} is no format. Use .md, .txt, .html, .json or .jsonl.")
        return
    try:
        if not await asyncio.to_thread(path.parent.exists):
            session.say(f"Not exported: there is no folder {path.parent}.")
            return
        if await asyncio.to_thread(path.exists):
            session.say(f"Not exported: {path} exists already. Give another name: /export NAME.")
            return
        await asyncio.to_thread(_write, session, path)
    except OSError as error:
        session.say(f"Not exported: {path} cannot be written ({error.strerror or error}).")
        return
    except sqlite3.Error as error:
        told = storage_error(error, session.launch.paths.database) or error
        session.say(f"Not exported: the session cannot be read. {told}")
        return
    session.say(f"Exported to {_short(path, session.launch.cwd)}. Secrets are masked.")


def _short(path: Path, folder: Path) -> Path:
    """A path as it reads from the folder that is worked in: its end is what a user looks for."""
    return path.relative_to(folder) if path.is_relative_to(folder) else path


def _destination(session: ChatSession, target: str) -> Path:
    path = from_home(target) if target else Path(f"plimsoll-{session.id}.md")
    return path if path.is_absolute() else session.launch.cwd / path


def _write(session: ChatSession, path: Path) -> None:
    store = open_store(session.launch.database, read_only=True)
    try:
        format_ = _FORMATS[path.suffix.lower()] if path.suffix else "markdown"
        text = export_document(store, session.id, format=format_, view="user")
    finally:
        store.close()
    write_atomic(path, text)
