"""The agent view as a fold of the log: which messages the next request is built from.

Every message ever said stays in the list with the number of the event that hid it, so undoing that event is
clearing a mark. A summary is one more message, shown while its compaction stands.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tui_app.context.measure import Weighed
from tui_app.context.usage import CATEGORIES, Breakdown
from tui_app.session.heads import Head

MESSAGES = frozenset({"user.message", "assistant.message", "tool.result", "system.message"})
"""Events that carry a message of their own."""


@dataclass(frozen=True, slots=True)
class ViewItem:
    """One message of the view and whether it is visible."""

    head: Head
    hidden_by: int = 0
    """Log number of the event that took it out of the view; 0 while it is visible."""

    @property
    def visible(self) -> bool:
        """Whether the next request holds it."""
        return self.hidden_by == 0


@dataclass(slots=True)
class AgentView:
    """Folds heads, in log order, into the view.

    Attributes:
        version: Log number of the last event that rewrote the view.
        compactions: Numbers of the compactions that stand, oldest first.
        undone: Numbers of compactions undone since the last other rewrite, newest last.
    """

    version: int = 0
    compactions: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    _items: list[ViewItem] = field(default_factory=list)
    _heads: dict[int, Head] = field(default_factory=dict)

    def apply(self, head: Head) -> bool:
        """Fold one event.

        Returns:
            Whether the view was rewritten (not merely extended at its end).
        """
        if head.type in MESSAGES:
            self._items.append(ViewItem(head))
            return False
        match head.type:
            case "session.compaction_complete" if head.state == "success":
                self._heads[head.seq] = head
                self._compact(head)
                self.undone.clear()
            case "session.compaction_undone":
                self._undo(head.ref)
            case "session.compaction_redone" if head.ref in self._heads:
                self._compact(self._heads[head.ref])
                self.undone = [seq for seq in self.undone if seq != head.ref]
            case "session.clear":
                self._hide_from(0, head.seq)
                self.compactions.clear()
            case "session.rewind" if head.state == "failed":
                self._hide(head.ref, head.seq, MESSAGES)
            case "session.rewind":
                for compaction in [seq for seq in self.compactions if seq >= head.ref]:
                    self._undo(compaction)
                self._hide_from(head.ref, head.seq)
            case _:
                return False
        self.version = head.seq
        return True

    def copy(self) -> "AgentView":
        """An independent view, to try an event on."""
        return AgentView(
            self.version, list(self.compactions), list(self.undone), list(self._items), dict(self._heads)
        )

    def visible(self) -> list[Head]:
        """Heads of the visible messages, in the order they are sent."""
        return [item.head for item in self._items if item.visible]

    def weighed(self) -> list[Weighed]:
        """Sizes of the visible messages."""
        return [weighed(head) for head in self.visible()]

    def _compact(self, head: Head) -> None:
        ranges = head.removed
        self._items = [
            replace(item, hidden_by=head.seq) if item.visible and in_ranges(item.head.seq, ranges) else item
            for item in self._items
        ]
        self._items.insert(self._behind_system(), ViewItem(head))
        self.compactions.append(head.seq)

    def _behind_system(self) -> int:
        """Where a summary stands: behind the last system prompt that leads the visible messages."""
        place = 0
        for index, item in enumerate(self._items):
            if item.visible and item.head.type != "system.message":
                break
            if item.visible:
                place = index + 1
        return place

    def _undo(self, compaction: int) -> None:
        if compaction not in self.compactions:
            return
        self._items = [
            replace(item, hidden_by=0) if item.hidden_by == compaction else item
            for item in self._items
            if item.head.seq != compaction
        ]
        self.compactions.remove(compaction)
        self.undone.append(compaction)

    def _hide_from(self, first: int, by: int) -> None:
        """Hide everything visible from number ``first`` on, summaries included."""
        self._hide(first, by, MESSAGES | {"session.compaction_complete"})
        self.undone.clear()

    def _hide(self, first: int, by: int, types: frozenset[str]) -> None:
        self._items = [
            replace(item, hidden_by=by)
            if item.visible and item.head.seq >= first and item.head.type in types
            else item
            for item in self._items
        ]


def fold_agent_view(heads: Iterable[Head]) -> AgentView:
    """Replay a log."""
    view = AgentView()
    for head in heads:
        view.apply(head)
    return view


def in_ranges(seq: int, ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether a log number lies in one of some inclusive ranges."""
    return any(low <= seq <= high for low, high in ranges)


def weighed(head: Head) -> Weighed:
    """Size of one message, from its head."""
    tokens = Breakdown(**{name: head.tokens[name] for name in CATEGORIES if name in head.tokens})
    return Weighed(head.seq, tokens, head.reported, head.model)
