"""Prompts of all sessions of a folder: those sent, and those never sent."""

import json
import os
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

from tui_app.events import UserMessage, data_of
from tui_app.files import make_private, write_atomic
from tui_app.records import frozen
from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.stores.database import Database, log_exists, open_store
from tui_app.session.views.user_view import is_interruption

MOST_LISTED = 500
"""Maximum number of listed prompts, the newest ones."""
SEARCHED_CHARS = 2_000
"""Characters of each prompt that are listed and searched. The rest is read on demand."""


@frozen(kw_only=True)
class PastPrompt:
    """One prompt, or the beginning of a long one."""

    text: str
    time: float = 0.0
    """Seconds since the epoch; 0 for a prompt typed in the open session."""
    session: str = ""
    """Id of the session with the rest of it; empty if ``text`` is complete."""
    seq: int = 0


def past_prompts(database: Database, cwd: Path) -> list[PastPrompt]:
    """Return a folder's prompts, newest first, without duplicates. Blocks on the disk or the network.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    if not log_exists(database):
        return []
    with closing(open_store(database, read_only=True)) as store:
        rows = store.prompts(str(cwd), MOST_LISTED, SEARCHED_CHARS)
    found: dict[str, PastPrompt] = {}
    for session, seq, when, text in rows:
        if is_interruption(text):
            continue
        whole = len(text) < SEARCHED_CHARS
        found.setdefault(
            text, PastPrompt(text=text, time=when, session="" if whole else session, seq=0 if whole else seq)
        )
    return list(found.values())


def full_prompt(database: Database, prompt: PastPrompt) -> str:
    """Return the whole prompt, or its listed part if its session was deleted meanwhile. Blocks.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    if not prompt.session:
        return prompt.text
    with closing(open_store(database, read_only=True)) as store:
        record = store.record(prompt.session, prompt.seq)
    whole = data_of(record, UserMessage)
    return prompt.text if whole is None else whole.text


MOST_UNSENT = 50
"""Maximum number of unsent prompts kept per folder, the newest ones."""


def keep_unsent(file: Path, folder: Path, prompts: Sequence[str]) -> None:
    """Save prompts until they are sent. Blocks on the disk.

    Args:
        file: Where to save them.
        folder: The folder in which they were written.
        prompts: Oldest first.

    Raises:
        OSError: if they cannot be written.
    """
    if not prompts:
        return
    make_private(file.parent)
    lines = "".join(f"{line_of(folder, text)}\n" for text in prompts)
    made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(made, "wb", buffering=0) as target:
        # The line break ends a line that a crash left incomplete.
        target.write(f"\n{lines}".encode())
        os.fsync(target)


def unsent(file: Path, folder: Path) -> list[str]:
    """Return unsent prompts of a folder, oldest first, without duplicates; none if unreadable. Blocks."""
    texts = [text for where, text in lines_of(file) if where == str(folder)]
    newest_last = reversed(dict.fromkeys(reversed(texts)))
    return list(newest_last)[-MOST_UNSENT:]


def forget_unsent(file: Path, folder: Path, prompt: str) -> None:
    """Delete a prompt that was sent. Blocks on the disk.

    Raises:
        OSError: if the file cannot be written.
    """
    lines = lines_of(file)
    left: dict[str, list[str]] = {}
    for where, text in lines:
        if (where, text) != (str(folder), prompt):
            left.setdefault(where, []).append(text)
    kept = [line_of(where, text) for where, texts in left.items() for text in texts[-MOST_UNSENT:]]
    if len(kept) < len(lines):
        write_atomic(file, "".join(f"{line}\n" for line in kept))


def line_of(folder: Path | str, text: str) -> str:
    # ASCII, so that lone surrogates can be written.
    return json.dumps({"folder": str(folder), "text": text})


def lines_of(file: Path) -> list[tuple[str, str]]:
    """Return the folders and texts, oldest first; invalid lines are skipped."""
    try:
        written = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    found: list[tuple[str, str]] = []
    for line in written:
        with suppress(ValueError, KeyError, TypeError):
            each = json.loads(line)
            if isinstance(each["folder"], str) and isinstance(each["text"], str):
                found.append((each["folder"], each["text"]))
    return found


_FRESH_S = 60.0
"""Seconds for which a lock without a file may belong to a window that is about to write."""


class UnsentJournal:
    """The file of one window's unsent prompts. Nothing is created until there is something to save.

    Args:
        directory: The folder of all windows' files.
        folder: The workspace that the prompts belong to.
    """

    def __init__(self, directory: Path, folder: Path) -> None:
        self._file, self._folder = directory / f"{uuid4().hex}.jsonl", folder
        self._lock: WriterLock | None = None
        self._written: tuple[str, ...] = ()
        self._one = threading.Lock()
        """Keeps a write in another thread from happening after the end."""
        self._over = False

    def write(self, prompts: tuple[str, ...]) -> None:
        """Replace the saved prompts by these, oldest first. Blocks on the disk.

        Raises:
            OSError: if they cannot be written.
        """
        with self._one:
            if self._over or prompts == self._written:
                return
            if self._lock is None:
                self._lock = WriterLock(self._file.with_suffix(".lock"))
            write_atomic(self._file, "".join(f"{line_of(self._folder, text)}\n" for text in prompts))
            self._written = prompts

    def end(self, *, kept: bool = False) -> None:
        """Stop writing. Blocks on the disk.

        Args:
            kept: Whether to leave the file for the next window, as a killed process does.
        """
        with self._one:
            self._over = True
            if self._lock is None:
                return
            if not kept:
                with suppress(OSError):  # a file that cannot be deleted is offered again
                    self._file.unlink(missing_ok=True)
                    self._file.with_suffix(".lock").unlink(missing_ok=True)
            self._lock.release()


def take_over(directory: Path, file: Path) -> None:
    """Move what ended windows left to the unsent prompts. Blocks on the disk.

    Args:
        directory: The folder of all windows' files.
        file: The file of unsent prompts.

    Raises:
        OSError: if something cannot be written; nothing is lost then.
    """
    for lock_file in sorted(directory.glob("*.lock")):
        with suppress(SessionLocked, FileNotFoundError):
            age, left = time.time() - lock_file.stat().st_mtime, lock_file.with_suffix(".jsonl")
            with WriterLock(lock_file):
                if not left.exists() and age < _FRESH_S:
                    continue
                for folder, text in lines_of(left):
                    keep_unsent(file, Path(folder), [text])
                left.unlink(missing_ok=True)
                lock_file.unlink()
