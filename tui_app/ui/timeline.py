"""The timeline: one row for every prompt, tool call, answer, compaction and change of model."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice, takewhile
from typing import ClassVar, NamedTuple

from textual import events
from textual.message import Message
from textual.reactive import reactive

from tui_app.session.branches import Branch
from tui_app.session.views.entries import Entry, EntryState
from tui_app.ui.keyboard.keys import place_bindings
from tui_app.ui.transcript.entries import LEFT, Rail, has_lines, sub_agent_figures, tool_sign
from tui_app.ui.widgets.lists import Row, RowList
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import clock, count, one_line, tokens

_CELLS = 200
_LATER, _ASIDE = 2**62, -1
"""A log number after all others; the slot of a row without an entry."""
Relatives = tuple[tuple[str, str] | None, Sequence[Branch]]
_STEPS = frozenset({"system", "assistant", "tool", "hook", "approval", "memory", "notice"})
"""Kinds of entries that are steps of a prompt's turn, hidden by the default filter."""
_BAD: frozenset[EntryState] = frozenset(
    {"failed", "denied", "cancelled", "interrupted", "vetoed", "discarded"}
)


class TimelineFilter(Enum):
    """Which rows are shown; the value is its name on the screen."""

    MOMENTS = "moments"
    ALL = "all"
    COMPACTIONS = "compactions"
    ERRORS = "errors"
    TREE = "tree"

    def shows(self, entry: Entry) -> bool:
        match self:
            case TimelineFilter.MOMENTS | TimelineFilter.TREE:
                stopped = entry.guard and entry.kind != "tool"
                is_notable = stopped or entry.at_work or (entry.kind == "hook" and entry.state in _BAD)
                return entry.kind not in _STEPS or is_notable
            case TimelineFilter.ALL:
                return True
            case TimelineFilter.COMPACTIONS:
                return entry.kind in ("compaction", "checkpoint", "rewrite", "truncation")
            case TimelineFilter.ERRORS:
                return entry.state in _BAD


class BranchRow(NamedTuple):
    """A row of the tree that belongs to another session."""

    at: int
    """Log number of the entry below which it is shown."""
    row: Row
    session: str
    """Id of the session it opens."""


def branch_rows(branches: Sequence[Branch]) -> list[BranchRow]:
    """Return a row for each branch and one for each of its prompts."""
    rows: list[BranchRow] = []
    for branch in branches:
        is_done = branch.state == "merged"
        tones = ("timeline--user", "timeline--good") if is_done else ("timeline--detail", "timeline--detail")
        leads = ((2, "timeline--newest" if is_done else "timeline--detail"),)
        named = Row(f"{UNICODE.branch} {one_line(branch.name, _CELLS)}", branch.state, *tones, leads)
        rows.append(BranchRow(branch.at, named, branch.info.id))
        for prompt in branch.prompts:
            text = f"{UNICODE.pipe} {UNICODE.bullet} {one_line(prompt.title, _CELLS)}"
            row = Row(text, str(prompt.tools or ""), "timeline--detail")
            rows.append(BranchRow(branch.at, row, branch.info.id))
    return rows


def rows_of(entry: Entry) -> int:
    """Return the number of rows of an entry: none if it is empty, two for a compaction's figures."""
    if (entry.kind == "notice" and not entry.guard) or not has_lines(entry):
        return 0
    return 2 if entry.kind == "compaction" and entry.state in ("ok", "undone") and entry.title else 1


def timeline_row(
    entry: Entry, number: int, scale: float, *, steps: int = 0, sunk: bool = False, newest: bool = False
) -> Row:
    """Word one row of an entry.

    Args:
        entry: The entry.
        number: Which of its rows, from 0.
        scale: Model tokens per locally counted token.
        steps: Tool calls of a prompt.
        sunk: Whether the model no longer sees it: one level dimmer.
        newest: Whether it is the newest prompt.
    """
    if number:
        # The shortest form of a compaction's figures; the transcript shows them in full.
        parts = one_line(entry.title, _CELLS).split(" · ")
        figures = [part.removesuffix(" facts") for part in parts if not part.endswith("became a summary")]
        row = Row(f"  {' · '.join(figures[:2])}", "", "timeline--detail")
    else:
        row = _first_row(entry, scale, steps)
    if entry.left:
        row = row._replace(component="timeline--left", right_component="timeline--left")
    elif entry.kind == "user":
        sign = "timeline--left" if sunk else "timeline--newest" if newest else "timeline--detail"
        row = row._replace(component="timeline--detail" if sunk else row.component, leads=((1, sign),))
    elif entry.kind in ("compaction", "merge") and not number and entry.state in ("ok", "running"):
        row = row._replace(leads=((1, "timeline--newest"),))
        if entry.kind == "merge":
            row = row._replace(component="timeline--user", right_component="timeline--good")
    elif sunk and row.component == "timeline--detail":
        row = row._replace(component="timeline--left")
    return row


def _first_row(entry: Entry, scale: float, steps: int) -> Row:
    title, time = one_line(entry.title, _CELLS), clock(entry.time)
    left = LEFT if entry.left else ""
    if entry.guard and entry.kind != "tool":
        stopped = f"{UNICODE.guard} {title.split(' · ')[0]}"
        return Row(stopped, time, "timeline--user", "timeline--bad", ((1, "timeline--bad"),))
    texts: dict[str, str] = {
        "checkpoint": f"{UNICODE.checkpoint} {title}",
        "model": f"{UNICODE.model} {'' if title.startswith('policy ') else 'model '}{title}",
        "truncation": f"{UNICODE.load_line} {title or 'Request truncated'}",
        "clear": f"{UNICODE.separator} {title or 'conversation cleared'}",
        "merge": f"{UNICODE.merge} merge: {title.removeprefix('merged ').rpartition(': ')[0]}",
        "rewrite": f"{UNICODE.part} {title.split(' · ')[0]}",
    }
    if (text := texts.get(entry.kind)) is not None:
        word = "undone" if entry.state == "undone" and not left else ""
        right = f"{word} {'' if entry.kind in ('checkpoint', 'rewrite') else time}".strip()
        return Row(text, right, "timeline--detail")
    match entry.kind:
        case "user":
            word = left or ("not sent" if entry.state == "failed" else "")
            return Row(f"{UNICODE.bullet} {title}", f"{word} {steps or ''}".strip(), "timeline--user")
        case "compaction":
            return _compaction_row(entry, title, time)
        case "error":
            return Row(f"{UNICODE.cross} {title}", f"{left} {time}".strip(), "timeline--bad")
        case "assistant":
            return _detail_row(entry, "answer", scale)
        case "shell":
            command, _, ended = title.rpartition(" · ") if entry.result_seq else (title, "", "")
            word = left or ("" if entry.state == "ok" else ended or entry.state)
            return Row(f"$ {command}", word, "timeline--detail")
    title = title.split(" · ")[0]
    if entry.kind == "tool" and (sign := tool_sign(title, UNICODE)) != UNICODE.server:
        # In a narrow column a call's file or words are more useful than the name of its tool.
        title = f"{sign} {title.partition(' ')[2] or title}"
    if entry.at_work:
        calls = count(entry.calls, "call") if entry.calls else ""
        return Row(title, calls, "timeline--user", leads=((1, "timeline--newest"),))
    return _detail_row(entry, title or entry.kind, scale)


def _detail_row(entry: Entry, title: str, scale: float) -> Row:
    bad = entry.state in _BAD
    word = {"ok": "", "asking": "waiting", "undone": "" if entry.left else "undone"}.get(
        entry.state, entry.state
    )
    size = tokens(round(entry.tokens * scale)) if entry.tokens else ""
    size = "  ".join(filter(None, (*sub_agent_figures(entry), size)))
    if bad:
        word = f"{UNICODE.cross} {word}" + (f" · {LEFT}" if entry.left else "")
    right = "  ".join(filter(None, (word, size)))
    return Row(
        f"{UNICODE.pipe}  {title}", right, "timeline--detail", "timeline--bad" if bad else "row-list--right"
    )


def _compaction_row(entry: Entry, title: str, time: str) -> Row:
    if entry.state in ("ok", "undone"):
        text = "Conversation compacted" if entry.state == "ok" else "Compaction undone"
        return Row(f"{UNICODE.load_line} {text}", "", "timeline--user")
    if entry.state == "running":
        how, _, done = title.partition(" · ")
        text = f"Compacting · {how}" if how else "Compacting"
        return Row(f"{UNICODE.load_line} {text}", done, "timeline--user")
    text = f"Compaction {entry.state}"
    if title.lower().startswith(text.lower()):
        text = title
    elif title and title.lower() != entry.state:
        text = f"{text}: {title}"
    return Row(f"{UNICODE.load_line} {text}", time, "timeline--detail")


class Timeline(RowList):
    """Lists what happened; enter on a row jumps to it in the transcript."""

    HELP = "What happened so far. Enter shows a row in the conversation, f rows of one kind only."
    BINDINGS = place_bindings("timeline")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "timeline--user", "timeline--detail", "timeline--bad",
        "timeline--left", "timeline--newest", "timeline--good",
    }  # fmt: skip

    scale: reactive[float] = reactive(1.0)
    """Model tokens per locally counted token."""
    shown: reactive[TimelineFilter] = reactive(TimelineFilter.MOMENTS, init=False)
    """The current filter."""
    rail: reactive[Rail] = reactive(Rail())
    """What the model sees."""
    relatives: reactive[Relatives] = reactive((None, ()), init=False)
    """Id and title of the session that this one branched off from, if any; and its own branches."""
    running: reactive[Entry | None] = reactive(None, init=False)
    """A running compaction: the last row until it ends and has an entry."""

    @dataclass
    class Jump(Message):
        """Posted to show an entry in the transcript."""

        entry: Entry

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(self._entry_row, head=self._title, id=id)
        self._entries: list[Entry] = []
        self._slots: dict[int, int] = {}
        self._lines: list[tuple[int, int]] = []
        """For each row the index of its entry, and which of its rows; branch rows have `_ASIDE` as index."""
        self._aside: list[BranchRow] = []

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Replace the conversation and scroll to its end."""
        self._entries = list(entries)
        self._slots = {entry.seq: slot for slot, entry in enumerate(self._entries)}
        self.cursor = None
        self._list_rows()
        self.follow()

    def prepend(self, entries: Sequence[Entry]) -> None:
        """Add older entries at the top without moving the visible rows."""
        before, self._entries = len(self._lines), [*entries, *self._entries]
        self._slots = {entry.seq: slot for slot, entry in enumerate(self._entries)}
        self._list_rows()
        self.push_down(len(self._lines) - before)

    def append(self, entry: Entry) -> None:
        """Add an entry; a cursor on the running compaction stays there."""
        on_running = self._on_running
        self._slots[entry.seq] = len(self._entries)
        self._entries.append(entry)
        self._add_rows(len(self._entries) - 1)
        self._count_rows()
        if on_running:
            self.cursor = self.count - 1

    def replace(self, *entries: Entry) -> None:
        """Replace the entries with the same log numbers; unknown log numbers are ignored."""
        shows, same_rows = self.shown.shows, []
        for entry in entries:
            if (slot := self._slots.get(entry.seq)) is not None:
                before, self._entries[slot] = self._entries[slot], entry
                same_rows.append(rows_of(before) == rows_of(entry) and shows(before) == shows(entry))
        if not all(same_rows):
            self._rebuild_rows()
        elif same_rows:
            self.refresh()

    def on_row_list_selected(self, event: RowList.Selected) -> None:
        """Jump to the selected row's entry; for the running compaction to the last one."""
        event.stop()
        slot = self._slot(event.index)
        if slot is not None and slot < 0:
            self._go_to(self._aside[self._lines[event.index][1]].session)
        elif slot is not None:
            self.post_message(self.Jump(self._entries[slot]))
        elif self._entries:
            self.post_message(self.Jump(self._entries[-1]))

    def _go_to(self, session: str = "") -> None:
        self.call_later(self.run_action, f"screen.slash({f'/tree {session}'.strip()!r})")

    def action_filter(self) -> None:
        """Show rows of the next kind, after the last one those of the first."""
        every = list(TimelineFilter)
        self.shown = every[(every.index(self.shown) + 1) % len(every)]

    def watch_shown(self) -> None:
        self._rebuild_rows()
        self.follow()
        if self.shown is TimelineFilter.TREE:
            self._go_to()
            if self.cursor is None:
                # Branches are listed below this conversation's newest row, so that "down" reaches them one by
                # one.
                own = (row for row, (slot, _) in enumerate(self._lines) if slot != _ASIDE)
                self.cursor = max(own, default=None)

    def on_click(self, event: events.Click) -> None:
        """Change the filter with a click on the title; the list handles clicks on rows."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.y == 0:
            self.action_filter()

    def _title(self) -> Row:
        tools = "tools" if self.shown in (TimelineFilter.MOMENTS, TimelineFilter.TREE) else ""
        text = f"Timeline  {self.shown.value} {UNICODE.expanded}"
        return Row(text, tools, leads=((8, "row-list--head"), (len(text), "row-list--quiet")))

    @property
    def _on_running(self) -> bool:
        return self.cursor is not None and self._slot(self.cursor) is None

    def _rebuild_rows(self) -> None:
        """List the rows again and keep the cursor on its entry."""
        on_running = self._on_running
        slot = self._slot(self.cursor) if self.cursor is not None else None
        self._list_rows()
        self.cursor = next((row for row, (of, _) in enumerate(self._lines) if of == slot), None)
        if on_running and self.count > len(self._lines):
            self.cursor = self.count - 1

    watch_relatives = _rebuild_rows

    def _list_rows(self) -> None:
        above, branches = self.relatives
        self._lines, self._aside = [], branch_rows(branches)
        if above is not None:
            title = f"{UNICODE.branch} {one_line(above[1], _CELLS) or above[0]}"
            self._aside.insert(0, BranchRow(0, Row(title, "above", "timeline--detail"), above[0]))
        self._add_branches(0, self._entries[0].seq if self._entries else 0)
        for slot in range(len(self._entries)):
            self._add_rows(slot)
        self.set_empty_text(f"No {self.shown.value}. f shows others." if self._entries else "")
        self._count_rows()

    def _add_rows(self, slot: int) -> None:
        entry = self._entries[slot]
        if self.shown.shows(entry):
            self._lines.extend((slot, number) for number in range(rows_of(entry)))
        newest = slot + 1 == len(self._entries)
        self._add_branches(entry.seq, _LATER if newest else self._entries[slot + 1].seq)

    def _add_branches(self, first: int, before: int) -> None:
        if self.shown is TimelineFilter.TREE:
            begin, end = (bisect_left(self._aside, at, key=lambda each: each.at) for at in (first, before))
            self._lines.extend((_ASIDE, place) for place in range(begin, end))

    def _count_rows(self) -> None:
        runs = self.running is not None and self.shown.shows(self.running)
        self.set_count(len(self._lines) + runs)

    watch_running = _count_rows

    def _slot(self, row: int) -> int | None:
        """Return the slot of a row's entry; None for the running compaction."""
        return self._lines[row][0] if row < len(self._lines) else None

    def _entry_row(self, index: int) -> Row:
        if index < len(self._lines):
            slot, number = self._lines[index]
            if slot < 0:
                return self._aside[number].row
            entry = self._entries[slot]
            newest = next((each for each in reversed(self._entries) if each.kind == "user"), None)
            turn = takewhile(lambda each: each.kind != "user", islice(self._entries, slot + 1, None))
            steps = sum(each.kind == "tool" for each in turn) if entry.kind == "user" else 0
            sunk = not self.rail.sees(entry)
            row = timeline_row(entry, number, self.scale, steps=steps, sunk=sunk, newest=entry is newest)
            # Rewound rows are shown as a branch that was not continued.
            aside = entry.left and self.shown is TimelineFilter.TREE
            return row._replace(text=f"{UNICODE.pipe} {row.text}", leads=()) if aside else row
        return timeline_row(self.running, 0, self.scale) if self.running else Row("")
