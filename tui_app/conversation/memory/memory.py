"""Memory in a conversation: its board is given to new sessions and updated when one ends."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice

from tui_app.context.message_marks import inbox_message, inbox_text
from tui_app.conversation.compactions.summary_writers import SummaryWriters
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.memory.board_log import BoardLog
from tui_app.conversation.memory.boards import boards_in, lock_of, session_scope
from tui_app.conversation.memory.memory_reader import SessionReader
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import (
    BranchMerged,
    Handoff,
    MemoryConsolidated,
    MemoryInbox,
    Notice,
    Record,
    ShellResult,
    TurnEnd,
    UserMessage,
)
from tui_app.memory.board import Added, ContextBoard, rank
from tui_app.memory.entries import KINDS, PERSON, Draft, DueSession, Entry
from tui_app.memory.scope import Scope
from tui_app.providers import OFFLINE
from tui_app.records import frozen, like, picked
from tui_app.session.background import where_open
from tui_app.session.event_rows import CARRYING
from tui_app.session.exclusions import excluded_in
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.stores.database import open_store
from tui_app.session.stores.store import SessionInfo, SessionNotFound, is_session_id
from tui_app.settings.spec import MemorySettings

_HEADINGS = {
    "rule": "Rules of the user",
    "decision": "Decisions",
    "command": "Commands that worked",
    "file": "Files that mattered",
    "note": "Notes",
}


@frozen
class ReadOut:
    """A board as a message."""

    text: str
    entries: tuple[Entry, ...]
    """The entries that fit, in order."""
    left_out: int = 0


def read_out(
    entries: Sequence[Entry], scope: Scope, budget: int, count: Callable[[str], int]
) -> ReadOut | None:
    """Write the board as text within a budget.

    Args:
        entries: Its entries.
        scope: Whose board it is.
        budget: Maximum tokens of the whole message.
        count: Counts the tokens of a text.

    Returns:
        The most important entries that fit together; None if none fits, or there are none.
    """
    chosen: list[Entry] = []
    room = budget - count(_worded((), scope))
    for entry in sorted(entries, key=rank, reverse=True):
        # A heading may be added with it. If the sum is wrong, entries are removed below.
        cost = count(_line(entry)) + 1
        if cost <= room:
            chosen.append(entry)
            room -= cost
    while chosen:
        text = _worded(chosen, scope)
        if count(text) <= budget:
            ordered = tuple(entry for kind in KINDS for entry in chosen if entry.kind == kind)
            return ReadOut(text, ordered, len(entries) - len(chosen))
        chosen.pop()
    return None


def _worded(entries: Sequence[Entry], scope: Scope) -> str:
    blocks: list[str] = []
    for kind in KINDS:
        lines = [_line(entry) for entry in entries if entry.kind == kind]
        if lines:
            blocks.append("\n".join([f"{_HEADINGS[kind]}:", *lines]))
    return inbox_text(scope.label, "\n".join(blocks))


def _line(entry: Entry) -> str:
    source = f" [{entry.source}]" if entry.source and entry.made_by != PERSON else ""
    return f"- {entry.text}{source}"


_log = logging.getLogger(__name__)
_SHARE = 20
"""The board takes at most this fraction (1/20) of the window."""
MOMENT_S = 0.75
"""Seconds for reading a session while leaving it; the rest is done at the next start."""
_SHORT = 1_000
"""Maximum events of a session that can be read in that time."""
_TRIES = 3
"""Attempts before a session is given up: reading it may be what killed the program."""
_LOOKS, _BETWEEN_S = 3, 2.0
"""Number of checks for sessions still open in a closing window, and seconds between them."""
NOTHING_NEW = "Nothing has been said in this session since it was read for the context board."
OFF = "Memory is switched off: enabled under [memory] in the settings switches it on."
RUNNING = "The context board is already being updated."


class SessionMemory:
    """The memory of one open session. Not thread-safe: use it on the conversation's loop.

    Args:
        opening: Which session.
        history: Its view.
        writers: Provide the models, and the observers of requests.
    """

    def __init__(self, opening: Opening, history: SessionHistory, writers: SummaryWriters) -> None:
        self.history, self.cwd, self.paths = history, opening.cwd, opening.paths
        self.settings, self.database = MemorySettings(**opening.settings.memory), opening.database
        self.boards = boards_in(opening.database)
        self.telling = BoardLog(self.boards, history.store, history.session, history.append)
        watching = writers.observers
        self.reader = SessionReader(self.telling, opening, writers.shelf, writers.text, watching)
        self._tasks = dict[str, asyncio.Task[None]]()
        self._reading = asyncio.Lock()

    def board(self) -> ContextBoard:
        """The session's current board; its branch may have changed since the session began."""
        return ContextBoard(self.boards, self._scope(), self.settings.max_entries)

    def _scope(self) -> Scope:
        info = self.history.store.info(self.history.session)
        return session_scope(self.boards, self.database, info, self.cwd)

    async def deliver(self) -> None:
        """Insert the board before the first prompt.

        Does nothing if the view already has messages or summarises some. Then it has the board, continues a
        session that had it, or began before there was one. A brief does not count, nor does a command run by
        the user.
        """
        budget = min(self.settings.budget_tokens, self.history.usage().window.effective // _SHARE)
        if not self.settings.enabled or budget <= 0:
            return
        passed_over = {Handoff.TYPE, BranchMerged.TYPE, ShellResult.TYPE}
        if any(head.type in CARRYING - passed_over for head in self.history.view.iter_held()):
            return

        def read(info: SessionInfo) -> tuple[Scope, list[Entry]]:
            scope = session_scope(self.boards, self.database, info, self.cwd)
            entries = ContextBoard(self.boards, scope, self.settings.max_entries).entries()
            with closing(open_store(self.database, read_only=True)) as store:
                out = {each: excluded_in(store, each).since for each in {entry.session for entry in entries}}
            return scope, [entry for entry in entries if entry.seq not in out[entry.session]]

        def tokens(text: str) -> int:
            """In the model's own tokens, with the frame of a message."""
            return round(self.history.counter.message(inbox_message(text)).total * self.history.factor)

        try:
            info = self.history.store.info(self.history.session)
            scope, entries = await asyncio.to_thread(read, info)
        except (OSError, sqlite3.Error) as error:
            # A prompt matters more than memory.
            _log.warning("the context board cannot be read: %s", error)
            return
        # Counted here, because the conversation's counter is for one thread.
        if (board := read_out(entries, scope, budget, tokens)) is None:
            return
        message = inbox_message(board.text)
        number, size = len(board.entries), self.history.counter.message(message).nonzero()
        where = picked(scope, "repository branch")
        self.history.append(like(MemoryInbox, board, entries=number, tokens=size, **where), message)

    def on_record(self, record: Record) -> None:
        """Request reading this session for memory, once it has enough prompts."""
        if not (self.settings.enabled and isinstance(record.data, TurnEnd) and record.data.outcome == "done"):
            return
        prompts = (head for head in self.history.view.iter_held() if head.type == UserMessage.TYPE)
        fewest = self.settings.min_turns
        if sum(1 for _ in islice(prompts, fewest)) >= fewest:
            try:
                scope = self._scope()
                due = like(DueSession, scope, session=self.history.session, asked=time.time())
                self.boards.request_reading(due)
            except sqlite3.Error as error:
                _log.warning("the session cannot be noted for the context board: %s", error)

    def catch_up(self) -> None:
        """Read, at low priority, what earlier sessions and killed programs have left unread."""
        if self.settings.enabled and "memory" not in self._tasks:
            self._tasks["memory"] = asyncio.create_task(self._catch_up(), name="memory")

    def read_now(self) -> None:
        """Read this session now, at the user's request; a notice reports the result."""
        if not self.settings.enabled:
            self.history.refuse(OFF)
            return
        by_hand = "memory by hand"
        if by_hand in self._tasks and not self._tasks[by_hand].done():
            self.history.refuse(RUNNING)
            return
        self._tasks[by_hand] = asyncio.create_task(self._run(), name=by_hand)

    async def settle(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    async def leave(self) -> None:
        """Stop reading others, and read this session if that takes only a moment and no model.

        Its log must have ended before.
        """
        await self.stop()
        if not self.settings.enabled:
            return
        session = self.history.session
        try:
            info = self.history.store.info(session)
            offline = (self.settings.model or info.model).startswith(f"{OFFLINE}:")
            if not offline or info.events > _SHORT:
                return
            async with asyncio.timeout(MOMENT_S):
                waiting = await asyncio.to_thread(self.boards.due_sessions)
                due = next((each for each in waiting if each.session == session), None)
                if due is not None:
                    await self._read(due)
        except TimeoutError:
            _log.info("reading %s goes on at the next start", session)
        except (OSError, sqlite3.Error, SessionNotFound, SessionLocked) as error:
            _log.warning("the session cannot be read for the context board: %s", error)

    async def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def add(self, text: str) -> Added:
        """Add an entry for the user.

        Raises:
            NotRemembered: if it may not be on the board.
        """
        draft = Draft(text=text, kind="note", session=self.history.session, weight=5.0)
        return self._announced(self.board().add(draft))

    def edit(self, number: int, text: str) -> Added:
        """Replace the text of an entry; the old entry is kept, marked.

        Raises:
            NotRemembered: if there is no such entry, or the text may not be kept.
        """
        return self._announced(self.board().edit(number, text))

    def _announced(self, done: Added) -> Added:
        self.telling.write_pending(self.history.session, {done.entry.id, *done.pruned})
        return done

    def forget(self, number: int) -> Entry:
        """Remove an entry from the board; it is kept, marked.

        Raises:
            NotRemembered: if there is no such entry.
        """
        entry = self.board().prune(number, PERSON)
        self.telling.write_pending(self.history.session, {entry.id})
        return entry

    async def _run(self) -> None:
        session = self.history.session
        try:
            done = await self._consolidated(session, self._scope())
        except SessionLocked:
            self.history.refuse(RUNNING)
            return
        except (OSError, sqlite3.Error) as error:
            self.history.append(Notice(text=f"The session could not be read: {error}"))
            return
        self.history.append(Notice(text=outcome_text(done) if done else NOTHING_NEW))

    async def _catch_up(self) -> None:
        try:
            self.telling.write_pending()
            for look in range(_LOOKS):
                if look:
                    await asyncio.sleep(_BETWEEN_S)
                if not await self._read_all():
                    return
        except (OSError, sqlite3.Error) as error:
            _log.warning("the context board could not be brought up to date: %s", error)

    async def _read_all(self) -> bool:
        """Read every due session that has ended. Returns whether one was still open in a window."""
        is_open = False
        for due in await asyncio.to_thread(self.boards.due_sessions):
            if due.session == self.history.session or not is_session_id(due.session):
                continue
            if where_open(self.history.store, self.paths.sessions_dir, due.session):
                is_open = True
                continue
            try:
                done = await self._read(due)
            except SessionLocked:
                continue  # another program is reading it
            if done is not None and done.added:
                self.history.append(Notice(text=outcome_text(done)))
        return is_open

    async def _read(self, due: DueSession) -> MemoryConsolidated | None:
        """Read one due session.

        Raises:
            SessionLocked: if another program is reading it.
        """
        try:
            self.history.store.info(due.session)
        except SessionNotFound:
            self.boards.mark_read(due.session, 0)
            return None
        if due.attempts >= _TRIES:
            self.boards.mark_read(due.session, 0)
            reason = f"it was started {due.attempts} times and never finished"
            failed = MemoryConsolidated(outcome="failed", performed_by="model", reason=reason)
            self.telling.note_reading(due.session, failed)
            return None
        try:
            done = await self._consolidated(due.session, like(Scope, due), begin=True)
        except asyncio.CancelledError:
            # Stopped cleanly: only attempts that killed the program count.
            self.boards.request_reading(due)
            raise
        self.boards.mark_read(due.session, 0, asked=due.asked)
        return done

    async def _consolidated(
        self, session: str, scope: Scope, *, begin: bool = False
    ) -> MemoryConsolidated | None:
        async with self._reading:
            with WriterLock(lock_of(self.paths)):
                if begin:
                    self.boards.count_attempt(session)
                return await self.reader.consolidate(self.history.store.info(session), scope)


def outcome_text(done: MemoryConsolidated) -> str:
    """The result of reading a session, for the user."""
    by = f"by {done.model}" if done.model else "by extraction"
    why = f" ({done.reason})" if done.reason else ""
    if not done.added and not done.pruned:
        return f"Memory: nothing new worth remembering, {by}{why}."
    off = f", {done.pruned} removed" if done.pruned else ""
    return f"Memory: {done.added} remembered{off}, {by}{why}. /memory shows the board."
