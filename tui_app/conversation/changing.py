"""What a person does to the view of a conversation without asking a model."""

from dataclasses import dataclass, field

from tui_app.conversation.by_hand import ByHand
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.summary_edits import SummaryEdits
from tui_app.conversation.work import (
    BringBack,
    Change,
    Clear,
    EditSummary,
    Pin,
    Relieve,
    Restate,
    Restore,
    Rewind,
)
from tui_app.events import SessionClear


@dataclass(slots=True)
class Changes:
    """Changes one conversation's view; each is one event, and a notice says why something is not done."""

    history: SessionHistory
    compactions: Compactions
    by_hand: ByHand = field(init=False)
    edits: SummaryEdits = field(init=False)

    def __post_init__(self) -> None:
        self.by_hand = ByHand(self.history, self.compactions)
        self.edits = SummaryEdits(self.history, self.compactions)

    async def make(self, change: Change) -> None:
        """Do what was asked for."""
        match change:
            case Restate(undo, compaction):
                self.compactions.restate(undo=undo, compaction=compaction)
            case Restore(rewrite):
                self.compactions.restore(rewrite)
            case Rewind(to):
                self.compactions.rewind(to)
            case EditSummary(compaction, text):
                await self.edits.edit(compaction, text)
            case BringBack(compaction, fact):
                self.edits.bring_back(compaction, fact)
            case Clear():
                self.compactions.cancel()
                self.history.append(SessionClear())
            case _:
                self._one_message(change)

    def _one_message(self, change: Pin | Relieve) -> None:
        match change:
            case Pin(seq, pinned):
                self.by_hand.pin(seq, pinned=pinned)
            case Relieve(seq, stage, others):
                self.by_hand.relieve((seq, *others), stage)
