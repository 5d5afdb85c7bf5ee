"""``/import``: choose a conversation of another program, read it, and go on with it."""

import asyncio
import logging
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_app.context.storage_errors import storage_error
from tui_app.conversation.import_watch import (
    EarlierImport,
    ImportProgress,
    ImportStopped,
    Stoppable,
    earlier_imports,
    imported_as,
)
from tui_app.paths import from_home
from tui_app.session.importers import ImportFormatError
from tui_app.session.importers.discovery import LocalTranscript, find_transcripts
from tui_app.session.stores import has_begun, open_store
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.format import count
from tui_app.ui.launch import Launch
from tui_app.ui.screens.details import DetailsScreen
from tui_app.ui.screens.import_list import BY_NAME, ImportScreen, TranscriptRow
from tui_app.ui.screens.import_progress import ImportProgressDialog

if TYPE_CHECKING:
    from tui_app.conversation.imports import ImportReport

_LOG = logging.getLogger(__name__)


async def import_transcript(app: App[Any], session: ChatSession, argument: str) -> str:
    """Import a file, or one that the person chooses from those on this machine.

    Args:
        app: Shows the screens.
        session: The open session, which is told when an import is stopped.
        argument: The file; empty to choose from a list.

    Returns:
        Id of the session to open; empty when there is none.
    """
    if argument:
        return await _import(app, session, _named(session.launch, argument))
    row = await _choose(app, session.launch)
    if row is None:
        return ""
    if row.session and not row.changed:
        return row.session
    return await _import(app, session, Path(row.path))


def _named(launch: Launch, argument: str) -> Path:
    return launch.cwd / from_home(argument.strip("\"'"))


async def _choose(app: App[Any], launch: Launch) -> TranscriptRow | None:
    """Show the list at once, and what is in it as soon as the search has ended."""
    screen, closed = ImportScreen(), threading.Event()

    async def fill() -> None:
        try:
            screen.show(await asyncio.to_thread(_find, launch, closed))
        except Exception as error:  # nobody waits for this task: the list would look for ever
            _LOG.exception("the list of transcripts failed")
            screen.fail(f"The list cannot be made: {_why(error) or type(error).__name__}. {BY_NAME}")

    search = asyncio.create_task(fill())
    try:
        return await app.push_screen_wait(screen)
    finally:
        # The thread ends at its next file; nobody waits for what it found.
        closed.set()
        await asyncio.gather(search, return_exceptions=True)


def _find(launch: Launch, closed: threading.Event) -> list[TranscriptRow]:
    home = Path(launch.env.get("HOME", "").strip() or Path.home())
    found = find_transcripts(launch.env, home=home, cwd=launch.cwd, go_on=lambda: not closed.is_set())
    earlier = _earlier(launch)
    before = [imported_as(each.path, earlier) for each in found]
    return [
        _row(each, known.session if known else "", known is not None and each.time > known.time)
        for each, known in zip(found, before, strict=True)
    ]


def _earlier(launch: Launch) -> dict[str, EarlierImport]:
    """Sessions that files became before; a convenience: without them everything can still be imported."""
    try:
        if not has_begun(launch.database):
            return {}
        with closing(open_store(launch.database, read_only=True)) as store:
            return earlier_imports(store)
    except sqlite3.Error:
        return {}


def _row(found: LocalTranscript, session: str, changed: bool) -> TranscriptRow:
    return TranscriptRow(
        path=str(found.path),
        program=found.program,
        title=found.title,
        cwd=found.cwd,
        time=found.time,
        size=found.size,
        session=session,
        changed=changed,
    )


async def _import(app: App[Any], session: ChatSession, path: Path) -> str:
    """Read a file with its progress on the screen; Esc stops it, and nothing is left of it then."""
    loop = asyncio.get_running_loop()

    def told(progress: ImportProgress) -> None:
        loop.call_soon_threadsafe(dialog.show, _words(progress))

    job = Stoppable(told)
    dialog = ImportProgressDialog(path.name, job.stop)
    work = asyncio.create_task(asyncio.to_thread(_write, session.launch, path, job))
    work.add_done_callback(lambda _: dialog.end())
    if not await app.push_screen_wait(dialog):
        # The thread notices at its next step, which may be seconds away in a file that is one line.
        session.say("Stopping the import…")
    try:
        report = await work
    except ImportStopped:
        session.say("Import stopped. Nothing was imported.")
        return ""
    except (ImportFormatError, OSError, sqlite3.Error) as error:
        told_why = storage_error(error, session.launch.paths.database) or _why(error)
        await app.push_screen_wait(DetailsScreen("Not imported", f"{path}\n\n{told_why}"))
        return ""
    if report.skipped or report.notes:
        await app.push_screen_wait(DetailsScreen("Imported", _account(report)))
    return report.session


def _write(launch: Launch, path: Path, job: Stoppable) -> "ImportReport":
    # Reading needs pydantic-ai, which the first frame does not wait for.
    from tui_app.conversation.imports import import_session

    launch.paths.ensure()
    with closing(open_store(launch.database)) as store:
        return import_session(path, store=store, cwd=launch.cwd, now=time.time(), watch=job.watch)


def _words(progress: ImportProgress) -> str:
    match progress.doing:
        case "reading":
            return "Reading the file…"
        case "counting":
            return f"Counting tokens: {progress.done:,} of {progress.total:,} events"
        case _:
            return "Writing the session…"


def _why(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _account(report: "ImportReport") -> str:
    """What became of a file, line by line where something could not be used."""
    lines = [
        f"{report.title}",
        f"{count(report.messages, 'message')}, {count(report.tool_calls, 'tool call')}, "
        f"{count(report.tool_results, 'result')}, from a file of {report.format}.",
        "",
        *report.notes,
    ]
    lines += [f"Line {each.line}: {each.reason}" for each in report.skipped]
    return "\n".join(lines)
