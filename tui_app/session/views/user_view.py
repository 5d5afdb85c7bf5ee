"""The user view as a fold of the log: the whole history, as rows for transcript and timeline."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from tui_app.events import (
    COMMAND_FAILED,
    PAYLOADS,
    PRIVATE,
    ApprovalDecided,
    CallRepeated,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    FilesRestored,
    GuardBroken,
    HookRan,
    MessageExcluded,
    MessagePinned,
    RewriteUndone,
    RowKind,
    SessionClear,
    SessionRestored,
    SessionRewind,
    ShellCommand,
    ShellResult,
    SubAgentEnd,
    SubAgentStart,
    SubAgentStep,
    ToolCall,
    ToolResult,
)
from tui_app.records import frozen
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import is_private
from tui_app.session.views.entries import Entry, EntryState

INTERRUPTED = "Interrupted by the user"
"""Text shown for an interruption marker."""
_MARK = re.compile(r"\s*\[Request interrupted by user[^\]\n]{0,40}\]\s*")


def is_interruption(text: str) -> bool:
    """Return whether a prompt is an interruption marker, which was not typed."""
    return _MARK.fullmatch(text) is not None


_KINDS: dict[str, RowKind] = {made.TYPE: made.ROW for made in PAYLOADS if made.ROW is not None}
_REWINDABLE: Set[RowKind] = {"user", "assistant", "tool", "shell", "compaction", "rewrite", "merge"}
"""Rows that a rewind undoes."""
_LEFT: Set[RowKind] = _REWINDABLE | {"error", "truncation", "notice"}
"""Rows that a rewind marks as removed, because they belong to the conversation."""
_RESULT_STATES: dict[str, EntryState] = {"success": "ok", "denied": "denied", "interrupted": "interrupted"}
_FAILED: EntryState = "failed"
_STATES: Mapping[RowKind, tuple[EntryState, Mapping[str, EntryState]]] = {
    "tool": ("running", {}),
    "shell": ("running", {}),
    "error": ("failed", {}),
    "assistant": ("ok", {"interrupted": "interrupted"}),
    "compaction": (
        "failed",
        {"success": "ok", "cancelled": "cancelled", "discarded": "discarded", "vetoed": "vetoed"},
    ),
    "memory": ("ok", {"failed": "failed"}),
    "approval": ("ok", {"denied": "denied", "cancelled": "cancelled"}),
    "hook": ("ok", {**dict.fromkeys(("failed", "timeout", "missing"), _FAILED), "cancelled": "cancelled"}),
}
"""States of new rows: the default, and by the state of the head."""


_OF_AGENTS = frozenset({SubAgentStart.TYPE, SubAgentStep.TYPE, SubAgentEnd.TYPE})


@frozen
class Change:
    """One row that is new or replaces the row with the same number."""

    entry: Entry
    new: bool


@dataclass(slots=True)
class UserView:
    """Folds heads, in log order, into rows.

    Attributes:
        entries: The rows, in the order of the log.
        since: Log number of the first folded event if earlier ones were skipped; events about their rows are
            ignored.
        titles: Titles of rows before it to which later rewinds went back, by log number.
    """

    entries: list[Entry] = field(default_factory=list)
    since: int = 0
    titles: Mapping[int, str] = field(default_factory=dict)
    _places: dict[int, int] = field(default_factory=dict)
    _open_calls: dict[str, int] = field(default_factory=dict)
    _calls: dict[str, int] = field(default_factory=dict)
    """All calls: a background subagent still runs after the result of its call."""
    _edits: dict[int, list[int]] = field(default_factory=dict)
    """Numbers of the edits of a summary that were not undone one by one, by that of its compaction."""
    _excluded: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """Messages removed by an exclusion, by its number."""
    _before: dict[int, list[Entry]] = field(default_factory=dict)
    """The rows that a rewind or clear marked, in their state before it, by its number."""

    def apply(self, head: Head) -> Sequence[Change]:
        """Fold one event; return the changed rows, none if it does not show."""
        match head.type:
            case SessionRewind.TYPE | SessionClear.TYPE:
                return self._cut(head)
            case MessageExcluded.TYPE:
                return self._exclusion(head)
            case ToolResult.TYPE | ShellResult.TYPE:
                return self._result(head)
            case FilesRestored.TYPE if head.state == "undo":
                return (*self._restate(head.ref, state="undone"), *self._started(head))
            case CompactionUndone.TYPE | RewriteUndone.TYPE | CompactionRedone.TYPE | SessionRestored.TYPE:
                return self._restated(head)
            case kind if kind in _OF_AGENTS or kind in (ApprovalDecided.TYPE, CallRepeated.TYPE):
                return (*self._of_call(head), *self._started(head))
            case MessagePinned.TYPE:
                return self._restate(head.ref, pinned=head.state == "pinned")
            case _:
                return self._started(head)

    def _of_call(self, head: Head) -> Sequence[Change]:
        """Update the row of a call: the progress of its subagent, or the origin of its arguments."""
        calls = self._calls if head.type in _OF_AGENTS else self._open_calls
        if (call := calls.get((*head.ids, "")[0])) is None:
            return ()
        row = self.entries[self._places[call]]
        if head.type == SubAgentStart.TYPE:
            return self._put(replace(row, at_work=True))
        if head.type == SubAgentStep.TYPE:
            row = replace(row, calls=row.calls + len(head.ids) - 1, used=row.used + head.reported)
            if head.state:
                context, window, read, sent = map(int, head.state.split())
                cached = 100 * read // sent if row.cached < 0 and sent else row.cached
                row = replace(row, gauge=(context, window), cached=cached)
            return self._put(row)
        if head.type == SubAgentEnd.TYPE:
            cost = float(head.ids[1]) if head.ids[1:] else row.cost
            return self._put(replace(row, at_work=False, cost=cost))
        if head.type == CallRepeated.TYPE:
            return self._put(replace(row, repeats=head.title, answered=head.state == "answered"))
        # The origin of ordinary work, which needed no approval, is only in the log.
        origin = head.model if head.state != "quiet" else ""
        words = head.title.partition(" · ")[2] if head.ref else ""
        changed = replace(row, origin=origin or row.origin, guard=head.ref, words=words)
        return self._put(changed) if changed != row else ()

    def _exclusion(self, head: Head) -> Sequence[Change]:
        """Mark excluded messages. An exclusion that is applied again already has a row."""
        exclusion, seqs = head.ref or head.seq, tuple(seq for seq, _ in head.removed)
        self._excluded[exclusion] = seqs
        rows = [change for seq in seqs for change in self._restate(seq, excluded=True)]
        return (*rows, *(self._restate(head.ref, state="ok") if head.ref else self._started(head)))

    def row_of_call(self, id: str) -> Entry | None:
        """Return the row of a tool call that has no result yet; None if there is none."""
        seq = self._open_calls.get(id)
        return None if seq is None else self.entries[self._places[seq]]

    def _started(self, head: Head, title: str = "") -> Sequence[Change]:
        entry, before = entry_of(head), self.entries[-1].title if self.entries else ""
        # A program that continues a session records again that it was left.
        if entry is None or (entry.kind == "notice" and entry.title == before):
            return ()
        entry = replace(entry, title=title) if title else entry
        if head.type in (ToolCall.TYPE, ShellCommand.TYPE):
            self._open_calls[head.ids[0]] = self._calls[head.ids[0]] = head.seq
        if head.type == CompactionEdited.TYPE:
            self._edits.setdefault(head.ref, []).append(head.seq)
        self._places[entry.seq] = len(self.entries)
        self.entries.append(entry)
        return (Change(entry, new=True),)

    def _cut(self, head: Head) -> Sequence[Change]:
        if head.type == SessionRewind.TYPE:
            return self._rewound(head) if head.state != "failed" else self._restate(head.ref, state="failed")
        # Messages removed altogether are no longer marked as excluded.
        self._before[head.seq] = rows = [row for row in self.entries if row.excluded]
        over = [change for row in rows for change in self._put(replace(row, excluded=False))]
        return (*over, *self._started(head))

    def _rewound(self, head: Head) -> Sequence[Change]:
        """Mark the rows from a message on as removed. Failed ones stay failed."""
        place = self._places.get(head.ref)
        title = self.titles.get(head.ref) if place is None else self.entries[place].title
        if place is None:
            place = 0 if head.ref in self.titles else len(self.entries)
        marked = [row for row in self.entries[place:] if row.kind in _LEFT and not row.left]
        self._before[head.seq] = marked
        changes: list[Change] = []
        for row in marked:
            undone = row.kind in _REWINDABLE and row.state == "ok"
            changes += self._put(replace(row, left=True, state="undone" if undone else row.state))
        # Names the prompt before which the conversation now ends, if that has a row.
        return [*changes, *self._started(head, "" if title is None else f'Rewound to before "{title}"')]

    def _result(self, head: Head) -> Sequence[Change]:
        """Complete the row of a call with its result."""
        call = self._open_calls.pop(head.ids[0], None)
        if call is None:
            return ()
        self._places[head.seq] = self._places[call]
        entry = self.entries[self._places[call]]
        if entry.kind == "shell":
            outcome = head.state.removeprefix(PRIVATE).strip() or "success"
            # The outcome is shown after the command.
            head = replace(head, state=outcome)
        state = _RESULT_STATES.get(head.state, "failed")
        # The state shows a failure already, so the note would repeat it, except for a command's exit code.
        noted = head.title and (entry.kind == "shell" or state == "ok" or head.state == COMMAND_FAILED)
        title = f"{entry.title} · {head.title}" if noted else entry.title
        tokens = sum(head.tokens.values())
        done = replace(entry, title=title, state=state, tokens=tokens, chars=head.chars, result_seq=head.seq)
        return self._put(done)

    def _restated(self, head: Head) -> Sequence[Change]:
        """Undo or redo. A summary's edits follow it, except those that a rewind removed."""
        if head.type == RewriteUndone.TYPE:
            for edits in self._edits.values():
                edits[:] = [edit for edit in edits if edit != head.ref]
        state: EntryState = "ok" if head.type == CompactionRedone.TYPE else "undone"
        rows = [self.entries[self._places[edit]] for edit in self._edits.get(head.ref, ())]
        changed = [change for row in rows if not row.left for change in self._restate(row.seq, state=state)]
        # Restore what a rewind had marked, except for pins, which may have been set since.
        before = self._before.pop(head.ref, ())
        now = [self.entries[self._places[row.seq]] for row in before]
        kept = [replace(row, pinned=new.pinned) for row, new in zip(before, now, strict=True)]
        back = [change for row in kept for change in self._put(row)]
        seqs = self._excluded.pop(head.ref, ())
        seen = [change for seq in seqs for change in self._restate(seq, excluded=False)]
        return (*self._restate(head.ref, state=state), *changed, *back, *seen)

    def _restate(self, seq: int, **changes: Any) -> Sequence[Change]:
        place = self._places.get(seq)
        return () if place is None else self._put(replace(self.entries[place], **changes))

    def _put(self, entry: Entry) -> Sequence[Change]:
        self.entries[self._places[entry.seq]] = entry
        return (Change(entry, new=False),)


def entry_of(head: Head) -> Entry | None:
    """Return the row that an event starts, if any."""
    kind = _KINDS.get(head.type)
    if kind == "user" and is_interruption(head.title):
        return Entry(seq=head.seq, kind="notice", time=head.time, title=INTERRUPTED)
    is_silent = head.state == "vetoed" or (head.state == "ok" and not head.chars)
    # Nothing to show: a call was allowed, a stage freed little, a goal's check is reported already, or a hook
    # is silent.
    went_quietly = head.state in ("quiet", "met") or (head.type == HookRan.TYPE and is_silent)
    if kind is None or (kind == "assistant" and not head.title) or went_quietly:
        return None
    usually, states = _STATES.get(kind, ("ok", {}))
    return Entry(
        seq=head.seq,
        kind=kind,
        time=head.time,
        title=head.title,
        state=states.get(head.state, usually),
        tokens=0 if kind == "rewrite" else sum(head.tokens.values()),
        chars=head.chars,
        private=is_private(head),
        guard=head.ref if head.type in (ApprovalDecided.TYPE, GuardBroken.TYPE) else 0,
    )


def fold_user_view(heads: Iterable[Head]) -> UserView:
    view = UserView()
    for head in heads:
        view.apply(head)
    return view
