"""What a user has said that no log holds yet: it must outlive the window."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tui_app.events import Record, SessionBackground, TurnEnd, UserMessage
from tui_app.paths import Paths
from tui_app.session.prompts import UnsentJournal, forget_unsent, keep_unsent, take_over, unsent
from tui_app.ui.slash import is_command
from tui_app.ui.words.text import clean

_LOG = logging.getLogger(__name__)


class Kept(NamedTuple):
    """What became of prompts that were never sent."""

    number: int
    """How many are there at the next visit."""
    lost: tuple[str, ...] = ()
    """Those that the disk refused; whoever asked still has them to show."""
    why: str = ""
    """Why it refused."""


GATHER_S = 0.5
"""Seconds behind a change until it is written down: most prompts are in the log by then."""


class Unsent:
    """Prompts on their way into one session's log, from the moment they leave the editor.

    Args:
        paths: Where prompts are kept that never arrive.
        folder: The workspace they are kept for.
    """

    def __init__(self, paths: Paths, folder: Path) -> None:
        self._paths, self._file, self._folder = paths, paths.unsent_file, folder
        self.waiting: list[str] = []
        """Texts that would be lost, oldest first."""
        self._recalled: set[str] = set()
        self.journal = UnsentJournal(paths.unsent_dir, folder)
        """What outlives a kill."""
        self._changed = asyncio.Event()

    def sent(self, text: str) -> None:
        """Note that a prompt has left the editor."""
        self.waiting.append(text)
        self.changed()

    def mark_restored(self, text: str) -> None:
        """Note that a prompt is in the editor again, a draft like any other."""
        if text in self.waiting:
            self.waiting.remove(text)
            self.changed()

    def changed(self) -> None:
        """Note that something was sent, came back or was typed, so that it is written down."""
        self._changed.set()

    async def write_down(self, draft: Callable[[], str]) -> None:
        """Keep what waits, and the draft, on disk, until cancelled: the process may be killed.

        Args:
            draft: What is written in the editor, or in the line of a question.
        """
        while True:
            await self._changed.wait()
            await asyncio.sleep(GATHER_S)
            self._changed.clear()
            texts = _worth_keeping(*self.waiting, draft())
            try:
                await asyncio.to_thread(self.journal.write, texts)
            except OSError as error:  # the next change tries again
                _LOG.warning("what is not sent could not be written down: %s", error)

    def follow(self, record: Record) -> str:
        """Take note of an event.

        Returns:
            A prompt of an earlier visit that has been sent now, to be forgotten; empty for none.
        """
        match record.data:
            case SessionBackground(step="attached", prompts=prompts):
                self.waiting += [each.text for each in prompts]
                self.changed()
            case SessionBackground(prompts=prompts):
                # The log keeps them for the process that goes on.
                for each in prompts:
                    self.mark_restored(each.text)
            case TurnEnd(prompt=text) if text:
                self.mark_restored(text)
            case UserMessage(text=text):
                self.mark_restored(text)
                if text in self._recalled:
                    self._recalled.discard(text)
                    return text
        return ""

    def recall(self) -> list[str]:
        """What earlier visits to this folder have left, oldest first; blocks on the disk."""
        try:
            take_over(self._paths.unsent_dir, self._file)
        except OSError as error:
            _LOG.warning("what killed windows left could not be taken over: %s", error)
        found = unsent(self._file, self._folder)
        self._recalled.update(found)
        return found

    def forget(self, text: str) -> None:
        """Keep a prompt of an earlier visit no longer; blocks on the disk."""
        try:
            forget_unsent(self._file, self._folder, text)
        except OSError as error:  # it is offered once more: no harm
            _LOG.warning("a sent prompt could not be removed from the list: %s", error)

    def keep(self, *drafts: str) -> Kept:
        """Keep what has not arrived, and drafts, for the next visit; blocks on the disk."""
        texts = _worth_keeping(*self.waiting, *drafts)
        self.waiting.clear()
        new = [text for text in texts if text not in self._recalled]
        try:
            keep_unsent(self._file, self._folder, new)
        except OSError as error:
            _LOG.warning("unsent prompts could not be kept: %s", error)
            # What was written down before is there for the next visit.
            self.journal.end(kept=True)
            return Kept(len(texts) - len(new), tuple(new), error.strerror or str(error))
        self.journal.end()
        return Kept(len(texts))


def _worth_keeping(*texts: str) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip() and not (is_command(text) and len(text.split()) < 2))


def kept_text(kept: Kept) -> str:
    """Word the kept prompts for the terminal once the screen is gone; empty for none."""
    told = []
    if kept.number:
        one = kept.number == 1
        which, brings = ("1 prompt was", "it") if one else (f"{kept.number} prompts were", "them")
        told.append(f"{which} not sent. Press up to get {brings} back (in this folder).")
    if kept.lost:
        told.append(f"Not sent, and not kept for the next time ({kept.why}):")
        told += [clean(text) for text in kept.lost]
    return "\n".join(told)
