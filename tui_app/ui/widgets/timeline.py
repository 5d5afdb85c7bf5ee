"""The timeline: one row for every prompt, tool, answer, compaction and change of model."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import ClassVar

from textual.message import Message
from textual.reactive import reactive

from tui_app.session.entries import Entry, EntryKind
from tui_app.ui.format import clock, tokens
from tui_app.ui.glyphs import PLAIN, Glyphs
from tui_app.ui.safe_text import one_line, without_drawing
from tui_app.ui.widgets.row_list import Row, RowList

_CELLS = 200
_HIDDEN: frozenset[EntryKind] = frozenset({"notice"})
_BAD = ("failed", "cancelled", "interrupted")


class Timeline(RowList):
    """Lists what happened; enter on a row asks to jump there."""

    HELP = "What happened so far. Enter shows a row in the conversation."
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "timeline--user", "timeline--detail", "timeline--compaction", "timeline--bad",
    }  # fmt: skip
    DEFAULT_CSS = """
    Timeline {
        & > .timeline--user { color: $foreground; }
        & > .timeline--detail { color: $foreground 75%; }
        & > .timeline--compaction { color: $text-accent; text-style: bold; }
        & > .timeline--bad { color: $text-error; }
    }
    """

    plain: reactive[bool] = reactive(False)
    """ASCII signs only."""

    class Jump(Message):
        """The person wants to see an entry in the transcript."""

        def __init__(self, timeline: "Timeline", entry: Entry) -> None:
            super().__init__()
            self.timeline = timeline
            self.entry = entry

        @property
        def control(self) -> "Timeline":
            """The timeline that sent it."""
            return self.timeline

    def __init__(
        self, glyphs: Glyphs, *, tz: tzinfo | None = None, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(self._entry_row, head="Timeline", id=id, classes=classes)
        self._glyphs = glyphs
        self._tz = tz
        self._entries: list[Entry] = []
        self._slots: dict[int, int] = {}
        self._lines: list[tuple[int, int]] = []
        """For each row the index of its entry, and which row of that entry it is."""

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Show another conversation, from its end."""
        self._entries = list(entries)
        self._slots = {entry.seq: slot for slot, entry in enumerate(self._entries)}
        self.cursor = None
        self._list_rows()
        self.follow()

    def append(self, entry: Entry) -> None:
        """Add an entry."""
        self._slots[entry.seq] = len(self._entries)
        self._entries.append(entry)
        self._add_rows(len(self._entries) - 1)
        self.set_count(len(self._lines))

    def replace(self, entry: Entry) -> None:
        """Show a new state of the entry with the same log number; unknown ones are ignored."""
        slot = self._slots.get(entry.seq)
        if slot is None:
            return
        same_rows = _row_count(entry) == _row_count(self._entries[slot])
        self._entries[slot] = entry
        if same_rows:
            self.refresh()
        else:
            self._list_rows()

    def watch_plain(self) -> None:
        """Paint with the other signs."""
        self.refresh()

    def on_row_list_selected(self, event: RowList.Selected) -> None:
        """Turn the chosen row into its entry."""
        if event.row_list is self:
            event.stop()
            self.post_message(self.Jump(self, self._entries[self._lines[event.index][0]]))

    def _list_rows(self) -> None:
        self._lines = []
        for slot in range(len(self._entries)):
            self._add_rows(slot)
        self.set_count(len(self._lines))

    def _add_rows(self, slot: int) -> None:
        self._lines.extend((slot, number) for number in range(_row_count(self._entries[slot])))

    def _entry_row(self, index: int) -> Row:
        slot, number = self._lines[index]
        entry = self._entries[slot]
        glyphs = PLAIN if self.plain else self._glyphs
        row = _second_row(entry, glyphs) if number else self._first_row(entry, glyphs)
        if not self.plain:
            return row
        return Row(without_drawing(row.text), row.right, row.component, row.right_component)

    def _first_row(self, entry: Entry, glyphs: Glyphs) -> Row:
        title = one_line(entry.title, _CELLS)
        time = clock(entry.time, self._tz)
        match entry.kind:
            case "user":
                return Row(f"{glyphs.bullet} {title}", time, "timeline--user")
            case "compaction":
                return _compaction_row(entry, title, time, glyphs)
            case "checkpoint":
                return Row(f"{glyphs.checkpoint} {title}", "", "timeline--detail")
            case "model":
                return Row(f"{glyphs.arrow} {title}", time, "timeline--detail")
            case "clear":
                return Row(f"{glyphs.separator} {title or 'conversation cleared'}", time, "timeline--detail")
            case "error":
                return Row(f"{glyphs.cross} {title}", time, "timeline--bad")
            case "assistant":
                return _detail_row(entry, "answer", glyphs)
            case _:
                return _detail_row(entry, title.split(" · ")[0] or entry.kind, glyphs)


def _row_count(entry: Entry) -> int:
    """Rows of an entry: none for what has nothing to say, two for a compaction with figures."""
    if entry.kind in _HIDDEN or (entry.kind == "assistant" and not entry.chars):
        return 0
    return 2 if entry.kind == "compaction" and entry.state in ("ok", "undone") and entry.title else 1


def _detail_row(entry: Entry, title: str, glyphs: Glyphs) -> Row:
    bad = entry.state in _BAD
    size = tokens(entry.tokens) if entry.tokens else ""
    word = "running" if entry.state == "running" else size
    right = f"{glyphs.cross}  {size}".rstrip() if bad else word
    component = "timeline--bad" if bad else "row-list--right"
    return Row(f"{glyphs.pipe}  {title}", right, "timeline--detail", component)


def _compaction_row(entry: Entry, title: str, time: str, glyphs: Glyphs) -> Row:
    if entry.state in ("ok", "undone"):
        text = "Conversation compacted" if entry.state == "ok" else "Compaction undone"
        return Row(f"{glyphs.load_line} {text}", time, "timeline--compaction")
    text = title if entry.state in title.lower() else f"Compaction {entry.state}"
    return Row(f"{glyphs.load_line} {text}", time, "timeline--detail")


def _second_row(entry: Entry, glyphs: Glyphs) -> Row:
    """The figures of a compaction, as short as they can be said; the transcript has them all."""
    parts = one_line(entry.title, _CELLS).split(" · ")
    if parts[0].lower().startswith("conversation compacted"):
        parts = parts[1:]
    short = [part.replace("facts kept", "kept") for part in parts if "messages" not in part]
    return Row(f"{glyphs.pipe}  {' · '.join(short)}", "", "timeline--detail")
