"""Reading a session for the screen without the agent side: its rows, gauge, full texts and statistics."""

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
"""Number of a resumed session's prompts that the arrow keys can bring back."""
_ROWS = 1_000
"""Number of a resumed session's newest events whose rows are loaded at once."""


@frozen(kw_only=True)
class Preview:
    """What the screen needs to paint a resumed session."""

    info: SessionInfo
    view: UserView
    """The newest rows of a long session; see :func:`all_rows`."""
    agent_view: AgentView
    known: Known
    """Model, policy and measurements from the log."""
    last: int
    """Log number of the newest event in it."""
    prompts: tuple[str, ...]
    """The user's last prompts, oldest first, for the editor's history."""
    commands: tuple[str, ...] = ()
    """The last commands of shell mode, oldest first, as typed."""


def load_preview(database: Database, session: str) -> Preview:
    """Read the preview of a session, in a time that does not depend on its length.

    Raises:
        SessionNotFound: if the id matches no session.
        sqlite3.Error: if the file cannot be read.
    """
    with closing(open_store(database, read_only=True)) as store:
        info = store.info(session)
        agent_view = store.agent_view(info.id)
        view = _newest_rows(store, info.id, agent_view.last)
        known = known_of(store, info.id)
        heads = (head for head in agent_view.visible() if head.type == UserMessage.TYPE)
        seqs = [head.seq for head in heads if not is_interruption(head.title)][-_PROMPTS:]
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
    """Return the rows of the newest events up to a log number, as a fold of the whole log would make them."""
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
    """Return every row of a session up to a log number. Blocks in proportion to its length.

    Raises:
        sqlite3.Error: if the file cannot be read.
    """
    with closing(open_store(database, read_only=True)) as store:
        return fold_user_view(takewhile(lambda head: head.seq <= last, store.heads(session)))


def heads_of(database: Database, session: str, seqs: Collection[int]) -> list[Head]:
    """Return the heads with these log numbers.

    Raises:
        sqlite3.Error: if the file cannot be read.
    """
    with closing(open_store(database, read_only=True)) as store:
        return store.heads_of(session, seqs)


def heads_after(database: Database, session: str, seq: int) -> list[Head]:
    """Return the heads of a session after a log number.

    Raises:
        sqlite3.Error: if the file cannot be read.
    """
    with closing(open_store(database, read_only=True)) as store:
        return list(store.heads(session, seq))


class Records(Protocol):
    """A source of whole events."""

    @property
    def path(self) -> Path | None: ...

    def record(self, session: str, seq: int, /) -> Record | None: ...


class StoreBodies:
    """Full texts of rows, read when they become visible.

    Args:
        store: The source of events.
        session: Id of the session.
    """

    def __init__(self, store: Records, session: str) -> None:
        self._store = store
        self._session = session

    def body(self, entry: Entry) -> Body:
        """Return the full content of a row. Never raises, because rows are painted in the middle of a frame.

        A row that is not in the log has its title as content, an unreadable one the reason.
        """
        try:
            record = self._store.record(self._session, entry.seq) if entry.seq > 0 else None
            if record is None:
                return Body(text=entry.title)
            if not isinstance(record.data, ToolCall | ShellCommand):
                return body_of(record, entry)
            result = self._store.record(self._session, entry.result_seq) if entry.result_seq else None
            data = result.data if result is not None else None
            text = data.text if isinstance(data, ToolResult | ShellResult) else ""
            if isinstance(record.data, ToolCall):
                return Body(text=text, args=record.data.args)
            # The row itself shows the outcome.
            return Body(text=text.partition("\n")[2], args=record.data.text)
        except sqlite3.Error as error:
            return unreadable(error, self._store.path)

    def records(self, seqs: Sequence[int]) -> Mapping[int, Record]:
        """Return the readable events among these log numbers; none if the log cannot be read."""
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
    """The statistics of one session, updated at every reading.

    Args:
        database: The database of the session.
        session: Full id of the session.
    """

    def __init__(self, database: Database, session: str) -> None:
        self._database, self._session = database, session
        self._fold: StatsFold | None = None

    def read(self) -> SessionStats:
        """Fold the events added since the last reading. Blocks while the file is read.

        Raises:
            StorageError: if the file is no database, or is not ours.
            sqlite3.Error: if it cannot be read.
        """
        # A new connection per reading, which may be in another thread.
        with closing(open_store(self._database, read_only=True)) as store:
            fold = self._fold or store.kept_stats(self._session)
            for seq, kind, figures in store.figures(self._session, fold.last):
                fold.apply(seq, kind, figures)
        self._fold = fold
        return fold.stats()

    @property
    def last(self) -> int:
        """Log number of the newest event read; 0 before the first reading."""
        return self._fold.last if self._fold is not None else 0

    @property
    def known(self) -> SessionStats:
        return (self._fold or StatsFold()).stats()


def read_body(database: Database, session: str, entry: Entry) -> Body:
    """Read a text with a connection for this thread.

    Raises:
        sqlite3.Error: if the connection cannot be opened.
    """
    with closing(open_store(database, read_only=True)) as store:
        return StoreBodies(store, session).body(entry)


def unreadable(error: Exception, file: Path | None = None) -> Body:
    """Return a body that gives the reason why a text cannot be read."""
    if reason := storage_error(error, file):
        return Body(text=str(reason))
    if isinstance(error, sqlite3.Error):
        return Body(text=f"This text cannot be read: {str(error).removesuffix('.')}.")
    return Body(text=f"This text cannot be read: {type(error).__name__}. See plimsoll.log for details.")


def why_no_record(database: Database, session: str, seq: int) -> str:
    """Return why there is no event with a log number, after a failed attempt to read it."""
    try:
        with closing(open_store(database, read_only=True)) as store:
            store.record(session, seq)
    except (sqlite3.Error, OSError) as error:
        return explained(error, database if isinstance(database, Path) else None)
    return "It is no longer in the log. Another window may have deleted the session."
