"""Consistency of a session's files with its log: no partial files, none missing, within the size limit.

All of them except plan and to-do list repeat what the log contains, so they can be deleted and rewritten.
"""

import json
import logging
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart

from tui_app.context.history import ignore
from tui_app.context.tool_results.cuts import sha256_of
from tui_app.context.tool_results.results import file_text, result_text, results_of
from tui_app.context.views.view import Item
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import (
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    Record,
    RewriteUndone,
    SessionRestored,
    SessionRewind,
    data_of,
)
from tui_app.records import frozen
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import STAGES, STAND_INS
from tui_app.session.workspace import TOOL_OUTPUTS, SessionFolder

_HISTORY = re.compile(r"(\d{3,})-before-compaction\.(?:md|json)")
_CHECKPOINT = re.compile(r"(\d{3,})-.+\.md")
_NEAR = 400
"""A file's checksum is written within this many characters after its name."""
_DIGEST = re.compile(r"sha256 ([0-9a-f]{8,64})")


_log = logging.getLogger(__name__)
_BACK = (CompactionUndone, CompactionRedone, RewriteUndone, SessionRestored, SessionRewind)
"""Events after which the view may refer to files that it did not refer to before."""
_OURS = re.compile(r"[\w.-]+_\d{8}_\d{6}_[\w.-]+\.txt")
"""Names we give to tool results; any other file in that folder is the user's own."""
_NUMBERED = re.compile(r"(\d{3,})-.+\.(?:md|json)")
_NAMED = re.compile(rf"{TOOL_OUTPUTS}/([\w.-]+?\.txt)|(\d{{3,}}-before-compaction)\.md")


@frozen
class SessionFiles:
    """Maintains the files of a session that this process may write.

    Attributes:
        history: The session, loaded.
        limit: Maximum bytes of tool results and histories; 0 for no limit.
    """

    history: SessionHistory
    limit: int = 0

    @property
    def folder(self) -> SessionFolder:
        return self.history.archive.folder

    def tidy(self) -> None:
        """Remove leftovers of a crash, write missing files, and enforce the limit. Never fails."""
        self._try(self.sweep, self.restore, self.keep_within)

    def on_record(self, record: Record) -> None:
        if isinstance(record.data, CompactionComplete):
            self._try(self.keep_within)
        elif isinstance(record.data, _BACK):
            self._try(self.restore)

    def _try(self, *steps: Callable[[], object]) -> None:
        for step in steps:
            try:
                step()
            except (OSError, sqlite3.Error) as error:
                _log.warning("The files of %s could not be looked after: %s", self.history.session, error)

    def sweep(self) -> list[Path]:
        """Delete partial files, and files whose event was never logged.

        Returns:
            The deleted files.

        Raises:
            OSError: if the disk refuses.
        """
        stray = list(self.folder.unfinished())
        for folder in (self.folder.checkpoints, self.folder.conversation_history):
            for path in _files(folder):
                number = _NUMBERED.fullmatch(path.name)
                if number and int(number[1]) > self.history.archive.compactions:
                    stray.append(path)
        outputs = _files(self.folder.tool_outputs)
        unrecorded = {path.name: path for path in outputs if _OURS.fullmatch(path.name)}
        # Newest first: hardly any file is older than what is still in view.
        heads = self.history.store.newest(self.history.session, STAGES)
        while unrecorded and (head := next(heads, None)) is not None:
            for name in _names(self._texts([head.seq])):
                unrecorded.pop(name, None)
        stray += unrecorded.values()
        for path in stray:
            path.unlink(missing_ok=True)
        return stray

    def missing(self) -> list[str]:
        """Names of missing files: checkpoints, their index, and those the view refers to."""
        here = {path.name for part in (self.folder.checkpoints, *self._prunable()) for path in _files(part)}
        # Only summaries and rewritten results name files.
        pointing = [head for head in self.history.view.visible() if head.form[0] or head.type in STAND_INS]
        # A history is two files, one for readers and one to load.
        names = [name for stem in self._names_in(pointing) for name in _whole(stem)]
        # An undone compaction may be redone, and its details always name its checkpoint.
        checkpoints = [checkpoint.file for checkpoint in self.history.archive.checkpoints]
        absent = [name for name in dict.fromkeys([*names, *checkpoints]) if name not in here]
        # The count next to the index is written together with it.
        index = [self.folder.index_file.name] if checkpoints and not self.folder.has_index() else []
        return [*absent, *index]

    def restore(self) -> list[str]:
        """Write missing files again from the log.

        Returns:
            Names of the restored files.

        Raises:
            OSError: if the disk refuses.
            sqlite3.Error: if the log cannot be read.
        """
        return [name for name in self.missing() if self._write(name)]

    def restore_histories(self) -> list[str]:
        """Write also missing histories that the view does not refer to, newest first, within the limit.

        Returns:
            Names of the restored files.

        Raises:
            OSError: if the disk refuses.
            sqlite3.Error: if the log cannot be read.
        """
        written = list[str]()
        for number in range(self.history.archive.compactions, 0, -1):
            names = _whole(f"{number:03d}-before-compaction")
            paths = [self.folder.conversation_history / name for name in names]
            absent = [path for path in paths if not path.is_file()]
            if not absent or not self._write(names[0]):
                continue
            if self.limit and sum(stat.st_size for stat in self._sizes().values()) > self.limit:
                # This one and all older ones were deleted before to make room.
                for path in absent:
                    path.unlink(missing_ok=True)
                break
            written += (path.name for path in absent)
        return written

    def keep_within(self) -> None:
        """Delete the oldest tool results and histories above the limit, except those the view refers to.

        Raises:
            OSError: if the disk refuses.
            sqlite3.Error: if the log cannot be read.
        """
        if not self.limit:
            return
        sizes = self._sizes()
        excess = sum(stat.st_size for stat in sizes.values()) - self.limit
        if excess <= 0:
            return
        kept = {name for stem in self._names_in(self.history.view.visible()) for name in _whole(stem)}
        for path in sorted(sizes, key=lambda path: (sizes[path].st_mtime, path.name)):
            if excess > 0 and path.name not in kept:
                path.unlink(missing_ok=True)
                excess -= sizes[path].st_size

    def _sizes(self) -> dict[Path, os.stat_result]:
        """The files that count towards the limit."""
        return {
            path: path.stat()
            for part in self._prunable()
            for path in _files(part)
            if _OURS.fullmatch(path.name) or _NUMBERED.fullmatch(path.name)
        }

    def _prunable(self) -> tuple[Path, Path]:
        return self.folder.tool_outputs, self.folder.conversation_history

    def _names_in(self, heads: Sequence[Head]) -> list[str]:
        """File names in messages, and the histories of summaries, whose text names only their folder."""
        summaries = [head.seq for head in heads if head.type == CompactionComplete.TYPE]
        checkpoints = self.history.archive.matching(summaries)
        histories = [f"{each.number:03d}-before-compaction" for each in checkpoints]
        plain: list[int] = []
        forms: dict[int, set[int]] = {}
        for head in heads:
            if head.form[0]:
                forms.setdefault(head.form[0], set()).add(head.form[1])
            else:
                plain.append(head.seq)
        texts = list(self._texts(plain))
        for rewrite, text in zip(forms, self._texts(forms), strict=True):
            # One event may also contain forms that are no longer in view.
            every = enumerate(json.loads(text or "[]"))
            texts += [json.dumps(form) for at, form in every if at in forms[rewrite]]
        return [*histories, *_names(texts)]

    def _texts(self, events: Iterable[int]) -> Iterator[str]:
        for seq in events:
            yield self.history.store.message(self.history.session, seq) or ""

    def _write(self, name: str) -> bool:
        """Write a file again from the log.

        Args:
            name: As the view or the index has it, without folders.

        Returns:
            Whether the log has its content.

        Raises:
            OSError: if the disk refuses.
            sqlite3.Error: if the log cannot be read.
        """
        archive, store, session = self.history.archive, self.history.store, self.history.session
        if name == "index.md":
            self.folder.write_index(archive.matching(self.history.view.compactions))
            return True
        if match := _HISTORY.fullmatch(name):
            return self._history(int(match[1]))
        if match := _CHECKPOINT.fullmatch(name):
            number = int(match[1])
            done = data_of(store.record(session, archive.event_of(number)), CompactionComplete)
            if done is None:
                return False
            self.folder.write_checkpoint_file(name, number, done.title, done.summary)
            return True
        for head in sorted(store.newest(session, STAGES), key=lambda head: head.seq):
            forms = store.message(session, head.seq) or ""
            if name not in forms:
                continue
            places = [place for place, form in enumerate(json.loads(forms)) if name in json.dumps(form)]
            if places and places[0] < len(head.changes):
                message = store.message(session, head.changes[places[0]][0]) or "null"
                bodies = list(_bodies(ModelMessagesTypeAdapter.validate_json(f"[{message}]")[0]))
                # The text with the checksum written next to its name, else the result itself.
                digest = _DIGEST.search(forms[forms.index(name) :][:_NEAR])
                fitting = [body for body in bodies if digest and sha256_of(body).startswith(digest[1])]
                text = [*fitting, *bodies, ""][0]
                self.folder.write_tool_output(f"{TOOL_OUTPUTS}/{name}", text)
                return True
        return False

    def _history(self, number: int) -> bool:
        """Write the view before a compaction."""
        now = self.history
        record = now.store.record(now.session, now.archive.event_of(number))
        done = data_of(record, CompactionComplete)
        # For a compaction by another program, there never was a history.
        if record is None or done is None or not done.history_path:
            return False
        then = SessionHistory(now.store, now.session, now.archive, now.counter, ignore, now.model)
        for head in takewhile(lambda head: head.seq < record.seq, now.store.heads(now.session)):
            then.view.apply(head)
        readable = now.archive.write_history(number, then.originals(then.items()))
        for path in (readable, readable.with_suffix(".json")):
            # With its original time: the oldest files are deleted first.
            os.utime(path, (record.time, record.time))
        return True


def _bodies(message: ModelMessage) -> Iterator[str]:
    """Results, and the texts passed to calls."""
    for _, part in results_of(Item(0, message)):
        if (text := result_text(part)) is not None:
            yield file_text(part, text)
    if isinstance(message, ModelResponse):
        for call in message.parts:
            if isinstance(call, ToolCallPart):
                yield from (value for value in call.args_as_dict().values() if isinstance(value, str))


def _names(texts: Iterable[str]) -> Iterator[str]:
    """Names of tool results, and stems of histories."""
    for text in texts:
        for output, stem in _NAMED.findall(text):
            yield output or stem


def _whole(name: str) -> tuple[str, ...]:
    return (name,) if name.endswith(".txt") else (f"{name}.md", f"{name}.json")


def _files(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_file()]
    except OSError:  # the folder does not exist
        return []
