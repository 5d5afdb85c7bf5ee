"""Forking: a new session that begins like another one, which does not change."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from tui_app.events import (
    MessageExcluded,
    ModeChange,
    ModelChange,
    SessionBackground,
    SessionEnd,
    SessionStart,
    UserMessage,
    data_of,
)
from tui_app.modes import Mode
from tui_app.records import frozen
from tui_app.refusals import Refusal
from tui_app.session.event_heads import head_of
from tui_app.session.exclusions import excluded_in
from tui_app.session.model_state import chosen_mode
from tui_app.session.stores.store import Event, SessionStore
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.workspace import TEMPORARY, SessionFolder


class NotAPrompt(Refusal):
    """Raised when the log number to fork at is not a prompt; the text tells the user."""


@frozen
class Fork:
    """A finished fork."""

    session: str
    """Id of the new session."""
    prompt: str = ""
    """Text of the prompt before which it ends; empty if everything was copied."""


def prompt_at(store: SessionStore, session: str, at: int) -> str:
    """Return the prompt with a log number. Raises ``NotAPrompt`` if there is none."""
    if (prompt := data_of(store.record(session, at), UserMessage)) is None:
        raise NotAPrompt(f"#{at} is not a prompt of session {session}.")
    return prompt.text


def fork_session(  # noqa: PLR0913 - what differs by caller, all by name
    store: SessionStore,
    sessions_dir: Path,
    original: str,
    *,
    at: int | None = None,
    now: float,
    agent: str = "",
    title: str = "",
    cwd: str = "",
    check: Callable[[], None] | None = None,
) -> Fork:
    """Copy a session's events before a prompt, and its files, into a new session.

    Events keep their log numbers and times, so that all references stay right in the new log. The first event
    of the new session names its origin.

    Args:
        store: The store of both sessions.
        sessions_dir: Parent of the sessions' folders.
        original: Id of the session, or an unambiguous prefix.
        at: Log number of the prompt; None copies everything. For a subagent, the log number of any event.
        now: Seconds since the epoch.
        agent: Title of the subagent that will work in the new session; empty for a session of the user.
        title: Title of the new session; empty derives it from the original's.
        cwd: Folder of the new session; empty for the original's.
        check: Raises if the fork may no longer be created; see ``SessionStore.create``.

    Raises:
        SessionNotFound: if the id matches no session.
        NotAPrompt: if the number is not a prompt.
        OSError: if files cannot be copied; nothing of the new session is left then.
        sqlite3.Error: if it cannot be written; nothing of it is left then either.
    """
    info = store.info(original)
    prompt = prompt_at(store, info.id, at) if at is not None and not agent else ""
    taken = takewhile(lambda each: at is None or each[0].seq < at, store.records(info.id))
    start, *events = [(record.data, message, record.time) for record, message in taken]
    if not isinstance(start[0], SessionStart):
        raise NotAPrompt(f"Session {info.id} has no valid beginning.")
    if at is not None:
        events += _excluded_since(store, info.id, events, at, now)
        events += mode_since(chosen_mode(store, info.id), events, now)
    events += nothing_left(events, now)
    title = agent or title or (f"Fork of {info.title}" if info.title else "")
    # The model that answered last in the copied part.
    changes = [data.new for data, _, _ in events if isinstance(data, ModelChange)]
    model = changes[-1] if at is not None and changes else info.model
    origin = replace(
        start[0],
        title=title,
        forked_from=info.id,
        forked_at=at or 0,
        model=model,
        parent=info.id if agent else "",
        cwd=cwd or start[0].cwd,
    )
    session = store.create(origin, time=now, check=check)
    folder = SessionFolder.named(sessions_dir, session)
    try:
        # Checkpoints, outputs and histories, but no locks and no temporary files of commands.
        source = SessionFolder.named(sessions_dir, info.id)
        if source.path.is_dir():
            left = shutil.ignore_patterns(source.lock_file.name, source.background_lock.name, TEMPORARY)
            shutil.copytree(source.path, folder.path, symlinks=True, dirs_exist_ok=True, ignore=left)
        # The session ends now: a fork counts as a use, and lists show the latest first.
        store.append_many(session, events if agent else [*events, (SessionEnd(), None, now)])
    except BaseException:
        store.delete(session)
        folder.remove()
        raise
    return Fork(session, prompt)


def _excluded_since(
    store: SessionStore, session: str, taken: Sequence[Event], at: int, now: float
) -> list[Event]:
    """Return the events that exclude messages again whose exclusion came after the prompt to fork at."""
    heads = (head_of(seq, time, data) for seq, (data, _, time) in enumerate(taken, 2))
    known = fold_agent_view(heads).excluded
    left = sorted(seq for seq in excluded_in(store, session).since if seq < at and seq not in known)
    return [(MessageExcluded(seqs=tuple(left)), None, now)] if left else []


def mode_since(mode: Mode, taken: Sequence[Event], now: float) -> list[Event]:
    """Return the events that set a mode different from the one in which the copied events end."""
    changes = [data.new for data, _, _ in taken if isinstance(data, ModeChange)]
    old: Mode = changes[-1] if changes else "ask"
    return [(ModeChange(old=old, new=mode), None, now)] if old != mode else []


def nothing_left(taken: Sequence[Event], now: float) -> list[Event]:
    """Return the events that mark a session as attached whose copied events leave it in the background."""
    steps = [data.step for data, _, _ in taken if isinstance(data, SessionBackground)]
    left = steps[-1:] not in ([], ["attached"])
    return [(SessionBackground(step="attached"), None, now)] if left else []
