"""The transcript: everything that was said and done, with the answer that is being written at its end."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from textual import events
from textual.binding import BindingType
from textual.message import Message

from tui_app.session.entries import Entry
from tui_app.ui.keys import fixed_key
from tui_app.ui.widgets.blocks import foldable, has_details
from tui_app.ui.widgets.layout import START
from tui_app.ui.widgets.pieces import folds
from tui_app.ui.widgets.refusals import why_not_undone
from tui_app.ui.widgets.transcript_parts import TranscriptParts

_STEP = 3
"""Lines that one press of an arrow key moves within an entry larger than the window."""


Wish = Literal["pin", "text", "code", "markdown", "archive", "offload"]
"""What can be done with entries: pin, three ways to copy, two ways to take results out of the view."""


class Transcript(TranscriptParts):
    """Shows entries and lets a person walk through them.

    Colours come from the component classes named in :class:`~tui_app.ui.widgets.palette.Tone`.
    """

    HELP = (
        "The conversation. Arrow keys move from entry to entry, enter opens one, end returns to the newest."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        fixed_key("transcript.up", "up", "move(-1)", "Previous entry", "Mark the entry before."),
        fixed_key("transcript.down", "down", "move(1)", "Next entry", "Mark the next entry."),
        fixed_key("transcript.page_up", "pageup", "page(-1)", "Page up", "Scroll up a page."),
        fixed_key("transcript.page_down", "pagedown", "page(1)", "Page down", "Scroll down a page."),
        fixed_key("transcript.home", "home,ctrl+home", "first", "Oldest", "Go to the first message."),
        fixed_key(
            "transcript.end", "end,ctrl+end", "last", "Newest", "Go to the newest message and follow it."
        ),
        fixed_key("transcript.open", "enter", "open", "Open", "Open or close it, or show its details."),
        fixed_key(
            "transcript.details", "ctrl+o", "details", "Details", "All that is known about it, on a screen."
        ),
        fixed_key(
            "transcript.pin", "p", "ask('pin')", "Pin or unpin", "Keep it word for word, or no longer."
        ),
        fixed_key("transcript.mark", "v,space", "mark", "Mark", "Mark it, to do something with all marked."),
        fixed_key(
            "transcript.extend_up", "shift+up", "extend(-1)", "Mark upwards", "Mark up to the one before."
        ),
        fixed_key(
            "transcript.extend_down", "shift+down", "extend(1)", "Mark downwards", "Mark up to the next."
        ),
        fixed_key(
            "transcript.copy_text", "y", "ask('text')", "Copy as text", "What is marked, without markup."
        ),
        fixed_key(
            "transcript.copy_code", "c", "ask('code')", "Copy the code", "Code blocks of what is marked."
        ),
        fixed_key("transcript.copy_markdown", "m", "ask('markdown')", "Copy as Markdown", "What is marked."),
        fixed_key("transcript.archive", "a", "ask('archive')", "Archive", "Marked results leave a digest."),
        fixed_key("transcript.offload", "o", "ask('offload')", "Offload", "Marked results go to files."),
        fixed_key("transcript.undo", "u", "undo", "Undo compaction", "Bring the full history back."),
    ]

    class _OfEntry(Message):
        """Base of messages about one entry."""

        def __init__(self, transcript: "Transcript", entry: Entry) -> None:
            super().__init__()
            self.transcript = transcript
            self.entry = entry

        @property
        def control(self) -> "Transcript":
            """The transcript that sent it."""
            return self.transcript

    class Opened(_OfEntry):
        """The person wants the details of an entry."""

    class Asked(Message):
        """The person wants something done with the marked entries, or the one under the cursor."""

        def __init__(self, wanted: Wish, entries: Sequence[Entry]) -> None:
            super().__init__()
            self.wanted, self.entries = wanted, entries

    class MarksChanged(Message):
        """Other entries are marked."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    class UnreadChanged(TranscriptParts.UnreadChanged):
        """The number of unread lines changed."""

    class UndoRequested(_OfEntry):
        """The person wants a compaction, or what a stage rewrote, undone."""

    _anchor: int | None = None
    """Slot of the entry at which marking began."""

    # Walking

    def action_move(self, step: int) -> None:
        """Go to the next visible entry, or further within one that is larger than the window."""
        if self.cursor is None or not self._on_screen(self.cursor):
            self.cursor = self._visible_slot(step)
        elif self._hidden_part(self.cursor, step):
            self._viewport.scroll(step * _STEP)
            self._place()
            return
        else:
            self.cursor = self._neighbour(self.cursor, step)
        if self.cursor is not None:
            self._viewport.reveal(self.cursor)
        self._place()

    def _span(self, slot: int) -> tuple[int, int]:
        """First and last line of an entry, relative to the window."""
        first = self._pages.top(slot) - self._placed_y
        return first, first + self._pages.height(slot) - 1

    def _on_screen(self, slot: int) -> bool:
        first, last = self._span(slot)
        return slot < len(self._pages) and last >= 0 and first < self._viewport.rows

    def _hidden_part(self, slot: int, step: int) -> bool:
        first, last = self._span(slot)
        return first < 0 if step < 0 else last >= self._viewport.rows

    def _visible_slot(self, step: int) -> int | None:
        if not self._pages.total:
            return None
        y = self._placed_y + (self._viewport.rows - 1 if step < 0 else 0)
        return self._pages.slot_at(min(y, self._pages.total - 1))

    def _neighbour(self, slot: int, step: int) -> int:
        """Return the next entry that has lines, or the same one at either end."""
        following = slot + step
        while 0 <= following < len(self._pages):
            if self._pages.measure(following, most=1):
                return following
            following += step
        return slot

    def action_page(self, step: int) -> None:
        """Scroll by a page, one line less so that the eye finds its place."""
        self.scroll_lines(step * max(1, self._viewport.rows - 1))

    def action_first(self) -> None:
        """Scroll to the oldest entry."""
        self._viewport.show(START)
        self._place()

    def action_last(self) -> None:
        """Scroll to the newest entry and follow what comes."""
        self._viewport.following = True
        self.cursor = None
        self._place()

    # Marking

    @property
    def marked(self) -> Sequence[Entry]:
        """The marked entries, oldest first."""
        return [entry for entry in self._pages.entries if entry.seq in self._marks]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters mean something on a row only, most of them on marked ones; else they are typed."""
        if action == "mark" or (action == "ask" and parameters == ("pin",)):
            return bool(self._marks) or self.cursor_entry is not None
        return bool(self._marks) if action == "ask" else super().check_action(action, parameters)

    def action_mark(self) -> None:
        """Mark the entry under the cursor, or take its mark away."""
        if (entry := self.cursor_entry) is not None:
            self._anchor = self.cursor
            self._show_marks(self._marks ^ {entry.seq})

    def action_extend(self, step: int) -> None:
        """Mark everything between where marking began and the next entry."""
        if self.cursor_entry is None:
            self.action_move(step)
        elif self.cursor is not None:
            self._anchor = self.cursor if self._anchor is None or not self._marks else self._anchor
            self.cursor = min(self._neighbour(self.cursor, step), len(self._pages.entries) - 1)
            self._viewport.reveal(self.cursor)
        if self.cursor_entry is not None and self.cursor is not None:
            anchor = self.cursor if self._anchor is None else self._anchor
            between = slice(min(anchor, self.cursor), max(anchor, self.cursor) + 1)
            self._show_marks({entry.seq for entry in self._pages.entries[between] if _shows(entry)})
        self._place()

    def unmark(self) -> bool:
        """Take all marks away; whether there were any."""
        had = bool(self._marks)
        self._show_marks(set())
        return had

    def _show_marks(self, marks: set[int]) -> None:
        self._marks = marks
        self._anchor = self._anchor if marks else None
        self.post_message(self.MarksChanged(len(marks)))
        self.refresh()

    def action_ask(self, wanted: Wish) -> None:
        """Have something done with the marked entries, or the one under the cursor."""
        entries = self.marked or ([self.cursor_entry] if self.cursor_entry else [])
        if entries:
            self.post_message(self.Asked(wanted, entries))

    # Opening

    def visit(self, entry: Entry) -> None:
        """Go to an entry that was chosen elsewhere; what a compaction did is shown at once."""
        self.jump_to(entry.seq)
        self.focus()
        if entry.kind == "compaction":
            # Of its own accord: what is posted while the pane acts does not get past the pane.
            self.call_later(self.action_details)

    def action_details(self) -> None:
        """Ask for all that is known about the entry under the cursor, or the newest that says more."""
        if (entry := self.cursor_entry) is not None:
            self.post_message(self.Opened(self, entry))
        elif self.cursor is not None:
            self.post_message(self.NothingToDo("The answer is still being written."))
        else:
            self.open_newest()

    def action_open(self) -> None:
        """Open or close the entry under the cursor, or ask for its details."""
        entry = self.cursor_entry
        if self.cursor is not None and (entry is None or foldable(entry)):
            self._toggle(self.cursor)
        elif entry is not None:
            self.post_message(self.Opened(self, entry))

    def open_newest(self) -> None:
        """Ask for the details of the newest compaction or error, wherever the cursor is."""
        newest = next((entry for entry in reversed(self._pages.entries) if has_details(entry)), None)
        if newest is not None:
            self.post_message(self.Opened(self, newest))
        elif self._pages.entries:
            self.post_message(self.NothingToDo("Nothing is marked to open: shift+tab, then up."))
        else:
            self.post_message(self.NothingToDo("Nothing to open yet."))

    def action_undo(self) -> None:
        """Ask for the compaction, rewrite or restored files under the cursor to be undone."""
        entry, refused = self.cursor_entry, why_not_undone(self.cursor_entry)
        if entry is None or refused:
            self.post_message(self.NothingToDo(refused))
        else:
            self.post_message(self.UndoRequested(self, entry))

    def _toggle(self, slot: int) -> None:
        seq = self._pages.entries[slot].seq if slot < len(self._pages.entries) else 0
        self._pages.expanded ^= {seq}
        self._pages.stale(slot)
        self._viewport.hold()
        self._place()

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the entry; a folded row opens and closes, a compaction shows its details."""
        if self.text_selection is not None or event.chain > 1:
            return
        offset = event.get_content_offset(self)
        if offset is None:
            return
        if self.unread and offset.y == self._viewport.rows - 1:
            self.action_last()
            return
        self.cursor = self.slot_at(offset)
        if self.cursor is not None:
            piece = self._pages.piece_at(self._placed_y + offset.y)
            entry = self.cursor_entry
            if folds(piece) or (entry is not None and has_details(entry)):
                self.action_open()
        self.refresh()


def _shows(entry: Entry) -> bool:
    """Whether an entry has lines; an answer that only calls tools has none."""
    return entry.kind != "assistant" or bool(entry.chars)
