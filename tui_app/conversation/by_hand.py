"""What a person does to single messages of the next request: pins, archives, moves to a file."""

from dataclasses import dataclass
from datetime import UTC, datetime

from tui_app.context.events import MessagePinned, Notice, RewriteUndone
from tui_app.context.items import Item, is_summary, is_system
from tui_app.context.pins import cost_of
from tui_app.context.sizes import sizes_of
from tui_app.context.stages.by_hand import (
    NO_GAIN,
    HandStage,
    Refused,
    archive_by_hand,
    offload_by_hand,
)
from tui_app.context.stages.events import new_messages, rewrite_event
from tui_app.context.stages.marks import is_acknowledgement, is_digest
from tui_app.context.stages.rewrite import Rewrite
from tui_app.context.stages.settings import Archive, Offload
from tui_app.context.stages.spill import SpillNames
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.outlook import Move, Outlook
from tui_app.conversation.session_history import LATER, SessionHistory
from tui_app.session.heads import Head, head_of

_GONE = "#{} is not part of the next request."
_PINNED = "This message is pinned: it stays as it is until it is unpinned."
_STAND_IN = "This stands for other messages and is written anew as they change: it cannot be pinned."
_STAYS = "A system prompt stays in any case."
_FULL = "Pinned messages may take {:,} tokens and would take {:,}: unpin something first."
_AS_SAID = "Nothing to take back: this message is as it was."


@dataclass(slots=True)
class ByHand:
    """Single messages of one conversation. What is done is one event and can be taken back."""

    history: SessionHistory
    compactions: Compactions

    def pin(self, seq: int, *, pinned: bool) -> bool:
        """Pin a message or take its pin away; a notice says why not."""
        if pinned and (reason := self._pin_refused(seq)):
            return self._refuse(reason)
        if pinned is (seq in self.history.pinned()):
            return self._refuse(f"#{seq} is {'pinned already' if pinned else 'not pinned'}.")
        if pinned:
            # A job that was planned before might take the message out all the same.
            self.compactions.cancel()
        self.history.append(MessagePinned(seq=seq, pinned=pinned))
        return True

    def relieve(self, seq: int, stage: HandStage) -> bool:
        """Archive a message or move it to a file; a notice says why not."""
        rewrite = self._decided(seq, stage)
        if isinstance(rewrite, Rewrite) and self._after(rewrite) >= self.history.usage().total:
            rewrite = Refused(NO_GAIN)
        if isinstance(rewrite, Refused):
            return self._refuse(rewrite.reason)
        self.compactions.cancel()
        try:
            self.history.rewrite(rewrite)
        except OSError as error:
            return self._refuse(f"#{seq} stays: its file could not be written ({error.strerror or error}).")
        return True

    def outlook(self, seq: int) -> Outlook:
        """What may be done with a message; nothing is changed."""
        return Outlook(
            seq=seq,
            pin=Move(
                self.history.usage().total, "" if seq in self.history.pinned() else self._pin_refused(seq)
            ),
            archive=self._move(seq, "archive"),
            offload=self._move(seq, "offload"),
            restore=self._back(seq),
            floor=self.compactions.floor(),
            pinned=self._pinned_tokens(self.history.pinned()),
            pin_budget=self._budget,
        )

    @property
    def _budget(self) -> int:
        return self.compactions.compactor.policy.pinned_budget(self.history.usage().window)

    def _pin_refused(self, seq: int) -> str:
        item = self._item(seq)
        if item is None:
            return _GONE.format(seq)
        message = item.message
        if is_summary(message) or is_digest(message) or is_acknowledgement(message):
            return _STAND_IN
        if is_system(message):
            return _STAYS
        tokens = self._pinned_tokens(self.history.pinned() | {seq})
        return _FULL.format(self._budget, tokens) if tokens > self._budget else ""

    def _pinned_tokens(self, pinned: frozenset[int]) -> int:
        history = self.history

        def weigh(item: Item) -> int:
            return history.weigh(item).total

        sizes = sizes_of(history.items(), history.usage(), weigh)
        return cost_of(history.items(), pinned, lambda item: sizes.of(weigh(item)))

    def _decided(self, seq: int, stage: HandStage) -> Rewrite | Refused:
        history, stages, item = self.history, self.compactions.compactor.policy.stages, self._item(seq)
        if item is None:
            return Refused(_GONE.format(seq))
        if seq in history.pinned():
            return Refused(_PINNED)
        if stage == "archive":
            return archive_by_hand(history.items(), item, stages.archive or Archive())
        names = SpillNames(datetime.now(UTC), history.spilled())
        return offload_by_hand(item, lambda: history.originals([item])[0], stages.offload or Offload(), names)

    def _move(self, seq: int, stage: HandStage) -> Move:
        rewrite = self._decided(seq, stage)
        if isinstance(rewrite, Refused):
            return Move(refused=rewrite.reason)
        after = self._after(rewrite)
        return Move(after) if after < self.history.usage().total else Move(refused=NO_GAIN)

    def _back(self, seq: int) -> Move:
        form = next((head.form for head in self.history.view.visible() if head.seq == seq), (0, 0))
        if form[0] not in self.history.view.rewrites:
            return Move(refused=_AS_SAID)
        return Move(self.history.after(Head(seq=LATER, type=RewriteUndone.TYPE, ref=form[0])))

    def _after(self, rewrite: Rewrite) -> int:
        sizes = [self.history.counter.message(message).nonzero() for message in new_messages(rewrite)]
        return self.history.after(head_of(LATER, 0.0, rewrite_event(rewrite, sizes)))

    def _item(self, seq: int) -> Item | None:
        return next((item for item in self.history.items() if item.key == seq), None)

    def _refuse(self, reason: str) -> bool:
        self.history.append(Notice(text=reason))
        return False
