"""A session as it can be shown at once: rows and gauge from the light half of the log."""

import sqlite3
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from tui_app.context.storage_errors import storage_error
from tui_app.events import (
    AgentOutput,
    AssistantMessage,
    CompactionComplete,
    CompactionEdited,
    Error,
    HookRan,
    MemoryInbox,
    Record,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.agent_view import AgentView
from tui_app.session.entries import Body, Entry
from tui_app.session.event_heads import Head, output_text
from tui_app.session.location import Database
from tui_app.session.model_state import Known, known_of
from tui_app.session.port import SessionInfo, SessionStore
from tui_app.session.stores import open_store
from tui_app.session.user_view import UserView, is_interruption

_PROMPTS = 50
"""Prompts of a resumed session that the arrow keys bring back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What the screen needs to paint a resumed session."""

    info: SessionInfo
    view: UserView
    agent_view: AgentView
    known: Known
    """What the log knows of its model and policy."""
    last: int
    """Log number of the newest event in it."""
    prompts: tuple[str, ...]
    """What the person said last, oldest first; the editor brings it back."""


def load_preview(database: Database, session: str) -> Preview:
    """Fold the light rows of a session.

    Raises:
        SessionNotFound: if the id fits no session.
        sqlite3.Error: if the file cannot be read.
    """
    store = open_store(database, read_only=True)
    try:
        info = store.info(session)
        agent_view, view = store.agent_view(info.id), UserView()
        # Both as of one moment: the session may be growing.
        for head in takewhile(lambda head: head.seq <= agent_view.last, store.heads(info.id)):
            view.apply(head)
        known = known_of(store, info.id)
        prompts = _prompts(store, info.id, agent_view)
    finally:
        store.close()
    return Preview(
        info=info,
        view=view,
        agent_view=agent_view,
        known=known,
        last=agent_view.last,
        prompts=prompts,
    )


def heads_after(database: Database, session: str, seq: int) -> list[Head]:
    """Light rows of a session behind a log number.

    Raises:
        sqlite3.Error: if the file cannot be read.
    """
    store = open_store(database, read_only=True)
    try:
        return list(store.heads(session, seq))
    finally:
        store.close()


def _prompts(store: SessionStore, session: str, view: AgentView) -> tuple[str, ...]:
    seqs = [head.seq for head in view.visible() if _is_prompt(head)][-_PROMPTS:]
    records = (store.record(session, seq) for seq in seqs)
    return tuple(r.data.text for r in records if r is not None and isinstance(r.data, UserMessage))


def _is_prompt(head: Head) -> bool:
    return head.type == UserMessage.TYPE and not is_interruption(head.title)


class Records(Protocol):
    """Where whole events are read."""

    @property
    def path(self) -> Path | None:
        """The file they are in, where there is one."""

    def record(self, session: str, seq: int, /) -> Record | None:
        """One whole event."""


class StoreBodies:
    """Full texts of rows, read when they become visible.

    Args:
        store: Where the events are.
        session: Whose rows.
    """

    def __init__(self, store: Records, session: str) -> None:
        self._store = store
        self._session = session

    def body(self, entry: Entry) -> Body:
        """The full content of a row; the title of one that is not in the log, a sentence where it is lost.

        Rows are painted in the middle of a frame, where nothing may be raised.
        """
        try:
            return self._read(entry)
        except sqlite3.Error as error:
            told = storage_error(error, self._store.path)
            return Body(text=str(told) if told else f"This text cannot be read: {error}.")

    def _read(self, entry: Entry) -> Body:
        record = self._store.record(self._session, entry.seq) if entry.seq > 0 else None
        if record is None:
            return Body(text=entry.title)
        if isinstance(record.data, ToolCall):
            result = self._store.record(self._session, entry.result_seq) if entry.result_seq else None
            text = result.data.text if result is not None and isinstance(result.data, ToolResult) else ""
            return Body(text=text, args=record.data.args)
        return body_of(record, entry)


def body_of(record: Record, entry: Entry) -> Body:
    """Full content of an event that is a row by itself."""
    match record.data:
        case UserMessage(text=text) | SystemMessage(text=text) | MemoryInbox(text=text):
            return Body(text=text)
        case AssistantMessage(text=text, thinking=thinking):
            return Body(text=text, thinking=thinking)
        case AgentOutput():
            return Body(text=output_text(record.data))
        case CompactionComplete(summary=summary) | CompactionEdited(summary=summary):
            return Body(text=summary)
        case HookRan(output=output):
            return Body(text=output)
        case Error(message=message, hint=hint):
            return Body(text=f"{message} {hint}".strip())
        case _:
            return Body(text=entry.title)
