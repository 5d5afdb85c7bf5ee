"""Snapshots of files that tools change, so that a rewind can restore them. git is not needed.

The log has each file's checksum before and after every change by a tool and every restore. The content of a
file at a prompt is therefore that before the first later change.
"""

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Literal

from tui_app.agent.tools.calls import on_thread
from tui_app.agent.tools.edits import FileChange, put_bytes, remove_halves
from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_regular
from tui_app.context.message_marks import inbox_message
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.work import Merge
from tui_app.events import (
    BranchMerged,
    FileChanged,
    FilesRestored,
    Notice,
    RestoredFile,
    SessionRestored,
    data_of,
)
from tui_app.records import frozen, like
from tui_app.session.event_heads import Head
from tui_app.session.kept_files import KeptFiles, checksum
from tui_app.session.model_state import newest_records
from tui_app.session.stores.store import SessionStore

_NO_ROOM = "The files of {} do not fit among the kept files: /undo could not restore them. Nothing changed."
FileFate = Literal["restore", "remove", "same", "changed", "lost"]
"""Effect of a restore on a file.

``restore`` gives it its old content and ``remove`` deletes it. Nothing happens to the others: it is the
``same`` as then, was ``changed`` by others since, or its old content is ``lost``.
"""


@frozen
class FileOutlook:
    """The effect of a restore on one file."""

    file: RestoredFile
    """Its expected content, and the content to restore."""
    fate: FileFate


@dataclass(slots=True)
class FileKeeper:
    """Keeps and restores the files of one session. Not thread-safe: use it on one event loop."""

    history: SessionHistory
    kept: KeptFiles
    workspace: Workspace

    async def keep(self, change: FileChange, call: str) -> None:
        """See ``Keeper``: store the bytes, then log the event; only then does the caller change the file."""
        kept = await on_thread(lambda: self.kept.put(change.before))
        sums = {"before": checksum(change.before), "after": checksum(change.after)}
        mode = change.mode or 0
        self.history.append(FileChanged(tool_call_id=call, path=change.shown, mode=mode, kept=kept, **sums))
        if not kept:
            warning = f"{change.shown} does not fit among the kept files: a rewind cannot restore it."
            self.history.append(Notice(text=warning))

    async def outlook(self, to: int) -> Sequence[FileOutlook]:
        """The effect of restoring the files that tools changed since a prompt. Nothing is changed."""
        back = self._since(to)
        return await asyncio.to_thread(lambda: [FileOutlook(each, self._fate(each)) for each in back])

    async def restore(self, to: int, *, overwrite: bool = False) -> None:
        """Restore files to their state before a prompt; with ``overwrite``, also those others changed."""
        await self._apply(FilesRestored(to=to, files=self._since(to)), overwrite=overwrite)

    def _since(self, to: int) -> tuple[RestoredFile, ...]:
        return invert_steps(file_steps(self.history.store, self.history.session, to))

    def restorings(self, seq: int) -> list[Head]:
        """The restores after a log number, in order."""
        newest = self.history.store.newest(self.history.session, (FilesRestored.TYPE,))
        return [*takewhile(lambda head: head.seq > seq, newest)][::-1]

    async def undo(self, seq: int) -> None:
        """Undo a restore."""
        step = data_of(self.history.store.record(self.history.session, seq), FilesRestored)
        if step is None:
            self.history.refuse(f"Nothing to undo: #{seq} restored no files.")
        else:
            await self._apply(FilesRestored(to=seq, undo=True, files=invert_steps(step.files)))

    async def merge(self, work: Merge) -> None:
        """Add the brief and the files of a branch.

        All bytes are stored first, then one event is logged. If the process is killed, the next opening
        finishes it.
        """
        if not await on_thread(lambda: all(map(self.kept.put, work.contents))):
            self.history.append(Notice(text=_NO_ROOM.format(work.event.name), passing=True))
            return
        message = inbox_message(work.event.text)
        tokens = self.history.counter.message(message).nonzero()
        record = self.history.append(replace(work.event, tokens=tokens), message)
        self.history.show_gauge()
        if work.event.taken:
            await self._merge(record.seq, work.event)

    async def _merge(self, seq: int, merged: BranchMerged) -> None:
        files = tuple(like(RestoredFile, file) for file in merged.taken)
        await self._apply(FilesRestored(to=seq, branch=merged.name, files=files), is_begun=True)

    async def finish(self) -> None:
        """Finish what a killed process had begun: a merge, or undoing one.

        If that happened here, all bytes were stored before. Otherwise only the log tells of it, and nothing
        is done.
        """
        store, session = self.history.store, self.history.session
        newest = next(store.newest(session, (BranchMerged.TYPE, SessionRestored.TYPE)), None)
        if newest is None:
            return
        merge = newest.seq if newest.type == BranchMerged.TYPE else newest.ref
        merged = data_of(store.record(session, merge), BranchMerged)
        if merged is None or not merged.taken:
            return
        steps = self.restorings(merge)
        earlier = [step for step in steps if step.seq < newest.seq]
        seqs = [merge] if merge == newest.seq else pending_restores(earlier)
        carried_out = {head.ref for head in steps if head.seq > newest.seq}
        unfinished = (each for each in seqs if each not in carried_out)
        sums = {each for file in merged.taken for each in (file.before, file.after) if each}
        for seq in (each for each in unfinished if not any(self.kept.get(sum) is None for sum in sums)):
            for file in merged.taken:
                with suppress(ToolProblem, OSError):
                    remove_halves(self.workspace.writable(file.path))
            if (done := data_of(store.record(session, seq), FilesRestored)) is None:
                await self._merge(merge, merged)
            else:
                step = FilesRestored(to=seq, undo=True, files=invert_steps(done.files))
                await self._apply(step, is_begun=True)

    async def _apply(self, step: FilesRestored, *, overwrite: bool = False, is_begun: bool = False) -> None:
        """Bring files to the state a step asks for. Logs one event, unless there was nothing to do.

        Args:
            step: Expected and wanted contents. A file with any other content is left alone.
            overwrite: Change those files as well.
            is_begun: Whether a process may have done part of it: those files count as done.
        """
        fates = {"restore", "remove"} | ({"changed"} if overwrite else set())
        done, skipped = list[RestoredFile](), list[str]()
        for file in step.files:
            fate = await on_thread(partial(self._fate, file))
            as_is = file if is_begun and fate == "same" else None
            restored = await on_thread(partial(self._put_back, file)) if fate in fates else as_is
            if restored is not None:
                done.append(restored)
            elif fate != "same":
                skipped.append(file.path)
        # An undo is logged even if nothing was left to do, so that it is not begun again.
        if done or skipped or step.undo or is_begun:
            self.history.append(replace(step, files=tuple(done), skipped=tuple(skipped)))

    def _fate(self, file: RestoredFile) -> FileFate:
        try:
            now = checksum(read_with_mode(self.workspace, file.path)[0])
        except (ToolProblem, OSError):
            now = "unreadable"
        if now == file.after:
            return "same"
        if file.after and self.kept.get(file.after) is None:
            return "lost"
        if now != file.before:
            return "changed"
        return "restore" if file.after else "remove"

    def _put_back(self, file: RestoredFile) -> RestoredFile | None:
        """Write one file, storing its present bytes first; None if that is not possible."""
        data = self.kept.get(file.after) if file.after else None
        if file.after and data is None:
            return None
        try:
            real = self.workspace.writable(file.path)
            now, _ = read_with_mode(self.workspace, file.path)
            if not self.kept.put(now):
                return None
            put_bytes(real, data, expected=now, mode=file.mode or None, shown=file.path)
        except (ToolProblem, OSError):
            return None
        return replace(file, before=checksum(now))


def read_with_mode(workspace: Workspace, path: str, largest: int = sys.maxsize) -> tuple[bytes | None, int]:
    """Content and permissions of a writable file; content None if it does not exist.

    Raises:
        ToolProblem: if it may not be read, or is too large.
    """
    real = workspace.writable(path)
    if not real.exists():
        return None, 0
    with open_regular(real) as stream:
        found = os.fstat(stream.fileno())
        if found.st_size > largest:
            raise ToolProblem(f"it is larger than {largest:,} bytes")
        return stream.read(), found.st_mode & 0o777


def file_steps(store: SessionStore, session: str, first: int = 0) -> Iterator[RestoredFile]:
    """Changes by tools and restores in a session from a log number on, in order."""
    newest = newest_records(store, session, FileChanged, FilesRestored)
    for record in [*takewhile(lambda record: record.seq >= first, newest)][::-1]:
        match record.data:
            case FileChanged() as changed:
                yield like(RestoredFile, changed)
            case FilesRestored(files=files):
                yield from files


def merge_steps(steps: Iterable[RestoredFile]) -> list[RestoredFile]:
    """Combine steps into one per file, from its first content and permissions to its last content."""
    every = list(steps)
    first = {step.path: step for step in reversed(every)}
    last = {step.path: step.after for step in every}
    return [replace(first[path], after=after) for path, after in last.items()]


def invert_steps(steps: Iterable[RestoredFile]) -> tuple[RestoredFile, ...]:
    """The steps that undo others, one per file."""
    return tuple(replace(each, before=each.after, after=each.before) for each in merge_steps(steps))


def pending_restores(steps: Sequence[Head]) -> list[int]:
    """Numbers of what to undo so that no restoring is left, the newest first.

    Undoing an undo puts a restore back into effect; then that number has to be undone.

    Args:
        steps: Heads of the events that changed files, in order.
    """
    undone_by = {head.ref: head.seq for head in steps if head.state == "undo"}
    last: list[int] = []
    for head in steps:
        at, stands = head.seq, head.state != "undo"
        if not stands:
            continue
        while at in undone_by:
            at, stands = undone_by[at], not stands
        if stands:
            last.append(at)
    return sorted(last, reverse=True)
