"""What a person does to single messages of the next request: pins, archives, moves to a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tui_app.context.history import new_messages, rewrite_event
from tui_app.context.message_marks import is_acknowledgement, is_digest
from tui_app.context.message_sizes import sizes_of
from tui_app.context.policy import Archive, Offload
from tui_app.context.rewrite import Rewrite
from tui_app.context.tool_results.results import SpillNames
from tui_app.context.tool_results.stages import NO_GAIN, HandStage, Refused, archive_by_hand, offload_by_hand
from tui_app.context.view import Item, company_of, cost_of, is_summary, is_system
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.message_actions import Move, Outlook
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import MessagePinned, Notice, RewriteUndone
from tui_app.session.event_heads import LATER, Head, head_of

_GONE = "#{} is not part of the next request."
_PINNED = "This message is pinned: it stays as it is until it is unpinned."
_STAND_IN = "This stands for other messages and is written anew as they change: it cannot be pinned."
_STAYS = "A system prompt stays in any case."
_FULL = "Pinned messages may take {:,} tokens and would take {:,}: unpin something first."
_TAKES = "#{} takes"
_KEEPS = "#{} keeps {} other message{} with it, a call and its results:"
_ALONE = "{} {:,} tokens, and pinned messages may take {:,} together."
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

    def relieve(self, seqs: Sequence[int], stage: HandStage) -> bool:
        """Archive messages or move them to files, one after the other; a notice says of which not, and why.

        Returns:
            Whether all of them were.
        """
        refused = {seq: told for seq in seqs if (told := self._relieve(seq, stage)) is not None}
        if refused:
            self.history.append(_told_together(refused, len(seqs), stage))
        return not refused

    def _relieve(self, seq: int, stage: HandStage) -> Notice | None:
        """Archive one, or say why not."""
        rewrite = self._decided(seq, stage)
        if isinstance(rewrite, Rewrite) and self._after(rewrite) >= self.history.usage().total:
            rewrite = Refused(NO_GAIN)
        if isinstance(rewrite, Refused):
            return Notice(text=rewrite.reason, passing=True)
        self.compactions.cancel()
        try:
            self.history.rewrite(rewrite)
        except OSError as error:
            return Notice(text=f"#{seq} stays: its file could not be written ({error.strerror or error}).")
        return None

    def outlook(self, *seqs: int) -> Outlook:
        """What may be done with a message, or with some one after the other; nothing is changed."""
        return Outlook(
            seq=seqs[0],
            seqs=seqs,
            pin=self._pinning(seqs),
            archive=self._move(seqs, "archive"),
            offload=self._move(seqs, "offload"),
            restore=self._back(seqs),
            floor=self.compactions.floor(),
            pinned=(pinned := self._pinned_tokens(self.history.pinned())),
            pinned_along=pinned - self._pinned_tokens(self.history.pinned(), alone=True),
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
        budget, alone = self._budget, self._pinned_tokens(frozenset({seq}))
        if alone > budget:
            others = company_of(self.history.items(), seq)
            takes = _KEEPS.format(seq, others, "s" if others > 1 else "") if others else _TAKES.format(seq)
            return _ALONE.format(takes, alone, budget)
        tokens = self._pinned_tokens(self.history.pinned() | {seq})
        return _FULL.format(budget, tokens) if tokens > budget else ""

    def _pinned_tokens(self, pinned: frozenset[int], *, alone: bool = False) -> int:
        """Tokens of pinned messages, with those that stay along or without."""
        history = self.history

        def weigh(item: Item) -> int:
            return history.weigh(item).total

        items = history.items()
        sizes = sizes_of(items, history.usage(), weigh)
        if alone:
            return sum(sizes.of(weigh(item)) for item in items if item.key in pinned)
        return cost_of(items, pinned, lambda item: sizes.of(weigh(item)))

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

    def _pinning(self, seqs: Sequence[int]) -> Move:
        pinned = self.history.pinned()
        refused = [reason for seq in seqs if (reason := "" if seq in pinned else self._pin_refused(seq))]
        can = len(seqs) - len(refused)
        return Move(self.history.usage().total, "" if can else refused[0], can)

    def _move(self, seqs: Sequence[int], stage: HandStage) -> Move:
        decided = [self._decided(seq, stage) for seq in seqs]
        rewrites = [each for each in decided if isinstance(each, Rewrite)]
        if not rewrites:
            return Move(refused=next(each.reason for each in decided if isinstance(each, Refused)))
        after = self._after(*rewrites)
        if after < self.history.usage().total:
            return Move(after, count=len(rewrites))
        return Move(refused=NO_GAIN)

    def _back(self, seqs: Sequence[int]) -> Move:
        view = self.history.view
        forms = [
            head.form[0] for head in view.visible() if head.seq in seqs and head.form[0] in view.rewrites
        ]
        if not forms:
            return Move(refused=_AS_SAID)
        heads = [
            Head(seq=LATER + place, type=RewriteUndone.TYPE, ref=rewrite)
            for place, rewrite in enumerate(dict.fromkeys(forms))
        ]
        return Move(self.history.after(*heads), count=len(forms))

    def _after(self, *rewrites: Rewrite) -> int:
        weigh = self.history.counter.message
        sizes = ([weigh(message).nonzero() for message in new_messages(each)] for each in rewrites)
        events = [rewrite_event(each, counts) for each, counts in zip(rewrites, sizes, strict=True)]
        return self.history.after(*(head_of(LATER + place, 0.0, each) for place, each in enumerate(events)))

    def _item(self, seq: int) -> Item | None:
        return next((item for item in self.history.items() if item.key == seq), None)

    def _refuse(self, reason: str) -> bool:
        self.history.append(Notice(text=reason, passing=True))
        return False


def _told_together(refused: Mapping[int, Notice], asked: int, stage: HandStage) -> Notice:
    """One sentence for all that were refused, each reason once with the numbers it is for."""
    if asked == 1:
        return next(iter(refused.values()))
    numbers: dict[str, list[int]] = {}
    for seq, told in refused.items():
        numbers.setdefault(told.text, []).append(seq)
    done = f"{asked - len(refused)} of {asked} {'archived' if stage == 'archive' else 'put in files'}."
    reasons = (f"{' '.join(f'#{seq}' for seq in seqs)}: {reason}" for reason, seqs in numbers.items())
    return Notice(text=" ".join([done, *reasons]), passing=all(told.passing for told in refused.values()))
