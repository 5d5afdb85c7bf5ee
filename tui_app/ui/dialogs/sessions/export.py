"""Exporting a session to a file."""

import asyncio
from contextlib import closing
from pathlib import Path

from tui_app.files import write_atomic
from tui_app.paths import from_home
from tui_app.refusals import Refusal
from tui_app.session.exports.export import Format
from tui_app.session.exports.export import export_session as export_document
from tui_app.session.stores.database import open_store
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
"""Formats by file extension; a name without one is written as Markdown."""


async def export_session(session: ChatSession, target: str) -> None:
    """Write the conversation in the format of the file's extension; without a name, as Markdown."""
    if not session.presenter.view.entries:
        raise Refusal(NOTHING)
    folder = session.launch.cwd
    path = folder / (from_home(target) if target else f"plimsoll-{session.id}.md")
    if path.suffix and path.suffix.lower() not in _FORMATS:
        raise Refusal(f"Not exported: {path.suffix} is not a format. Use .md, .txt, .html, .json or .jsonl.")
    if not await asyncio.to_thread(path.parent.exists):
        raise Refusal(f"Not exported: there is no folder {path.parent}.")
    if await asyncio.to_thread(path.exists):
        raise Refusal(f"Not exported: {path} exists already. Give another name: /export NAME.")
    await asyncio.to_thread(_write_export, session, path)
    # The end of a path is its informative part.
    shown = path.relative_to(folder) if path.is_relative_to(folder) else path
    session.reply(f"Exported to {shown}. Secrets are masked.")


def _write_export(session: ChatSession, path: Path) -> None:
    with closing(open_store(session.launch.database, read_only=True)) as store:
        format_ = _FORMATS[path.suffix.lower()] if path.suffix else "markdown"
        text = export_document(store, session.id, format=format_, view="user")
    write_atomic(path, text)
