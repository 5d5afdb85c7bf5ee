"""``plimsoll doctor --repair``: the sessions file, the word index, and the files of sessions."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress

from tui_app.cli.core.command import OK, CommandFailed, Program
from tui_app.cli.core.output import answer
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.conversation.files.session_files import SessionFiles
from tui_app.conversation.history.compaction_archive import Archive
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.imports.imports import import_session
from tui_app.events import CompactionComplete
from tui_app.session.damage import examine
from tui_app.session.event_rows import STAGES
from tui_app.session.importers.source import ImportFormatError
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.repair import SET_ASIDE, InUse, mend
from tui_app.session.stores.sqlite_connection import has_events
from tui_app.session.stores.store import SessionStore, explained
from tui_app.session.workspace import SessionFolder
from tui_app.settings import Settings, SettingsError
from tui_app.text import count

_WITH_FILES = (CompactionComplete.TYPE, *STAGES)


def repair(program: Program, *, as_json: bool) -> int:
    """Examine everything that stores sessions, and repair what is wrong.

    Raises:
        CommandFailed: if a session is open, or nothing can be read.
    """
    done: list[str] = []
    paths, stamp = program.paths, time.strftime("%Y%m%d-%H%M%S")
    file = program.sessions_file
    with ProgressLine("Checking the sessions file") as line:
        health = examine(file, paths.sessions_dir)
        line.update("Repairing the sessions file")
        try:
            done += mend(health, file, paths.sessions_dir, stamp=stamp)
        except InUse as error:
            raise CommandFailed(f"{error} Nothing was changed.") from error
        line.update("Checking session files")
        if health.missing and not has_events(file):
            done += _from_folders(program)
        if has_events(file):
            done += _files(program)
    answer({"repaired": done}, *(done or ["Nothing to repair."]), as_json=as_json)
    return OK


def _from_folders(program: Program) -> Iterator[str]:
    """Create a session from each folder whose log is lost."""
    with program.sessions(writing=True) as store:
        for folder in sorted((program.paths.data / SET_ASIDE).iterdir()):
            histories = sorted(folder.glob("conversation_history/*.json"))
            with suppress(ImportFormatError, OSError, IndexError):
                file, now = histories[-1], time.time()
                made = import_session(
                    file, store=store, cwd=program.cwd, now=now, format="pydantic-ai", again=True
                )
                yield f"Session {made.session} has what {folder.name} kept: {count(made.messages, 'message')}"


def _files(program: Program) -> list[str]:
    """Restore missing files of sessions, and delete incomplete files that crashes left."""
    done: list[str] = []
    try:
        settings = program.settings()
    except SettingsError:
        settings = Settings()
    limit = settings.session_files_mb << 20
    with program.sessions(writing=True) as store:
        for session in sorted(info.id for info in store.sessions(hidden=True)):
            folder = SessionFolder.named(program.paths.sessions_dir, session)
            # Other sessions have no files of their own, and need none.
            if not folder.path.exists() and not any(store.newest(session, _WITH_FILES)):
                continue
            try:
                # Opening a session does the same.
                with suppress(SessionLocked), WriterLock(folder.lock_file):
                    done += _files_of(store, session, folder, limit)
            except sqlite3.Error as error:
                reason = explained(error, program.sessions_file)
                done.append(f"{session}: not repaired, skipped. {reason}")
    return done


def _files_of(store: SessionStore, session: str, folder: SessionFolder, limit: int) -> list[str]:
    """Repair the files of one session; return a sentence for each change."""
    history = SessionHistory(
        store=store,
        session=session,
        archive=Archive(folder),
        counter=TokenCounter(TextCounter(None)),
        publish=lambda _record: None,
        model="",
    )
    history.load()
    files, done = SessionFiles(history, limit), []
    if stray := files.sweep():
        are = "is" if len(stray) == 1 else "are"
        done.append(f"{session}: {count(len(stray), 'unfinished file')} of a crash {are} deleted")
    if names := [*files.restore(), *files.restore_histories()]:
        done.append(f"{session}: rewritten: {', '.join(names)}")
    return done
