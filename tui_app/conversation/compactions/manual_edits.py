"""Manual edits of the next request: pins, exclusions, archived and offloaded results."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tui_app.context.history import new_messages, rewrite_event, sizes_of
from tui_app.context.message_marks import is_acknowledgement, is_digest
from tui_app.context.policy import Offload
from tui_app.context.tool_results.archive import archive_by_hand
from tui_app.context.tool_results.offload import offload_by_hand
from tui_app.context.tool_results.stage_scope import NO_GAIN, HandStage
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.cuts import company_of, cost_of, turn_of, with_partners
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.view import Item, is_summary, is_system, latest_prompt_index
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.conversation.compactions.summary_edits import SummaryEdits
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.message_actions import Move, Outlook
from tui_app.events import MessageExcluded, MessagePinned, Notice, RewriteUndone
from tui_app.session.event_heads import LATER, Head, head_of

_NOT_SENT = "#{} is not part of the next request."
_STAYS = "A system prompt always stays."
_EXCLUDED = "#{} is excluded: bring it back first."
_EXCLUDED_ALREADY = "#{} is already excluded."
_NEWEST = "The newest prompt stays: without it the model does not know what is asked. /rewind undoes it."
_REPLACES = "#{} replaces other messages: undo what put it there, then exclude them one by one."
_FULL = "Pinned messages may take {:,} tokens and would take {:,}: unpin something first."
_TAKES = "#{} takes"
_KEEPS = "#{} keeps {} other message{} with it, a call and its results:"
_ALONE = "{} {:,} tokens, and pinned messages may take {:,} together."


@dataclass(slots=True)
class ManualEdits:
    """Edits single messages of one conversation. Each edit is one event and can be undone.

    An impossible edit is refused with a notice that tells why.
    """

    history: SessionHistory
    compactions: Compactions
    summaries: SummaryEdits

    def pin(self, seq: int, *, pinned: bool) -> bool:
        """Pin or unpin a message. Returns whether that was possible."""
        if pinned and (reason := self._pin_refused(seq)):
            return self.history.refuse(reason)
        if pinned is (seq in self.history.pinned()):
            return self.history.refuse(f"#{seq} is {'already pinned' if pinned else 'not pinned'}.")
        if pinned:
            # A job planned earlier might still remove the message.
            self.compactions.cancel_job()
        self.history.append(MessagePinned(seq=seq, pinned=pinned))
        return True

    def exclude(self, seqs: Sequence[int], *, turn: bool = False) -> bool:
        """Exclude messages from the model's view, all in one event.

        Args:
            seqs: Log numbers of the messages.
            turn: Whether to exclude the whole turn of each.

        Returns:
            Whether that was possible for all.
        """
        if isinstance(left := self._excluded_with(seqs, turn=turn), str):
            return self.history.refuse(left)
        # A running job has already read them.
        self.compactions.cancel_job()
        self.history.exclude(left)
        return True

    def include(self, seqs: Sequence[int]) -> bool:
        """Include excluded messages again, each with everything excluded in the same step.

        Returns:
            Whether all of them were excluded.
        """
        excluded = self.history.view.excluded
        if (missing := next((seq for seq in seqs if seq not in excluded), None)) is not None:
            return self.history.refuse(f"#{missing} is not excluded.")
        return all([self.compactions.restore(step) for step in dict.fromkeys(excluded[seq] for seq in seqs)])

    def relieve(self, seqs: Sequence[int], stage: HandStage) -> bool:
        """Archive messages or offload them to files, one at a time. Returns whether that worked for all."""
        refused: dict[int, Notice] = {}
        for seq in seqs:
            rewrite = self._decided(seq, stage)
            if isinstance(rewrite, Rewrite) and self._rewriting(rewrite).freed <= 0:
                rewrite = NO_GAIN
            if isinstance(rewrite, str):
                refused[seq] = Notice(text=rewrite, passing=True)
                continue
            self.compactions.cancel_job()
            try:
                self.history.rewrite(rewrite)
            except OSError as error:
                why = f"#{seq} stays: its file could not be written ({error.strerror or error})."
                refused[seq] = Notice(text=why)
        if len(seqs) == 1 and refused:
            self.history.append(refused[seqs[0]])
        elif refused:
            # One notice for all: each reason once, with the numbers it applies to.
            numbers: dict[str, list[int]] = {}
            for seq, notice in refused.items():
                numbers.setdefault(notice.text, []).append(seq)
            done, how = len(seqs) - len(refused), "archived" if stage == "archive" else "moved to files"
            reasons = (f"{' '.join(f'#{seq}' for seq in which)}: {why}" for why, which in numbers.items())
            text = " ".join([f"{done} of {len(seqs)} {how}.", *reasons])
            passing = all(notice.passing for notice in refused.values())
            self.history.append(Notice(text=text, passing=passing))
        return not refused

    def outlook(self, *seqs: int) -> Outlook:
        """Possible actions on a message, or on several together. Nothing is changed."""
        pinned = self.history.pinned()
        tokens = self._pinned_tokens(pinned)
        refused = [reason for seq in seqs if (reason := "" if seq in pinned else self._pin_refused(seq))]
        can_pin = len(seqs) - len(refused)
        return Outlook(
            seq=seqs[0],
            seqs=seqs,
            pin=Move(self.history.usage().total, "" if can_pin else refused[0], can_pin),
            archive=self._move(seqs, "archive"),
            offload=self._move(seqs, "offload"),
            restore=self._restoring(seqs),
            exclude=self._excluding(seqs),
            floor=self.compactions.floor(),
            pinned=tokens,
            pinned_along=tokens - self._pinned_tokens(pinned, alone=True),
            pin_budget=self._budget,
        )

    def _excluded_with(self, seqs: Sequence[int], *, turn: bool = False) -> tuple[int, ...] | str:
        """Everything that leaves when messages are excluded, in log order; or why they must stay."""
        view, items = self.history.view, self.history.items()
        keys = {item.key for item in items}
        for seq in seqs:
            if seq not in keys:
                return (_EXCLUDED_ALREADY if seq in view.excluded else _NOT_SENT).format(seq)
        targets = frozenset(seqs).union(*(turn_of(items, seq) for seq in seqs if turn))
        leaving = with_partners(items, targets)
        newest = latest_prompt_index(items)
        for item in items:
            if item.key not in leaving:
                continue
            if newest is not None and item.key == items[newest].key:
                return _NEWEST
            if item.key in seqs and is_system(item.message):
                return _STAYS
            if item.key in seqs and _stands_in(item):
                return _REPLACES.format(item.key)
            if item.key in self.history.pinned():
                return f"#{item.key} is pinned and would be excluded too: unpin it first."
        left = {
            item.key
            for item in items
            if item.key in leaving and not (is_system(item.message) or _stands_in(item))
        }
        return tuple(sorted(left | view.digests_of(left)))

    def _excluding(self, seqs: Sequence[int]) -> Move:
        if isinstance(left := self._excluded_with(seqs), str):
            return Move(refused=left)
        return self._moved(head_of(LATER, 0.0, MessageExcluded(seqs=left)), count=len(seqs))

    @property
    def _budget(self) -> int:
        return self.compactions.compactor.policy.pinned_budget(self.history.usage().window)

    def _pin_refused(self, seq: int) -> str:
        if (item := self._item(seq)) is None:
            return (_EXCLUDED if seq in self.history.view.excluded else _NOT_SENT).format(seq)
        message = item.message
        if _stands_in(item):
            return "This replaces other messages and is rewritten as they change: it cannot be pinned."
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
        """Tokens of pinned messages, with or without the calls and results kept because of them."""
        history, items = self.history, self.history.items()
        sizes = sizes_of(items, history.usage(), history.tokens)
        if alone:
            return sum(sizes.estimate(history.tokens(item)) for item in items if item.key in pinned)
        return cost_of(items, pinned, lambda item: sizes.estimate(history.tokens(item)))

    def _decided(self, seq: int, stage: HandStage) -> Rewrite | str:
        history, stages, item = self.history, self.compactions.compactor.policy.stages, self._item(seq)
        if item is None:
            why = _EXCLUDED if seq in history.view.excluded else _NOT_SENT
            return why.format(seq)
        if seq in history.pinned():
            return "This message is pinned: it stays as it is until it is unpinned."
        if stage == "archive":
            return archive_by_hand(history.items(), item)
        names = WaysBack(datetime.now(UTC), history.spilled())
        return offload_by_hand(item, lambda: history.originals([item])[0], stages.offload or Offload(), names)

    def _move(self, seqs: Sequence[int], stage: HandStage) -> Move:
        decided = [self._decided(seq, stage) for seq in seqs]
        rewrites = [each for each in decided if isinstance(each, Rewrite)]
        if not rewrites:
            return Move(refused=next(each for each in decided if isinstance(each, str)))
        move = self._rewriting(*rewrites)
        return move if move.freed > 0 else Move(refused=NO_GAIN)

    def _restoring(self, seqs: Sequence[int]) -> Move:
        """The effect of undoing some messages' rewrites."""
        view = self.history.view
        forms = [
            head.form[0] for head in view.visible() if head.seq in seqs and head.form[0] in view.rewrites
        ]
        if not forms:
            return Move(refused="Nothing to undo: this message is unchanged.")
        heads = [
            Head(seq=LATER + place, type=RewriteUndone.TYPE, ref=rewrite)
            for place, rewrite in enumerate(dict.fromkeys(forms))
        ]
        return self._moved(*heads, count=len(forms))

    def _rewriting(self, *rewrites: Rewrite) -> Move:
        weigh = self.history.counter.message
        sizes = ([weigh(message).nonzero() for message in new_messages(each)] for each in rewrites)
        events = [rewrite_event(each, counts) for each, counts in zip(rewrites, sizes, strict=True)]
        heads = (head_of(LATER + place, 0.0, each) for place, each in enumerate(events))
        return self._moved(*heads, count=len(rewrites))

    def _moved(self, *heads: Head, count: int) -> Move:
        """The effect of events. Freed tokens are on the scale of the rows, which a rewrite may change."""
        now, then = self.history.usage(), self.history.after(*heads)
        left = then.parts.total * now.scale / (then.scale or 1.0)
        return Move(then.total, freed=round(now.parts.total - left), count=count)

    def _item(self, seq: int) -> Item | None:
        return next((item for item in self.history.items() if item.key == seq), None)


def _stands_in(item: Item) -> bool:
    message = item.message
    return is_summary(message) or is_digest(message) or is_acknowledgement(message)
