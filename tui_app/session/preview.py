"""Reads a session for the screen without the agent side: its rows and gauge, full texts, figures."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Protocol

from tui_app.context.storage_errors import storage_error
from tui_app.events import (
    AgentOutput,
    AssistantMessage,
    BranchMerged,
    CompactionComplete,
    CompactionEdited,
    Error,
    Handoff,
    HookRan,
    Record,
    Said,
    SessionRewind,
    ShellCommand,
    ShellResult,
    ToolCall,
    ToolResult,
    UserMessage,
    data_of,
)
from tui_app.records import frozen
from tui_app.session.event_heads import Head, output_text
from tui_app.session.event_rows import DamagedEvent
from tui_app.session.measurement import Known
from tui_app.session.model_state import known_of
from tui_app.session.stats import SessionStats, StatsFold
from tui_app.session.stores.database import Database, open_store
from tui_app.session.stores.store import SessionInfo, SessionStore, explained
from tui_app.session.views.agent_view import AgentView
from tui_app.session.views.entries import Body, Entry
from tui_app.session.views.user_view import UserView, entry_of, fold_user_view, is_interruption

_PROMPTS = 50
"""Prompts of a resumed session that the arrow keys bring back."""
_ROWS = 1_000
"""Events of a resumed session whose rows are there at once, the newest ones."""


@frozen(kw_only=True)
class Preview:
    """What the screen needs to paint a resumed session."""

    info: SessionInfo
    view: UserView
    """Of a long session the newest rows; see :func:`all_rows`."""
    agent_view: AgentView
    known: Known
    """What the log knows of its model and policy."""
    last: int
    """Log number of the newest event in it."""
    prompts: tuple[str, ...]
    """What the user said last, oldest first; the editor brings it back."""
    commands: tuple[str, ...] = ()
    """What they ran last in shell mode, oldest first, as it was typed."""


def load_preview(database: Database, session: str) -> Preview:
    """Read what a session comes to, which takes no longer for a long one.

    Raises:
        SessionNotFound: if the id fits no session.
        sqlite3.Error: if the file cannot be read.
    """
    with closing(open_store(database, read_only=True)) as store:
        info = store.info(session)
        agent_view = store.agent_view(info.id)
        view = _newest_rows(store, info.id, agent_view.last)
        known = known_of(store, info.id)
        said = (head for head in agent_view.visible() if head.type == UserMessage.TYPE)
        seqs = [head.seq for head in said if not is_interruption(head.title)][-_PROMPTS:]
        prompts = [data_of(store.record(info.id, seq), UserMessage) for seq in seqs]
        newest = islice(store.newest(info.id, (ShellCommand.TYPE,)), _PROMPTS)
        ran = [data_of(store.record(info.id, head.seq), ShellCommand) for head in newest]
    agent_view.read_heads_with(partial(heads_of, database, info.id))
    return Preview(
        info=info,
        view=view,
        agent_view=agent_view,
        known=known,
        last=agent_view.last,
        prompts=tuple(prompt.text for prompt in prompts if prompt),
        commands=tuple(f"{'!!' if each.private else '!'}{each.text}" for each in reversed(ran) if each),
    )


def _newest_rows(store: SessionStore, session: str, last: int) -> UserView:
    """The rows of the newest events up to a log number, as all of them together would make them."""
    before = max(0, last - _ROWS)
    # The session may be growing.
    heads = list(takewhile(lambda head: head.seq <= last, store.heads(session, before)))
    since = before + 1 if before else 0
    quoted = {head.ref for head in heads if head.type == SessionRewind.TYPE and head.ref < since}
    rows = map(entry_of, store.heads_of(session, quoted))
    view = UserView(since=since, titles={row.seq: row.title for row in rows if row is not None})
    for head in heads:
        view.apply(head)
    return view


def all_rows(database: Database, session: str, last: int) -> UserView:
    """Every row of a session up to a log number; blocks for as long as the session is.

    Raises:
        sqlite3.Error: if the file cannot be read.
    """
    with closing(open_store(database, read_only=True)) as store:
        return fold_user_view(takewhile(lambda head: head.seq <= last, store.heads(session)))


def heads_of(database: Database, session: str, seqs: Collection[int]) -> list[Head]:
    """Light rows of some log numbers.

    Raises:
        sqlite3.Error: if the file cannot be read.
    """
    with closing(open_store(database, read_only=True)) as store:
        return store.heads_of(session, seqs)


def heads_after(database: Database, session: str, seq: int) -> list[Head]:
    """Light rows of a session after a log number.

    Raises:
        sqlite3.Error: if the file cannot be read.
    """
    with closing(open_store(database, read_only=True)) as store:
        return list(store.heads(session, seq))


class Records(Protocol):
    """Where whole events are read."""

    @property
    def path(self) -> Path | None: ...

    def record(self, session: str, seq: int, /) -> Record | None: ...


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
            record = self._store.record(self._session, entry.seq) if entry.seq > 0 else None
            if record is None:
                return Body(text=entry.title)
            if not isinstance(record.data, ToolCall | ShellCommand):
                return body_of(record, entry)
            result = self._store.record(self._session, entry.result_seq) if entry.result_seq else None
            said = result.data if result is not None else None
            text = said.text if isinstance(said, ToolResult | ShellResult) else ""
            if isinstance(record.data, ToolCall):
                return Body(text=text, args=record.data.args)
            # How it ended stands in the row.
            return Body(text=text.partition("\n")[2], args=record.data.text)
        except sqlite3.Error as error:
            return unreadable(error, self._store.path)

    def records(self, seqs: Sequence[int]) -> Mapping[int, Record]:
        """Whole events by their numbers, those that can be read; none where the log cannot be."""
        found: dict[int, Record] = {}
        try:
            for seq in seqs:
                with suppress(DamagedEvent):
                    if (record := self._store.record(self._session, seq)) is not None:
                        found[seq] = record
        except sqlite3.Error:
            return {}
        return found


def body_of(record: Record, entry: Entry) -> Body:
    match record.data:
        case Said(text=text) | Handoff(text=text) | BranchMerged(text=text):
            return Body(text=text)
        case AssistantMessage(text=text, thinking=thinking):
            return Body(text=text, thinking=thinking)
        case AgentOutput():
            return Body(text=output_text(record.data))
        case CompactionComplete(summary=summary) | CompactionEdited(summary=summary):
            return Body(text=summary)
        case HookRan(output=output):
            return Body(text=output)
        case Error(message=message, hint=hint, actions=actions):
            return Body(text=f"{message} {hint}".strip(), actions=actions)
        case _:
            return Body(text=entry.title)


class StatsReader:
    """The figures of one session, brought up to date by every reading.

    Args:
        database: Where the session is.
        session: Whole id of the session.
    """

    def __init__(self, database: Database, session: str) -> None:
        self._database, self._session = database, session
        self._fold: StatsFold | None = None

    def read(self) -> SessionStats:
        """Fold what has been added since the last reading. Blocks while the file is read.

        Raises:
            StorageError: if the file is no database, or none of ours.
            sqlite3.Error: if it cannot be read.
        """
        # A connection for each reading: it may be done in another thread.
        with closing(open_store(self._database, read_only=True)) as store:
            fold = self._fold or store.kept_stats(self._session)
            for seq, kind, figures in store.figures(self._session, fold.last):
                fold.apply(seq, kind, figures)
        self._fold = fold
        return fold.stats()

    @property
    def last(self) -> int:
        """Log number of the newest event that was read; 0 before any was."""
        return self._fold.last if self._fold is not None else 0

    @property
    def known(self) -> SessionStats:
        return (self._fold or StatsFold()).stats()


def read_body(database: Database, session: str, entry: Entry) -> Body:
    """Read a text with a connection of this thread's own.

    Raises:
        sqlite3.Error: if there is none.
    """
    with closing(open_store(database, read_only=True)) as store:
        return StoreBodies(store, session).body(entry)


def unreadable(error: Exception, file: Path | None = None) -> Body:
    """Return a body that says why a text cannot be read."""
    if told := storage_error(error, file):
        return Body(text=str(told))
    if isinstance(error, sqlite3.Error):
        return Body(text=f"This text cannot be read: {str(error).removesuffix('.')}.")
    return Body(text=f"This text cannot be read: {type(error).__name__}. See plimsoll.log for details.")


def why_no_record(database: Database, session: str, seq: int) -> str:
    """Why there is no event with a log number; asked once it could not be read."""
    try:
        with closing(open_store(database, read_only=True)) as store:
            store.record(session, seq)
    except (sqlite3.Error, OSError) as error:
        return explained(error, database if isinstance(database, Path) else None)
    return "It is no longer in the log. Another window may have deleted the session."
