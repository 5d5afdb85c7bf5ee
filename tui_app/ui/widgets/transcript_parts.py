"""Choosing a part of the transcript to compact: up to the marked entry, or from it on."""

from typing import ClassVar

from textual.binding import BindingType
from textual.message import Message

from tui_app.session.entries import Entry
from tui_app.ui.keys import fixed_key
from tui_app.ui.widgets.refusals import NO_ROW
from tui_app.ui.widgets.transcript_found import SearchedTranscript


class TranscriptParts(SearchedTranscript):
    """A transcript whose marked entry says where a compaction ends or begins."""

    BINDINGS: ClassVar[list[BindingType]] = [
        fixed_key(
            "transcript.compact_up_to",
            "less_than_sign",
            "compact_part(True)",
            "Compact up to here",
            "Summarise what was said up to the marked entry; the rest stays.",
        ),
        fixed_key(
            "transcript.compact_from",
            "greater_than_sign",
            "compact_part(False)",
            "Compact from here",
            "Summarise from the marked entry on; what is before it stays, and so does the newest.",
        ),
    ]

    class NothingToDo(Message):
        """The person wants something that no entry can be used for; ``reason`` is for them."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    class CompactRequested(Message):
        """The person wants a part of the conversation compacted."""

        def __init__(self, transcript: "TranscriptParts", entry: Entry, *, up_to: bool) -> None:
            super().__init__()
            self.transcript = transcript
            self.entry = entry
            self.up_to = up_to
            """Whether the part ends with the entry; else it begins there."""

        @property
        def control(self) -> "TranscriptParts":
            """The transcript that sent it."""
            return self.transcript

    @property
    def cursor_entry(self) -> Entry | None:
        """The entry that the cursor is on; None for none and for the live answer."""
        entries = self._pages.entries
        return entries[self.cursor] if self.cursor is not None and self.cursor < len(entries) else None

    def action_compact_part(self, up_to: bool) -> None:
        """Ask for what was said up to the marked entry, or from it on, to be compacted."""
        entry = self.cursor_entry
        if entry is not None and entry.seq > 0:
            self.post_message(self.CompactRequested(self, entry, up_to=up_to))
        elif entry is None:
            self.post_message(self.NothingToDo(NO_ROW))
