"""What of a long history is read next: in parts, behind what was read before, and never without end."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from tui_app.context.items import Item
from tui_app.context.summaries.extractive import extractive_summary
from tui_app.context.summaries.render import RESULT_LIMIT
from tui_app.context.summaries.summary_prompt import split_blocks
from tui_app.context.summaries.transcript import transcript

MOST_PARTS = 32
"""Parts one attempt reads at most. Above it tool results are clipped harder, and then the oldest messages are
left to extraction."""
_RESULT_LIMITS = (RESULT_LIMIT, 600, 200)
"""Characters of a tool result that are shown, the fewer the longer the history."""
CONDENSED = "(The oldest {count} messages were too many to read: rules picked what is noted of them.)"


@dataclass(frozen=True, slots=True)
class Notes:
    """How far the reading of a history has come."""

    about: tuple[str, ...] = ("",)
    """What was noted before it, and the focus."""
    text: str = ""
    block: int = 0
    """Messages that have been read whole."""
    offset: int = 0
    """Characters read of the next one."""
    limit: int = RESULT_LIMIT
    """Characters of a tool result that were shown of that one."""
    mark: bytes = b""
    """What was read, to know it again."""
    parts: int = 0
    """Parts that have been read."""
    condensed: int = 0
    """Messages at the beginning that no model has read."""


@dataclass(frozen=True, slots=True)
class Part:
    """A portion of the transcript, and the notes' place behind it."""

    text: str
    block: int
    offset: int


@dataclass(frozen=True, slots=True)
class Agenda:
    """What is left to read."""

    notes: Notes
    """Where it begins."""
    parts: Sequence[Part]
    limit: int
    """Characters of a tool result that are shown."""


@dataclass(slots=True)
class Material:
    """A history as a model reads it; texts are made once for each length of tool results."""

    items: Sequence[Item]
    mask: Callable[[str], str]
    _shown: dict[int, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pairs = [(item, text) for item in self.items for text in transcript((item,), self.mask)]
        self.items = [item for item, _ in pairs]
        self._shown[RESULT_LIMIT] = [text for _, text in pairs]

    def blocks(self, limit: int) -> list[str]:
        """One text for each message that says something, with ``limit`` characters of each tool result."""
        if limit not in self._shown:
            self._shown[limit] = transcript(self.items, self.mask, limit)
        return self._shown[limit]

    def mark(self, block: int, offset: int, limit: int) -> bytes:
        """What stands in front of a place, in short.

        Args:
            block: Index of the text in which the place is.
            offset: Characters of that text in front of it.
            limit: Characters of each tool result in that text.
        """
        digest = blake2b(digest_size=16)
        begun = [self.blocks(limit)[block][:offset]] if offset else []
        for text in (*self.blocks(RESULT_LIMIT)[:block], *begun):
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.digest()

    def goes_on(self, notes: Notes, about: tuple[str, ...]) -> bool:
        """Whether notes are about the beginning of just this history."""
        if notes.about != about or notes.block + bool(notes.offset) > len(self.items):
            return False
        return notes.mark == self.mark(notes.block, notes.offset, notes.limit)

    def behind(self, agenda: Agenda, part: Part, text: str) -> Notes:
        """The notes once a part has been read into them."""
        before, limit = agenda.notes, agenda.limit
        mark = self.mark(part.block, part.offset, limit)
        return Notes(
            before.about, text, part.block, part.offset, limit, mark, before.parts + 1, before.condensed
        )


def agenda(
    material: Material,
    notes: Notes,
    about: tuple[str, ...],
    budget: int,
    count: Callable[[str], int],
    notes_budget: int,
) -> Agenda:
    """Portion out what is left to read, at most :data:`MOST_PARTS` parts.

    Args:
        material: The history.
        notes: How far an earlier attempt has come; ignored when it read something else.
        about: What was noted before this history, and the focus.
        budget: Tokens of one part.
        count: Counts the tokens of a text.
        notes_budget: Tokens that notes by extraction may take.
    """
    if not material.goes_on(notes, about):
        notes = Notes(about, about[0], mark=material.mark(0, 0, RESULT_LIMIT))
    for limit in _RESULT_LIMITS:
        parts = list(_parts(material, notes, limit, budget, count))
        if len(parts) <= MOST_PARTS:
            return Agenda(notes, parts, limit)
    last = parts[-MOST_PARTS - 1]
    skipped = min(len(material.items), last.block + bool(last.offset))
    text = extractive_summary(
        material.items[notes.block : skipped],
        budget_tokens=notes_budget,
        count=count,
        focus=about[1],
        previous=notes.text,
    )
    mark = material.mark(last.block, last.offset, limit)
    begun = Notes(about, text, last.block, last.offset, limit, mark, notes.parts, skipped)
    return Agenda(begun, parts[-MOST_PARTS:], limit)


def _parts(
    material: Material, notes: Notes, limit: int, budget: int, count: Callable[[str], int]
) -> Iterator[Part]:
    """The transcript behind some notes, in portions of at most so many tokens."""
    ahead = material.blocks(limit)[notes.block :]
    if notes.offset:
        ahead[0] = material.blocks(notes.limit)[notes.block][notes.offset :]
    for text, block, offset in split_blocks(ahead, budget, count):
        started = notes.offset if offset and not block else 0
        yield Part(text, notes.block + block, started + offset)
