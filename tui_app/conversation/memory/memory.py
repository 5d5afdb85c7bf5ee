"""The context board in a conversation: given to new sessions, kept up to date when one is over."""

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
    """What had room, in its order."""
    left_out: int = 0


def read_out(
    entries: Sequence[Entry], scope: Scope, budget: int, count: Callable[[str], int]
) -> ReadOut | None:
    """Word the board within a budget.

    Args:
        entries: Its entries.
        scope: Whose board it is.
        budget: Tokens that the whole message may take.
        count: Tokens of a text.

    Returns:
        The weightiest entries that have room together; None where not even one has, or there are none.
    """
    chosen: list[Entry] = []
    room = budget - count(_worded((), scope))
    for entry in sorted(entries, key=rank, reverse=True):
        # A heading may come with it; what adds up wrongly is taken away below.
        cost = count(_line(entry)) + 1
        if cost <= room:
            chosen.append(entry)
            room -= cost
    while chosen:
        text = _worded(chosen, scope)
        if count(text) <= budget:
            told = tuple(entry for kind in KINDS for entry in chosen if entry.kind == kind)
            return ReadOut(text, told, len(entries) - len(chosen))
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
"""One part in so many of the window is what the board takes at most."""
MOMENT_S = 0.75
"""Seconds that leaving a session may take for reading it; what is not done then is done at the next start."""
_SHORT = 1_000
"""Events of a session that can be read in a moment."""
_TRIES = 3
"""Times a session is begun before it is given up: it may be what killed the program."""
_LOOKS, _BETWEEN_S = 3, 2.0
"""Times, and seconds between them, that sessions still held by a window that closes are looked at again."""
NOTHING_NEW = "Nothing has been said in this session since it was read for the context board."
OFF = "Memory is switched off: enabled under [memory] in the settings switches it on."
RUNNING = "The context board is already being updated."


class SessionMemory:
    """The memory of one open session. All methods belong to the conversation's loop.

    Args:
        opening: Which session.
        history: Its view.
        writers: Know the models, and who watches requests.
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
        """The board of the session as it is now; its branch may have changed since the session began."""
        return ContextBoard(self.boards, self._scope(), self.settings.max_entries)

    def _scope(self) -> Scope:
        info = self.history.store.info(self.history.session)
        return session_scope(self.boards, self.database, info, self.cwd)

    async def deliver(self) -> None:
        """Put the board before the first prompt.

        Nothing happens where the view holds anything already, or holds it in a summary: then it has the
        board, or went on from a session that had it, or began before there was one. A brief is no such thing,
        nor is a command that the user has run.
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
            """With what frames a message, in the model's own."""
            return round(self.history.counter.message(inbox_message(text)).total * self.history.factor)

        try:
            info = self.history.store.info(self.history.session)
            scope, entries = await asyncio.to_thread(read, info)
        except (OSError, sqlite3.Error) as error:
            # A prompt is worth more than what is remembered.
            _log.warning("the context board cannot be read: %s", error)
            return
        # Counted here: the counter of the conversation is for one thread.
        if (told := read_out(entries, scope, budget, tokens)) is None:
            return
        message = inbox_message(told.text)
        number, size = len(told.entries), self.history.counter.message(message).nonzero()
        where = picked(scope, "repository branch")
        self.history.append(like(MemoryInbox, told, entries=number, tokens=size, **where), message)

    def on_record(self, record: Record) -> None:
        """Ask for this session to be read, once enough has been said in it."""
        if not (self.settings.enabled and isinstance(record.data, TurnEnd) and record.data.outcome == "done"):
            return
        prompts = (head for head in self.history.view.iter_held() if head.type == UserMessage.TYPE)
        fewest = self.settings.min_turns
        if sum(1 for _ in islice(prompts, fewest)) >= fewest:
            try:
                scope = self._scope()
                self.boards.request_reading(
                    like(DueSession, scope, session=self.history.session, asked=time.time())
                )
            except sqlite3.Error as error:
                _log.warning("the session cannot be noted for the context board: %s", error)

    def catch_up(self) -> None:
        """Go on, after everything else, with what earlier sessions and killed programs have left."""
        if self.settings.enabled and "memory" not in self._tasks:
            self._tasks["memory"] = asyncio.create_task(self._catch_up(), name="memory")

    def read_now(self) -> None:
        """Read this session now, because the user asks for it; a notice says what came of it."""
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
        """Stop reading others and read this session, if that needs no model and only a moment.

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

    # What the user does

    def add(self, text: str) -> Added:
        """Put something on the board for the user.

        Raises:
            NotRemembered: if it may not be there.
        """
        draft = Draft(text=text, kind="note", session=self.history.session, weight=5.0)
        return self._announced(self.board().add(draft))

    def edit(self, number: int, text: str) -> Added:
        """Word an entry anew; the old wording is kept, marked.

        Raises:
            NotRemembered: if there is no such entry, or the text may not be kept.
        """
        return self._announced(self.board().edit(number, text))

    def _announced(self, done: Added) -> Added:
        self.telling.write_pending(self.history.session, {done.entry.id, *done.pruned})
        return done

    def forget(self, number: int) -> Entry:
        """Take an entry off the board; it is kept, marked.

        Raises:
            NotRemembered: if there is no such entry.
        """
        entry = self.board().prune(number, PERSON)
        self.telling.write_pending(self.history.session, {entry.id})
        return entry

    # Reading

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
        """Read every session that waits and is over; whether one was still held by a window."""
        held = False
        for due in await asyncio.to_thread(self.boards.due_sessions):
            if due.session == self.history.session or not is_session_id(due.session):
                continue
            if where_open(self.history.store, self.paths.sessions_dir, due.session):
                held = True
                continue
            try:
                done = await self._read(due)
            except SessionLocked:
                continue  # another program is at it
            if done is not None and done.added:
                self.history.append(Notice(text=outcome_text(done)))
        return held

    async def _read(self, due: DueSession) -> MemoryConsolidated | None:
        """Read one session that waits.

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
            # Stopped in order: only attempts that took the program along count.
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
    """What came of reading a session, for the user."""
    by = f"by {done.model}" if done.model else "by extraction"
    why = f" ({done.reason})" if done.reason else ""
    if not done.added and not done.pruned:
        return f"Memory: nothing new worth remembering, {by}{why}."
    off = f", {done.pruned} removed" if done.pruned else ""
    return f"Memory: {done.added} remembered{off}, {by}{why}. /memory shows the board."
