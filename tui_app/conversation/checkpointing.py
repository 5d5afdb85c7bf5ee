"""What is written to disk before a compaction changes the view: the history so far, and a checkpoint."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse

from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.counting.usage import Breakdown
from tui_app.context.history import Proposal
from tui_app.context.summaries.transcript import transcript_lines
from tui_app.context.view import Item, to_messages
from tui_app.events import CheckpointCreated, CompactionAcknowledged, CompactionComplete
from tui_app.session.event_heads import Head
from tui_app.session.workspace import Checkpoint, SessionFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What a compaction changes, in tokens."""

    before: int
    after: int
    summary: Breakdown
    """Tokens of the summary message, without any factor."""


@dataclass(slots=True)
class Archive:
    """Writes the files of one session's compactions; their numbers come from the log."""

    folder: SessionFolder
    _numbers: list[int] = field(default_factory=list)
    """Log numbers of the compactions, undone ones included: their own numbers are never used twice."""
    _checkpoints: dict[int, Checkpoint] = field(default_factory=dict)

    @property
    def compactions(self) -> int:
        """Compactions in the log, undone ones included."""
        return len(self._numbers)

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Every checkpoint that was written, those of undone compactions included, oldest first."""
        return list(self._checkpoints.values())

    def event_of(self, number: int) -> int:
        """Log number of compaction ``number`` of the session, from 1; 0 where there was none."""
        return self._numbers[number - 1] if 0 < number <= len(self._numbers) else 0

    def note(self, head: Head) -> None:
        """Follow the log."""
        if head.type == CompactionComplete.TYPE and head.state == "success":
            self._numbers.append(head.seq)
        elif head.type == CheckpointCreated.TYPE and self._numbers:
            title = head.title.partition("  ")[2]
            self._checkpoints[self._numbers[-1]] = Checkpoint(
                number=head.ref, title=title, file=head.model, time=head.time
            )

    def standing(self, compactions: Sequence[int]) -> list[Checkpoint]:
        """Checkpoints of the given compactions (log numbers), oldest first."""
        return [self._checkpoints[seq] for seq in compactions if seq in self._checkpoints]

    def sync(self, compactions: Sequence[int]) -> None:
        """Let the index list the compactions that stand: after an undo, a redo, or a crash.

        Raises:
            OSError: if the disk refuses.
        """
        checkpoints = self.standing(compactions)
        if self.folder.listed() not in (None, len(checkpoints)):
            self.folder.write_index(checkpoints)

    def write(
        self, proposal: Proposal, items: Sequence[Item], sizes: Sizes, time: float, standing: Sequence[int]
    ) -> tuple[CompactionComplete, CheckpointCreated]:
        """Write history and checkpoint, and complete the event with paths and final numbers.

        Args:
            proposal: What is about to be applied.
            items: The view before it.
            sizes: What it changes.
            time: Seconds since the epoch.
            standing: Log numbers of the compactions that stand.

        Raises:
            OSError: if the disk refuses.
        """
        number = self.compactions + 1
        title = proposal.complete.title or "conversation"
        history = self.write_history(number, items)
        checkpoint = self.folder.write_checkpoint(
            number, title, proposal.complete.summary, time=time, earlier=self.standing(standing)
        )
        path = str(self.folder.checkpoints / checkpoint.file)
        left, new = len(proposal.left), len(proposal.messages)
        complete = replace(
            proposal.complete,
            title=title,
            tokens=sizes.summary.nonzero(),
            tokens_before=sizes.before,
            tokens_after=sizes.after,
            tokens_removed=sizes.before - sizes.after,
            messages_before=len(items),
            messages_after=len(items) - left + new,
            messages_removed=left - new,
            checkpoint_path=path,
            history_path=str(history),
        )
        return complete, CheckpointCreated(number=number, title=title, path=path)

    def write_history(self, number: int, items: Sequence[Item]) -> Path:
        """Write the history in front of a compaction as JSON and as Markdown; returns the latter's path.

        Raises:
            OSError: if the disk refuses.
        """
        messages = ModelMessagesTypeAdapter.dump_python(to_messages(items), mode="json")
        readable = "\n\n".join(transcript_lines(items, limit=None))
        return self.folder.write_history(
            number, json.dumps(messages, ensure_ascii=True, indent=1), f"{readable}\n"
        )


def acknowledged(
    proposal: Proposal, counter: TokenCounter
) -> list[tuple[CompactionAcknowledged, ModelResponse]]:
    """The event of what the assistant says behind a summary, with its message; none where it says nothing."""
    message = proposal.acknowledgement
    if message is None:
        return []
    tokens = counter.message(message).nonzero()
    job, text = proposal.complete.job, message.text or ""
    return [(CompactionAcknowledged(job=job, text=text, tokens=tokens), message)]
