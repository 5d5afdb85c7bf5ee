"""One compaction: what was written, what it kept, what left, and the way back."""

import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widget import Widget
from textual.widgets import OptionList, Static, TabPane, TextArea
from textual.widgets.option_list import Option

from tui_app.conversation.work import BringBack, EditSummary, Restate
from tui_app.events import CompactionComplete, Fact, FactState, Origin, RowKind, fact_counts, lines_told
from tui_app.records import frozen
from tui_app.session.request_ledger import Difference
from tui_app.session.user_view import Entry
from tui_app.ui.dialogs.base import (
    SLIM,
    ConfirmDialog,
    DetailsScreen,
    Dialog,
    MarkedList,
    PartTabs,
    figures,
    readable,
    reading_area,
    way_row,
)
from tui_app.ui.dialogs.sent import Reader, Replacement, SentText, SentView
from tui_app.ui.keys import place_bindings, place_hints
from tui_app.ui.reports import compaction_lines
from tui_app.ui.text import (
    UNICODE,
    Glyphs,
    clean,
    clock,
    cost,
    count,
    duration,
    one_line,
    padded,
    percent,
    tokens,
    wrap_spans,
)
from tui_app.ui.widgets import WrittenArea

if TYPE_CHECKING:
    from tui_app.conversation.audit import Audit

NAMES: Mapping[str, tuple[str, str]] = {
    "tab-summary": ("Sent", "Sent"),
    "tab-facts": ("Facts", "Facts"),
    "tab-left": ("Removed", "Removed"),
    "tab-stayed": ("Kept", "Kept"),
    "tab-diff": ("Diff", "Diff"),
    "tab-numbers": ("Numbers", "Numbers"),
    "tab-audit": ("Audit", "Audit"),
}
"""The parts in order, by id: their names, and shorter ones."""
AUDIT = "tab-audit"
"""Of what another program made there is one more, the last."""


# The words of the compaction detail: pure functions from the event to rows.

COLOURS: dict[FactState, str] = {
    "kept": "$text-success",
    "recoverable": "$text-warning",
    "lost": "$text-error",
}
STATES: dict[FactState, str] = {"kept": "kept", "recoverable": "at risk", "lost": "lost"}
ORDER: tuple[FactState, ...] = ("lost", "recoverable", "kept")
"""What needs attention comes first."""
LEAST_TITLE = 20
"""Cells that a title keeps at least."""
REASON_CELLS = 320
"""Cells of a reason that stand in the head, some rows of a usual terminal; a longer one is read below."""
_CONTEXT = 3
"""Messages that stayed and are named on each side of a change."""


def headline(done: CompactionComplete, time: float, glyphs: Glyphs, width: int) -> Content:
    """``⊖ Sunday import: holidays open      12:31 · background · gpt-5-mini · 4 s · $0.004``, so wide."""
    title = "Conversation compacted" if done.outcome == "success" else f"Compaction {done.outcome}"
    facts = [clock(time), done.trigger.replace("_", " "), one_line(done.model, 40), duration(done.duration_s)]
    if done.cost_usd is not None:
        facts.append(cost(done.cost_usd))
    rest = f" {glyphs.separator} ".join(fact for fact in facts if fact)
    if done.title and done.outcome == "success":
        title = done.title
    title = one_line(title, max(LEAST_TITLE, width - cell_len(rest) - 4))
    gap = " " * max(2, width - cell_len(title) - cell_len(rest) - 2)
    return Content.assemble(
        (f"{glyphs.load_line} ", "$text-accent"), (title, "bold"), (gap + rest, "not bold $text-muted")
    )


def sizes(
    done: CompactionComplete,
    glyphs: Glyphs,
    undone: bool,
    *,
    gap: str = "   ",
    edited: bool = False,
    numbers_last: bool = False,
) -> str:
    """Tokens and messages before and after, and what became of the facts; or why nothing changed.

    ``gap`` stands between tokens with messages, and facts; ``edited`` says that the summary has other words;
    ``numbers_last`` is for one row that may be cut.
    """
    if done.outcome != "success":
        return f"{one_line(done.reason, 200 if numbers_last else REASON_CELLS)} Nothing changed.".strip()
    before = (
        f"{tokens(done.tokens_before)} {glyphs.arrow} {tokens(done.tokens_after)} tokens   "
        f"{done.messages_before:,} {glyphs.arrow} {count(done.messages_after, 'message')}"
    )
    parts = [before]
    if done.facts:
        counts = fact_counts(fact for fact in done.facts if fact.kind != "detail")
        said = [f"{counts['kept'] + counts['put_back']:,} of {count(sum(counts.values()), 'fact')}"]
        said += [f"{counts[name]:,} {name.replace('_', ' ')}" for name in ("at_risk", "lost") if counts[name]]
        parts.append(f" {glyphs.separator} ".join(said))
    parts += lines_told(done.lines, done.lines_sourced, done.claims_marked)
    if done.calls_not_understood:
        parts.append(f"{count(done.calls_not_understood, 'call')} not understood")
    if done.files_restored:
        parts.append(f"{count(len(done.files_restored), 'file')} attached again")
    if edited:
        parts.append("edited since")
    if undone:
        parts.append("undone: the full history is back")
    return gap.join(reversed(parts) if numbers_last else parts)


def where(fact: Fact, history: str = "") -> str:
    """Where a fact can be found that is not kept, besides its place in the log."""
    return f"conversation_history/{PurePath(history).name}" if history and fact.state == "recoverable" else ""


def fate(fact: Fact) -> str:
    """What became of a fact, as the head of all that fared so."""
    if fact.state == "lost":
        return "Left out"
    if fact.state == "recoverable":
        return "At risk, the model can look them up"
    return "Added by Plimsoll" if fact.put_back else "In the summary"


def ranked(facts: Iterable[Fact]) -> list[Fact]:
    """Lost ones first, what Plimsoll added in front of what the summary held, heavier ones first."""
    return sorted(facts, key=lambda fact: (ORDER.index(fact.state), not fact.put_back, -fact.weight))


def fact_options(
    facts: Iterable[Fact],
    glyphs: Glyphs,
    history: str = "",
    back: str = "",
    *,
    width: int = 80,
    said: Mapping[str, str] = MappingProxyType({}),
) -> list[Option]:
    """Every fact below a head that says what became of it; its id is its place among the ranked ones.

    Args:
        facts: What the dropped history held.
        glyphs: Signs to draw with.
        history: Path of the file that holds what left; empty where there is none.
        back: How a fact comes back that is not kept.
        width: Cells of a row.
        said: Whose words the sources are and when they came, where there is room for that.
    """
    options: list[Option] = []
    found = ranked(facts)
    if width >= ONE_LINE:
        longest = max((len(fact.source) for fact in found), default=0)
        found = [
            replace(fact, source=f"{fact.source:<{longest}} {said.get(fact.source, '')}".rstrip())
            for fact in found
        ]
    source = max((len(fact.source) for fact in found), default=0)
    source = min(source, _MOST_SOURCE) + 2 if width >= SLIM else 0
    told = {
        place: f" {glyphs.separator} ".join(filter(None, (where(fact, history), back)))
        for place, fact in enumerate(found)
        if fact.state != "kept"
    }
    beside = max(map(cell_len, told.values()), default=-2) + 2
    if width - _FACT_CELLS - source - beside < _ROOM_OF_FACT:
        beside = 0
    for head, group in groupby(enumerate(found), key=lambda placed: fate(placed[1])):
        rows = list(group)
        if options:
            options.append(Option("", disabled=True))
        much = f"  {_counted([fact for _, fact in rows])}"
        options.append(Option(Content.assemble((head, "bold"), (much, "$text-muted")), disabled=True))
        for place, fact in rows:
            cells = (max(_LEAST_OF_FACT, width - _FACT_CELLS - source - beside), source, beside)
            options.append(Option(_fact_row(fact, glyphs, told.get(place, ""), cells), id=str(place)))
    return options


def _counted(facts: Sequence[Fact]) -> str:
    """``7``, ``7 and 20 details``, ``1 detail, not counted as a fact``: the numbers add up to the tab's."""
    details = sum(fact.kind == "detail" for fact in facts)
    if not details:
        return f"{len(facts):,}"
    if details == len(facts):
        return f"{count(details, 'detail')}, not counted as {'a fact' if details == 1 else 'facts'}"
    return f"{len(facts) - details:,} and {count(details, 'detail')}"


_FACT_CELLS, _MOST_SOURCE = 12, 22
"""Cells in front of the text of a fact, and at most those of the message it comes from."""


def _fact_row(fact: Fact, glyphs: Glyphs, told: str, cells: tuple[int, int, int]) -> Content:
    """A fact in columns: sign, kind, text, where in the log it comes from, and how it comes back.

    Args:
        fact: It.
        glyphs: Signs to draw with.
        told: Where it is, and how it comes back; empty where it is kept.
        cells: Room for its text, for its source, and for what is told; of the latter 0 where there is none.
    """
    room, source, beside = cells
    signs = {"kept": glyphs.check, "recoverable": glyphs.recoverable, "lost": glyphs.cross}
    text, place = one_line(fact.text, 300), one_line(fact.source, _MOST_SOURCE)
    if not source:
        text = f"{text}  {place}".rstrip()
    first, *others = (text[start:stop] for start, stop, _ in wrap_spans(text, room))
    kind, sign = fact.kind, signs[fact.state]
    if kind == "live" and fact.state == "kept":
        sign = glyphs.collapsed
    row = Content.assemble(
        (f"{sign} ", COLOURS[fact.state]),
        (f"{'running' if kind == 'live' else kind:<9} ", "$text-muted"),
        padded(first, room) if source else first,
        (f"  {place:<{source - 2}}" if source else "", "$text-muted"),
        (f"{told:>{beside}}" if beside else "", "$text-muted"),
    )
    lead = " " * _FACT_CELLS
    below = [Content(f"{lead}{line}") for line in others]
    if told and not beside:
        below.append(Content.styled(f"{lead}{told}", "$text-muted"))
    return Content("\n").join([row, *below])


_ROOM_OF_FACT, _LEAST_OF_FACT = 24, 12
"""Cells that the text of a fact keeps at least beside what is told of it; and without that."""


def message_lines(lines: Iterable[Difference], sign: Literal["-", " "], scale: float = 1.0) -> str:
    """The messages that left or stayed, one a line, with the size that the model had of each.

    Args:
        lines: What left, came and stayed.
        sign: ``-`` for what left, a space for what stayed.
        scale: Tokens as the model counts them for each counted one.
    """
    rows = [_message_row(line, scale) for line in lines if line.sign == sign]
    if not rows:
        return "Nothing."
    where = "left the model's view; the log keeps all." if sign == "-" else "stayed as before."
    return "\n".join([f"{count(len(rows), 'message')} {where}", "", *rows])


def _message_row(line: Difference, scale: float) -> str:
    head = line.head
    size, whole = (round(each * scale) for each in (sum(head.tokens.values()), line.full))
    full = f"  ({tokens(whole)} in full)" if whole > size else ""
    kind = "summary" if head.type == CompactionComplete.TYPE else head.type.partition(".")[0]
    number = f"{'#' + str(head.seq):>7}  {clock(head.time):<5}  {kind:<10}"
    return f"{number} {tokens(size) if size else '':>7}  {one_line(line.title, 300)}{full}".rstrip()


def diff_lines(lines: Iterable[Difference], summary: str, scale: float = 1.0) -> str:
    """The view before and after, one message a line: ``-`` left, ``+`` came; long runs of others are counted.

    Args:
        lines: What left, came and stayed.
        summary: Text of the summary, shown where it came in.
        scale: Tokens as the model counts them for each counted one.
    """
    rows: list[str] = []
    for sign, group in groupby(lines, key=lambda line: line.sign):
        run: list[str] = []
        for line in group:
            run.append(f"{line.sign} {_message_row(line, scale)}")
            if line.sign == "+" and line.head.type == CompactionComplete.TYPE:
                run[-1] = "\n".join([run[-1], *(f"+   {part}" for part in summary.splitlines())])
        if sign == " " and len(run) > 2 * _CONTEXT + 1:
            left_out = f"  … {len(run) - 2 * _CONTEXT:,} messages stayed as they were"
            run = [*run[:_CONTEXT], left_out, *run[-_CONTEXT:]]
        rows.extend(run)
    return "\n".join(rows)


_SAID_BY: dict[RowKind, str] = {
    "user": "you", "assistant": "answer", "tool": "result", "shell": "command",
}  # fmt: skip


def said_at(entries: Iterable[Entry]) -> dict[str, str]:
    """Whose words messages are and when they came, such as ``you, 12:14``, by ``#N``."""
    return {
        f"#{each.message}": f"{_SAID_BY[each.kind]}, {clock(each.time)}"
        for each in entries
        if each.kind in _SAID_BY
    }


def summary_text(done: CompactionComplete) -> str:
    """Return the summary, or why there is none, in full."""
    if done.summary:
        return done.summary
    reason = _whole(done.reason)
    none = "No summary was written."
    return f"{none}\n\n{reason}" if len(reason) > REASON_CELLS // 2 else none


def _whole(text: str) -> str:
    """A text of any length on one line, which is wrapped where it is shown."""
    return " ".join(clean(text).split())


def number_lines(done: CompactionComplete) -> str:
    """Every number of the event, one a line."""
    ranges = ", ".join(
        f"#{first}" if first == last else f"#{first} to #{last}" for first, last in done.removed
    )
    stands_in = _whole(done.reason) if done.outcome == "success" else ""
    known: list[tuple[str, str]] = [
        ("outcome", f"{done.outcome} {'' if stands_in else _whole(done.reason)}".strip()),
        ("trigger", done.trigger.replace("_", " ")),
        ("policy", done.policy),
        ("summary by", f"{done.performed_by} {done.model}".strip() + (", edited by you" * done.edited)),
        ("because", stands_in),
        ("asked by the model", one_line(done.asked, 200)),
        ("focus", one_line(done.focus, 200)),
        ("instructions", one_line(done.instructions, 400)),
        ("tokens before", f"{done.tokens_before:,}"),
        ("tokens after", f"{done.tokens_after:,}"),
        ("tokens removed", f"{done.tokens_removed:,}"),
        ("messages before", f"{done.messages_before:,}"),
        ("messages after", f"{done.messages_after:,}"),
        ("messages removed", f"{done.messages_removed:,}"),
        ("log numbers", ranges),
        (
            "facts kept",
            f"{percent(done.retention)} by weight" if done.retention is not None else "not measured",
        ),
        ("took", duration(done.duration_s)),
        ("request", f"{done.input_tokens:,} in, {done.output_tokens:,} out"),
        ("cost", cost(done.cost_usd) if done.cost_usd is not None else "not known"),
        ("checkpoint", one_line(done.checkpoint_path, 400)),
        ("full history", one_line(done.history_path, 400)),
    ]
    return "\n".join(f"{name:<18}{value}" for name, value in known if value)


# Other words for a summary that stands: its text, and what to do with it.

_ABOUT = (
    "The model reads this text from the next request on. It is checked like any summary: secrets are "
    "masked, lines not in the log are marked."
)
_WAYS = (
    ("Save", "used from the next request on; the old text is kept"),
    ("Original", "put the original text into the editor"),
    ("Discard", "nothing changes"),
)


class SummaryEditor(Dialog[str]):
    """Dismisses with the new text, or ``None`` where nothing is to change."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/summary_editor.tcss"]
    BINDINGS = place_bindings("summary")
    HINTS = place_hints("summary")

    def __init__(self, text: str, *, original: str) -> None:
        """Edit a summary.

        Args:
            text: Its words now.
            original: The words it was written with.
        """
        super().__init__()
        self._shown, self._original = clean(text), clean(original)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -full"):
            yield self.heading("Edit the summary")
            yield Static(Content(_ABOUT), classes="dialog-note", markup=False)
            yield WrittenArea(self._shown, compact=True, id="summary-text")
            options = [Option(way_row(way, what, 10)) for way, what in _WAYS]
            yield MarkedList(*options, id="summary-ways", compact=True, markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        self.set_focus(self._area)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        match event.option_index:
            case 0:
                self.dismiss(self._area.text if self._changed else None)
            case 1:
                # As an edit, so that it can be undone like one.
                self._area.replace(self._original, (0, 0), self._area.document.end)
                self._ways.highlighted = 0
                self.set_focus(self._area)
                self.key_row.said = "ctrl+z brings your words back"
            case _:
                self._discard()

    @on(TextArea.Changed)
    def _edited(self, event: TextArea.Changed) -> None:
        """Remove the note on the original words once they are edited."""
        event.stop()
        if self._area.text != self._original:
            self.key_row.said = ""

    def action_other(self) -> None:
        # At once: the next key may be there already.
        self.set_focus(self._ways if self.focused is self._area else self._area)

    def action_close(self) -> None:
        """One step back: from the text to the ways; then nothing is changed."""
        if self.focused is self._area and self._changed:
            self.set_focus(self._ways)
        else:
            self._discard()

    @property
    def _area(self) -> TextArea:
        return self.query_one(TextArea)

    @property
    def _ways(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def _changed(self) -> bool:
        return self._area.text != self._shown

    def _discard(self) -> None:
        """Close; ask first where something was edited."""
        if not self._changed:
            self.dismiss(None)
            return

        def sure(yes: bool | None) -> None:
            if yes:
                self.dismiss(None)

        question = ConfirmDialog("Discard what you have edited?", verb="Discard", keep="Keep")
        self.app.push_screen(question, sure)


INSETS, _BESIDE_FACTS = 4, 4
"""Cells at both sides of a page; beside its facts the sign of the marked row, air, and the scrollbar."""
ONE_LINE = 100
"""Cells of a row from which it says of a fact whose words it is from, and when they came."""
LOW = 20
"""Rows below which all that is said of it stands in one row, what became of it first."""


_SIDES: tuple[tuple[Literal["-", " "], str], ...] = (("-", "left"), (" ", "stayed"))
_COMPARED = (*(name for _, name in _SIDES), "diff")
"""Parts that are read off the log."""
_READING = "Reading the log …"


@frozen(kw_only=True)
class CompactionView:
    """One compaction as the screen needs it."""

    done: CompactionComplete
    seq: int
    """Its log number."""
    time: float
    """When it was applied, in seconds since the epoch."""
    undone: bool = False
    """Whether it is undone at present."""
    can_undo: bool = True
    """Whether the view may be changed now."""
    can_edit: bool = False
    """Whether the model sees the summary now, and it may have other words."""
    original: str = ""
    """The words it was written with, where it was edited since."""
    passages: Sequence[tuple[Origin, str]] = ()
    """The replacement as the model gets it, by who its passages are from; empty where that is not known."""
    diff: Callable[[], Sequence[Difference]] = tuple
    """Reads what the compaction did to the model's view; called in a thread."""
    audit: "Callable[[], Audit] | None" = None
    """Holds what another program made against the log; called in a thread. ``None`` for our own."""
    checkpoint_text: Callable[[], str] | None = None
    """Reads the checkpoint file; ``None`` when there is none."""
    scale: float = 1.0
    """Tokens as the model counts them for each counted one."""
    said: Mapping[str, str] = field(default_factory=dict)
    """Whose words the sources of its facts are and when they came, such as ``you, 12:14``."""
    read: Reader | None = None
    """Reads the messages that the lines of the replacement come from."""

    @property
    def sent(self) -> Replacement:
        """What the model gets in place of what left."""
        return Replacement(self.passages, self.done.model, summary_text(self.done))


class CompactionDetail(Dialog[Restate | EditSummary | BringBack | int]):
    """Dismisses with what is to be done, the number of a row to go to in the chat, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/compaction_detail.tcss"]
    BINDINGS = place_bindings("compaction")

    def __init__(self, view: CompactionView, *, glyphs: Glyphs = UNICODE) -> None:
        """Show a compaction.

        Args:
            view: What is known about it.
            glyphs: Signs to draw with.
        """
        super().__init__()
        self._view = view
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        view = self._view
        with Vertical(classes="dialog -full"):
            yield self.heading(self._head).add_class("-signed")
            yield Static(self._sizes, id="sizes", markup=False)
            facts = self._fact_rows() or [
                Option(Content("No facts were found." if self._view.audit is None else _READING))
            ]
            parts: dict[str, Widget] = {
                "tab-summary": SentView(view.sent, self._glyphs, view.read),
                "tab-facts": MarkedList(*facts, id="facts", compact=True),
                **{f"tab-{name}": reading_area(_READING, id=name, rows=True) for name in _COMPARED},
                "tab-numbers": reading_area(number_lines(view.done), rows=True),
            }
            if view.audit is not None:
                parts[AUDIT] = reading_area(_READING, id="audit", rows=True)
            yield PartTabs(*(TabPane("", part, id=pane) for pane, part in parts.items()), names=NAMES)
            yield self.hints()

    def on_mount(self) -> None:
        self.query_one(SentText).focus()
        self._name_keys()
        facts = sum(fact.kind != "detail" for fact in self._view.done.facts)
        self.query_one(PartTabs).count("tab-facts", facts or "")
        self.run_worker(self._compare(), group="diff", exclusive=True, exit_on_error=False)
        if self._view.audit is not None:
            self.run_worker(self._audit(self._view.audit), group="audit", exclusive=True, exit_on_error=False)

    @on(SentView.Changed)
    def _name_keys(self) -> None:
        """Name the keys that act now."""
        acts = {
            "u": not self._refused(undone=True),
            "r": not self._refused(undone=False),
            "e": self._view.can_edit,
            "d": self._drops,
            "c": self._view.checkpoint_text is not None,
            "left/right": self.app.size.width >= SLIM,
        }
        hints = [hint for hint in place_hints("compaction") if acts.get(hint.label, True)]
        self.query_one(SentView).hints(self.key_row, hints, "in the chat")

    on_descendant_focus = on_descendant_blur = _name_keys

    @on(SentView.Wanted)
    def _go_to(self, event: SentView.Wanted) -> None:
        self.dismiss(event.entry.seq)

    def _fact_rows(self) -> list[Option]:
        done, back = self._view.done, "enter brings it back" if self._view.can_edit else ""
        width = self.app.size.width - INSETS - _BESIDE_FACTS
        said = self._view.said
        return fact_options(done.facts, self._glyphs, done.history_path, back, width=width, said=said)

    @property
    def _head(self) -> Content:
        width = self.app.size.width - INSETS
        return headline(self._view.done, self._view.time, self._glyphs, width)

    @property
    def _sizes(self) -> Content:
        view, low = self._view, self.app.size.height < LOW
        edited = bool(view.original)
        said = sizes(view.done, self._glyphs, view.undone, gap="\n", edited=edited, numbers_last=low)
        rows = [""]
        for part in said.split("\n"):
            row = f"{rows[-1]}   {part}".lstrip()
            if low or cell_len(row) <= self.app.size.width - INSETS - 2:
                rows[-1] = row
            else:
                rows.append(part)
        told = figures("\n".join(rows))
        marked = re.search(r"\d[\d,]*(?= not in the log)", told.plain)
        return told.stylize("$text-warning", *marked.span()) if marked else told

    def on_resize(self) -> None:
        """Write head and figures for the new width, and line up the facts; the mark stays where it is."""
        self.query_one(".dialog-title", Static).update(self._head)
        self.query_one("#sizes", Static).update(self._sizes)
        if self._view.audit is None and self._view.done.facts:
            facts = self.query_one("#facts", OptionList)
            at = facts.highlighted
            facts.set_options(self._fact_rows())
            facts.highlighted = at

    async def _audit(self, read: "Callable[[], Audit]") -> None:
        """Hold it against what it replaced, in a thread: that reads the session's whole log."""
        (found,) = (await asyncio.to_thread(read)).compactions
        self._list("#audit", "\n".join(compaction_lines(found.to_json())))
        lines = fact_options(found.facts, self._glyphs, width=self.app.size.width - INSETS - _BESIDE_FACTS)
        self.query_one("#facts", OptionList).set_options(lines or [Option("No facts were found.")])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Edit what the model sees; show the checkpoint where there is one."""
        if action == "edit":
            return self._view.can_edit
        if action == "check":
            return bool(self.query_one(SentText).progress)
        if action == "drop":
            return self._drops
        if action == "checkpoint":
            return self._view.checkpoint_text is not None
        return super().check_action(action, parameters)

    async def _compare(self) -> None:
        """Compare the views in a thread: that reads the session's whole log."""
        lines, scale = await asyncio.to_thread(self._view.diff), self._view.scale
        for sign, name in _SIDES:
            self.query_one(PartTabs).count(f"tab-{name}", sum(line.sign == sign for line in lines))
            self._list(f"#{name}", message_lines(lines, sign, scale))
        self._list("#diff", diff_lines(lines, self._view.done.summary, scale) or "Nothing.")

    def _list(self, selector: str, text: str) -> None:
        area = self.query_one(selector, TextArea)
        area.soft_wrap = False
        area.text = readable(text)

    def action_tab(self, step: int) -> None:
        tabs = self.query_one(PartTabs)
        tabs.turn(step)
        # At once: focus that comes late would be in a part that was left meanwhile, and bring it back.
        self.set_focus(tabs.active.query("TextArea, OptionList, LongText").first())

    def action_check(self) -> None:
        """Go to the next line that is to be checked; behind the last one to the first."""
        while self.query_one(PartTabs).active.id != "tab-summary":
            self.action_tab(1)
        self.query_one(SentText).action_check()

    def action_close(self) -> None:
        """One step back: from a message to the lines; then nothing changes."""
        if not self.query_one(SentView).close():
            self.dismiss(None)

    def action_undo(self) -> None:
        self._restate(undo=True)

    def action_redo(self) -> None:
        self._restate(undo=False)

    def _restate(self, *, undo: bool) -> None:
        if refused := self._refused(undone=undo):
            self.key_row.said = refused
        else:
            self.dismiss(Restate(undo, self._view.seq))

    def _refused(self, *, undone: bool) -> str:
        """Why the compaction cannot be undone, or else redone; empty where it can."""
        if self._view.done.outcome != "success":
            return "it changed nothing"
        if self._view.undone is undone:
            return "it is undone already" if undone else "it is applied already"
        return "" if self._view.can_undo else "only the newest one, and not in a read-only session"

    def action_edit(self) -> None:
        done, original = self._view.done, self._view.original

        def edited(text: str | None) -> None:
            if text is not None:
                self.dismiss(EditSummary(self._view.seq, text))

        self.app.push_screen(SummaryEditor(done.summary, original=original or done.summary), edited)

    @property
    def _drops(self) -> bool:
        return self._view.can_edit and self._without_marked != self._view.done.summary

    @property
    def _without_marked(self) -> str:
        """The notes without the line that is marked."""
        line, notes = self.query_one(SentText).marked, self._view.done.summary
        return line.dropped_from(notes) if line else notes

    def action_drop(self) -> None:
        self.dismiss(EditSummary(self._view.seq, self._without_marked))

    @on(OptionList.OptionSelected, "#facts")
    def _bring_back(self, event: OptionList.OptionSelected) -> None:
        """Ask for a fact back that the summary does not hold."""
        event.stop()
        facts = ranked(self._view.done.facts)
        if not self._view.can_edit or not facts or event.option_id is None:
            return
        fact = facts[int(event.option_id)]
        if fact.state != "kept":
            self.dismiss(BringBack(self._view.seq, fact.text))

    def action_checkpoint(self) -> None:
        if self._view.checkpoint_text is not None:
            self.app.push_screen(DetailsScreen(self._view.done.checkpoint_path, self._view.checkpoint_text()))
