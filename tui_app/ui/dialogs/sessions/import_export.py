"""Importing another program's transcript to continue it."""

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Static

from tui_app.context.storage_errors import storage_error
from tui_app.conversation.imports.earlier_imports import earlier_imports, imported_as
from tui_app.conversation.imports.import_progress import (
    ImportedAlready,
    ImportProgress,
    ImportStopped,
    Stoppable,
)
from tui_app.conversation.imports.imports import ImportReport, import_session
from tui_app.events import Record
from tui_app.paths import from_home
from tui_app.refusals import Refusal
from tui_app.session.importers.discovery import find_transcripts
from tui_app.session.importers.places import LocalTranscript
from tui_app.session.importers.source import ImportFormatError
from tui_app.session.stores.database import open_store
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.list import ROOMY, ListDialog, ListSpec
from tui_app.ui.dialogs.questions import DetailedChoice, Way
from tui_app.ui.dialogs.sessions.session_choice import Chosen, go_to
from tui_app.ui.launch import Launch
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.cost_words import window_text
from tui_app.ui.words.text import clean, clock, count, file_size, one_line, tokens
from tui_app.usage import percent_text

if TYPE_CHECKING:
    from tui_app.ui.host import Host


class TranscriptRow(NamedTuple):
    """One transcript of the list."""

    found: LocalTranscript
    session: str = ""
    """The session it was imported into; empty if it was not."""
    changed: bool = False
    """Whether it has changed since it was imported."""


BY_NAME, _READING = "/import FILE imports any file.", "Reading the file…"


def transcript_note(row: TranscriptRow) -> str:
    """Return its file, and what enter does if it was imported before."""
    again = ""
    if row.session:
        again = " · enter imports it again" if row.changed else f" · enter opens session {row.session}"
    return f"{one_line(str(row.found.path), 160)}{again}"


class ImportScreen(ListDialog[TranscriptRow]):
    """Dismisses with a transcript, or ``None``. It is shown before the search for transcripts ends."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[TranscriptRow](
        name="import",
        search="filter by title, program, folder or file",
        columns=(
            Column(lambda row: clock(row.found.time, "%Y-%m-%d %H:%M"), 18, leaves_at=ROOMY),
            Column(lambda row: clock(row.found.time, "%Y-%m-%d"), 12, comes_below=ROOMY),
            Column(lambda row: row.found.program, 13),
            Column(lambda row: row.found.title or row.found.path.name, tone="bold"),
            Column(lambda row: file_size(row.found.size) if row.found.size else "", 10, "", right=True),
            Column(lambda row: row.session and ("  changed" if row.changed else "  imported"), 10, gap=0),
            Column(lambda row: f"  {PurePath(row.found.cwd).name}", 18, leaves_at=ROOMY),
        ),
        title=lambda _: "Sessions of other programs",
        words=lambda row: f"{row.found.title} {row.found.program} {row.found.cwd} {row.found.path}",
        note=transcript_note,
        empty="No matching transcript.",
        none="Looking for transcripts…",
        enter="import",
    )


class ImportProgressDialog(Dialog[bool], place="importing", size="-small"):
    """Dismisses with ``True`` when the import has ended, and with ``None`` when it was stopped."""

    def __init__(self, name: str, stop: Callable[[], bool]) -> None:
        """Show that a file is being read.

        Args:
            name: The name of the file.
            stop: Stops the import; returns whether that was possible.
        """
        super().__init__(f"Importing {one_line(name, 60)}")
        self._stop = stop
        self._progress = Static(_READING, id="import-progress", markup=False)
        self._has_ended = False

    def body(self) -> ComposeResult:
        yield self._progress

    def show(self, text: str) -> None:
        self._progress.update(text)

    def end(self) -> None:
        """Close after the import has ended, whatever its result; possibly before it is shown."""
        self._has_ended = True
        self.on_screen_resume()

    def on_screen_resume(self) -> None:
        # A question may be above it: Textual always pops the topmost screen.
        if self._has_ended and self.is_active:
            self.dismiss(True)

    def action_close(self) -> None:
        """Stop the import, unless the session is already being written."""
        if self._stop():
            self.dismiss(None)
        else:
            self.show("Saving the session; too late to cancel.")


class ImportedDialog(DetailedChoice, place="imported"):
    """Shows what was imported and its size; dismisses with ``open``, ``compact``, or None for later."""

    def __init__(self, report: ImportReport, size: int, window: int) -> None:
        """Ask how to continue.

        Args:
            report: The result of the import.
            size: Tokens of the next request.
            window: The model's context window in tokens; 0 if unknown.
        """
        share = f", {percent_text(size, window)} of {window_text(window)}" if window else ""
        ways = (
            Way("Open", "continue it here", "open"),
            Way("Compact", "open it and replace older messages by a summary", "compact"),
            Way("Later", "it is in the list of sessions"),
        )
        notes = (*report.notes, *(f"Line {each.line}: {each.reason}" for each in report.skipped))
        detail = Content.assemble(
            f"{count(report.messages, 'message')}, {count(report.tool_calls, 'tool call')}, "
            f"{count(report.tool_results, 'result')} from {report.format}\n~{tokens(size)} tokens{share}",
            ("\n".join(("", *map(clean, notes))), MUTED),
        )
        super().__init__(f"Imported: {one_line(report.title, 60)}", ways, detail)


_LOG = logging.getLogger(__name__)


async def import_transcript(app: "Host", session: ChatSession, argument: str) -> None:
    """Import a file, or one that the user chooses from those on this machine, and go to its session."""
    chosen: Chosen | None = None
    if argument:
        chosen = await _import(app, session, session.launch.cwd / from_home(argument.strip("\"'")))
    elif (row := await _choose(app, session.launch)) is not None:
        is_here = row.session and not row.changed
        chosen = Chosen(row.session) if is_here else await _import(app, session, row.found.path)
    if chosen is not None:
        await go_to(app, session, chosen)


async def _choose(app: App[Any], launch: Launch) -> TranscriptRow | None:
    """Show the list at once, and fill it when the search has ended."""
    screen, closed = ImportScreen(), threading.Event()

    async def fill() -> None:
        try:
            found = await asyncio.to_thread(_find, launch, closed)
            screen.show(found, "" if found else f"No transcripts of other tools were found. {BY_NAME}")
        except Exception as error:  # nothing else would report it
            _LOG.exception("the list of transcripts failed")
            screen.show((), f"The transcripts cannot be listed: {_error_text(error)}. {BY_NAME}")

    search = asyncio.create_task(fill())
    try:
        return await app.push_screen_wait(screen)
    finally:
        # The thread ends at its next file; its result is dropped.
        closed.set()
        await asyncio.gather(search, return_exceptions=True)


def _find(launch: Launch, closed: threading.Event) -> list[TranscriptRow]:
    home = Path(launch.env.get("HOME", "").strip() or Path.home())
    found = find_transcripts(launch.env, home=home, cwd=launch.cwd, go_on=lambda: not closed.is_set())
    earlier: dict[str, Record] = {}
    # A convenience: without a database, everything can still be imported.
    with suppress(sqlite3.Error), closing(open_store(launch.database, read_only=True)) as store:
        earlier = earlier_imports(store)
    before = [imported_as(each.path, earlier) for each in found]
    return [
        TranscriptRow(each, known.session, each.time > known.time) if known else TranscriptRow(each)
        for each, known in zip(found, before, strict=True)
    ]


async def _import(app: App[Any], session: ChatSession, path: Path) -> Chosen | None:
    """Import a file while showing the progress; esc stops it, and then nothing is imported."""
    loop = asyncio.get_running_loop()

    def on_progress(progress: ImportProgress) -> None:
        counting = f"Counting tokens: {progress.done:,} of {progress.total:,} events"
        words = {"reading": _READING, "counting": counting}.get(progress.doing, "Writing the session…")
        loop.call_soon_threadsafe(dialog.show, words)

    job = Stoppable(on_progress)
    dialog = ImportProgressDialog(path.name, job.stop)
    work = asyncio.create_task(asyncio.to_thread(_write, session.launch, path, job, session.state.model))
    work.add_done_callback(lambda _: dialog.end())
    if not await app.push_screen_wait(dialog):
        # The thread stops at its next step, which may take seconds in a file with a single line.
        session.reply("Stopping the import…")
    try:
        report, size, is_ours = await work
    except ImportStopped:
        raise Refusal("Import stopped. Nothing was imported.") from None
    except ImportedAlready as found:
        session.reply("Another window has just imported this file. Its session is opened.")
        return Chosen(found.session)
    except (ImportFormatError, OSError, sqlite3.Error) as error:
        why = storage_error(error, session.launch.paths.database) or _error_text(error)
        await app.push_screen_wait(DetailsScreen("Not imported", f"{path}\n\n{why}"))
        return None
    window = session.state.usage.window.stated if is_ours and session.state.usage else 0
    way = await app.push_screen_wait(ImportedDialog(report, size, window))
    if way is None:
        session.reply(f"Imported {one_line(report.title, 40)}. /resume opens it.")
        return None
    return Chosen(report.session, then="/compact" if way == "compact" else "")


def _write(launch: Launch, path: Path, job: Stoppable, model: str) -> tuple[ImportReport, int, bool]:
    """Import a file to continue it with a model, unless it is our own and has one.

    Returns:
        The report, the tokens of the session's next request, and whether it uses the given model.
    """
    launch.paths.ensure()
    with closing(open_store(launch.database)) as store:
        report = import_session(
            path, store=store, cwd=launch.cwd, now=time.time(), model=model, again=True, watch=job.watch
        )
        size = sum(sum(head.tokens.values()) for head in store.agent_view(report.session).visible())
        return report, size, store.info(report.session).model == model


def _error_text(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
