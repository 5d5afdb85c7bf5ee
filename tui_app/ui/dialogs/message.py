"""One message with everything known about it: full text, JSON of its events, who sees it, and actions."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

from textual import work
from textual.app import ComposeResult
from textual.widgets import Static

from tui_app.events import (
    REWRITES,
    CompactionComplete,
    MessageExcluded,
    Record,
    RowKind,
    SessionClear,
    SessionRewind,
)
from tui_app.records import frozen
from tui_app.session.event_rows import STAGES, Seen
from tui_app.session.views.entries import Entry
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.message_actions import PINNABLE
from tui_app.ui.widgets.long_text import LongText
from tui_app.ui.words.text import clock, count, one_line, tokens

_KINDS: Mapping[RowKind, str] = {
    "user": "prompt",
    "assistant": "answer",
    "tool": "tool call and its result",
    "shell": "command of yours and its output",
    "system": "system prompt",
    "rewrite": "rewrite by a stage",
    "truncation": "request that was cut",
    "model": "change of model or policy",
    "clear": "cleared or rewound",
    "files": "restored files",
    "merge": "merged branch",
}
"""Names of rows where they differ from the kind's name."""
_FORMS = {kind.TYPE: kind.FORM for kind in REWRITES}
_HIDERS: Mapping[str, str] = {
    CompactionComplete.TYPE: "a compaction",
    SessionClear.TYPE: "/clear",
    SessionRewind.TYPE: "a rewind",
    MessageExcluded.TYPE: "your exclusion",
}


@frozen(kw_only=True)
class MessageFacts:
    """One row of the conversation, as needed by its screen."""

    entry: Entry
    seen: Seen | None = None
    """How the model sees the message; None for a row that is not a message."""
    events: tuple[Record, ...] = ()
    """The event that rewrote it, and the event that removed it, if any."""
    scale: float = 1.0
    """Model tokens per locally counted token."""
    read: Callable[[], Awaitable[str]]
    """Reads its complete text; awaited after the screen is shown."""
    read_raw: Callable[[], Awaitable[str]]
    """Reads its events as JSON."""
    can_change: bool
    """Whether the session can be changed."""

    @property
    def stage(self) -> int:
        """Log number of the rewrite that can be undone; 0 if there is none."""
        return self.seen.head.form[0] if self.seen is not None and self.seen.stage in STAGES else 0

    def lines(self) -> Sequence[str]:
        entry = self.entry
        parts = [
            _moment(entry.time),
            f"{tokens(round(entry.tokens * self.scale))} tokens" if entry.tokens else "",
            count(entry.chars, "character"),
            f"call #{entry.seq}, result #{entry.result_seq}" if entry.result_seq else "",
            "pinned: stays word for word" if entry.pinned else "",
        ]
        return [" · ".join(filter(None, parts)), self._sight()]

    def _sight(self) -> str:
        seen = self.seen
        if seen is None:
            return "Seen by you only: it is not a message, and never sent to the model."
        if not seen.agent:
            taken = (record.data.TYPE for record in self.events if record.seq == seen.hidden_by)
            name = _HIDERS.get(next(taken, ""), "a later event")
            return f"Seen by you only: {name}{self._since(seen.hidden_by)} took it out of the model's view."
        if seen.stage:
            when = self._since(seen.head.form[0])
            return f"Seen by you as it was said, by the model {_FORMS[seen.stage]}{when}."
        return "Seen by you and by the model, as it was said."

    def _since(self, seq: int) -> str:
        record = next((record for record in self.events if record.seq == seq), None)
        return f" (#{seq}, {_moment(record.time)})" if record is not None else f" (#{seq})"


def _moment(epoch: float) -> str:
    return clock(epoch, "%Y-%m-%d %H:%M:%S")


Deed = Literal["pin", "exclude", "restore", "rewind", "fork", "branch"]
"""Actions on a message."""


class MessageScreen(Dialog[Deed], place="message", style="message", size="-full"):
    """Dismisses with an action, or ``None``."""

    def __init__(self, facts: MessageFacts) -> None:
        entry = facts.entry
        kind = _KINDS.get(entry.kind, entry.kind)
        super().__init__(one_line(f"#{entry.message} · {kind} · {entry.title}", 300))
        self._facts, self._raw = facts, False

    def body(self) -> ComposeResult:
        for line in self._facts.lines():
            yield Static(line, classes="dialog-note", markup=False)
        yield LongText("", id="message-text")

    def on_mount(self) -> None:
        self._name_keys()
        self.query_one(LongText).focus()
        self._read()

    def _name_keys(self) -> None:
        entry = self._facts.entry
        now = {
            "j": "text" if self._raw else "JSON",
            "p": "unpin" if entry.pinned else "pin",
            "x": "include" if entry.excluded else "exclude",
        }
        hints = self.acting_hints()
        self.key_row.hints = tuple(hint._replace(text=now.get(hint.label, hint.text)) for hint in hints)

    @work(group="read", exclusive=True)
    async def _read(self) -> None:
        self.whole = await (self._facts.read_raw if self._raw else self._facts.read)()
        self.query_one(LongText).show(self.whole or "(no text)")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "dismiss":
            return super().check_action(action, parameters)
        entry, may = self._facts.entry, self._facts.can_change
        possible = {
            "pin": may and entry.kind in PINNABLE,
            "exclude": may and entry.kind in PINNABLE,
            "restore": may and bool(self._facts.stage),
            "rewind": may and entry.kind == "user" and not entry.left,
            "fork": entry.kind == "user",
            "branch": entry.kind == "user",
        }
        return possible[str(parameters[0])]

    def action_raw(self) -> None:
        """Switch between text and JSON."""
        self._raw = not self._raw
        self._name_keys()
        self._read()
