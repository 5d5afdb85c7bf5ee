"""Wording of a compaction: its result, facts, messages and numbers, as rows."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import PurePath
from types import MappingProxyType
from typing import Literal

from rich.cells import cell_len
from textual.content import Content
from textual.widgets.option_list import Option

from tui_app.events import CompactionComplete, Fact, FactState, answers_text, fact_counts, lines_text
from tui_app.session.figures.compaction_diff import Difference
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import (
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

_COLOURS: dict[FactState, str] = {
    "kept": "$text-muted",
    "recoverable": "$text-warning",
    "lost": "$text-error",
}
STATES: dict[FactState, str] = {"kept": "kept", "recoverable": "at risk", "lost": "lost"}
SIGNS: dict[FactState, str] = {
    "kept": UNICODE.check,
    "recoverable": UNICODE.recoverable,
    "lost": UNICODE.cross,
}
ORDER: tuple[FactState, ...] = ("lost", "recoverable", "kept")
"""The order of facts by state: what needs attention comes first."""
LEAST_TITLE = 20
"""Minimum width of a title in cells."""
REASON_CELLS = 320
"""Cells of a reason shown in the head, a few rows of a usual terminal; a longer one is shown below."""
_CONTEXT = 3
"""Number of kept messages shown on each side of a change."""


def headline(done: CompactionComplete, time: float, width: int) -> Content:
    """Return ``⊖ Sunday import: holidays open      12:31 · background · gpt-5-mini · 4 s · $0.004``."""
    title = "Conversation compacted" if done.outcome == "success" else f"Compaction {done.outcome}"
    facts = [clock(time), done.trigger.replace("_", " "), one_line(done.model, 40), duration(done.duration_s)]
    if done.cost_usd is not None:
        facts.append(cost(done.cost_usd))
    rest = " · ".join(filter(None, facts))
    if done.title and done.outcome == "success":
        title = done.title
    title = one_line(title, max(LEAST_TITLE, width - cell_len(rest) - 4))
    gap = " " * max(2, width - cell_len(title) - cell_len(rest) - 2)
    return Content.assemble(
        (f"{UNICODE.load_line} ", "$text-accent"), (title, "bold"), (gap + rest, "not bold $text-muted")
    )


def sizes(done: CompactionComplete, undone: bool, *, edited: bool = False, low: bool = False) -> list[str]:
    """Word tokens and messages before and after, and the facts; or why nothing changed.

    With ``edited`` the summary has been changed since; ``low`` is for a single row that may be cut, with its
    numbers last.
    """
    if done.outcome != "success":
        return [f"{one_line(done.reason, 200 if low else REASON_CELLS)} Nothing changed.".strip()]
    size = f"{tokens(done.tokens_before)} → {tokens(done.tokens_after)} tokens"
    parts = [f"{size}   {done.messages_before:,} → {count(done.messages_after, 'message')}"]
    if done.facts:
        counts = fact_counts(fact for fact in done.facts if fact.kind != "detail")
        sums = [f"{counts['kept'] + counts['put_back']:,} of {count(sum(counts.values()), 'fact')}"]
        sums += [f"{counts[name]:,} {name.replace('_', ' ')}" for name in ("at_risk", "lost") if counts[name]]
        parts.append(" · ".join(sums))
    parts += answers_text(done.questions, done.unanswered, done.misread)
    parts += lines_text(done.lines, done.lines_sourced, done.claims_marked)
    if done.calls_not_understood:
        parts.append(f"{count(done.calls_not_understood, 'call')} not understood")
    if done.files_restored:
        parts.append(f"{count(len(done.files_restored), 'file')} re-attached")
    if edited:
        parts.append("edited since")
    if undone:
        parts.append("undone: the full history is back")
    return parts[::-1] if low else parts


def tone_of(fact: Fact, state: FactState) -> str:
    """Return the colour of a fact's state: only problems have one, and missing details are not a problem."""
    return "$text-muted" if fact.kind == "detail" else _COLOURS[state]


def where(fact: Fact, history: str = "") -> str:
    """Return where a fact that was not kept can be found, other than in the log."""
    return f"conversation_history/{PurePath(history).name}" if history and fact.state == "recoverable" else ""


def fate(fact: Fact) -> str:
    """Word a fact's fate, as the heading of all facts with the same."""
    if fact.kind == "detail":
        return "Details, not counted as facts"
    if fact.state == "lost":
        return "Left out"
    if fact.state == "recoverable":
        return "Not in the summary, but still searchable"
    return "Added by Plimsoll" if fact.put_back else "In the summary"


def ranked(facts: Iterable[Fact]) -> list[Fact]:
    """Sort facts: lost ones first, then those added by Plimsoll, heavier ones first; details last."""

    def place(fact: Fact) -> tuple[bool, int, bool, float]:
        return fact.kind == "detail", ORDER.index(fact.state), not fact.put_back, -fact.weight

    return sorted(facts, key=place)


def fact_options(
    facts: Iterable[Fact],
    history: str = "",
    back: str = "",
    *,
    width: int = 80,
    said: Mapping[str, str] = MappingProxyType({}),
) -> list[Option]:
    """Return rows for all facts below headings by fate; the id of a row is its index among the ranked facts.

    Args:
        facts: Facts of the removed history.
        history: Path of the file with the removed history; empty if there is none.
        back: How to bring back a fact that was not kept.
        width: Cells of a row.
        said: Author and time of the sources, shown if there is space.
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
    source = min(source, _MOST_SOURCE) + 2 if width >= SOURCED else 0
    notes = {
        place: " · ".join(filter(None, (where(fact, history), back)))
        for place, fact in enumerate(found)
        if fact.state != "kept"
    }
    column = max(map(cell_len, notes.values()), default=-2) + 2
    if width - _FACT_CELLS - source - column < _ROOM_OF_FACT:
        column = 0
    for head, group in groupby(enumerate(found), key=lambda placed: fate(placed[1])):
        rows = list(group)
        if options:
            options.append(Option("", disabled=True))
        much = f"  {len(rows):,}"
        options.append(Option(Content.assemble((head, "bold"), (much, "$text-muted")), disabled=True))
        for place, fact in rows:
            cells = (max(_LEAST_OF_FACT, width - _FACT_CELLS - source - column), source, column)
            options.append(Option(_fact_row(fact, notes.get(place, ""), cells), id=str(place)))
    return options


SOURCED = 64
"""Cells of a row from which a fact has its source in the log."""
_FACT_CELLS, _MOST_SOURCE = 12, 22
"""Cells before the text of a fact, and maximum cells of its source."""


def _fact_row(fact: Fact, note: str, cells: tuple[int, int, int]) -> Content:
    """Return a fact in columns: sign, kind, text, source in the log, and how to bring it back.

    Args:
        fact: The fact.
        note: Where it is, and how to bring it back; empty if it is kept.
        cells: Widths of its text, its source and `note`; the last is 0 if it has no column.
    """
    room, source, column = cells
    text, place = one_line(unmarked(fact.text), 300), one_line(fact.source, _MOST_SOURCE)
    if not source:
        text = f"{text}  {place}".rstrip()
    first, *others = (text[start:stop] for start, stop, _ in wrap_spans(text, room))
    kind, sign = fact.kind, SIGNS[fact.state]
    if kind == "live" and fact.state == "kept":
        sign = UNICODE.collapsed
    row = Content.assemble(
        (f"{sign} ", tone_of(fact, fact.state)),
        (f"{'running' if kind == 'live' else kind:<9} ", "$text-muted"),
        padded(first, room) if source else first,
        (f"  {place:<{source - 2}}" if source else "", "$text-muted"),
        (f"{note:>{column}}" if column else "", "$text-muted"),
    )
    lead = " " * _FACT_CELLS
    below = [Content(f"{lead}{line}") for line in others]
    if note and not column:
        below.append(Content.styled(f"{lead}{note}", "$text-muted"))
    return Content("\n").join([row, *below])


_ROOM_OF_FACT, _LEAST_OF_FACT = 24, 12
"""Minimum cells of a fact's text next to `note`, and without it."""


_MARKED = re.compile(r"(?<![\w`*])(\*\*|`)(?=[^\s`*])(.+?)(?<=[^\s`*])\1(?![\w`*])")


def unmarked(text: str) -> str:
    """Return a line of Markdown without markup for bold text and code."""
    return _MARKED.sub(r"\2", text)


def message_lines(
    lines: Iterable[Difference], sign: Literal["-", " "], scale: float = 1.0, width: int = 300
) -> str:
    """Return the removed or kept messages, one per line, with their size for the model.

    Args:
        lines: Removed, added and kept messages.
        sign: ``-`` for removed messages, a space for kept ones.
        scale: Model tokens per locally counted token.
        width: Cells of a row.
    """
    rows = [_message_row(line, scale, width) for line in lines if line.sign == sign]
    if not rows:
        return "Nothing."
    where = "removed from the model's view; the log keeps all." if sign == "-" else "kept as before."
    return "\n".join([f"{count(len(rows), 'message')} {where}", "", *rows])


def _message_row(line: Difference, scale: float, width: int) -> str:
    head = line.head
    size, whole = (round(each * scale) for each in (sum(head.tokens.values()), line.full))
    full = f"  ({tokens(whole)} in full)" if whole > size else ""
    kind = "summary" if head.type == CompactionComplete.TYPE else head.type.partition(".")[0]
    number = f"{'#' + str(head.seq):>7}  {clock(head.time):<5}  {_KINDS.get(kind, kind):<10}"
    row = f"{number} {tokens(size) if size else '':>7}  "
    title = one_line(unmarked(line.title), max(LEAST_TITLE, width - len(row) - len(full)))
    return f"{row}{title}{full}".rstrip()


_KINDS = {"assistant": "answer"}


def diff_lines(lines: Iterable[Difference], summary: str, scale: float = 1.0, width: int = 300) -> str:
    """Return the difference of the view, one message per line, with long unchanged runs counted.

    Args:
        lines: Removed (``-``), added (``+``) and kept messages.
        summary: Text of the summary, shown where it was added.
        scale: Model tokens per locally counted token.
        width: Cells of a row.
    """
    written = [unmarked(part) for part in summary.splitlines()]
    wrapped = [part[start:stop] for part in written for start, stop, _ in wrap_spans(part, max(8, width - 4))]
    rows: list[str] = []
    for sign, group in groupby(lines, key=lambda line: line.sign):
        run: list[str] = []
        for line in group:
            run.append(f"{line.sign} {_message_row(line, scale, width - 2)}")
            if line.sign == "+" and line.head.type == CompactionComplete.TYPE:
                run[-1] = "\n".join([run[-1], *(f"+   {part}" for part in wrapped)])
        if sign == " " and len(run) > 2 * _CONTEXT + 1:
            left_out = f"  … {len(run) - 2 * _CONTEXT:,} messages kept as they were"
            run = [*run[:_CONTEXT], left_out, *run[-_CONTEXT:]]
        rows.extend(run)
    return "\n".join(rows)


def summary_text(done: CompactionComplete) -> str:
    """Return the complete summary, or why there is none."""
    if done.summary:
        return done.summary
    reason = _whole(done.reason)
    why = f"\n\n{reason}" if len(reason) > REASON_CELLS // 2 else ""
    return f"No summary was written.{why}{refused_text(done)}"


def refused_text(done: CompactionComplete) -> str:
    return f"\n\nRefused notes:\n\n{done.refused_notes}" if done.refused_notes else ""


def _whole(text: str) -> str:
    return " ".join(clean(text).split())


_COUNTED = ("tokens_before", "tokens_after", "tokens_removed", "messages_before", "messages_after")


def number_lines(done: CompactionComplete) -> str:
    """Return every number of the event, one per line."""
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
        ("requested by the model", one_line(done.asked, 200)),
        ("focus", one_line(done.focus, 200)),
        ("instructions", one_line(done.instructions, 400)),
        *((name.replace("_", " "), f"{getattr(done, name):,}") for name in _COUNTED),
        ("messages removed", f"{done.messages_left or done.messages_removed:,}"),
        ("log numbers", ranges),
        ("facts kept", "not measured" if done.retention is None else f"{percent(done.retention)} by weight"),
        ("questions", ", ".join(answers_text(done.questions, done.unanswered, done.misread))),
        ("not answered", one_line("; ".join(done.unanswered), 600)),
        ("not by the model", one_line("; ".join(done.misread or ()), 600)),
        ("took", duration(done.duration_s)),
        ("request", f"{done.input_tokens:,} in, {done.output_tokens:,} out"),
        ("cost", cost(done.cost_usd) if done.cost_usd is not None else "not known"),
        ("checkpoint", one_line(done.checkpoint_path, 400)),
        ("full history", one_line(done.history_path, 400)),
    ]
    rows = "\n".join(f"{name:<18}{value}" for name, value in known if value)
    return f"{rows}{refused_text(done) if done.summary else ''}"


ONE_LINE = 100
"""Cells of a row from which a fact has the author and time of its source."""


_FIGURE = re.compile(r"(?<![\w.])(?<!\w-)(~?\$?\d[\d,.]*[kM%]?(?: (?:→|->|of) \d[\d,.]*[kM]?)*)")
"""A number with its unit; those within a name, such as that of a model, are none."""


def figures(text: str, figure: re.Pattern[str] = _FIGURE) -> Content:
    """Highlight the figures of a row, or whatever else a pattern's group matches."""
    parts = enumerate(figure.split(text))
    return Content.assemble(*((part, "$foreground" if at % 2 else "$text-muted") for at, part in parts))
