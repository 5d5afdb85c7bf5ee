"""A straightforward reference implementation of the agent view, for comparison.

Every message stays in one list with the number of the event that hid it, and every event scans the whole
list. The program's incremental view must give the same results.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace

from tui_app.context.counting.tally import MessageWeight, Report, Tally
from tui_app.events import (
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
from tui_app.session.event_rows import CARRYING, LEADING, STAGES, STAND_INS, TURNS, Seen, seen
from tui_app.session.views.agent_view import ALONE, message_weight


@dataclass(frozen=True, slots=True)
class ViewItem:
    """One message of the view."""

    head: Head
    hidden_by: int = 0
    """Log number of the event that removed it from the view; 0 while it is visible."""
    forms: tuple[Head, ...] = ()
    """Its other active forms, newest last."""

    @property
    def visible(self) -> bool:
        """Whether the next request contains it."""
        return self.hidden_by == 0

    @property
    def shown(self) -> Head:
        """The form that the next request contains."""
        return self.forms[-1] if self.forms else self.head


def in_ranges(seq: int, ranges: Iterable[tuple[int, int]]) -> bool:
    return any(low <= seq <= high for low, high in ranges)


def place_behind(items: Sequence[ViewItem], seq: int) -> int:
    """Return the index after message ``seq``, or else after the leading visible system prompts."""
    place = 0
    if seq:
        place = next((at for at, item in enumerate(items, 1) if item.head.seq == seq), 0)
    if place:
        return place
    for index, item in enumerate(items):
        if item.visible and item.head.type not in LEADING:
            break
        if item.visible:
            place = index + 1
    return place


def without(items: Iterable[ViewItem], rewrite: int) -> list[ViewItem]:
    """Return the items without one rewrite: neither the forms it made nor its own message."""
    return [
        replace(item, forms=tuple(form for form in item.forms if form.form[0] != rewrite))
        for item in items
        if item.head.seq != rewrite
    ]


@dataclass(slots=True)
class PlainView:
    """Folds heads, in log order, into the view.

    Attributes:
        version: Log number of the last event that rewrote the view.
        compactions: Numbers of the active compactions, oldest first.
        undone: Numbers of compactions and exclusions undone since the last other rewrite, newest last.
        rewrites: Numbers of the active rewrites by stages, oldest first.
        restored: Stage type and message number of undone rewrites, which the stage must not repeat.
        pins: Numbers of the pinned messages, which are kept verbatim.
        cuts: Number of each rewind and clear that can be undone, and the view before it.
        edits: Edited summaries by compaction number, newest last.
        newest: The last usage report of a provider.
    """

    version: int = 0
    compactions: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    rewrites: list[int] = field(default_factory=list)
    restored: set[tuple[str, int]] = field(default_factory=set)
    pins: set[int] = field(default_factory=set)
    edits: dict[int, tuple[Head, ...]] = field(default_factory=dict)
    cuts: list[tuple[int, "PlainView"]] = field(default_factory=list)
    _items: list[ViewItem] = field(default_factory=list)
    _heads: dict[int, Head] = field(default_factory=dict)
    _acknowledged: dict[int, Head] = field(default_factory=dict)
    """Acknowledgements of summaries, by compaction number."""
    newest: Report = field(default_factory=Report)
    exclusions: dict[int, int] = field(default_factory=dict)

    def apply(self, head: Head) -> bool:
        """Fold one event.

        Returns:
            Whether the view was rewritten (not merely extended at its end).
        """
        if head.type in CARRYING:
            self.cuts.clear()
            self._items.append(ViewItem(head))
            if head.reported > 0:
                tally = Tally()
                tally.reset(self.message_weights())
                self.newest = tally.newest
            return False
        if head.type == MessagePinned.TYPE:
            (self.pins.add if head.state == "pinned" else self.pins.discard)(head.ref)
            return False
        if self._compaction(head) or self._form(head):
            self.cuts.clear()
        elif not self._cut(head):
            return False
        self.version = head.seq
        return True

    def _compaction(self, head: Head) -> bool:
        match head.type:
            case CompactionComplete.TYPE if head.state == "success":
                self._heads[head.seq] = head
                self._compact(head)
                self.undone.clear()
            case CompactionAcknowledged.TYPE if self.compactions:
                self._acknowledge(head)
            case CompactionUndone.TYPE:
                self._undo(head.ref)
            case CompactionEdited.TYPE if head.ref in self._heads:
                words = replace(self._heads[head.ref], tokens=head.tokens, form=(head.seq, ALONE))
                self._reword(head.ref, (*self.edits.get(head.ref, ()), words))
            case CompactionRedone.TYPE if head.ref in self._heads:
                self._compact(self._worded(head.ref))
                self.undone = [seq for seq in self.undone if seq != head.ref]
            case _:
                return False
        return True

    def _form(self, head: Head) -> bool:
        match head.type:
            case kind if kind in STAGES:
                self._rewrite(head)
            case MessageExcluded.TYPE:
                self._exclude(head, head.ref or head.seq)
            case RewriteUndone.TYPE if head.ref in self.exclusions:
                self._include(head.ref)
            case RewriteUndone.TYPE if edited := self.edited_by(head.ref):
                self._keep_edits(edited, lambda edit: edit != head.ref)
            case RewriteUndone.TYPE:
                self._restore(head.ref)
            case _:
                return False
        return True

    def _cut(self, head: Head) -> bool:
        match head.type:
            case SessionRestored.TYPE if self.cuts and self.cuts[-1][0] == head.ref:
                self._uncut()
            case SessionClear.TYPE:
                self.cuts.append((head.seq, replace(self.copy(), cuts=[])))
                self._leave_behind(0, head.seq)
                self._hide_from(0, head.seq)
                self.compactions.clear()
                self.rewrites.clear()
            case SessionRewind.TYPE if head.state == "failed":
                self._hide(head.ref, head.seq, TURNS)
            case SessionRewind.TYPE:
                self.cuts.append((head.seq, replace(self.copy(), cuts=[])))
                for compaction in [seq for seq in self.compactions if seq >= head.ref]:
                    self._undo(compaction)
                for rewrite in [seq for seq in self.rewrites if seq >= head.ref]:
                    self._take_back(rewrite)
                for compaction in list(self.edits):
                    self._keep_edits(compaction, lambda edit: edit < head.ref)
                self._leave_behind(head.ref, head.seq)
                self._hide_from(head.ref, head.seq)
            case _:
                return False
        return True

    def _uncut(self) -> None:
        """Restore the view from before the newest cut, except for pins, which may have changed since."""
        _, before = self.cuts.pop()
        for each in fields(self):
            if each.name not in ("pins", "cuts"):
                setattr(self, each.name, copy(getattr(before, each.name)))

    @property
    def reversible(self) -> tuple[int, ...]:
        """Number of the rewind or clear that can be undone; empty once anything else has happened."""
        return tuple(cut for cut, _ in self.cuts[-1:])

    def copy(self) -> "PlainView":
        """Return an independent copy, to try an event on."""
        return PlainView(*(copy(getattr(self, each.name)) for each in fields(self)))

    def visible(self) -> list[Head]:
        """Return the heads of the visible messages, in the order they are sent."""
        return [item.shown for item in self._items if item.visible]

    def newest_first(self) -> list[Seen]:
        """Return every message, newest first, hidden ones included, with its kind and visibility."""
        return [
            seen(
                item.shown,
                hidden_by=item.hidden_by,
                stage=self._heads[item.shown.form[0]].type if item.forms else "",
            )
            for item in reversed(self._items)
        ]

    def rewritten(self) -> dict[int, Head]:
        """Return the original heads of the visible messages that a stage rewrote, by number."""
        return {item.head.seq: item.head for item in self._items if item.visible and item.forms}

    def hidden_by(self, seq: int) -> list[Head]:
        """Return the heads of the messages that an event removed from the view."""
        return [item.shown for item in self._items if item.hidden_by == seq]

    def held_originals(self) -> list[Head]:
        """Return the original heads of the messages that are in the view, directly or through a summary."""
        standing = {0, *self.compactions}
        return [item.head for item in self._items if item.hidden_by in standing]

    @property
    def excluded(self) -> dict[int, int]:
        """Messages that the user excluded, each with the number of its exclusion."""
        return {item.head.seq: item.hidden_by for item in self._items if item.hidden_by in self.exclusions}

    def left_behind(self, cut: int = 0) -> bool:
        """Whether any rewind or clear, or only ``cut``, hid messages that no summary or exclusion covers."""
        standing = {0, *self.compactions, *self.exclusions}
        return any(item.hidden_by not in standing and cut in (0, item.hidden_by) for item in self._items)

    def can_rewind(self, to: int) -> bool:
        """Whether ``to`` is the number of a prompt in the view, directly or through a summary."""
        return any(head.seq == to and head.type == UserMessage.TYPE for head in self.held_originals())

    @property
    def edit_numbers(self) -> dict[int, tuple[int, ...]]:
        return {seq: tuple(each.form[0] for each in edits) for seq, edits in self.edits.items()}

    def edited_by(self, edit: int) -> int:
        """Number of the compaction whose summary an active edit changed; 0 if there is none."""
        found = (seq for seq, edits in self.edits.items() if any(each.form[0] == edit for each in edits))
        return next(found, 0)

    def message_weights(self) -> list[MessageWeight]:
        """Return the sizes of the visible messages."""
        return [message_weight(head) for head in self.visible()]

    def _compact(self, head: Head) -> None:
        ranges = head.removed
        self._items = [
            replace(item, hidden_by=head.seq) if item.visible and in_ranges(item.head.seq, ranges) else item
            for item in self._items
        ]
        acknowledged = self._acknowledged.get(head.seq)
        place = place_behind(self._items, head.ref)
        self._items[place:place] = map(ViewItem, [head, acknowledged] if acknowledged else [head])
        self.compactions.append(head.seq)

    def _worded(self, compaction: int) -> Head:
        """Return the summary with its latest edit."""
        return (self._heads[compaction], *self.edits.get(compaction, ()))[-1]

    def _reword(self, compaction: int, edits: tuple[Head, ...]) -> None:
        self.edits.pop(compaction, None)
        if edits:
            self.edits[compaction] = edits
        new = self._worded(compaction)
        self._items = [
            replace(each, head=new) if each.head.seq == compaction else each for each in self._items
        ]

    def _keep_edits(self, compaction: int, stays: Callable[[int], bool]) -> None:
        self._reword(compaction, tuple(each for each in self.edits[compaction] if stays(each.form[0])))

    def _acknowledge(self, head: Head) -> None:
        """Insert an acknowledgement after the newest summary, which it belongs to."""
        compaction = self.compactions[-1]
        self._acknowledged[compaction] = head
        self._items.insert(place_behind(self._items, compaction), ViewItem(head))

    def _rewrite(self, head: Head) -> None:
        """Give messages another form, and insert an archive's digest after the last of them."""
        forms = {seq: (tokens, (head.seq, place)) for place, (seq, tokens) in enumerate(head.changes)}
        last = 0
        for place, item in enumerate(self._items):
            if item.head.seq in forms:
                tokens, form = forms[item.head.seq]
                shown = replace(item.head, tokens=tokens, form=form, reported=0)
                self._items[place] = replace(item, forms=(*item.forms, shown))
                last = place
        if head.type == ToolArchived.TYPE and head.tokens:
            while last + 1 < len(self._items) and self._items[last + 1].head.type == ToolResult.TYPE:
                last += 1  # results of one response stay together
            digest = replace(head, form=(head.seq, len(head.changes)))
            self._items.insert(last + 1, ViewItem(digest))
        self._heads[head.seq] = head
        self.rewrites.append(head.seq)

    def _restore(self, rewrite: int) -> None:
        """Undo a rewrite for good: its stage must not rewrite these messages again."""
        if rewrite in self.rewrites:
            head = self._heads[rewrite]
            self.restored.update((head.type, seq) for seq, _ in head.changes)
            self._take_back(rewrite)

    def _take_back(self, rewrite: int) -> None:
        self._items = without(self._items, rewrite)
        self.rewrites.remove(rewrite)

    def _undo(self, compaction: int) -> None:
        if compaction not in self.compactions:
            return
        acknowledged = self._acknowledged.get(compaction)
        gone = {compaction, acknowledged.seq if acknowledged else 0}
        self._items = [
            replace(item, hidden_by=0) if item.hidden_by == compaction else item
            for item in self._items
            if item.head.seq not in gone
        ]
        self.compactions.remove(compaction)
        self.undone.append(compaction)

    def _exclude(self, head: Head, exclusion: int) -> None:
        self.undone = [seq for seq in self.undone if seq != exclusion] if head.ref else []
        self.exclusions[exclusion] = head.seq
        self._items = [
            replace(item, hidden_by=exclusion)
            if item.visible and in_ranges(item.head.seq, head.removed)
            else item
            for item in self._items
        ]

    def _include(self, exclusion: int) -> None:
        """Bring messages back; digests of messages that another exclusion hides become hidden by it."""
        del self.exclusions[exclusion]
        self.undone.append(exclusion)
        excluded = self.excluded

        def keeper(item: ViewItem) -> int:
            archived = item.head.changes if item.head.type == ToolArchived.TYPE else ()
            return next((excluded[seq] for seq, _ in archived if seq in excluded), 0)

        self._items = [
            replace(item, hidden_by=keeper(item)) if item.hidden_by == exclusion else item
            for item in self._items
        ]

    def _leave_behind(self, first: int, by: int) -> None:
        """Let a rewind or clear hide the excluded messages from number ``first`` on."""
        self._items = [
            replace(item, hidden_by=by)
            if item.hidden_by in self.exclusions and item.head.seq >= first
            else item
            for item in self._items
        ]
        self.exclusions = {
            seq: since
            for seq, since in self.exclusions.items()
            if any(item.hidden_by == seq for item in self._items)
        }

    def _hide_from(self, first: int, by: int) -> None:
        """Hide everything visible from number ``first`` on, summaries included."""
        self._hide(first, by, CARRYING | STAND_INS)
        self.undone.clear()

    def _hide(self, first: int, by: int, types: frozenset[str]) -> None:
        def leaves(item: ViewItem) -> bool:
            return item.visible and item.head.seq >= first and item.head.type in types

        self._items = [replace(item, hidden_by=by) if leaves(item) else item for item in self._items]


def plain_view(heads: Iterable[Head]) -> PlainView:
    """Fold a whole log."""
    view = PlainView()
    for head in heads:
        view.apply(head)
    return view
