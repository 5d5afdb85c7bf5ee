"""The context board of one scope: what may be put on it, what takes another's place, what has to go."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tui_app.memory.entries import (
    EXTRACTION,
    NEGATION,
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
"""Entries that a scope sees at most, unless a setting sets it."""
NO_ROOM = "the board is full of more important entries"
_ALIKE = 0.8
"""Share of words from which two entries of a kind say the same, so that the newer one replaces the older."""
_FEWEST = 4
"""Words below which entries are only alike when they are equal."""
_NUMBER = re.compile(r"(?<!\w)\d[\w.]*")
_VALUE = re.compile(rf"{_NUMBER.pattern}|`[^`]+`|\"[^\"]+\"")
_VALUES: Mapping[EntryKind, re.Pattern[str]] = {"rule": _VALUE, "decision": _NUMBER}
"""Kinds of which one value holds at a time, and what is one: decisions put names in code marks."""
_CLAUSE = re.compile(r"[,;:，；、。،؛](?!\d)|[.!?](?=\s|$)|\s[–—-]\s")
_DENIES = re.compile(
    rf"{NEGATION.pattern}|(?i:\b(?:niemals|ne|nie|no|non|mai|não|jamás|nunca|не|никогда|нельзя|ні|لا|ليس|ممنوع)\b)"
    r"|不要?|别|別|勿|禁止|绝不|ない|ません|지\s?마|않|안\s|อย่า|ไม่"
)
_EMPTY = re.compile(
    rf"{_DENIES.pattern}|(?i:\b(?:immer|stets|toujours|siempre|sempre|zawsze|altijd|alltid|всегда|постоянно|دائما)\b"
    r"|\b(?:should|have to|has to|need to|must|prefer|keep|stop|avoid)\b)"
    r"|总是|一律|始终|永远|必须|必ず|常に|항상|반드시|เสมอ"
)
"""Words that only say whether a rule asks for something or forbids it."""


@frozen
class Added:
    """What became of a draft."""

    entry: Entry
    new: bool
    """Whether it was put on the board; else it says what stood there already."""
    pruned: tuple[int, ...] = ()
    """Ids of the entries that made room for it or that it replaces."""


@frozen
class ContextBoard:
    """What is remembered of one repository and branch.

    Args:
        store: Keeps the entries.
        scope: Whose board it is.
        most: Most entries it may hold.
        now: Seconds since the epoch.
    """

    store: BoardStore
    scope: Scope
    most: int = MOST_ENTRIES
    now: Callable[[], float] = time.time

    def entries(self) -> list[Entry]:
        """The entries on the board, the weightiest first; equal weights newest first."""
        standing = [entry for entry in self.store.entries(self.scope) if entry.stands]
        return sorted(standing, key=rank, reverse=True)

    def entry(self, number: int) -> Entry | None:
        return next((entry for entry in self.entries() if entry.id == number), None)

    def add(self, draft: Draft) -> Added:
        """Put something on the board; saying the same again changes nothing.

        Raises:
            NotRemembered: if it may not be there, was removed before, or has no room.
        """
        by_person = draft.made_by == PERSON
        draft = replace(draft, text=checked(draft.text, by_person=by_person))
        everything = self.store.entries(self.scope)
        standing = [entry for entry in everything if entry.stands]
        key = key_of(draft.text)
        if (same := next((entry for entry in standing if key_of(entry.text) == key), None)) is not None:
            return Added(same, new=False)
        if not by_person:
            _refuse_pruned(draft, key, everything)
        replaced = [entry for entry in standing if _replaces(draft, entry)]
        # The lightest entries that the user did not write make room.
        left = [entry for entry in standing if entry not in replaced]
        surplus = max(0, len(left) + 1 - self.most)
        others = sorted((entry for entry in left if entry.made_by != PERSON), key=rank)
        lighter = others if by_person else [entry for entry in others if entry.weight < draft.weight]
        if len(lighter) < surplus and not by_person:
            raise NotRemembered(NO_ROOM)
        evicted = lighter[:surplus]
        for entry in evicted:
            self.store.prune(entry.id, draft.made_by, "made room", self.now())
        made = self.store.add(
            draft,
            self.scope.repository,
            "" if draft.on_every_branch else self.scope.branch,
            [entry.id for entry in replaced],
            self.now(),
        )
        return Added(made, new=True, pruned=tuple(entry.id for entry in (*replaced, *evicted)))

    def prune(self, number: int, by: Maker) -> Entry:
        """Take an entry off the board; it stays in the file, marked.

        Raises:
            NotRemembered: if it is not there, or is the user's and a model wants it gone.
        """
        entry = self.entry(number)
        if entry is None:
            raise NotRemembered(f"there is no entry {number} on this board")
        if entry.made_by == PERSON and by != PERSON:
            raise NotRemembered("the user wrote it, and only the user can remove it")
        reason = "forgotten" if by == PERSON else "out of date"
        pruned = self.store.prune(number, by, reason, self.now())
        return pruned or entry

    def edit(self, number: int, text: str) -> Added:
        """Replace an entry with the user's wording.

        Raises:
            NotRemembered: if there is no such entry, or the text may not be kept.
        """
        entry = self.entry(number)
        if entry is None:
            raise NotRemembered(f"there is no entry {number} on this board")
        said = checked(text, by_person=True)
        others = (other for other in self.entries() if key_of(other.text) == key_of(said))
        if (same := next(others, None)) is not None and same.text == said:
            return Added(same, new=False)
        if same is not None and same.id != number:
            raise NotRemembered(f"entry {same.id} already says this")
        draft = Draft(
            text=said,
            kind=entry.kind,
            session=entry.session,
            seq=entry.seq,
            weight=entry.weight,
        )
        made = self.store.add(draft, entry.repository, entry.branch, [number], self.now())
        return Added(made, new=True, pruned=(number,))


def rank(entry: Entry) -> tuple[bool, float, float, int]:
    """How much an entry counts: the user's first, then by weight, then by age."""
    return (entry.made_by == PERSON, entry.weight, entry.time, entry.id)


def _refuse_pruned(draft: Draft, key: str, everything: Sequence[Entry]) -> None:
    """Refuse what the user took off, and what was removed before and comes from the same message."""
    for entry in everything:
        if entry.stands or key_of(entry.text) != key:
            continue
        # What the user has reworded was removed as well.
        if entry.pruned_by == PERSON:
            raise NotRemembered("the user has removed it from the board")
        if (entry.session, entry.seq) == (draft.session, draft.seq):
            raise NotRemembered("it was on the board before and was removed")


def _replaces(draft: Draft, entry: Entry) -> bool:
    """Whether a draft says anew what an entry says, or a rule or decision with another value.

    The user's own neither replaces anything by itself nor is replaced: it is edited by hand.
    """
    if entry.kind != draft.kind or PERSON in (entry.made_by, draft.made_by):
        return False
    if draft.made_by == EXTRACTION and draft.kind in ("command", "file"):
        return _subject(draft.text) == _subject(entry.text)
    if draft.kind in _VALUES and _contradicts(draft.text, entry.text):
        return True
    value = _VALUES.get(draft.kind)
    new, old = _words(draft.text, value), _words(entry.text, value)
    if min(len(new), len(old)) < _FEWEST:
        return False
    if draft.kind == "rule" and bool(NEGATION.search(draft.text)) != bool(NEGATION.search(entry.text)):
        # The opposite of a rule, about the very same thing, takes its place.
        return new == old
    return len(new & old) >= _ALIKE * len(new | old)


def _contradicts(new: str, old: str) -> bool:
    """Whether an entry is undone, or one of its clauses is denied or given another value."""
    # Reading rules loads what reads messages: a list of entries is painted without it.
    from tui_app.context.facts.rules import replaces, subject_of

    if replaces(subject_of(new), subject_of(old)):
        return True
    clauses = [(bool(_DENIES.search(each)), subject_of(_EMPTY.sub(" ", each))) for each in _CLAUSE.split(old)]
    for each in _CLAUSE.split(new):
        denies, said = bool(_DENIES.search(each)), subject_of(_EMPTY.sub(" ", each))
        for denied, before in clauses:
            if not said.about or said.about != before.about:
                continue
            values = (said.values, before.values)
            other = len(said.values) == len(before.values) == 1 and said.values != before.values
            if values[0] == values[1] if denies != denied else other and not denies:
                return True
    return False


def _subject(text: str) -> str:
    """What a relation is about: all in front of what was done to it."""
    return text.partition(" · ")[0]


def _words(text: str, value: re.Pattern[str] | None) -> frozenset[str]:
    """Words of a text less what denies it, and less its values where those may change."""
    text = value.sub(" ", text) if value is not None else text
    return frozenset(key_of(NEGATION.sub(" ", text)).split())
