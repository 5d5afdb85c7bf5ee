"""The user view as a fold of the log: everything that was ever said, as rows for transcript and timeline."""

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
"""What the user is shown of one."""
_MARK = re.compile(r"\s*\[Request interrupted by user[^\]\n]{0,40}\]\s*")


def is_interruption(text: str) -> bool:
    """Whether a prompt is such a mark, and was not typed."""
    return _MARK.fullmatch(text) is not None


_KINDS: dict[str, RowKind] = {made.TYPE: made.ROW for made in PAYLOADS if made.ROW is not None}
_REWINDABLE: Set[RowKind] = {"user", "assistant", "tool", "shell", "compaction", "rewrite", "merge"}
"""What a rewind takes back."""
_LEFT: Set[RowKind] = _REWINDABLE | {"error", "truncation", "notice"}
"""What a rewind leaves behind, because it belongs to what was said."""
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
"""States of new rows: usually, and by the state of the head."""


_OF_AGENTS = frozenset({SubAgentStart.TYPE, SubAgentStep.TYPE, SubAgentEnd.TYPE})


@frozen
class Change:
    """One row that is new, or that takes the place of the row with the same number."""

    entry: Entry
    new: bool


@dataclass(slots=True)
class UserView:
    """Folds heads, in log order, into rows.

    Attributes:
        entries: The rows, in the order of the log.
        since: Log number of the first event that was folded, where that is not the first there is: what is
            said of rows before it is passed over.
        titles: What rows before it say, by log number, as far as rewinds after it went back to them.
    """

    entries: list[Entry] = field(default_factory=list)
    since: int = 0
    titles: Mapping[int, str] = field(default_factory=dict)
    _places: dict[int, int] = field(default_factory=dict)
    _open_calls: dict[str, int] = field(default_factory=dict)
    _calls: dict[str, int] = field(default_factory=dict)
    """All calls: a sub-agent in the background works on after the result of its own."""
    _edits: dict[int, list[int]] = field(default_factory=dict)
    """By the number of a compaction, the edits of its summary that were not undone by themselves."""
    _excluded: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By the number of an exclusion, the messages that left with it."""
    _before: dict[int, list[Entry]] = field(default_factory=dict)
    """By the number of a rewind or clear, the rows it marked, as they were."""

    def apply(self, head: Head) -> Sequence[Change]:
        """Fold one event; nothing changes where it shows nothing of its own."""
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
        """What a sub-agent does, and where its words come from, is told in the row of the call."""
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
        # Of ordinary work, which nobody was asked about, the log alone has it.
        told = head.model if head.state != "quiet" else ""
        words = head.title.partition(" · ")[2] if head.ref else ""
        changed = replace(row, origin=told or row.origin, guard=head.ref, words=words)
        return self._put(changed) if changed != row else ()

    def _exclusion(self, head: Head) -> Sequence[Change]:
        """Mark what has left; one that is back has its row already."""
        exclusion, seqs = head.ref or head.seq, tuple(seq for seq, _ in head.removed)
        self._excluded[exclusion] = seqs
        rows = [change for seq in seqs for change in self._restate(seq, excluded=True)]
        return (*rows, *(self._restate(head.ref, state="ok") if head.ref else self._started(head)))

    def row_of_call(self, id: str) -> Entry | None:
        """The row of a tool call that has no result yet; None where there is none."""
        seq = self._open_calls.get(id)
        return None if seq is None else self.entries[self._places[seq]]

    def _started(self, head: Head, title: str = "") -> Sequence[Change]:
        entry, before = entry_of(head), self.entries[-1].title if self.entries else ""
        # The program that goes on with a session says again that it was left.
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
        # What is left behind as a whole is excluded no more.
        self._before[head.seq] = rows = [row for row in self.entries if row.excluded]
        over = [change for row in rows for change in self._put(replace(row, excluded=False))]
        return (*over, *self._started(head))

    def _rewound(self, head: Head) -> Sequence[Change]:
        """Mark what was said and done from a message on; what failed stays failed."""
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
        # Names the prompt that was gone back to, where it has a row.
        return [*changes, *self._started(head, "" if title is None else f'Rewound to before "{title}"')]

    def _result(self, head: Head) -> Sequence[Change]:
        """A result completes the row of its call."""
        call = self._open_calls.pop(head.ids[0], None)
        if call is None:
            return ()
        self._places[head.seq] = self._places[call]
        entry = self.entries[self._places[call]]
        if entry.kind == "shell":
            outcome = head.state.removeprefix(PRIVATE).strip() or "success"
            # How it ended comes after the command.
            head = replace(head, state=outcome)
        state = _RESULT_STATES.get(head.state, "failed")
        # What went wrong is the state's to say, and the note would say it twice; but not how a command ended.
        noted = head.title and (entry.kind == "shell" or state == "ok" or head.state == COMMAND_FAILED)
        title = f"{entry.title} · {head.title}" if noted else entry.title
        tokens = sum(head.tokens.values())
        done = replace(entry, title=title, state=state, tokens=tokens, chars=head.chars, result_seq=head.seq)
        return self._put(done)

    def _restated(self, head: Head) -> Sequence[Change]:
        """A summary goes and comes with its edits, less those that a rewind has left behind."""
        if head.type == RewriteUndone.TYPE:
            for edits in self._edits.values():
                edits[:] = [edit for edit in edits if edit != head.ref]
        state: EntryState = "ok" if head.type == CompactionRedone.TYPE else "undone"
        rows = [self.entries[self._places[edit]] for edit in self._edits.get(head.ref, ())]
        changed = [change for row in rows if not row.left for change in self._restate(row.seq, state=state)]
        # What a rewind has left behind is as it was, but for pins, which were set since.
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
    """The row an event starts, if it starts one."""
    kind = _KINDS.get(head.type)
    if kind == "user" and is_interruption(head.title):
        return Entry(seq=head.seq, kind="notice", time=head.time, title=INTERRUPTED)
    is_silent = head.state == "vetoed" or (head.state == "ok" and not head.chars)
    # There is nothing to say: a call went ahead, a stage freed little, a goal's check has said it, a hook is
    # silent.
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
