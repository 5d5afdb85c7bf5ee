"""What is known about one message, in words: who sees it, what took it away and when, how to name it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from tui_app.events import (
    REWRITES,
    CompactionComplete,
    Record,
    SessionClear,
    SessionRewind,
    ToolArchived,
    ToolNormalised,
    ToolOffloaded,
    ToolPointers,
    ToolTrimmed,
)
from tui_app.session.entries import Entry, EntryKind
from tui_app.session.event_heads import Seen
from tui_app.ui.format import count, tokens

KINDS: Mapping[EntryKind, str] = {
    "user": "prompt",
    "assistant": "answer",
    "tool": "tool call and its result",
    "system": "system prompt",
    "compaction": "compaction",
    "rewrite": "rewrite by a stage",
    "truncation": "request that was cut",
    "model": "change of model or policy",
    "checkpoint": "checkpoint",
    "clear": "cleared or rewound",
    "error": "error",
    "notice": "notice",
    "hook": "hook",
    "memory": "memory",
    "approval": "approval",
    "files": "files that went back",
}
_FORMS: Mapping[str, str] = {
    ToolNormalised.TYPE: "cut to size",
    ToolOffloaded.TYPE: "as the beginning of a file that holds it",
    ToolArchived.TYPE: "as a stub, archived",
    ToolTrimmed.TYPE: "trimmed",
    ToolPointers.TYPE: "with pointers in place of file bodies",
}
_HIDERS: Mapping[str, str] = {
    CompactionComplete.TYPE: "a compaction",
    SessionClear.TYPE: "/clear",
    SessionRewind.TYPE: "a rewind",
}
_RESTORABLE = frozenset(kind.TYPE for kind in REWRITES)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFacts:
    """One row of the conversation as its own screen shows it."""

    entry: Entry
    seen: Seen | None = None
    """How the model sees the message; None for a row that is no message."""
    events: tuple[Record, ...] = ()
    """The event that gave it its form, and the one that took it away, where there are such."""
    tz: tzinfo | None = None
    scale: float = 1.0
    """Tokens as the model counts them for each counted one."""

    @property
    def stage(self) -> int:
        """Log number of the rewrite that can be taken back; 0 for none."""
        return self.seen.head.form[0] if self.seen is not None and self.seen.stage in _RESTORABLE else 0

    @property
    def title(self) -> str:
        """Number and kind."""
        return f"#{self.entry.message} · {KINDS[self.entry.kind]}"

    def lines(self) -> Sequence[str]:
        """Everything in words."""
        return [self._figures(), self._sight()]

    def _figures(self) -> str:
        entry = self.entry
        when = self._time(entry.time)
        parts = [
            when,
            f"{tokens(round(entry.tokens * self.scale))} tokens" if entry.tokens else "",
            count(entry.chars, "character"),
        ]
        if entry.result_seq:
            parts.append(f"call #{entry.seq}, result #{entry.result_seq}")
        if entry.pinned:
            parts.append("pinned: stays word for word")
        return " · ".join(filter(None, parts))

    def _sight(self) -> str:
        seen = self.seen
        if seen is None:
            return "Seen by you only: it is no message, and never sent to the model."
        if not seen.agent:
            return f"Seen by you only: {self._hider(seen)} took it out of the model's view."
        if seen.stage:
            when = self._since(seen.head.form[0])
            return f"Seen by you as it was said, by the model {_FORMS[seen.stage]}{when}."
        return "Seen by you and by the model, as it was said."

    def _hider(self, seen: Seen) -> str:
        record = next((record for record in self.events if record.seq == seen.hidden_by), None)
        name = _HIDERS.get(record.data.TYPE, "a later event") if record is not None else "a later event"
        return f"{name}{self._since(seen.hidden_by)}"

    def _since(self, seq: int) -> str:
        record = next((record for record in self.events if record.seq == seq), None)
        return f" (#{seq}, {self._time(record.time)})" if record is not None else f" (#{seq})"

    def _time(self, epoch: float) -> str:
        return datetime.fromtimestamp(epoch, self.tz).strftime("%Y-%m-%d %H:%M:%S")
