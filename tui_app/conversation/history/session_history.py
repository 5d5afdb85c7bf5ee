"""The agent view of one session, read from and written to its log. The governor works on it."""

import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    UserPromptPart,
)

from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import EVENTS, Proposal, measured, new_messages, rewrite_event, with_forms
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.origins import Origins
from tui_app.context.storage_errors import as_disk_errors
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.view import Item, is_sealed
from tui_app.context.windows.windows import resolve_window
from tui_app.conversation.history.compaction_archive import Archive
from tui_app.conversation.history.view_messages import ViewMessages, storable, storable_list
from tui_app.events import (
    CompactionAcknowledged,
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    Error,
    FolderInstructions,
    GaugeChanged,
    MessageExcluded,
    ModeTold,
    Notice,
    Payload,
    Record,
    Resized,
    RewriteUndone,
    SessionRestored,
    SessionRewind,
    SessionStart,
    Stage,
    TaskTold,
    TurnRetry,
    ViewRewrite,
    data_of,
)
from tui_app.session.event_heads import LATER, Head, head_of
from tui_app.session.event_rows import CARRYING, MESSAGES, STAGES, is_private
from tui_app.session.exclusions import excluded_in
from tui_app.session.model_state import known_of, newest_records
from tui_app.session.stores.store import SessionStore
from tui_app.session.views.agent_view import AgentView
from tui_app.session.workspace import TOOL_OUTPUTS
from tui_app.system.environment import NO_SECRETS, Secrets
from tui_app.usage import Breakdown, ContextUsage, Overhead


def ranges_without(ranges: Iterable[tuple[int, int]], apart: Collection[int]) -> tuple[tuple[int, int], ...]:
    """Inclusive ranges with some numbers taken out."""
    parts: list[tuple[int, int]] = []
    for low, high in ranges:
        inside = sorted(seq for seq in apart if low <= seq <= high)
        edges = zip([low, *(seq + 1 for seq in inside)], [*(seq - 1 for seq in inside), high], strict=True)
        parts += [(first, last) for first, last in edges if first <= last]
    return tuple(parts)


_log = logging.getLogger(__name__)
_QUOTING = (Error, Notice, TurnRetry)
"""Events that quote providers and libraries."""


@dataclass(slots=True)
class SessionHistory:
    """Owner of one session's view. All its changes go through the log first.

    Attributes:
        counter: Counts without a factor: logged counts must not depend on what is learned later.
        model: Name of the current model.
        window_known: Whether its window is known; until then there is no gauge.
        withheld: Files of the session with excluded content: the model may not read them.
        secrets: Masked in errors and notices.
    """

    store: SessionStore
    session: str
    archive: Archive
    counter: TokenCounter
    publish: Callable[[Record], None]
    model: str
    view: AgentView = field(default_factory=AgentView)
    window_known: bool = False
    withheld: frozenset[Path] = frozenset()
    secrets: Secrets = NO_SECRETS
    overhead: Overhead = field(default_factory=lambda: Overhead(resolve_window()))
    _place: tuple[str, ...] | None = None
    """Folder and branch. Read with the view: summaries are checked in other threads, which must not read."""
    _items: list[Item] | None = None
    _distrusted: bool = False
    _ledger: Ledger | None = None
    _messages: ViewMessages = field(init=False)

    def __post_init__(self) -> None:
        self._messages = ViewMessages(partial(self.store.message, self.session))

    def load(self) -> None:
        self.view = self.store.agent_view(self.session)
        self.archive.read = partial(self.store.newest, self.session)
        self._rewritten()
        self.circumstances()
        known = known_of(self.store, self.session)
        if known.window.limit > 0 and self.store.info(self.session).model == self.model:
            self.window_known, self.overhead = True, known.overhead(self.view)

    def newest(self) -> Sequence[ModelMessage]:
        """The visible messages from the last answer on; loads no others."""
        return self._messages.newest(self.view.visible())

    def newest_events(self, *kinds: type[Payload]) -> Iterator[Record]:
        """Events of some kinds, the newest first; read lazily."""
        return newest_records(self.store, self.session, *kinds)

    def message(self, seq: int) -> ModelMessage | None:
        """A message in its original form, read from the log; None if there is none."""
        text = self.store.message(self.session, seq)
        return ModelMessagesTypeAdapter.validate_json(f"[{text}]")[0] if text else None

    @property
    def version(self) -> int:
        """Log number of the last rewrite of the view."""
        return self.view.version

    @property
    def factor(self) -> float:
        """Real tokens of the current model per counted token."""
        return self.overhead.factor

    def items(self) -> Sequence[Item]:
        if self._items is None:
            heads = self.view.visible()
            self._messages.load(heads)
            self._items = [self._item(head) for head in heads]
        return self._items

    def kept(self) -> Sequence[Item]:
        """The visible messages: the log keeps the others."""
        return self.items()

    def originals(self, items: Sequence[Item]) -> Sequence[Item]:
        """The messages in their original form, read from the log if a stage has rewritten them."""
        first = self.view.rewritten()
        heads = (first[item.key] for item in items if item.key in first)
        return with_forms(items, self._messages.read_heads(heads))

    def everything(self) -> Sequence[Item]:
        """All messages in the view or summarised in it, in their original form, read from the log."""
        # A summary by another program replaces messages that are not in the log.
        return self._read(self._message_heads())

    def ledger(self) -> Ledger:
        heads = {head.seq: head for head in self._message_heads()}
        if self._ledger is None:
            self._ledger = Ledger.loaded(self.store.kept_ledger(self.session))
        return self._ledger.catch_up(list(heads), lambda keys: self._read([heads[key] for key in keys]))

    def inform(self, origins: Origins, most: int | None = None) -> bool:
        """Update origins from the view's messages in their original form, and from what the program added.

        Args:
            origins: What to update.
            most: Maximum messages to read at once; None for all.

        Returns:
            Whether it is complete.
        """
        version, seen = origins.mark
        origins.mark = self.view.mark
        more, rest = origins.mark[0] == version, bool(origins.unread)
        originals = self.view.originals_after(seen) if more else self._message_heads(CARRYING)
        origins.count([head.seq for head in originals], more=more)
        heads = {head.seq: head for head in (self._message_heads(CARRYING) if rest else originals)}
        unread = sorted(origins.unread & heads.keys())
        origins.grow(self._read([heads[key] for key in unread[:most]]))
        return most is None or len(unread) <= most

    def circumstances(self) -> Sequence[str]:
        if self._place is None:
            start = data_of(self.store.record(self.session, 1), SessionStart)
            self._place = (start.cwd, start.branch) if start else ()
        return (*self._place, self.model)

    def _message_heads(self, kinds: Collection[str] = MESSAGES) -> list[Head]:
        return [
            head
            for head in self.view.held_originals()
            if head.type in kinds
            or (head.type == CompactionComplete.TYPE and not self.view.hidden_by(head.seq))
        ]

    def _read(self, heads: Sequence[Head]) -> list[Item]:
        messages = self._messages.read_heads(heads)
        return [Item(head.seq, messages[head.seq], head.reported, head.model) for head in heads]

    def weigh(self, item: Item) -> Breakdown:
        """Tokens of one message, in tokens of the current model."""
        return self.counter.message(item.message).scaled(self.factor)

    def tokens(self, item: Item) -> int:
        return self.weigh(item).total

    def usage(self) -> ContextUsage:
        return self.view.tally().usage(self.overhead, model=self.model, counter_exact=self.counter.exact)

    def sync(self, messages: Sequence[ModelMessage]) -> None:
        """Nothing to do: everything a run adds is logged before its next request."""

    def set_overhead(self, overhead: Overhead, model: str) -> None:
        """Set what every request to the current model carries besides messages."""
        if not self.window_known or overhead != self.overhead:
            self.window_known, self.overhead = True, overhead
            self.show_gauge()

    def distrust(self) -> None:
        self._distrusted = True

    def take_distrust(self) -> bool:
        """Whether the newest answer belongs to a request that was cut. Resets it."""
        distrusted, self._distrusted = self._distrusted, False
        return distrusted

    def report(self, payload: Payload) -> None:
        """Log an event without a message, or only publish it if it is live-only.

        If the log cannot be written, the event is published all the same: the screen must not wait for an end
        that has already happened.
        """
        try:
            self.append(payload)
        except sqlite3.Error as error:
            _log.warning("The log of %s took no %s: %s", self.session, payload.TYPE, error)
            self.publish(Record(seq=0, time=time.time(), session=self.session, data=payload))

    def refuse(self, why: str) -> bool:
        """Report why a user's request is refused; always returns False."""
        self.append(Notice(text=why, passing=True, refused=True))
        return False

    def append(self, payload: Payload, message: ModelMessage | None = None) -> Record:
        """Log an event, apply it to the view, and publish it."""
        now = time.time()
        if isinstance(payload, _QUOTING):
            # A provider or library may repeat the key it was given.
            values = {each.name: getattr(payload, each.name) for each in fields(payload)}
            payload = replace(payload, **self.secrets.masked(values))
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

    def write_note(self, event: FolderInstructions | ModeTold | TaskTold) -> Record:
        """Write an event whose text the model is told, in a message of the program after the newest one."""
        message = ModelRequest(parts=[UserPromptPart(event.text)])
        return self.append(replace(event, tokens=self.counter.message(message).nonzero()), message)

    def spilled(self) -> Collection[str]:
        """Names of the files with tool results."""
        return [f"{TOOL_OUTPUTS}/{name}" for name in self.archive.folder.tool_output_names()]

    def exempt(self, stage: Stage) -> frozenset[int]:
        """Messages a stage must not change: pinned ones, and those whose rewrite by it was undone."""
        kind = EVENTS[stage].TYPE
        return self.pinned() | {seq for type_, seq in self.view.restored if type_ == kind}

    def pinned(self) -> frozenset[int]:
        return frozenset(self.view.pins)

    def sealed_messages(self, item: Item) -> Sequence[Item]:
        """The originals replaced by a provider's sealed summary, also through an earlier one."""
        if not is_sealed(item.message):
            return ()
        heads = self.view.hidden_by(item.key)
        self._messages.load(heads)
        originals = [self._item(head) for head in heads]
        return [each for one in originals for each in (*self.sealed_messages(one), one)]

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
        event = measured(event, before, self.after(head_of(LATER, 0.0, event)).total)
        with as_disk_errors():
            record = self.store.append(self.session, event, text, time=time.time())
        self._messages.put_forms(record.seq, messages)
        self._fold(head_of(record.seq, record.time, event), None)
        self.publish(record)
        self.show_gauge()

    def rewind(self, to: int, *, again: bool = False) -> Record:
        """Rewind the view to before a message, undoing later compactions, in one event."""
        record = self.append(SessionRewind(to=to, again=again))
        self.sync_files()
        return record

    def commit(self, proposal: Proposal) -> CompactionComplete:
        """Apply a compaction: files first, then its events in one transaction, then the view.

        Raises:
            OSError: if a file or the log could not be written; the view is unchanged then.
        """
        now = time.time()
        trial = replace(proposal.complete, tokens=self.counter.message(proposal.message).nonzero())
        replies = list[tuple[CompactionAcknowledged, ModelResponse]]()
        # The assistant's reply to the summary.
        if (answer := proposal.acknowledgement) is not None:
            job, text, counted = trial.job, answer.text or "", self.counter.message(answer).nonzero()
            replies.append((CompactionAcknowledged(job=job, text=text, tokens=counted), answer))
        heads = [head_of(LATER, 0.0, trial), *(head_of(LATER + 1, 0.0, payload) for payload, _ in replies)]
        before, after = self.usage().total, self.after(*heads).total
        whole = self.originals(self.items())
        removed = ranges_without(trial.removed, self.view.excluded)
        planned = replace(
            trial, removed=removed, tokens_before=before, tokens_after=after, tokens_removed=before - after
        )
        complete, checkpoint = self.archive.write(
            replace(proposal, complete=planned), whole, now, self.view.compactions
        )
        events = [(complete, proposal.message), *replies, (checkpoint, None)]
        bodies = [(None, None) if message is None else storable(message) for _, message in events]
        rows = [(payload, text, now) for (payload, _), (text, _) in zip(events, bodies, strict=True)]
        with as_disk_errors():
            records = self.store.append_many(self.session, rows)
        for record, (_, body) in zip(records, bodies, strict=True):
            self._fold(head_of(record.seq, record.time, record.data), body)
            self.publish(record)
        self.show_gauge()
        if proposal.ledger:
            self.store.keep_ledger(self.session, proposal.ledger)
        return complete

    def restate(self, compaction: int, *, undo: bool) -> Record:
        """Undo a compaction, or redo an undone one, in one event."""
        return self._restated((CompactionUndone if undo else CompactionRedone)(compaction=compaction))

    def restore(self, seq: int) -> Record:
        """Undo a stage's rewrite, an exclusion, a summary edit, or the newest rewind or clear."""
        is_cut = seq in self.view.reversible
        return self._restated(SessionRestored(cut=seq) if is_cut else RewriteUndone(rewrite=seq))

    def exclude(self, seqs: Sequence[int], again: int = 0) -> Record:
        """Exclude messages from the view until they are included again, in one event.

        Args:
            seqs: Log numbers of all that leave.
            again: The exclusion to redo; 0 for a new one.
        """
        return self._restated(MessageExcluded(seqs=tuple(seqs), again=again))

    def exclude_again(self, exclusion: int) -> Record:
        """Redo an undone exclusion for its messages that are in the view, in one event."""
        excluded = data_of(self.store.record(self.session, exclusion), MessageExcluded)
        seen = {head.seq for head in self.view.visible()}
        seqs = excluded.seqs if excluded is not None else ()
        return self.exclude([seq for seq in seqs if seq in seen], again=exclusion)

    def _restated(self, event: Resized) -> Record:
        """Log a change of the view with its sizes, then update the files."""
        before, after = self.usage().total, self.after(head_of(LATER, 0.0, event)).total
        record = self.append(replace(event, tokens_before=before, tokens_after=after))
        self.sync_files()
        return record

    def sync_files(self) -> None:
        """Update the session's files to match the view. If the disk refuses, the log is still right."""
        try:
            self.archive.sync(self.view.compactions)
        except OSError as error:
            _log.warning("Could not bring the checkpoint index of %s up to date: %s", self.session, error)

    def shed(self) -> None:
        """Drop loaded messages and their counts; they are read from the log again when needed."""
        self._items = None
        self._messages.keep(())
        self.counter.forget()

    def show_gauge(self) -> None:
        if self.window_known:
            self.append(GaugeChanged(usage=self.usage()))

    def after(self, *heads: Head) -> ContextUsage:
        """Context usage of the next request after events that rewrite the view."""
        trial = self.view.copy()
        for head in heads:
            trial.apply(head)
        return trial.tally().usage(self.overhead, model=self.model)

    def _fold(self, head: Head, message: ModelMessage | None) -> None:
        if is_private(head):
            message = None  # in the log, but never in a request
        if message is not None:
            self._messages.put(head, message)
        if self.view.apply(head):
            self._rewritten()
        elif message is not None and self._items is not None:
            self._items.append(self._item(head))

    def _rewritten(self) -> None:
        self._items = None
        # Hidden messages are read from the log again if they return.
        self._messages.keep(self.view.visible())
        self.withheld = self._files_of_excluded()

    def _files_of_excluded(self) -> frozenset[Path]:
        excluded, folder = excluded_in(self.store, self.session).since, self.archive.folder
        if not excluded:
            return frozenset()
        files = self.archive.histories(
            lambda compaction: any(seq < compaction < since for seq, since in excluded.items())
        )
        every = self.store.newest(self.session, tuple(STAGES))
        stages = (head for head in every if any(seq in excluded for seq, _ in head.changes))
        rewrites = (data_of(self.store.record(self.session, head.seq), ViewRewrite) for head in stages)
        changes = (change for rewrite in rewrites if rewrite for change in rewrite.changes)
        notes = (change.note for change in changes if change.seq in excluded)
        files.update(folder.path / note for note in notes if note.startswith(f"{TOOL_OUTPUTS}/"))
        return frozenset(file.resolve() for file in files)

    def _item(self, head: Head) -> Item:
        # A copy, because a run writes its own ids into the messages it sends.
        return Item(head.seq, replace(self._messages.of(head)), head.reported, head.model)
