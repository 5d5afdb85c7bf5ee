"""Finding the items of messages that an agent hands over again."""

from collections.abc import Mapping, Sequence

from pydantic_ai.messages import ModelMessage

from tui_app.context.items import Item, rejoined


class Known:
    """Finds the items of messages that were in the list before."""

    def __init__(self, items: Sequence[Item], lengths: Mapping[int, int]) -> None:
        self._found = {id(message): group for message, group in rejoined(items)}
        self._lengths = lengths
        self._keys = {
            tuple(map(id, item.message.parts)): item.key
            for item in items
            if item.message.parts and self._is_as_before(item.whole or item.message)
        }

    def key(self, section: ModelMessage) -> int | None:
        """The key of an item with just these parts, whatever message they were in."""
        return self._keys.get(tuple(map(id, section.parts)))

    def find(self, message: ModelMessage) -> Sequence[Item]:
        """The items of a message, none if it is new or has been given other parts since."""
        return self._found.get(id(message), ()) if self._is_as_before(message) else ()

    def _is_as_before(self, message: ModelMessage) -> bool:
        parts = len(message.parts)
        return self._lengths.get(id(message), parts) == parts
