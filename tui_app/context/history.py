"""What the governor needs from whoever owns a conversation's history, and the plainest such owner."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic_ai.messages import ModelMessage, ModelResponse

from tui_app.context.events import CompactionComplete, Payload
from tui_app.context.items import Item, is_system
from tui_app.context.measure import Tally, Weighed
from tui_app.context.tokens import TokenCounter
from tui_app.context.usage import Breakdown, ContextUsage, ContextWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A finished compaction that has not been applied."""

    complete: CompactionComplete
    """What will be recorded; the paths and numbers of the files are filled in on commit."""
    message: ModelMessage
    """The summary's request, which takes the place of what leaves."""
    left: frozenset[int]
    """Keys of the messages that leave."""
    version: int
    """Version of the view it was made for; a proposal for another version is stale."""


class History(Protocol):
    """The agent view as the governor sees it."""

    @property
    def version(self) -> int:
        """Changes with every rewrite of the view, not when messages are added at its end."""
        ...

    def items(self) -> Sequence[Item]:
        """The visible messages, oldest first."""
        ...

    def weigh(self, item: Item) -> Breakdown:
        """Tokens one message costs, counted once."""
        ...

    def usage(self) -> ContextUsage:
        """The estimate of the next request, in real tokens of the model it goes to."""
        ...

    def sync(self, messages: Sequence[ModelMessage]) -> None:
        """Take note of what a run has added since the last request."""
        ...

    def fix(self, window: ContextWindow, fixed: Breakdown, model: str, factor: float = 1.0) -> None:
        """Set what every request to a model carries, its window, and its real tokens per counted token."""
        ...

    def distrust(self) -> None:
        """The next answer's reported usage will not describe this view: its request was cut."""
        ...

    def commit(self, proposal: Proposal) -> CompactionComplete:
        """Apply a compaction: files first, then one recorded event, then the view.

        Raises:
            OSError: if a file could not be written; the view is unchanged then.
        """
        ...

    def report(self, payload: Payload) -> None:
        """Record or show an event."""
        ...


def ignore(_payload: Payload) -> None:
    """Listener for programs that do not care about events."""


@dataclass(slots=True)
class ListHistory:
    """History of any pydantic-ai agent: the list of its messages, and nothing written to disk."""

    counter: TokenCounter
    listener: Callable[[Payload], None] = ignore
    version: int = 0
    _items: list[Item] = field(default_factory=list)
    _next: int = 1
    _window: ContextWindow = field(default_factory=lambda: ContextWindow(limit=128_000, source="default"))
    _fixed: Breakdown = field(default_factory=Breakdown)
    _model: str = ""
    _factor: float = 1.0
    _trusted_after: int = 0

    def items(self) -> Sequence[Item]:
        """The messages as items; keys count up from 1."""
        return self._items

    def weigh(self, item: Item) -> Breakdown:
        """Tokens of one message; the counter remembers it."""
        return self.counter.message(item.message).scaled(self._factor)

    def usage(self) -> ContextUsage:
        """The estimate of the next request."""
        tally = Tally()
        count = self.counter.message
        weighed = (Weighed(i.key, count(i.message), i.reported, i.model) for i in self._items)
        tally.reset(weighed, trusted_after=self._trusted_after)
        return tally.usage(
            self._window, self._fixed, model=self._model, factor=self._factor, counter_exact=self.counter.exact
        )

    def sync(self, messages: Sequence[ModelMessage]) -> None:
        """Follow the agent's list: known messages keep their key, new ones get the next."""
        known = {id(item.message): item for item in self._items}
        items: list[Item] = []
        for message in messages:
            item = known.get(id(message))
            if item is None:
                item = Item(self._next, message, reported_tokens(message), self._model)
                self._next += 1
            items.append(item)
        self._items = items

    def fix(self, window: ContextWindow, fixed: Breakdown, model: str, factor: float = 1.0) -> None:
        """Set what every request carries."""
        self._window, self._fixed, self._model, self._factor = window, fixed, model, factor

    def distrust(self) -> None:
        """Ignore the usage of the next answer."""
        self._trusted_after = self._next + 1

    def commit(self, proposal: Proposal) -> CompactionComplete:
        """Put the summary in front of what stays."""
        stays = [item for item in self._items if item.key not in proposal.left]
        self._items = place_summary(stays, Item(self._next, proposal.message))
        self._trusted_after = self._next
        self._next += 1
        self.version += 1
        self.listener(proposal.complete)
        return proposal.complete

    def report(self, payload: Payload) -> None:
        """Hand an event to the listener."""
        self.listener(payload)


def place_summary(stays: Sequence[Item], summary: Item) -> list[Item]:
    """Insert a summary behind the system prompts that lead a view."""
    lead = 0
    while lead < len(stays) and is_system(stays[lead].message):
        lead += 1
    return [*stays[:lead], summary, *stays[lead:]]


def reported_tokens(message: ModelMessage) -> int:
    """Input plus output tokens of a response, 0 when the provider reported nothing or it was cut short."""
    if not isinstance(message, ModelResponse) or message.state != "complete":
        return 0
    return message.usage.input_tokens + message.usage.output_tokens
