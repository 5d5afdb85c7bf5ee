"""Giving a new session the board of its repository: one message, in front of the first prompt, once."""

import asyncio
import logging
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from tui_app.context.message_marks import inbox_message
from tui_app.conversation.board_scopes import session_scope
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import MemoryInbox
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import Entry
from tui_app.memory.reading_out import read_out
from tui_app.memory.scope import Scope
from tui_app.memory.store import BoardStore
from tui_app.session.event_heads import CARRYING
from tui_app.session.location import Database
from tui_app.session.port import SessionInfo
from tui_app.settings.memory import MemorySettings

_log = logging.getLogger(__name__)
_SHARE = 20
"""One part in so many of the window is what the board takes at most."""


@dataclass(slots=True)
class BoardInbox:
    """Delivers its board to one session."""

    history: SessionHistory
    boards: BoardStore
    database: Database
    cwd: Path
    settings: MemorySettings

    async def deliver(self) -> None:
        """Put the board in front of the first prompt.

        Nothing happens where the view holds anything already, or holds it in a summary: then it has the
        board, or went on from a session that had it, or began before there was one.
        """
        budget = min(self.settings.budget_tokens, self.history.usage().window.effective // _SHARE)
        if not self.settings.enabled or budget <= 0 or self._has_begun():
            return
        try:
            info = self.history.store.info(self.history.session)
            scope, entries = await asyncio.to_thread(self._entries, info)
        except (OSError, sqlite3.Error) as error:
            # A prompt is worth more than what is remembered.
            _log.warning("the context board cannot be read: %s", error)
            return
        # Counted here: the counter of the conversation is for one thread.
        told = read_out(entries, scope, budget, self._count)
        if told is None:
            return
        message = inbox_message(told.text)
        said = MemoryInbox(
            text=told.text,
            entries=len(told.entries),
            left_out=told.left_out,
            repository=scope.repository,
            branch=scope.branch,
            tokens=self.history.counter.message(message).nonzero(),
        )
        self.history.append(said, message)

    def _has_begun(self) -> bool:
        return any(head.type in CARRYING for head in self.history.view.held())

    def _entries(self, info: SessionInfo) -> tuple[Scope, list[Entry]]:
        scope = session_scope(self.boards, self.database, info, self.cwd)
        return scope, ContextBoard(self.boards, scope, self.settings.max_entries).entries()

    def _count(self, text: str) -> int:
        """Tokens with what frames a message, in the model's own."""
        return round(self.history.counter.message(inbox_message(text)).total * self.history.factor)
