"""Items of an agent view: messages in one order, groups of hidden ones, and their heads."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import msgspec

from tui_app.session.event_heads import Head
from tui_app.session.event_rows import STAGES

Order = tuple[int, ...]
"""Place of a message in an order that compares as tuples.

An ordinary message has its own number. One inserted directly after another has the other's order plus the
negated number of the event that inserted it.
"""
by_order = attrgetter("order")


class ViewItem(NamedTuple):
    """One message of the view, visible or hidden. Its content is in the head of its event."""

    seq: int
    order: Order
    forms: tuple[tuple[int, int], ...] = ()
    """Other forms that are in effect, newest last: number of the rewrite and the index in it."""


def find_item(items: Sequence[ViewItem], seq: int) -> ViewItem | None:
    """Find the message with a log number in an ordered sequence."""
    place = bisect_left(items, (seq,), key=by_order)
    return items[place] if place < len(items) and items[place].order == (seq,) else None


class HiddenItems:
    """Messages that one event hides. Stored ones are decoded when needed.

    Attributes:
        first: Place of the first one.
        last: Place of the last one.
        newest: The highest log number of any of the messages or their forms.
    """

    def __init__(self, items: Iterable[ViewItem]) -> None:
        self._items, self._text = sorted(items, key=by_order), ""
        self.first, self.last = self._items[0].order, self._items[-1].order
        forms = (form[0] for item in self._items for form in item.forms)
        self.newest = max(chain(forms, (item.seq for item in self._items)))

    @classmethod
    def from_text(cls, text: str) -> "HiddenItems":
        """Decode a stored group, except for the messages themselves."""
        ends, _, items = text.partition("\n")
        made = cls.__new__(cls)
        made._items, made._text = [], items  # noqa: SLF001 - its own
        first, last, made.newest = json.loads(ends)
        made.first, made.last = tuple(first), tuple(last)
        return made

    def to_text(self) -> str:
        """Encode as two lines of JSON: the attributes, and the messages."""
        items = self._text or msgspec.json.encode(self._items).decode()
        return f"{json.dumps((self.first, self.last, self.newest))}\n{items}"

    @property
    def items(self) -> Sequence[ViewItem]:
        """All of them, in order."""
        if self._text:
            self._items, self._text = msgspec.json.decode(self._text, type=list[ViewItem]), ""
        return self._items

    def find(self, seq: int) -> ViewItem | None:
        return find_item(self.items, seq) if self.first <= (seq,) <= self.last else None

    def following(self, order: Order) -> ViewItem | None:
        """Return the first message after a place."""
        return self.items[bisect_right(self.items, order, key=by_order)] if order < self.last else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiddenItems) and self.items == other.items

    __hash__ = None  # type: ignore[assignment]


Read = Callable[[Collection[int]], Iterable[Head]]
"""Reads heads by number; those that are not in the log are left out."""


class Heads(dict[int, Head]):
    """Heads by number: those folded so far, and others of the log, read when needed.

    Args:
        read: Reads other heads; None if there are none.
        under: The heads of the view that this is a copy of.
    """

    def __init__(self, read: Read | None = None, under: "Heads | None" = None) -> None:
        super().__init__()
        self._under = under
        self._read = read if under is None else under.found
        self._forms: dict[tuple[int, int], Head] = {}

    def __missing__(self, seq: int) -> Head:
        self.load((seq,))
        if seq not in self:
            raise KeyError(seq)
        return self[seq]

    def read_with(self, read: Read) -> None:
        if self._under is not None:
            self._under.read_with(read)
        else:
            self._read = read

    def load(self, seqs: Iterable[int]) -> None:
        """Read the missing ones in one query."""
        if self._read is not None and (missing := [seq for seq in seqs if seq not in self]):
            self.update((head.seq, head) for head in self._read(missing))

    def found(self, seqs: Iterable[int]) -> list[Head]:
        numbers = list(seqs)
        self.load(numbers)
        return [self[seq] for seq in numbers if seq in self]

    def first(self, seq: int, types: Collection[str]) -> Head | None:
        """Return the head of an event if it has one of these types; else None."""
        found = self.found((seq,))
        return found[0] if found and found[0].type in types else None

    def original(self, seq: int) -> Head:
        """Return the original head of a message; for a rewrite, that of its digest."""
        head = self[seq]
        if head.type not in STAGES:
            return head
        form = (seq, len(head.changes))
        return self._forms.get(form) or self._forms.setdefault(form, replace(head, form=form))

    def formed(self, head: Head, form: tuple[int, int]) -> Head:
        """Return a message in the form that a rewrite gave it."""
        rewrite, place = form
        if form not in self._forms:
            tokens = self[rewrite].changes[place][1]
            self._forms[form] = replace(head, tokens=tokens, form=form, reported=0)
        return self._forms[form]
