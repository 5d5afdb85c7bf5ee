"""What is written to disk before a compaction changes the view: the history so far, and a checkpoint."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelMessagesTypeAdapter

from tui_app.context.events import CheckpointCreated, CompactionComplete
from tui_app.context.history import Proposal
from tui_app.context.items import Item, to_messages
from tui_app.context.proposing import nonzero
from tui_app.context.render import transcript_lines
from tui_app.context.usage import Breakdown, ContextUsage
from tui_app.session.heads import Head
from tui_app.session.workspace import Checkpoint, SessionFolder


@dataclass(slots=True)
class Archive:
    """Writes the files of one session's compactions; their numbers come from the log."""

    folder: SessionFolder
    compactions: int = 0
    """Compactions in the log, undone ones included: numbers are never used twice."""
    _checkpoints: list[Checkpoint] = field(default_factory=list)

    @property
    def checkpoints(self) -> Sequence[Checkpoint]:
        """Checkpoints written so far, oldest first."""
        return tuple(self._checkpoints)

    def note(self, head: Head) -> None:
        """Follow the log."""
        if head.type == "session.compaction_complete" and head.state == "success":
            self.compactions += 1
        elif head.type == CheckpointCreated.TYPE:
            file = head.model
            title = head.title.partition("  ")[2]
            self._checkpoints.append(
                Checkpoint(number=len(self._checkpoints) + 1, title=title, file=file, time=head.time)
            )

    def write(
        self,
        proposal: Proposal,
        items: Sequence[Item],
        usage: ContextUsage,
        tokens_after: int,
        summary: Breakdown,
        time: float,
    ) -> tuple[CompactionComplete, CheckpointCreated]:
        """Write history and checkpoint, and complete the event with paths and final numbers.

        Args:
            proposal: What is about to be applied.
            items: The view before it.
            usage: Its size.
            tokens_after: Size of the view afterwards.
            summary: Tokens of the summary message, without any factor.
            time: Seconds since the epoch.

        Raises:
            OSError: if the disk refuses.
        """
        number = self.compactions + 1
        messages = ModelMessagesTypeAdapter.dump_python(to_messages(items), mode="json")
        readable = "\n\n".join(transcript_lines(items, limit=None))
        history = self.folder.write_history(
            number, json.dumps(messages, ensure_ascii=True, indent=1), f"{readable}\n"
        )
        done = proposal.complete
        title = done.title or "conversation"
        checkpoint = self.folder.write_checkpoint(
            number, title, done.summary, time=time, earlier=self.checkpoints
        )
        path = str(self.folder.checkpoints / checkpoint.file)
        left = len(proposal.left)
        complete = replace(
            done,
            title=title,
            tokens=nonzero(summary),
            tokens_before=usage.total,
            tokens_after=tokens_after,
            tokens_removed=usage.total - tokens_after,
            messages_before=len(items),
            messages_after=len(items) - left + 1,
            messages_removed=left - 1,
            checkpoint_path=path,
            history_path=str(history),
        )
        return complete, CheckpointCreated(number=number, title=title, path=path)
