"""A history that is played into memory: what a session's log would hold, and nothing on disk."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage

from tui_app.context.history import ListHistory
from tui_app.context.rewrite import Rewrite
from tui_app.context.view import Item, sections


@dataclass(slots=True)
class ReplayHistory(ListHistory):
    """The view of a conversation whose messages are handed to it one by one.

    What was reported in its time is not believed: it was the size of other requests than those of a replay.
    """

    files: dict[str, str] = field(default_factory=dict)
    """What the stages have moved out of the view, by name."""

    def append(self, message: ModelMessage) -> None:
        """Take in what was said next."""
        parts = sections(message)
        for part in parts:
            item = Item(self._next, part, whole=message if len(parts) > 1 else None)
            self._next += 1
            self._items.append(item)
            self._tally.add(self._weighed(item))

    def sync(self, messages: Sequence[ModelMessage]) -> None:
        """Nothing to do: everything is appended before the next request."""

    def spilled(self) -> Collection[str]:
        """Names of the files that hold tool results."""
        return self.files.keys()

    def rewrite(self, rewrite: Rewrite) -> None:
        """Keep the files, then change the view."""
        self.files.update((file.name, file.text) for file in rewrite.files)
        ListHistory.rewrite(self, rewrite)
