"""What the rows of the timeline say, and which of them a filter shows: pure functions over entries."""

import re
from datetime import tzinfo
from enum import Enum
from typing import NamedTuple, assert_never

from tui_app.session.entries import Entry, EntryState
from tui_app.ui.format import clock, count, tokens
from tui_app.ui.glyphs import Glyphs
from tui_app.ui.safe_text import one_line, without_drawing
from tui_app.ui.widgets.entry_wording import LEFT
from tui_app.ui.widgets.row_list import Row

_CELLS = 200
_MESSAGES = re.compile(r"[\d,]+ messages? ")
_BAD: frozenset[EntryState] = frozenset(
    {"failed", "denied", "cancelled", "interrupted", "vetoed", "discarded"}
)


class TimelineFilter(Enum):
    """Which rows are shown; the value is the word that says so."""

    ALL = "all"
    PROMPTS = "prompts"
    TOOLS = "tools"
    COMPACTIONS = "compactions"
    CHANGES = "changes"
    TROUBLE = "trouble"

    @property
    def following(self) -> "TimelineFilter":
        """The one after it; behind the last comes the first."""
        every = list(TimelineFilter)
        return every[(every.index(self) + 1) % len(every)]

    def shows(self, entry: Entry) -> bool:
        """Whether an entry passes."""
        match self:
            case TimelineFilter.ALL:
                return True
            case TimelineFilter.PROMPTS:
                return entry.kind == "user"
            case TimelineFilter.TOOLS:
                return entry.kind in ("tool", "hook", "approval")
            case TimelineFilter.COMPACTIONS:
                return entry.kind in ("compaction", "checkpoint", "rewrite", "truncation")
            case TimelineFilter.CHANGES:
                return entry.kind in ("model", "clear", "memory", "files")
            case TimelineFilter.TROUBLE:
                return entry.state in _BAD
            case _:
                assert_never(self)


class Wording(NamedTuple):
    """What the words and signs of a row depend on."""

    glyphs: Glyphs
    plain: bool = False
    """ASCII only."""
    tz: tzinfo | None = None
    scale: float = 1.0
    """Tokens as the model counts them for each counted one."""


def rows_of(entry: Entry) -> int:
    """Rows of an entry: none for what has nothing to say, two for a compaction with figures."""
    if entry.kind == "notice" or (entry.kind == "assistant" and not entry.chars):
        return 0
    return 2 if entry.kind == "compaction" and entry.state in ("ok", "undone") and entry.title else 1


def timeline_row(entry: Entry, number: int, wording: Wording) -> Row:
    """One row of an entry.

    Args:
        entry: What happened.
        number: Which of its rows, from 0.
        wording: Signs and time zone.
    """
    row = _second_row(entry, wording.glyphs) if number else _first_row(entry, wording)
    if entry.left:
        row = Row(row.text, row.right, "timeline--left", "timeline--left")
    if not wording.plain:
        return row
    return Row(without_drawing(row.text), row.right, row.component, row.right_component)


def _first_row(entry: Entry, wording: Wording) -> Row:
    glyphs, title, time = wording.glyphs, one_line(entry.title, _CELLS), clock(entry.time, wording.tz)
    match entry.kind:
        case "user":
            return _prompt_row(entry, title, time, glyphs)
        case "compaction":
            return _compaction_row(entry, title, time, glyphs)
        case "checkpoint":
            return Row(f"{glyphs.checkpoint} {title}", "", "timeline--detail")
        case "model" | "clear" | "truncation":
            word = "undone" if entry.state == "undone" and not entry.left else ""
            return Row(_change_text(entry, title, glyphs), f"{word} {time}".strip(), "timeline--detail")
        case "error":
            word = LEFT if entry.left else ""
            return Row(f"{glyphs.cross} {title}", f"{word} {time}".strip(), "timeline--bad")
        case "assistant":
            return _detail_row(entry, "answer", wording)
        case _:
            return _detail_row(entry, title.split(" · ")[0] or entry.kind, wording)


def _change_text(entry: Entry, title: str, glyphs: Glyphs) -> str:
    match entry.kind:
        case "model":
            return f"{glyphs.arrow} {'' if title.startswith('policy ') else 'model '}{title}"
        case "truncation":
            return f"{glyphs.load_line} {title or 'Request truncated'}"
        case _:
            return f"{glyphs.separator} {title or 'conversation cleared'}"


def _prompt_row(entry: Entry, title: str, time: str, glyphs: Glyphs) -> Row:
    word = LEFT if entry.left else "not sent" if entry.state == "failed" else ""
    return Row(f"{glyphs.bullet} {title}", f"{word} {time}".strip(), "timeline--user")


def _detail_row(entry: Entry, title: str, wording: Wording) -> Row:
    """A tool, an answer or a rewrite: its size, and how it ended unless it went well."""
    glyphs = wording.glyphs
    bad = entry.state in _BAD
    word = {"ok": "", "undone": "" if entry.left else "undone"}.get(entry.state, entry.state)
    size = tokens(round(entry.tokens * wording.scale)) if entry.tokens else ""
    size = "  ".join(filter(None, (count(entry.calls, "call") if entry.calls else "", size)))
    if bad:
        word = f"{glyphs.cross} {word}" + (f" {glyphs.separator} {LEFT}" if entry.left else "")
    right = "  ".join(filter(None, (word, size)))
    return Row(
        f"{glyphs.pipe}  {title}", right, "timeline--detail", "timeline--bad" if bad else "row-list--right"
    )


def _compaction_row(entry: Entry, title: str, time: str, glyphs: Glyphs) -> Row:
    if entry.state in ("ok", "undone"):
        text = "Conversation compacted" if entry.state == "ok" else "Compaction undone"
        return Row(f"{glyphs.load_line} {text}", time, "timeline--compaction")
    if entry.state == "running":
        how, _, done = title.partition(" · ")
        text = f"Compacting {glyphs.separator} {how}" if how else "Compacting"
        return Row(f"{glyphs.load_line} {text}", done, "timeline--compaction")
    return Row(f"{glyphs.load_line} {_ended(entry.state, title)}", time, "timeline--detail")


def _ended(state: EntryState, title: str) -> str:
    """How a compaction stands that has changed nothing, and why."""
    text = f"Compaction {state}"
    if title.lower().startswith(text.lower()):
        return title
    return f"{text}: {title}" if title and title.lower() != state else text


def _second_row(entry: Entry, glyphs: Glyphs) -> Row:
    """The figures of a compaction, as short as they can be said; the transcript has them all."""
    parts = one_line(entry.title, _CELLS).split(" · ")
    if parts[0].lower().startswith("conversation compacted"):
        parts = parts[1:]
    short = [part.replace("facts kept", "kept").removesuffix(" by weight") for part in parts]
    short = [part for part in short if not _MESSAGES.match(part)]
    return Row(f"{glyphs.pipe}  {' · '.join(short)}", "", "timeline--detail")
