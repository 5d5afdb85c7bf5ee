"""Background sessions: their state, and starting, signalling and stopping their processes.

The process holds the lock of its session as any writer does, and a second lock that identifies it. The kernel
releases both when it dies, so the number of a dead process is never used. Only what a user left runs here.
"""

import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Literal

from tui_app.context.storage_errors import StorageError
from tui_app.events import (
    HookRan,
    LeftPrompt,
    MemoryAdded,
    MemoryConsolidated,
    MemoryPruned,
    SessionBackground,
    SessionEnd,
    ShellCommand,
    TaskEnded,
    UserMessage,
)
from tui_app.records import frozen
from tui_app.session.lock import holder_process
from tui_app.session.stores.store import SessionInfo, SessionStore
from tui_app.session.workspace import SessionFolder

HAND_OVER, STOP = (getattr(signal, name, signal.SIGTERM) for name in ("SIGUSR1", "SIGTERM"))
INSIDE = "--in-background"
"""Marks the ``run`` that is the background process."""
PATIENCE_S = 15.0
"""Seconds a process has to stop before it is killed."""
_LOOK_S = 0.05
_ENDS = (SessionEnd, HookRan, TaskEnded, MemoryAdded, MemoryPruned, MemoryConsolidated)
_AT_END = frozenset(each.TYPE for each in _ENDS)
"""Events that are written when a session ends."""


@frozen(kw_only=True)
class BackgroundState:
    """The state of a session that was left in the background."""

    state: Literal["running", "waiting", "left", "done", "failed", "stopped", "attached", "interrupted"]
    """``left`` waits for the next screen to continue it; ``interrupted`` if its process was killed."""
    question: str = ""
    """The question that waits for an answer."""
    prompts: int = 0
    """Number of queued prompts."""

    @property
    def is_unfinished(self) -> bool:
        """Whether there is something to continue."""
        return bool(self.prompts) or self.state not in ("done", "failed", "stopped")

    @property
    def in_words(self) -> str:
        return f"waits: {self.question}" if self.state == "waiting" else self.state

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def background_state(store: SessionStore, sessions_dir: Path, session: str) -> BackgroundState | None:
    """The state of a session; None where nothing was left, or a screen has taken it up since."""
    found = newest_step(store, session)
    if found is None or found[1].step == "attached":
        return None
    seq, left, is_newest = found
    folder = SessionFolder.named(sessions_dir, session)
    # On a server, it may run on another machine.
    runs = holder_process(folder.background_lock) or (
        left.step == "left" and store.holder(session, folder.lock_file)
    )
    if not runs and not is_newest and left.step != "left":
        return None
    return BackgroundState(
        state="running" if runs else left.step if is_newest else "interrupted",
        question="" if runs else left.question,
        prompts=len(waiting_prompts(store, session, seq, left)),
    )


def standings_of(
    store: SessionStore, sessions_dir: Path, infos: Iterable[SessionInfo]
) -> dict[str, BackgroundState]:
    """By id, the states of those of some sessions that were left."""
    found = ((info.id, background_state(store, sessions_dir, info.id)) for info in infos)
    return {id: each for id, each in found if each is not None}


def where_open(store: SessionStore, sessions_dir: Path, session: str) -> str:
    """Describe where a session is open for writing; empty if it is not."""
    folder = SessionFolder.named(sessions_dir, session)
    who = store.holder(session, folder.lock_file)
    return "the background" if who and holder_process(folder.background_lock) else who


class SessionWaits(StorageError):
    """Raised when a session waits for an answer that only a screen can get."""


def check_unasked(store: SessionStore, session: str) -> None:
    """Raise ``SessionWaits`` if a session was left with an unanswered question."""
    found = newest_step(store, session)
    if found is not None and found[2] and found[1].step == "waiting":
        message = f"The session waits for an answer: {found[1].question}."
        raise SessionWaits(message, f"Nothing changed. Answer first: plimsoll attach {session}")


def newest_step(store: SessionStore, session: str) -> tuple[int, SessionBackground, bool] | None:
    """Return the newest background event, its number, and whether only events of an end follow it."""
    record = store.last_of(session, SessionBackground.TYPE)
    if record is None or not isinstance(record.data, SessionBackground):
        return None
    later = (head.type for head in store.heads(session, record.seq))
    return record.seq, record.data, all(kind in _AT_END for kind in later)


def waiting_prompts(store: SessionStore, session: str, seq: int, left: SessionBackground) -> list[LeftPrompt]:
    """Return the prompts queued at a log number and not sent since; for user commands, not run since."""
    if not left.prompts:
        return []
    kinds = (UserMessage.TYPE, ShellCommand.TYPE)
    seqs = (head.seq for head in store.heads(session, seq) if head.type in kinds)
    found = (record.data for each in seqs if (record := store.record(session, each)) is not None)
    known = (each for each in found if isinstance(each, UserMessage | ShellCommand))
    sent = Counter(each.typed if isinstance(each, ShellCommand) else each.text for each in known)
    waiting: list[LeftPrompt] = []
    for prompt in left.prompts:
        if sent[prompt.text]:
            sent[prompt.text] -= 1
        else:
            waiting.append(prompt)
    return waiting


class StartFailed(Exception):
    """Raised when nothing could be left in the background; the text gives the reason.

    Args:
        why: What the process wrote.
        code: Exit code of the process.
    """

    def __init__(self, why: str, code: int = 1) -> None:
        super().__init__(why)
        self.code = code


def begin(
    words: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: IO[Any] | int = subprocess.DEVNULL
) -> tuple[str, str]:
    """Start ``plimsoll run`` in the background and wait until its session is open.

    It has no terminal and leads its own process session, so that it outlives the window and its shell.

    Args:
        words: Arguments of ``run``.
        cwd: Working directory.
        env: The complete environment.
        stdin: Source of piped input.

    Returns:
        The session's id, and what was written to stderr until then.

    Raises:
        StartFailed: if the process ended instead, or on Windows.
    """
    if sys.platform == "win32":
        raise StartFailed("Sessions cannot be left in the background on Windows.")
    command = [sys.executable, "-P", "-m", "tui_app", "run", INSIDE, *words]
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, text=True,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None
        with process.stdout:
            session = process.stdout.readline().strip()
        code = 0 if session else process.wait()
        stderr.seek(0)
        output = stderr.read().strip()
    if not session:
        raise StartFailed(output or "The process in the background ended at once.", code)
    # Avoids the warning about a running child: it is meant to outlive us.
    process.returncode = 0
    return session, output


def send(lock_file: Path, number: int) -> bool:
    """Signal the background process; return whether one exists that belongs to this user.

    Args:
        lock_file: The lock that it holds.
        number: The signal.
    """
    process = holder_process(lock_file)
    if not process:
        return False
    with suppress(ProcessLookupError, PermissionError):
        if not hasattr(os, "pidfd_open"):
            os.kill(process, number)
            return True
        handle = os.pidfd_open(process)
        try:
            # A process that has this number now and still holds the lock is the right one.
            if holder_process(lock_file) == process and _is_inside(process):
                signal.pidfd_send_signal(handle, number)
                return True
        finally:
            os.close(handle)
    return False


def _is_inside(process: int) -> bool:
    """Return whether a process is a background session. Its number may be from another container."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return INSIDE.encode() in words


def stop(lock_files: Iterable[Path], patience_s: float = PATIENCE_S) -> list[Path]:
    """Stop background processes, killing those that do not end in time; return those that ended."""
    found = [each for each in lock_files if send(each, STOP)]
    if not wait_until(lambda: not any(map(holder_process, found)), patience_s):
        for each in found:
            send(each, signal.SIGKILL)
        wait_until(lambda: not any(map(holder_process, found)), patience_s)
    return [each for each in found if not holder_process(each)]


def wait_until(holds: Callable[[], bool], limit_s: float = math.inf) -> bool:
    """Poll until a condition is true; return whether it was in time."""
    until = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_S)
    return True
