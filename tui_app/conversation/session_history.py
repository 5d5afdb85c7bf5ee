"""The agent view of one session, read from and written to its log: what the governor works on."""

import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelMessage

from tui_app.context.counting.tally import Tally
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.counting.usage import Breakdown, ContextUsage, ContextWindow
from tui_app.context.history import EVENTS, Proposal, as_told, measured, new_messages, rewrite_event
from tui_app.context.message_marks import Stage
from tui_app.context.rewrite import Rewrite
from tui_app.context.storage_errors import as_disk_errors
from tui_app.context.view import Item, is_sealed
from tui_app.context.windows import resolve_window
from tui_app.conversation.checkpointing import Archive, Sizes, acknowledged
from tui_app.conversation.view_messages import ViewMessages, storable, storable_list
from tui_app.events import (
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    GaugeChanged,
    Payload,
    Record,
    Restated,
    RewriteUndone,
    SessionRestored,
    SessionRewind,
)
from tui_app.session.agent_view import AgentView, weighed
from tui_app.session.event_heads import LATER, MESSAGES, Head, head_of
from tui_app.session.model_state import Basis, known_of, tally_of
from tui_app.session.port import SessionStore
from tui_app.session.workspace import TOOL_OUTPUTS

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class SessionHistory:
    """Owner of one session's view. Everything it changes goes through the log first.

    Attributes:
        counter: Counts without any factor; what the log keeps must not depend on what is learnt later.
        model: Name of the model the conversation goes on with.
        window_known: Whether its window is known; until then there is no gauge.
    """

    store: SessionStore
    session: str
    archive: Archive
    counter: TokenCounter
    publish: Callable[[Record], None]
    model: str
    view: AgentView = field(default_factory=AgentView)
    window_known: bool = False
    _basis: Basis = field(default_factory=lambda: Basis(resolve_window()))
    _tally: Tally = field(default_factory=Tally)
    _items: list[Item] | None = None
    _distrusted: bool = False
    _messages: ViewMessages = field(init=False)

    def __post_init__(self) -> None:
        self._messages = ViewMessages(self.store, self.session)

    def load(self) -> None:
        """Fold the log."""
        for head in self.store.heads(self.session):
            self.view.apply(head)
            self.archive.note(head)
        self._rewritten()
        known = known_of(self.store, self.session)
        if known.window.limit > 0 and self.store.info(self.session).model == self.model:
            self.window_known, self._basis = True, known.basis(self.view)

    def newest(self) -> Sequence[ModelMessage]:
        """The visible messages from the last answer on; loads no others."""
        return self._messages.newest(self.view.visible())

    @property
    def version(self) -> int:
        """Log number of the last rewrite of the view."""
        return self.view.version

    @property
    def factor(self) -> float:
        """Real tokens of the current model per counted token."""
        return self._basis.factor

    def items(self) -> Sequence[Item]:
        """The visible messages, loaded from the log when first needed."""
        if self._items is None:
            heads = self.view.visible()
            self._messages.load(heads)
            self._items = [self._item(head) for head in heads]
        return self._items

    def originals(self, items: Sequence[Item]) -> Sequence[Item]:
        """The messages as they were said, read from the log where a stage has rewritten them."""
        first = self.view.rewritten()
        return as_told(items, self._messages.read(first[item.key] for item in items if item.key in first))

    def weigh(self, item: Item) -> Breakdown:
        """Tokens of one message in the current model's own tokens."""
        return self.counter.message(item.message).scaled(self.factor)

    def usage(self) -> ContextUsage:
        """The estimate of the next request."""
        return self._basis.usage(self._tally, self.model, counter_exact=self.counter.exact)

    def sync(self, messages: Sequence[ModelMessage]) -> None:
        """Nothing to do: everything a run adds is in the log before its next request."""

    def fix(self, window: ContextWindow, fixed: Breakdown, model: str, factor: float = 1.0) -> None:
        """Set what every request to the current model carries."""
        basis = Basis(window, fixed, factor)
        if not self.window_known or basis != self._basis:
            self.window_known, self._basis = True, basis
            self.show_gauge()

    def distrust(self) -> None:
        """Ignore the usage reported with the next answer."""
        self._distrusted = True

    def take_distrust(self) -> bool:
        """Whether the answer that just came belongs to a request that was cut."""
        distrusted, self._distrusted = self._distrusted, False
        return distrusted

    def report(self, payload: Payload) -> None:
        """Record an event without a message, or only show it when it is live-only.

        What the log refuses is shown all the same: a screen must not wait for an end that has happened.
        """
        try:
            self.append(payload)
        except sqlite3.Error as error:
            _log.warning("The log of %s took no %s: %s", self.session, payload.TYPE, error)
            self.publish(Record(seq=0, time=time.time(), session=self.session, data=payload))

    def append(self, payload: Payload, message: ModelMessage | None = None) -> Record:
        """Write an event to the log, fold it, and show it."""
        now = time.time()
        if not payload.STORED:
            record = Record(seq=0, time=now, session=self.session, data=payload)
        else:
            text, message = (None, None) if message is None else storable(message)
            record = self.store.append(self.session, payload, text, time=now)
            self._fold(head_of(record.seq, record.time, payload), message)
        self.publish(record)
        if record.seq and (payload.TYPE in MESSAGES or record.seq == self.view.version):
            self.show_gauge()
        return record

    def spilled(self) -> Collection[str]:
        """Names of the files that hold tool results."""
        return [f"{TOOL_OUTPUTS}/{name}" for name in self.archive.folder.tool_output_names()]

    def exempt(self, stage: Stage) -> frozenset[int]:
        """What a stage must leave alone: a person took its work back, or pinned the message."""
        kind = EVENTS[stage].TYPE
        return self.pinned() | {seq for type_, seq in self.view.restored if type_ == kind}

    def pinned(self) -> frozenset[int]:
        """Keys of the messages a person has pinned."""
        return frozenset(self.view.pins)

    def behind(self, item: Item) -> Sequence[Item]:
        """The originals that a provider's sealed summary stands for, also through an earlier one."""
        if not is_sealed(item.message):
            return ()
        heads = self.view.hidden_by(item.key)
        self._messages.load(heads)
        originals = [self._item(head) for head in heads]
        return [each for one in originals for each in (*self.behind(one), one)]

    def rewrite(self, rewrite: Rewrite) -> None:
        """Apply a stage's decision: files first, then one event, then the view.

        Raises:
            OSError: if a file or the log could not be written; the view is unchanged then.
        """
        for file in rewrite.files:
            self.archive.folder.write_tool_output(file.name, file.text)
        text, messages = storable_list(new_messages(rewrite))
        event = rewrite_event(rewrite, [self.counter.message(message).nonzero() for message in messages])
        before = self.usage()
        event = measured(event, before, self.after(head_of(LATER, 0.0, event)))
        with as_disk_errors():
            record = self.store.append(self.session, event, text, time=time.time())
        self._messages.put_forms(record.seq, messages)
        self._fold(head_of(record.seq, record.time, event), None)
        self.publish(record)
        self.show_gauge()

    def rewind(self, to: int, *, again: bool = False) -> Record:
        """Let the view end before a message again, with the compactions since then undone; one event."""
        record = self.append(SessionRewind(to=to, again=again))
        self.sync_files()
        return record

    def commit(self, proposal: Proposal) -> CompactionComplete:
        """Apply a compaction: files first, then its events in one transaction, then the view.

        Raises:
            OSError: if a file or the log could not be written; the view is unchanged then.
        """
        now = time.time()
        tokens = self.counter.message(proposal.message)
        trial = head_of(LATER, 0.0, replace(proposal.complete, tokens=tokens.nonzero()))
        said = acknowledged(proposal, self.counter)
        heads = [trial, *(head_of(LATER + 1, 0.0, payload) for payload, _ in said)]
        sizes = Sizes(before=self.usage().total, after=self.after(*heads), summary=tokens)
        complete, checkpoint = self.archive.write(proposal, self.items(), sizes, now, self.view.compactions)
        self._write([(complete, proposal.message), *said, (checkpoint, None)], now)
        return complete

    def _write(self, events: Sequence[tuple[Payload, ModelMessage | None]], now: float) -> None:
        """Write events in one transaction, fold them, and show them.

        Raises:
            OSError: if the log could not be written; the view is unchanged then.
        """
        bodies = [(None, None) if message is None else storable(message) for _, message in events]
        rows = [(payload, text, now) for (payload, _), (text, _) in zip(events, bodies, strict=True)]
        with as_disk_errors():
            records = self.store.append_many(self.session, rows)
        for record, (_, body) in zip(records, bodies, strict=True):
            self._fold(head_of(record.seq, record.time, record.data), body)
            self.publish(record)
        self.show_gauge()

    def restate(self, compaction: int, *, undo: bool) -> Record:
        """Undo a compaction that stands, or let an undone one stand again; one event."""
        return self._restated((CompactionUndone if undo else CompactionRedone)(compaction=compaction))

    def restore(self, seq: int) -> Record:
        """Take back a stage's rewrite, an edit of a summary, or the newest rewind or clear; one event."""
        is_cut = seq in self.view.reversible
        return self._restated(SessionRestored(cut=seq) if is_cut else RewriteUndone(rewrite=seq))

    def _restated(self, event: Restated) -> Record:
        """Record that the view goes back, with its sizes; files follow."""
        before, after = self.usage().total, self.after(head_of(LATER, 0.0, event))
        record = self.append(replace(event, tokens_before=before, tokens_after=after))
        self.sync_files()
        return record

    def sync_files(self) -> None:
        """Let the session's files follow the view; the log is right even where the disk refuses."""
        try:
            self.archive.sync(self.view.compactions)
        except OSError as error:
            _log.warning("Could not bring the checkpoint index of %s up to date: %s", self.session, error)

    def shed(self) -> None:
        """Let go of loaded messages and their counts; they are read from the log when they are needed."""
        self._items = None
        self._messages.keep(())
        self.counter.forget()

    def show_gauge(self) -> None:
        """Tell everyone the estimate of the next request."""
        if self.window_known:
            self.append(GaugeChanged(usage=self.usage()))

    def after(self, *heads: Head) -> int:
        """Tokens the next request will have once events have rewritten the view."""
        trial = self.view.copy()
        for head in heads:
            trial.apply(head)
        return self._basis.usage(tally_of(trial), self.model).total

    def _fold(self, head: Head, message: ModelMessage | None) -> None:
        if message is not None:
            self._messages.put(head, message)
        self.archive.note(head)
        if self.view.apply(head):
            self._rewritten()
        elif message is not None:
            self._tally.add(weighed(head))
            if self._items is not None:
                self._items.append(self._item(head))

    def _rewritten(self) -> None:
        self._items = None
        # What is hidden is read from the log again should it come back.
        self._messages.keep(self.view.visible())
        self._tally = tally_of(self.view)

    def _item(self, head: Head) -> Item:
        # A copy: a run writes its own ids into the messages it sends, and the log's must not change.
        return Item(head.seq, replace(self._messages.of(head)), head.reported, head.model)
