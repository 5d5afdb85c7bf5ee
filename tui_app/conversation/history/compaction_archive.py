"""Files of a session's compactions: the history before each, and its checkpoint."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic_ai.messages import ModelMessagesTypeAdapter

from tui_app.context.history import Proposal
from tui_app.context.summaries.prompt import transcript_lines
from tui_app.context.views.view import Item, to_messages
from tui_app.events import CheckpointCreated, CompactionComplete
from tui_app.session.event_heads import Head
from tui_app.session.workspace import Checkpoint, SessionFolder

_RECORDED = (CompactionComplete.TYPE, CheckpointCreated.TYPE)


@dataclass(slots=True)
class Archive:
    """Writes the files of one session's compactions. Their numbers come from the log."""

    folder: SessionFolder
    read: Callable[[Collection[str]], Iterable[Head]] = lambda _types: ()
    """Heads of the log's events of some types, the newest first; read lazily."""

    @property
    def compactions(self) -> int:
        """Number of compactions in the log, undone ones included."""
        newer = 0
        for head in self.read(_RECORDED):
            # It contains the number of its compaction, even if that event can no longer be read.
            if head.type == CheckpointCreated.TYPE:
                return head.ref + newer
            newer += head.state == "success"
        return newer

    def _all(self) -> dict[int, Checkpoint | None]:
        """Every compaction by log number, undone ones included, with its checkpoint; oldest first."""
        every, last = dict[int, Checkpoint | None](), 0
        for head in reversed([*self.read(_RECORDED)]):
            if head.type == CompactionComplete.TYPE and head.state == "success":
                last, every[head.seq] = head.seq, None
            elif head.type == CheckpointCreated.TYPE and last:
                title = head.title.partition("  ")[2]
                every[last] = Checkpoint(number=head.ref, title=title, file=head.model, time=head.time)
        return every

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Every checkpoint, those of undone compactions included, oldest first."""
        return list(filter(None, self._all().values()))

    def event_of(self, number: int) -> int:
        """Log number of compaction ``number`` of the session, from 1; 0 if there is none."""
        numbers = list(self._all())
        return numbers[number - 1] if 0 < number <= len(numbers) else 0

    def histories(self, matches: Callable[[int], bool]) -> set[Path]:
        """History files of the compactions (by log number) that match a condition."""
        numbers = (number for number, compaction in enumerate(self._all(), 1) if matches(compaction))
        return {file for number in numbers for file in self.folder.history_files(number)}

    def matching(self, compactions: Sequence[int]) -> list[Checkpoint]:
        """Checkpoints of the given compactions (log numbers), oldest first."""
        every = self._all()
        return [found for seq in compactions if (found := every.get(seq)) is not None]

    def sync(self, compactions: Sequence[int]) -> None:
        """Make the index list the compactions that are not undone, after an undo, a redo, or a crash.

        Raises:
            OSError: if the disk refuses.
        """
        listed = self.folder.listed()
        # Compactions by other programs have no checkpoints.
        if listed not in (None, len(compactions)) and listed != len(found := self.matching(compactions)):
            self.folder.write_index(found)

    def write(
        self, proposal: Proposal, items: Sequence[Item], time: float, standing: Sequence[int]
    ) -> tuple[CompactionComplete, CheckpointCreated]:
        """Write history and checkpoint, and complete the event with paths and final numbers.

        Args:
            proposal: The compaction to apply.
            items: The view before it, each message in its original form.
            time: Seconds since the epoch.
            standing: Log numbers of the compactions that are not undone.

        Raises:
            OSError: if the disk refuses.
        """
        number = self.compactions + 1
        title = proposal.complete.title or "conversation"
        history = self.write_history(number, items)
        summary, earlier = proposal.complete.summary, self.matching(standing)
        checkpoint = self.folder.write_checkpoint(number, title, summary, time=time, earlier=earlier)
        path = str(self.folder.checkpoints / checkpoint.file)
        left, new = len(proposal.left), len(proposal.messages)
        complete = replace(
            proposal.complete,
            title=title,
            messages_before=len(items),
            messages_after=len(items) - left + new,
            messages_removed=left - new,
            messages_left=left,
            checkpoint_number=number,
            checkpoint_path=path,
            history_path=str(history),
        )
        return complete, CheckpointCreated(number=number, title=title, path=path)

    def write_history(self, number: int, items: Sequence[Item]) -> Path:
        """Write the history before a compaction as JSON and Markdown. Returns the path of the Markdown file.

        Raises:
            OSError: if the disk refuses.
        """
        messages = ModelMessagesTypeAdapter.dump_python(to_messages(items), mode="json")
        readable = "\n\n".join(transcript_lines(items, limit=None)) + "\n"
        return self.folder.write_history(number, json.dumps(messages, ensure_ascii=True, indent=1), readable)
