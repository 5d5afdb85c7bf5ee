"""The context board of one scope: adding, replacing and removing entries."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tui_app.memory.entries import (
    EXTRACTION,
    PERSON,
    Draft,
    Entry,
    EntryKind,
    Maker,
    NotRemembered,
    checked,
    key_of,
)
from tui_app.memory.scope import Scope
from tui_app.memory.store import BoardStore
from tui_app.records import frozen

MOST_ENTRIES = 100
"""Default maximum number of entries that a scope sees."""
NO_ROOM = "the board is full of more important entries"
_ALIKE, _ALIKE_OF_LONGER = 0.6, 0.5
"""Minimum shares of the shorter's and of the longer's words for two entries about the same subject."""
_FEWEST = 3
"""Words below which entries are only alike if they are equal."""
_ONE_VALUE: frozenset[EntryKind] = frozenset({"rule", "decision"})
"""Kinds of which the newer entry replaces an older one about the same subject."""
_NAME = re.compile(r"`[^`]+`|[\w.-]*[/\\][\w./\\-]*|\w+\.[A-Za-z]\w{0,5}\b|\w+_\w+|\b[^\W\d_]+\d+\b(?!\.\d)")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")


@frozen
class Added:
    """Result of adding a draft."""

    entry: Entry
    new: bool
    """Whether it was added; otherwise the entry was on the board already."""
    pruned: tuple[int, ...] = ()
    """Ids of the entries that made room for it or that it replaces."""


@frozen
class ContextBoard:
    """The memory of one repository and branch.

    Args:
        store: Keeps the entries.
        scope: Repository and branch of the board.
        most: Maximum number of entries.
        now: Seconds since the epoch.
    """

    store: BoardStore
    scope: Scope
    most: int = MOST_ENTRIES
    now: Callable[[], float] = time.time

    def entries(self) -> list[Entry]:
        """Return the entries on the board, heaviest first; equal weights newest first."""
        current = [entry for entry in self.store.entries(self.scope) if entry.is_current]
        return sorted(current, key=rank, reverse=True)

    def entry(self, number: int) -> Entry:
        """Return the entry with a number.

        Raises:
            NotRemembered: if it is not on the board.
        """
        for entry in self.entries():
            if entry.id == number:
                return entry
        raise NotRemembered(f"there is no entry {number} on this board")

    def add(self, draft: Draft) -> Added:
        """Add an entry to the board; adding the same text again changes nothing.

        Raises:
            NotRemembered: if it is not allowed, was removed before, or has no room.
        """
        by_person = draft.made_by == PERSON
        draft = replace(draft, text=checked(draft.text, by_person=by_person))
        everything = self.store.entries(self.scope)
        current = [entry for entry in everything if entry.is_current]
        if (same := _same(current, draft.text)) is not None:
            return Added(same, new=False)
        if not by_person:
            _refuse_pruned(draft, everything)
        replaced = [entry for entry in current if _replaces(draft, entry)]
        # The lightest entries that the user did not write make room.
        left = [entry for entry in current if entry not in replaced]
        surplus = max(0, len(left) + 1 - self.most)
        others = sorted((entry for entry in left if entry.made_by != PERSON), key=rank)
        lighter = others if by_person else [entry for entry in others if entry.weight < draft.weight]
        if len(lighter) < surplus and not by_person:
            raise NotRemembered(NO_ROOM)
        evicted = lighter[:surplus]
        for entry in evicted:
            self.store.prune(entry.id, draft.made_by, "made room", self.now())
        branch = "" if draft.on_every_branch else self.scope.branch
        replaces = [entry.id for entry in replaced]
        made = self.store.add(draft, self.scope.repository, branch, replaces, self.now())
        return Added(made, new=True, pruned=tuple(entry.id for entry in (*replaced, *evicted)))

    def prune(self, number: int, by: Maker) -> Entry:
        """Remove an entry from the board; it stays in the store, marked.

        Raises:
            NotRemembered: if there is none, or a model tries to remove one of the user's.
        """
        entry = self.entry(number)
        if entry.made_by == PERSON and by != PERSON:
            raise NotRemembered("the user wrote it, and only the user can remove it")
        reason = "forgotten" if by == PERSON else "out of date"
        return self.store.prune(number, by, reason, self.now()) or entry

    def edit(self, number: int, text: str) -> Added:
        """Replace an entry with the user's wording.

        Raises:
            NotRemembered: if there is no such entry, or the text must not be kept.
        """
        entry = self.entry(number)
        phrase = checked(text, by_person=True)
        if (same := _same(self.entries(), phrase)) is not None and same.text == phrase:
            return Added(same, new=False)
        if same is not None and same.id != number:
            raise NotRemembered(f"entry {same.id} already says this")
        draft = Draft(text=phrase, kind=entry.kind, session=entry.session, seq=entry.seq, weight=entry.weight)
        made = self.store.add(draft, entry.repository, entry.branch, [number], self.now())
        return Added(made, new=True, pruned=(number,))


def rank(entry: Entry) -> tuple[bool, float, float, int]:
    """Return the sort key of an entry: the user's first, then by weight, then by age."""
    return (entry.made_by == PERSON, entry.weight, entry.time, entry.id)


def _same(entries: Sequence[Entry], text: str) -> Entry | None:
    return next((entry for entry in entries if key_of(entry.text) == key_of(text)), None)


def _refuse_pruned(draft: Draft, everything: Sequence[Entry]) -> None:
    """Refuse what the user removed, and what was removed before and is said in no later message."""
    key = key_of(draft.text)
    for entry in everything:
        if entry.is_current or key_of(entry.text) != key:
            continue
        # An entry that the user reworded was removed as well.
        if entry.pruned_by == PERSON:
            raise NotRemembered("the user has removed it from the board")
        if entry.session == draft.session and draft.seq <= entry.seq:
            raise NotRemembered("it was on the board before and was removed")


def _replaces(draft: Draft, entry: Entry) -> bool:
    """Whether a draft repeats an entry, or is a rule or decision with another value.

    The user's own entries neither replace others nor are replaced: they are edited by hand.
    """
    if entry.kind != draft.kind or PERSON in (entry.made_by, draft.made_by):
        return False
    if draft.made_by == EXTRACTION and draft.kind in ("command", "file"):
        return _subject(draft.text) == _subject(entry.text)
    if draft.kind not in _ONE_VALUE or _named(draft.text) != _named(entry.text):
        return False
    new, old = _words(draft.text), _words(entry.text)
    fewer, more = sorted((len(new), len(old)))
    return fewer >= _FEWEST and len(new & old) >= max(_ALIKE * fewer, _ALIKE_OF_LONGER * more)


def _subject(text: str) -> str:
    """Return the subject of a relation: everything before what was done to it."""
    return text.partition(" · ")[0]


def _named(text: str) -> frozenset[str]:
    """Return the paths, identifiers and addresses in a text: entries about different ones are kept apart."""
    return frozenset(name.casefold() for name in _NAME.findall(text))


def _words(text: str) -> frozenset[str]:
    """Return the words of a text without numbers, which may change.

    For scripts without spaces they are pairs of characters.
    """
    words = {word for word in key_of(text).split() if not word.isdigit() and not _UNSPACED.search(word)}
    signs = "".join(_UNSPACED.findall(text))
    return frozenset(words | {signs[at : at + 2] for at in range(len(signs) - 1)})
