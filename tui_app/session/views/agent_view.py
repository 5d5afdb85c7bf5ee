"""The agent view as a fold of the log: the messages from which the next request is built.

The view is a short list of visible messages. What an event removes is kept as a group under that event's
number, and undoing the event restores the group. Every message has a fixed place in one order, no matter how
often it leaves and returns. The cost of an event depends on what it changes, not on the length of the
history.
"""

import sys
from bisect import bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from heapq import merge
from itertools import accumulate, chain, repeat
from operator import is_

import msgspec

from tui_app.context.counting.tally import MessageWeight, Report, Tally
from tui_app.events import (
    BranchMerged,
    CompactionAcknowledged,
    CompactionComplete,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    MessageExcluded,
    MessagePinned,
    RewriteUndone,
    SessionClear,
    SessionRestored,
    SessionRewind,
    ToolArchived,
    ToolResult,
    UserMessage,
)
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import CARRYING, LEADING, NOTES, STAGES, TURNS, Seen, is_private, seen
from tui_app.session.views.view_items import Heads, HiddenItems, Order, Read, ViewItem, by_order, find_item
from tui_app.usage import CATEGORIES, Breakdown, around

ALONE = -1
"""Place of the message in an event that carries only one; see ``Head.form``."""
_FORMAT = 13
"""Format of the stored view. Raise it when the same log gives another view: older ones are ignored."""
_STRETCHES = 256
"""Number of rewrites remembered, so that a measurement is valid again once they are undone."""
_APART = ("cuts", "_heads", "_hidden", "_tally")
"""Fields that the stored text leaves out."""


def pictured(head: Head) -> int:
    """Return the tokens of attachments that are no text."""
    return head.tokens.get("attachments", 0) if head.pictured else 0


def in_ranges(ranges: Iterable[tuple[int, int]]) -> Callable[[int], bool]:
    """Return a test whether a log number is in one of these inclusive ranges."""
    ordered = sorted(ranges)
    lows = [low for low, _ in ordered]
    highs = list(accumulate((high for _, high in ordered), max))

    def lies_in(seq: int) -> bool:
        place = bisect_right(lows, seq)
        return place > 0 and seq <= highs[place - 1]

    return lies_in


def message_weight(head: Head) -> MessageWeight:
    """Return the size of a message in its present form, from its head."""
    counted = {name: count for name, count in head.tokens.items() if name in CATEGORIES}
    overhead = around(head.tokens.get("thinking", 0), head.ids)
    tokens = Breakdown(**counted, pictured=pictured(head), around=overhead)
    return MessageWeight(head.seq, tokens, head.reported, head.model, head.output)


@dataclass(slots=True)
class AgentView:
    """Folds heads, in log order, into the view.

    Attributes:
        last: Log number of the last folded event.
        version: Log number of the last event that rewrote the view.
        compactions: Numbers of the active compactions, oldest first.
        undone: Numbers of compactions and exclusions undone since the last other rewrite, newest last.
        exclusions: Number of each active exclusion, and of the event that last applied it.
        rewrites: Numbers of the stages' active rewrites, oldest first.
        restored: Messages that a stage must not change again because its rewrite was undone: type and number.
        pins: Numbers of pinned messages, which stay word for word.
        edits: Numbers of the edits of each compaction's summary, newest last, by the compaction's number.
        cuts: Number of each rewind, clear and merge that can be undone, and the view before it.
        newest: The provider's newest report, even if the view has changed since.
    """

    last: int = 0
    version: int = 0
    compactions: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    exclusions: dict[int, int] = field(default_factory=dict)
    rewrites: list[int] = field(default_factory=list)
    restored: set[tuple[str, int]] = field(default_factory=set)
    pins: set[int] = field(default_factory=set)
    edits: dict[int, tuple[int, ...]] = field(default_factory=dict)
    cuts: list[tuple[int, "AgentView"]] = field(default_factory=list)
    newest: Report = field(default_factory=Report)
    _shape: int = 0
    """Identifies how messages are shown: equal values mean equal views; see :meth:`_shaped`."""
    _stretches: list[tuple[int, int, int]] = field(default_factory=list)
    """Parts of the log up to the last rewrite: the shape of the view, and the first and last number."""
    _heads: Heads = field(default_factory=Heads, compare=False)
    _visible: list[ViewItem] = field(default_factory=list)
    _hidden: dict[int, HiddenItems] = field(default_factory=dict)
    """Hidden messages in order, by the number of the event that removed them from the view."""
    _acknowledged: dict[int, int] = field(default_factory=dict)
    """Number of the acknowledgement of a summary, by the number of its compaction."""
    _tally: Tally | None = field(default=None, compare=False)
    """Counts of the visible messages; None if they have to be counted again."""

    def apply(self, head: Head) -> bool:
        """Fold one event.

        Returns:
            Whether the view was rewritten, not only extended at its end.
        """
        self.last = head.seq
        if is_private(head):
            return False
        if head.type in CARRYING:
            if head.type == BranchMerged.TYPE:
                # Each of several merges in a row can be undone.
                self.cuts.append((head.seq, replace(self.copy(), cuts=[])))
            else:
                self.cuts.clear()
            self._heads[head.seq] = head
            self._visible.append(ViewItem(head.seq, (head.seq,)))
            if self._tally is not None:
                self._tally.add(message_weight(head))
            if head.reported > 0:
                self.newest = self.tally().newest
            return False
        if head.type == MessagePinned.TYPE:
            (self.pins.add if head.state == "pinned" else self.pins.discard)(head.ref)
            return False
        before = self._shape, self.version, head.seq
        if self._compaction(head) or self._form(head):
            self.cuts.clear()
        elif not self._cut(head):
            return False
        self.version, self._tally = head.seq, None
        self._shape, self._stretches = self._shaped(), [*self._stretches[-_STRETCHES:], before]
        return True

    def _shaped(self) -> int:
        """Return a number that is equal for equal views, new messages aside."""
        edits = tuple(sorted(self.edits.items()))
        parts = tuple(self.compactions), tuple(self.rewrites), tuple(sorted(self.exclusions)), edits
        return hash(parts) if any(parts) else 0

    def _compaction(self, head: Head) -> bool:
        match head.type:
            case CompactionComplete.TYPE if head.state == "success":
                self._heads[head.seq] = head
                self._compact(head, head.seq)
                self.undone.clear()
            case CompactionAcknowledged.TYPE if self.compactions:
                # It belongs to the newest summary, with which it is recorded.
                self._heads[head.seq] = head
                self._acknowledged[self.compactions[-1]] = head.seq
                self._put_after(self.compactions[-1], head.seq, head.seq)
            case CompactionUndone.TYPE:
                self._undo([head.ref])
            case CompactionEdited.TYPE if self._succeeded(head.ref):
                self._heads[head.seq] = head
                self.edits[head.ref] = (*self.edits.pop(head.ref, ()), head.seq)
            case CompactionRedone.TYPE if done := self._succeeded(head.ref):
                self._compact(done, head.seq)
                self.undone = [seq for seq in self.undone if seq != head.ref]
            case _:
                return False
        return True

    def _form(self, head: Head) -> bool:
        match head.type:
            case kind if kind in STAGES:
                self._rewrite(head)
            case MessageExcluded.TYPE:
                exclusion = head.ref or head.seq
                self._heads[head.seq] = head
                leaving = {seq for seq, _ in head.removed}
                # The summary of an undone compaction may reveal them, so it cannot be redone.
                self.undone = [seq for seq in self.undone if seq != exclusion] if head.ref else []
                self._hide([item for item in self._visible if item.seq in leaving], exclusion)
                self.exclusions[exclusion] = head.seq
            case RewriteUndone.TYPE if head.ref in self.exclusions:
                self._include(head.ref)
            case RewriteUndone.TYPE if edited := self.edited_by(head.ref):
                self._keep_edits(edited, lambda edit: edit != head.ref)
            case RewriteUndone.TYPE:
                # Undone for good: the stage does not change these messages again.
                if head.ref in self.rewrites:
                    rewrite = self._heads[head.ref]
                    self.restored.update((rewrite.type, seq) for seq, _ in rewrite.changes)
                    self._take_back({head.ref})
            case _:
                return False
        return True

    def _cut(self, head: Head) -> bool:
        match head.type:
            case SessionRestored.TYPE if self.cuts and self.cuts[-1][0] == head.ref:
                # The view before the newest cut, except for the pins, which may have been set since.
                _, before = self.cuts.pop()
                for each in fields(self):
                    if each.name not in ("last", "pins", "cuts", "_heads", "_stretches"):
                        setattr(self, each.name, copy(getattr(before, each.name)))
            case SessionClear.TYPE:
                self.cuts.append((head.seq, replace(self.copy(), cuts=[])))
                self._hide([*self._visible, *self._pull_excluded(0)], head.seq)
                self.undone.clear()
                self.compactions.clear()
                self.rewrites.clear()
            case SessionRewind.TYPE if head.state == "failed":
                since = [item for item in self._visible if item.seq >= head.ref]
                self._hide([item for item in since if self._heads[item.seq].type in TURNS], head.seq)
            case SessionRewind.TYPE:
                self.cuts.append((head.seq, replace(self.copy(), cuts=[])))
                self._undo([seq for seq in self.compactions if seq >= head.ref])
                self._take_back({seq for seq in self.rewrites if seq >= head.ref})
                for compaction in list(self.edits):
                    self._keep_edits(compaction, lambda edit: edit < head.ref)
                since = [item for item in self._visible if item.seq >= head.ref]
                # What was excluded before stays excluded. Nothing that the rewind removed can come back
                # alone.
                self._hide([*since, *self._pull_excluded(head.ref)], head.seq)
                self.undone.clear()
            case _:
                return False
        return True

    @property
    def reversible(self) -> tuple[int, ...]:
        """Number of the rewind, clear or merge that can be undone; none once another event followed."""
        return tuple(cut for cut, _ in self.cuts[-1:])

    def copy(self) -> "AgentView":
        """Return an independent view, to try an event on."""
        parts = {each.name: copy(getattr(self, each.name)) for each in fields(self) if each.name != "_heads"}
        return AgentView(**parts, _heads=Heads(under=self._heads))

    def visible(self) -> list[Head]:
        """Return the heads of the visible messages, in the order they are sent."""
        self._load_heads(self._visible)
        return [self._shown(item) for item in self._visible]

    def originals_after(self, count: int) -> list[Head]:
        """Heads of the visible messages after the first ones, as they were said."""
        items = self._visible[count:]
        self._load_heads(items)
        return [self._original(item.seq) for item in items]

    @property
    def mark(self) -> tuple[int, int]:
        """The version and the number of visible messages: with an equal version the view has only grown."""
        return self.version, len(self._visible)

    def originals(self) -> list[Head]:
        """Return the visible messages without notes within a turn."""
        return [head for head in self.visible() if head.type not in NOTES]

    def newest_first(self) -> Iterator[Seen]:
        """Iterate over all messages from the newest, with kind and audience, including hidden ones.

        Heads are read lazily.
        """
        runs = (zip(reversed(items), repeat(by)) for items, by in self._groups())
        every = merge(*runs, key=lambda each: each[0].order, reverse=True)
        return (self._seen(item, by) for item, by in every)

    def sent(self) -> list[Seen]:
        """Return the messages of the next request, in the order they are sent."""
        self._load_heads(self._visible)
        return [self._seen(item, 0) for item in self._visible]

    def seen_of(self, seq: int) -> Seen | None:
        """Return the message with a log number, visible or hidden; None if there is none."""
        found = ((item, by) for items, by in self._groups() for item in items if item.seq == seq)
        return next((self._seen(item, by) for item, by in found), None)

    def _seen(self, item: ViewItem, hidden_by: int) -> Seen:
        stage = self._heads[item.forms[-1][0]].type if item.forms else ""
        return seen(self._shown(item), hidden_by=hidden_by, stage=stage)

    def in_sight(self) -> tuple[frozenset[int], frozenset[int]]:
        """Return the log numbers of the messages of the next request, and of those sent in a shorter form."""
        every = frozenset(item.seq for item in self._visible)
        return every, frozenset(item.seq for item in self._visible if item.forms)

    def rewritten(self) -> dict[int, Head]:
        """Return the original heads of the visible messages that a stage has changed, by number."""
        return {item.seq: self._original(item.seq) for item in self._visible if item.forms}

    def hidden_by(self, seq: int) -> list[Head]:
        """Return the heads of the messages that an event removed from the view."""
        items = self._items_hidden_by(seq)
        self._load_heads(items)
        return [self._shown(item) for item in items]

    def _items_hidden_by(self, seq: int) -> Sequence[ViewItem]:
        return self._hidden[seq].items if seq in self._hidden else ()

    def held_originals(self) -> list[Head]:
        """Return the original heads of the messages in the view, including those that a summary replaces."""
        items = sorted(chain(*self._groups_in_view()), key=by_order)
        self._load_heads(items)
        return [self._original(item.seq) for item in items]

    def iter_held(self) -> Iterator[Head]:
        """Like ``held``, but unordered and lazy, visible messages first."""
        return (self._original(item.seq) for items in self._groups_in_view() for item in items)

    @property
    def excluded(self) -> dict[int, int]:
        """Excluded messages, and the exclusion that hides each."""
        return {item.seq: by for by in self.exclusions for item in self._items_hidden_by(by)}

    def digests_of(self, seqs: Collection[int]) -> frozenset[int]:
        """Return the numbers of visible digests that describe archived results among these messages."""
        stages = (
            (seq, self._heads[seq]) for seq in (item.seq for item in self._visible) if seq in self.rewrites
        )
        return frozenset(seq for seq, head in stages if any(changed in seqs for changed, _ in head.changes))

    def is_exclusion(self, seq: int) -> bool:
        """Return whether a log number belongs to an exclusion, active or not."""
        return self._heads.first(seq, (MessageExcluded.TYPE,)) is not None

    def left_behind(self, cut: int = 0) -> bool:
        """Return whether a rewind or clear (given ``cut``, that one) hid messages that nothing replaces."""
        active = (*self.compactions, *self.exclusions)
        return any(by not in active and cut in (0, by) for by in self._hidden)

    def can_rewind(self, to: int) -> bool:
        """Return whether a log number is that of a prompt in the view, summarized ones included."""
        is_prompt = self._heads.first(to, (UserMessage.TYPE,)) is not None
        groups = (self._hidden[seq] for seq in self.compactions if seq in self._hidden)
        return is_prompt and bool(find_item(self._visible, to) or any(items.find(to) for items in groups))

    def edited_by(self, edit: int) -> int:
        """Return the number of the compaction whose summary an active edit changed; 0 if there is none."""
        found = (seq for seq, edits in self.edits.items() if edit in edits)
        return next(found, 0)

    def message_weights(self) -> list[MessageWeight]:
        return [message_weight(head) for head in self.visible()]

    def tally(self) -> Tally:
        """Return the counts of the next request. They follow the view until it is rewritten."""
        if self._tally is None:
            self._tally = Tally()
            # A measurement is valid if the view had the same shape then.
            known = [stretch[1:] for stretch in self._stretches if stretch[0] == self._shape]
            trusted = in_ranges([*known, (self.version, sys.maxsize)])
            self._tally.reset(self.message_weights(), trusted=trusted, newest=self.newest)
        return self._tally

    def read_heads_with(self, read: Read) -> None:
        self._heads.read_with(read)

    def to_text(self) -> str:
        """Encode the view as JSON, without hidden messages and heads, which are stored apart or in the log.

        A view whose newest cut can be undone cannot be encoded: it has to be folded from before that cut.
        """
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _APART}
        return msgspec.json.encode({"format": _FORMAT, "own": own}).decode()

    def groups(self) -> dict[int, HiddenItems]:
        """Return the hidden messages by the event that hides them. A changed group is a new object."""
        return dict(self._hidden)

    @classmethod
    def from_text(cls, text: str, groups: Mapping[int, str], read: Read) -> "AgentView | None":
        """Decode a stored view.

        Args:
            text: The view as JSON.
            groups: Its hidden messages as JSON, by the event that hides them.
            read: Reads heads by number.

        Returns:
            None if its format differs.
        """
        parts = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        if bytes(parts["format"]) != b"%d" % _FORMAT:
            return None
        hidden = {by: HiddenItems.from_text(group) for by, group in groups.items()}
        return replace(msgspec.json.decode(parts["own"], type=cls), _heads=Heads(read), _hidden=hidden)

    def _load_heads(self, items: Iterable[ViewItem]) -> None:
        """Read the heads of some items in one query."""
        self._heads.load(seq for item in items for seq in (item.seq, *(form[0] for form in item.forms)))

    def _original(self, seq: int) -> Head:
        """Return the original head of a message; of a summary, with its latest edit."""
        if edits := self.edits.get(seq):
            worded = self._heads[edits[-1]]
            return replace(self._heads[seq], tokens=worded.tokens, form=(worded.seq, ALONE))
        return self._heads.original(seq)

    def _shown(self, item: ViewItem) -> Head:
        head = self._original(item.seq)
        return self._heads.formed(head, item.forms[-1]) if item.forms else head

    def _succeeded(self, compaction: int) -> Head | None:
        done = self._heads.first(compaction, (CompactionComplete.TYPE,))
        return done if done is not None and done.state == "success" else None

    def _keep_edits(self, compaction: int, is_kept: Callable[[int], bool]) -> None:
        edits = tuple(each for each in self.edits.pop(compaction) if is_kept(each))
        if edits:
            self.edits[compaction] = edits

    def _place_of(self, seq: int) -> Order:
        """Return the place of a message, visible or hidden; empty if there is none."""
        matches = chain([find_item(self._visible, seq)], (group.find(seq) for group in self._hidden.values()))
        # A message inserted after another one cannot be found by its number.
        others = (item for items, _ in self._groups() for item in items if item.seq == seq)
        return next((item.order for item in chain(filter(None, matches), others)), ())

    def _put_after(self, ref: int, seq: int, event: int) -> None:
        """Put a message directly after another; without one, after the system prompts that lead.

        Args:
            ref: Number of the other message; 0 for none.
            seq: Number of the message.
            event: Number of the event that causes it.
        """
        order = self._place_of(ref) if ref else ()
        if not order:
            order = (0,)
            for item in self._visible:
                if self._heads[item.seq].type not in LEADING:
                    break
                order = item.order
        insort(self._visible, ViewItem(seq, (*order, -event)), key=by_order)

    def _compact(self, done: Head, event: int) -> None:
        leaves = in_ranges(done.removed)
        self._hide([item for item in self._visible if leaves(item.seq)], done.seq)
        self._put_after(done.ref, done.seq, event)
        if acknowledged := self._acknowledged.get(done.seq):
            self._put_after(done.seq, acknowledged, event)
        self.compactions.append(done.seq)

    def _undo(self, compactions: Iterable[int]) -> None:
        """Undo compactions: restore what they hid, and remove their summaries."""
        undone = [seq for seq in compactions if seq in self.compactions]
        removed = {*undone, *(self._acknowledged.get(seq, 0) for seq in undone)}
        back = [item for compaction in undone for item in self._pop_hidden(compaction)]
        # Everything excluded, including summarized messages, with its exclusion.
        heads = [(by, self._heads[seq]) for by, seq in self.exclusions.items()] if undone else []
        excluded = {seq: by for by, head in heads for seq, _ in head.removed}
        for item in back:
            if by := excluded.get(item.seq, 0):
                self._add_hidden(by, [item])
        shown = (item for item in back if item.seq not in excluded)
        self._visible = sorted(chain(self._visible, shown), key=by_order)
        if undone:
            self._change(lambda items: [item for item in items if item.seq not in removed], min(undone))
        self.compactions = [seq for seq in self.compactions if seq not in undone]
        self.undone += undone

    def _rewrite(self, head: Head) -> None:
        """Change the form of messages, and insert an archive's digest after the last of them."""
        self._heads[head.seq] = head
        self.rewrites.append(head.seq)
        forms = {seq: (head.seq, place) for place, (seq, _) in enumerate(head.changes)}
        changed: list[Order] = []

        def formed(items: Sequence[ViewItem]) -> list[ViewItem]:
            changed.extend(item.order for item in items if item.seq in forms)
            return [
                item._replace(forms=(*item.forms, forms[item.seq])) if item.seq in forms else item
                for item in items
            ]

        self._visible = formed(self._visible)
        if len(changed) < len(forms):
            self._change_hidden(formed, min(forms))
        if head.type == ToolArchived.TYPE and head.tokens:
            last = max(changed, default=(0,))
            # Results of one answer stay together.
            while (following := self._following(last)) and self._heads[following.seq].type == ToolResult.TYPE:
                last = following.order
            insort(self._visible, ViewItem(head.seq, (*last, -head.seq)), key=by_order)

    def _include(self, exclusion: int) -> None:
        """Undo an exclusion. A digest of messages that are still excluded stays hidden with them."""
        del self.exclusions[exclusion]
        self.undone = [*self.undone, exclusion]
        back, excluded = self._pop_hidden(exclusion), self.excluded
        for item in back:
            head = self._heads[item.seq]
            archived = (seq for seq, _ in head.changes) if head.type == ToolArchived.TYPE else ()
            if keeps := next((excluded[seq] for seq in archived if seq in excluded), 0):
                self._add_hidden(keeps, [item])
            else:
                insort(self._visible, item, key=by_order)

    def _pull_excluded(self, first: int) -> list[ViewItem]:
        """Take messages from a number on out of the exclusions. An exclusion that becomes empty ends."""
        pulled: list[ViewItem] = []
        for exclusion in list(self.exclusions):
            items = self._pop_hidden(exclusion)
            pulled += [item for item in items if item.seq >= first]
            if rest := [item for item in items if item.seq < first]:
                self._hidden[exclusion] = HiddenItems(rest)
            else:
                del self.exclusions[exclusion]
        return pulled

    def _following(self, order: Order) -> ViewItem | None:
        """Return the next message, visible or hidden."""
        place = bisect_right(self._visible, order, key=by_order)
        nexts = [*self._visible[place : place + 1]]
        nexts += filter(None, (items.following(order) for items in self._hidden.values()))
        return min(nexts, key=by_order, default=None)

    def _take_back(self, rewrites: Collection[int]) -> None:
        """Undo rewrites, removing their forms and digests."""

        def bare(items: Sequence[ViewItem]) -> list[ViewItem]:
            return [
                item._replace(forms=tuple(form for form in item.forms if form[0] not in rewrites))
                if item.forms and any(form[0] in rewrites for form in item.forms)
                else item
                for item in items
                if item.seq not in rewrites
            ]

        if rewrites:
            self._change(bare, min(rewrites))
            self.rewrites = [seq for seq in self.rewrites if seq not in rewrites]

    def _change(self, change: Callable[[Sequence[ViewItem]], list[ViewItem]], first: int) -> None:
        """Change or remove messages, visible and hidden, without changing their order.

        Args:
            change: Returns the changed messages.
            first: The smallest log number whose messages or forms it changes.
        """
        self._visible = change(self._visible)
        self._change_hidden(change, first)

    def _change_hidden(self, change: Callable[[Sequence[ViewItem]], list[ViewItem]], first: int) -> None:
        for by, group in list(self._hidden.items()):
            if group.newest < first:
                continue
            changed = change(group.items)
            if not changed:
                del self._hidden[by]
            elif len(changed) < len(group.items) or not all(map(is_, changed, group.items)):
                self._hidden[by] = HiddenItems(changed)

    def _hide(self, leaving: Sequence[ViewItem], by: int) -> None:
        """Remove messages from the view. An event that hides again adds to its group."""
        if leaving:
            seqs = {item.seq for item in leaving}
            self._visible = [item for item in self._visible if item.seq not in seqs]
            self._add_hidden(by, leaving)

    def _add_hidden(self, by: int, items: Iterable[ViewItem]) -> None:
        self._hidden[by] = HiddenItems([*self._items_hidden_by(by), *items])

    def _pop_hidden(self, by: int) -> Sequence[ViewItem]:
        group = self._hidden.pop(by, None)
        return group.items if group is not None else ()

    def _groups(self) -> Iterable[tuple[Sequence[ViewItem], int]]:
        """Return the visible messages with 0, and each group of hidden ones with the number of its event."""
        return ((self._visible, 0), *((group.items, by) for by, group in self._hidden.items()))

    def _groups_in_view(self) -> Iterable[Sequence[ViewItem]]:
        return (self._visible, *map(self._items_hidden_by, self.compactions))


def fold_agent_view(heads: Iterable[Head]) -> AgentView:
    view = AgentView()
    for head in heads:
        view.apply(head)
    return view
