"""The interface between governor and history, and the history of a plain pydantic-ai agent."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from operator import is_
from typing import Any, Protocol, cast

from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ModelResponsePart

from tui_app.context.counting.tally import MessageWeight, Tally
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.summary_ledger import ledger_dumps, with_ledger
from tui_app.context.message_marks import is_acknowledgement
from tui_app.context.views.cuts import ItemIndex, place_summary, sections, with_partners
from tui_app.context.views.rewrites import Rewrite, rewritten_items
from tui_app.context.views.view import Item, is_summary, is_system, latest_prompt_index
from tui_app.events import REWRITES, CompactionComplete, Payload, Rewritten, Stage, ToolArchived, ViewRewrite
from tui_app.records import frozen, picked
from tui_app.usage import Breakdown, ContextUsage, ContextWindow, Kinds, Overhead
from tui_app.wires.answer_end import context_input


def same_objects(first: Sequence[object], second: Sequence[object]) -> int:
    """Return how many leading objects of two lists are identical."""
    matches = list(map(is_, first, second))
    return matches.index(False) if False in matches else len(matches)


@dataclass(slots=True)
class RunningCount:
    """Token count of one request after another; only new messages are counted."""

    counter: TokenCounter
    _messages: Sequence[ModelMessage] = ()
    _ends: list[Kinds] = field(default_factory=list)
    """Tokens up to the end of each message."""
    _loaded: bool = False

    def kinds(self, messages: Sequence[ModelMessage]) -> Kinds:
        """Return the tokens of the messages.

        Args:
            messages: A list that is not changed afterwards.
        """
        loaded = self.counter.loaded
        same = same_objects(self._messages, messages) if loaded == self._loaded else 0
        before = self._ends[same - 1] if same else Kinds()
        sizes = (self.counter.message(message).kinds for message in messages[same:])
        self._ends[same:] = list(accumulate(sizes, Kinds.plus, initial=before))[1:]
        self._messages, self._loaded = messages, loaded
        return self._ends[-1] if self._ends else Kinds()


Weigh = Callable[[Item], int]
"""Counted tokens of one item."""


@frozen
class Sizes:
    """An estimate divided into the messages and what every request carries."""

    carried: int
    """Tokens every request carries regardless of the view: instructions, tools, memory."""
    scale: float
    """Estimated tokens per counted token of a message."""

    def estimate(self, counted: int) -> int:
        """Scale a token count of messages to the estimate."""
        return round(counted * self.scale)


def sizes_of(items: Sequence[Item], usage: ContextUsage, weigh: Weigh) -> Sizes:
    """Divide an estimate.

    System prompts in the view are messages. Tokens that the provider reported beyond the count are spread
    over the messages, as is right when its tokenizer is finer than ours.

    Args:
        items: The agent view.
        usage: The estimate of a request with that view.
        weigh: Counted tokens of one item.
    """
    weights = [weigh(item) for item in items]
    counted = sum(weights)
    system = sum(weight for weight, item in zip(weights, items, strict=True) if is_system(item.message))
    fixed = usage.parts.system + usage.parts.tools + usage.parts.memory
    estimate, raw = usage.parts.total - fixed, counted - system
    scale = estimate / raw if estimate > 0 and raw > 0 else 1.0
    carried = max(0, round(fixed - system * scale))
    if counted > 0:
        scale = max(0.0, usage.total - carried) / counted
    return Sizes(carried, scale)


Part = ModelRequestPart | ModelResponsePart


@frozen(kw_only=True)
class OriginalView:
    """A view before any stage rewrote it."""

    items: tuple[Item, ...]
    """All messages of the whole conversation, oldest first, without acknowledgements of summaries."""
    in_sight: frozenset[int] = frozenset()
    """Keys of the messages that stay next to the summary in their original form."""
    unchanged: frozenset[int] = frozenset()
    """Keys of all messages of the view that no stage has rewritten."""
    ledger: Ledger = field(default_factory=Ledger)
    """What happened in the whole conversation."""


def original_view(history: "History", leaving: Iterable[int]) -> OriginalView:
    """Read the whole conversation, and determine what stays visible once part of the view is removed.

    Args:
        history: The agent view; only read.
        leaving: Keys of the messages to be removed.
    """
    left, view = frozenset(leaving), history.items()
    unchanged = frozenset(
        item.key for item, now in zip(history.originals(view), view, strict=True) if item is now
    )
    # Acknowledgements of summaries are written by the program, not by the assistant.
    items = tuple(item for item in history.everything() if not is_acknowledgement(item.message))
    return OriginalView(items=items, in_sight=unchanged - left, unchanged=unchanged, ledger=history.ledger())


@dataclass(slots=True)
class Originals:
    """Original parts replaced by the stages' rewrites, for a history that writes nothing to disk.

    Parts are recognized by identity, because messages lose theirs when neighbouring requests are merged.
    """

    _known: dict[int, tuple[Part, Part]] = field(default_factory=dict)
    """The visible part and its original, by the identity of the visible one."""

    def remember(self, items: Iterable[Item], rewrite: Rewrite) -> None:
        """Remember the messages of a view before a stage rewrites some of them."""
        old = {item.key: item.message.parts for item in items}
        for change in rewrite.changes:
            # The new form has the same parts, in the same order.
            for before, after in zip(old.get(change.key, ()), change.message.parts, strict=False):
                if before is not after:
                    self._known[id(after)] = (after, self._first(before))

    def original(self, item: Item) -> Item:
        """Return the original message; the same item if it was not rewritten."""
        parts = [self._first(part) for part in item.message.parts]
        if all(map(is_, parts, item.message.parts)):
            return item
        return replace(item, message=with_parts(item.message, parts))

    def keep(self, items: Iterable[Item]) -> None:
        """Forget the originals of all other messages."""
        if self._known:
            there = {id(part) for item in items for part in item.message.parts}
            self._known = {place: pair for place, pair in self._known.items() if place in there}

    def _first(self, part: Part) -> Part:
        return self._known.get(id(part), (part, part))[1]


def with_parts(message: ModelMessage, parts: Sequence[Any]) -> ModelMessage:
    """Return a copy of the message with other parts of the same kind."""
    changed: ModelMessage = replace(cast("Any", message), parts=list(parts))
    return changed


def with_forms(items: Sequence[Item], forms: Mapping[int, ModelMessage]) -> Sequence[Item]:
    """Replace the messages of some items, by key; the other items stay the same objects."""
    return [replace(item, message=forms[item.key]) if item.key in forms else item for item in items]


EVENTS: Mapping[Stage, type[ViewRewrite]] = {kind.STAGE: kind for kind in REWRITES}
"""The event that records each stage's work."""


def new_messages(rewrite: Rewrite) -> list[ModelMessage]:
    """Return the messages a rewrite adds, in the order the log keeps them: new forms, then the digest."""
    messages = [change.message for change in rewrite.changes]
    return messages if rewrite.digest is None else [*messages, rewrite.digest]


def rewrite_event(rewrite: Rewrite, sizes: Sequence[dict[str, int]]) -> ViewRewrite:
    """Build the event of a rewrite, without the sizes of the view.

    Args:
        rewrite: What a stage decided.
        sizes: Tokens by category of each new message, the digest last.
    """
    changes = tuple(
        Rewritten(seq=change.key, tokens=size, note=change.note)
        for change, size in zip(rewrite.changes, sizes, strict=False)
    )
    tokens = sizes[-1] if rewrite.digest is not None else {}
    event = EVENTS[rewrite.stage](changes=changes, tokens=tokens, policy=rewrite.policy)
    by = rewrite.written
    if not isinstance(event, ToolArchived) or by is None:
        return event
    cost = picked(by.spent, "input_tokens output_tokens cost_usd")
    return replace(event, performed_by=by.performed_by, model=by.model, **cost)


def measured(event: ViewRewrite, before: ContextUsage, after: int) -> ViewRewrite:
    """Add the sizes of the view before and after, in estimated tokens."""
    return replace(
        event,
        tokens_before=before.total,
        tokens_after=after,
        tokens_removed=before.total - after,
        messages_before=before.messages,
        messages_after=before.messages + bool(event.tokens),
    )


@frozen(kw_only=True)
class Proposal:
    """A finished compaction that has not been applied."""

    complete: CompactionComplete
    """The event to record; paths and sizes of the files are filled in on commit."""
    message: ModelMessage
    """The summary's request, which replaces the removed messages."""
    left: frozenset[int]
    """Keys of the removed messages."""
    acknowledgement: ModelResponse | None = None
    """The assistant's response after the summary, if the policy asks for one."""
    in_files: int = 0
    """Number of removed results whose full text is in a file."""
    ledger: str = ""
    """The ledger of the session as JSON, stored where a log exists."""

    @property
    def messages(self) -> tuple[ModelMessage, ...]:
        """The messages to be added to the view, in order."""
        return (self.message, *filter(None, (self.acknowledgement,)))


class History(Protocol):
    """The agent view as the governor sees it."""

    @property
    def version(self) -> int:
        """Changes with every rewrite of the view, not when messages are appended."""
        ...

    def items(self) -> Sequence[Item]:
        """Return the visible messages, oldest first."""
        ...

    def kept(self) -> Sequence[Item]:
        """Return the messages of the run's own list: visible ones, and excluded ones stored nowhere else."""
        ...

    def originals(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return visible messages before any stage rewrote them; the same item if none did."""
        ...

    def everything(self) -> Sequence[Item]:
        """Return every original message, oldest first, including those replaced by a summary."""
        ...

    def ledger(self) -> Ledger:
        """Return the ledger of the whole conversation, including what a summary replaces, up to date."""
        ...

    def circumstances(self) -> Sequence[str]:
        """Return facts about the conversation besides its messages: folder, branch, model."""
        ...

    def weigh(self, item: Item) -> Breakdown:
        """Return the tokens of one message by category; counted once."""
        ...

    def tokens(self, item: Item) -> int:
        return self.weigh(item).total

    def usage(self) -> ContextUsage:
        """Return the estimate of the next request, in real tokens of its model."""
        ...

    def sync(self, messages: Sequence[ModelMessage]) -> None:
        """Add the messages that a run added since the last request."""
        ...

    def set_overhead(self, overhead: Overhead, model: str) -> None:
        """Set what every request to a model carries, and the model's window."""
        ...

    def distrust(self) -> None:
        """Ignore the usage that the next response reports, because its request was truncated."""
        ...

    def spilled(self) -> Collection[str] | None:
        """Return the names of the files with tool results, including the folder; None if none can be kept."""
        return None

    def exempt(self, stage: Stage) -> frozenset[int]:
        """Return keys of messages that a stage must not change: they are pinned, or its work was undone."""
        return self.pinned()

    def pinned(self) -> frozenset[int]:
        """Return keys of messages that are kept word for word."""
        ...

    def sealed_messages(self, item: Item) -> Sequence[Item]:
        """Return the messages replaced by a provider's encrypted summary; empty for anything readable."""
        return ()

    def rewrite(self, rewrite: Rewrite) -> None:
        """Apply a stage's decision: files first, then one recorded event, then the view.

        Raises:
            OSError: if a file could not be written; the view is unchanged then.
        """
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


def ignore(_happened: object) -> None:
    """No-op listener."""


_NOT_MEASURED = Overhead(ContextWindow(limit=128_000, source="default"))


@dataclass(slots=True)
class ListHistory(History):
    """History of any pydantic-ai agent: its list of messages, with nothing written to disk.

    Messages are recognized by identity. The usage reported for an answer counts only as long as nothing but
    that answer and later messages was added to the list.
    """

    counter: TokenCounter
    listener: Callable[[Payload], None] = ignore
    version: int = 0
    pins: frozenset[int] = frozenset()
    """Keys of messages that are kept word for word, within the policy's budget."""
    is_pinned: Callable[[ModelMessage], bool] = lambda _message: False
    """Whether a new message is pinned."""
    is_excluded: Callable[[ModelMessage], bool] | None = None
    """Whether a message is not to be sent; checked before every request."""
    _items: list[Item] = field(default_factory=list)
    _next: int = 1
    _overhead: Overhead = _NOT_MEASURED
    _model: str = ""
    _distrusted: bool = False
    _tally: Tally = field(default_factory=Tally)
    _counted_by_tokenizer: bool = False
    _originals: Originals = field(default_factory=Originals)
    _shown: Sequence[Item] | None = None
    """The messages that are sent; None if all are."""
    _ledger: Ledger = field(default_factory=Ledger)
    _lengths: dict[int, int] = field(default_factory=dict)
    """Number of parts of each message by identity, because an agent may still add to its newest one."""

    def items(self) -> Sequence[Item]:
        """Return the messages that are sent as items; keys count up from 1."""
        return self._items if self._shown is None else self._shown

    def kept(self) -> Sequence[Item]:
        """Return all messages, including excluded ones."""
        return self._items

    def originals(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return the original messages; rewrites by another process are not known here."""
        return list(map(self._originals.original, items))

    def everything(self) -> Sequence[Item]:
        """Return the original messages; of removed ones only the summaries are left."""
        return self.originals(self.items())

    def ledger(self) -> Ledger:
        """Return the ledger, which summaries carry on for removed messages."""
        self._ledger.grow(self.everything())
        return self._ledger

    def circumstances(self) -> Sequence[str]:
        """Return the model's name; nothing else is known here."""
        return (self._model,)

    def weigh(self, item: Item) -> Breakdown:
        """Return the tokens of one message; the counter caches them."""
        return self.counter.message(item.message).scaled(self._overhead.factor)

    def usage(self) -> ContextUsage:
        if self.counter.loaded != self._counted_by_tokenizer:
            self._recount()
        return self._tally.usage(self._overhead, model=self._model, counter_exact=self.counter.exact)

    def sync(self, messages: Sequence[ModelMessage]) -> None:
        """Follow the agent's list: known messages keep their key, new ones get the next."""
        if self._next == 1:
            # A summary of an earlier process carries its ledger; keys are never reused.
            for dump in ledger_dumps([Item(0, message) for message in messages]):
                self._ledger = Ledger.loaded(json.dumps(dump))
                self._next = max(self._next, self._ledger.last_key + 1)
        known = ItemIndex(self._items, self._lengths)
        self._lengths = {id(message): len(message.parts) for message in messages}
        places = [index for index, message in enumerate(messages) if known.find(message)]
        answer = places[-1] + 1 if places else -1
        items: list[Item] = []
        for index, message in enumerate(messages):
            items.extend(known.find(message) or self._take(message, known, is_answer=index == answer))
        old, self._items = self._items, items
        if self._exclude() and len(items) >= len(old) and all(map(is_, old, items)):
            for item in items[len(old) :]:
                self._tally.add(self._message_weight(item))
            return
        self._items = [replace(item, reported=0) if item.reported else item for item in items]
        self._exclude()
        self._originals.keep(items)
        # This may be another conversation altogether.
        self._tally = Tally()
        self._recount()

    def _exclude(self) -> bool:
        """Recompute the excluded messages.

        Returns:
            Whether nothing is and nothing was excluded.
        """
        before, self._shown = self._shown, None
        if self.is_excluded is None:
            return True
        items, newest = self._items, latest_prompt_index(self._items)
        kept = {item.key for item in items if is_system(item.message) or is_summary(item.message)}
        kept |= {items[newest].key} if newest is not None else set()
        excluded = {item.key for item in items if item.key not in kept and self.is_excluded(item.message)}
        if left := with_partners(items, excluded) - kept:
            self._shown = [item for item in items if item.key not in left]
        return before is None and self._shown is None

    def append_note(self, event: Payload, message: ModelMessage) -> None:
        """Append a note of the program."""
        item = Item(self._next, message)
        self._items, self._next = [*self._items, item], self._next + 1
        self._rewritten()
        self.listener(event)

    def set_overhead(self, overhead: Overhead, model: str) -> None:
        self._overhead, self._model = overhead, model

    def distrust(self) -> None:
        self._distrusted = True

    def pinned(self) -> frozenset[int]:
        return self.pins

    def rewrite(self, rewrite: Rewrite) -> None:
        """Replace messages by their new forms, and put a digest after the last of them."""
        before, messages = self.usage(), new_messages(rewrite)
        event = rewrite_event(rewrite, [self.counter.message(message).nonzero() for message in messages])
        self._originals.remember(self._items, rewrite)
        self._items = rewritten_items(self._items, rewrite, self._next)
        self._next += rewrite.digest is not None
        self._rewritten()
        self.listener(measured(event, before, self.usage().total))

    def commit(self, proposal: Proposal) -> CompactionComplete:
        """Put the summary and its acknowledgement where the proposal places them."""
        before, items = self.usage(), self.items()
        sizes = sizes_of(items, before, self.tokens)
        leaves = sum(self.tokens(item) for item in items if item.key in proposal.left)
        # The messages that stay are read again by the process that loads the list.
        stay = {item.key for item in items} - proposal.left
        carried = with_ledger(proposal.message, self.ledger().dump(without=stay))
        messages = (carried, *proposal.messages[1:])
        new = [Item(key, message) for key, message in enumerate(messages, self._next)]
        after = before.total - sizes.estimate(leaves) + sizes.estimate(sum(map(self.tokens, new)))
        kept = [replace(item, reported=0) for item in self._items if item.key not in proposal.left]
        self._items = place_summary(kept, new, proposal.complete.behind)
        self._next += len(new)
        self._rewritten()
        complete = replace(
            proposal.complete,
            tokens_before=before.total,
            tokens_after=after,
            tokens_removed=before.total - after,
            messages_before=len(items),
            messages_after=len(self.items()),
            messages_removed=len(items) - len(self.items()),
            messages_left=len(proposal.left),
        )
        self.listener(complete)
        return complete

    def report(self, payload: Payload) -> None:
        self.listener(payload)

    def _take(self, message: ModelMessage, known: ItemIndex, *, is_answer: bool) -> list[Item]:
        """Turn a new message into items, because agents join neighbouring requests."""
        reported = 0
        if is_answer:
            reported = 0 if self._distrusted else reported_tokens(message)
            self._distrusted = False
        parts = sections(message)
        whole = message if len(parts) > 1 else None
        items: list[Item] = []
        for part in parts:
            key = known.key(part)
            items.append(Item(self._next if key is None else key, part, reported, self._model, whole))
            if self.is_pinned(part):
                self.pins |= {items[-1].key}
            self._next += key is None
        return items

    def _message_weight(self, item: Item) -> MessageWeight:
        answer = item.message
        output = answer.usage.output_tokens if item.reported and isinstance(answer, ModelResponse) else 0
        return MessageWeight(item.key, self.counter.message(answer), item.reported, item.model, output)

    def _rewritten(self) -> None:
        self.version += 1
        self._exclude()
        self._recount()

    def _recount(self) -> None:
        self._counted_by_tokenizer = self.counter.loaded
        newest = self._tally.newest
        self._tally.reset(map(self._message_weight, self.items()), newest=newest)


def reported_tokens(message: ModelMessage) -> int:
    """Return input plus output tokens of a response; 0 if nothing was reported or it is incomplete."""
    if not isinstance(message, ModelResponse) or message.state != "complete":
        return 0
    return context_input(message) + message.usage.output_tokens
