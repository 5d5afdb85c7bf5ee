"""What stood in a view before any stage touched it: what code reads when something is summarised.

A stage hides text from the model, and a model that writes a summary reads what the agent sees. Facts, and a
summary that only quotes, are the code's own work: an error or a name must not be lost for having been hidden.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ModelResponsePart

from tui_app.context.items import Item
from tui_app.context.stages.marks import is_acknowledgement
from tui_app.context.stages.rewrite import Rewrite

Part = ModelRequestPart | ModelResponsePart


@dataclass(frozen=True, slots=True, kw_only=True)
class Unabridged:
    """A view as it was before any stage touched it."""

    items: tuple[Item, ...]
    """All messages that anybody wrote or returned, in the order of the view."""
    in_sight: frozenset[int] = frozenset()
    """Keys of those that stay beside the summary and are shown as they were."""


def unabridged(
    originals: Sequence[Item], view: Sequence[Item], leaving: Iterable[int], behind: Sequence[Item] = ()
) -> Unabridged:
    """Say what of a view will be out of sight once some of it has left.

    Args:
        originals: The messages as they were; the very item of the view where no stage touched it.
        view: The messages as they are shown, in the same order.
        leaving: Keys of those that leave.
        behind: Messages for which something in the view stands that cannot be read here.
    """
    gone = frozenset(leaving)
    shown = frozenset(
        item.key for item, now in zip(originals, view, strict=True) if item is now and item.key not in gone
    )
    # What we had the assistant say about a summary is nothing anybody said.
    said = tuple(item for item in (*behind, *originals) if not is_acknowledgement(item.message))
    return Unabridged(items=said, in_sight=shown)


@dataclass(slots=True)
class Originals:
    """Remembers, for a history that writes nothing to disk, what the stages have put something in place of.

    Parts are known by their identity: messages lose theirs when neighbouring requests are merged.
    """

    _known: dict[int, tuple[Part, Part]] = field(default_factory=dict)
    """The part that is shown and the one it stands for, by the identity of the first."""

    def note(self, items: Iterable[Item], rewrite: Rewrite) -> None:
        """Remember what stands in a view before a stage gives messages of it another form."""
        old = {item.key: item.message.parts for item in items}
        for change in rewrite.changes:
            # The new form has the same parts, in the same order.
            for before, after in zip(old.get(change.key, ()), change.message.parts, strict=False):
                if before is not after:
                    self._known[id(after)] = (after, self._first(before))

    def of(self, item: Item) -> Item:
        """The message as it was; the same item where nothing is known."""
        parts = [self._first(part) for part in item.message.parts]
        if all(map(is_, parts, item.message.parts)):
            return item
        return replace(item, message=_with_parts(item.message, parts))

    def keep(self, items: Iterable[Item]) -> None:
        """Forget what is behind all but these messages."""
        if self._known:
            there = {id(part) for item in items for part in item.message.parts}
            self._known = {place: pair for place, pair in self._known.items() if place in there}

    def _first(self, part: Part) -> Part:
        return self._known.get(id(part), (part, part))[1]


def _with_parts(message: ModelMessage, parts: Sequence[Any]) -> ModelMessage:
    """The same message with other parts of the same kind."""
    if isinstance(message, ModelResponse):
        return replace(message, parts=list(parts))
    return replace(message, parts=list(parts))


def as_told(items: Sequence[Item], forms: Mapping[int, ModelMessage]) -> Sequence[Item]:
    """Items with other messages in place of some, by key; the very items elsewhere."""
    return [replace(item, message=forms[item.key]) if item.key in forms else item for item in items]
