"""Unsent prompts: text that is not in a log yet and must survive the end of the program."""

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
    """The result of keeping prompts that were never sent."""

    number: int
    """Number of prompts available at the next start."""
    lost: tuple[str, ...] = ()
    """Prompts that could not be written; the caller still has to show them."""
    why: str = ""
    """The error."""


GATHER_S = 0.5
"""Seconds after a change until it is written: most prompts are in the log by then."""


class Unsent:
    """Prompts on their way from the editor to one session's log.

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
        """A journal that survives a killed process."""
        self._changed = asyncio.Event()

    def sent(self, text: str) -> None:
        """Record that a prompt has left the editor."""
        self.waiting.append(text)
        self.changed()

    def mark_restored(self, text: str) -> None:
        """Record that a prompt is in the editor again, as a draft like any other."""
        if text in self.waiting:
            self.waiting.remove(text)
            self.changed()

    def changed(self) -> None:
        """Schedule writing the journal after something was sent, came back or was typed."""
        self._changed.set()

    async def write_down(self, draft: Callable[[], str]) -> None:
        """Write waiting prompts and the draft to disk until cancelled, because the process may be killed.

        Args:
            draft: Returns the text in the editor, or in a question's input.
        """
        while True:
            await self._changed.wait()
            await asyncio.sleep(GATHER_S)
            self._changed.clear()
            texts = _worth_keeping(*self.waiting, draft())
            try:
                await asyncio.to_thread(self.journal.write, texts)
            except OSError as error:  # retried at the next change
                _LOG.warning("what is not sent could not be written down: %s", error)

    def follow(self, record: Record) -> str:
        """Update the waiting prompts from an event.

        Returns:
            A prompt of an earlier start that has now been sent and is to be forgotten; empty for none.
        """
        match record.data:
            case SessionBackground(step="attached", prompts=prompts):
                self.waiting += [each.text for each in prompts]
                self.changed()
            case SessionBackground(prompts=prompts):
                # The log keeps them for the process that continues.
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
        """Return the prompts left by earlier starts in this folder, oldest first; blocks on the disk."""
        try:
            take_over(self._paths.unsent_dir, self._file)
        except OSError as error:
            _LOG.warning("what killed windows left could not be taken over: %s", error)
        found = unsent(self._file, self._folder)
        self._recalled.update(found)
        return found

    def forget(self, text: str) -> None:
        """Forget a prompt of an earlier start; blocks on the disk."""
        try:
            forget_unsent(self._file, self._folder, text)
        except OSError as error:  # it is offered once more, which does no harm
            _LOG.warning("a sent prompt could not be removed from the list: %s", error)

    def keep(self, *drafts: str) -> Kept:
        """Keep unsent prompts and drafts for the next start; blocks on the disk."""
        texts = _worth_keeping(*self.waiting, *drafts)
        self.waiting.clear()
        new = [text for text in texts if text not in self._recalled]
        try:
            keep_unsent(self._file, self._folder, new)
        except OSError as error:
            _LOG.warning("unsent prompts could not be kept: %s", error)
            # What the journal already has is available at the next start.
            self.journal.end(kept=True)
            return Kept(len(texts) - len(new), tuple(new), error.strerror or str(error))
        self.journal.end()
        return Kept(len(texts))


def _worth_keeping(*texts: str) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip() and not (is_command(text) and len(text.split()) < 2))


def kept_text(kept: Kept) -> str:
    """Word the kept prompts for the terminal after the screen is closed; empty if there are none."""
    lines = []
    if kept.number:
        one = kept.number == 1
        which, brings = ("1 prompt was", "it") if one else (f"{kept.number} prompts were", "them")
        lines.append(f"{which} not sent. Press up to get {brings} back (in this folder).")
    if kept.lost:
        lines.append(f"Not sent, and not kept for the next time ({kept.why}):")
        lines += [clean(text) for text in kept.lost]
    return "\n".join(lines)
