"""The words of the compaction detail: pure functions from the event to rows."""

from collections import Counter
from collections.abc import Iterable
from datetime import tzinfo
from itertools import groupby
from pathlib import PurePath
from typing import Literal

from textual.content import Content

from tui_app.events import CompactionComplete, Fact, FactState
from tui_app.session.agent_view import Difference
from tui_app.session.event_heads import Head
from tui_app.ui.format import clock, cost, count, duration, percent, tokens
from tui_app.ui.glyphs import Glyphs
from tui_app.ui.safe_text import clean, one_line

COLOURS: dict[FactState, str] = {
    "kept": "$text-success",
    "recoverable": "$text-warning",
    "lost": "$text-error",
}
ORDER: tuple[FactState, ...] = ("lost", "recoverable", "kept")
"""What needs attention comes first."""
REASON_CELLS = 320
"""Cells of a reason that stand in the head, some rows of a usual terminal; a longer one is read below."""
_CONTEXT = 3
"""Messages that stayed and are named on each side of a change."""


def headline(done: CompactionComplete, time: float, glyphs: Glyphs, tz: tzinfo | None = None) -> Content:
    """``⊖ Conversation compacted  sunday-import · 12:31 · background · gpt-5-mini · 4 s · $0.004``."""
    title = "Conversation compacted" if done.outcome == "success" else f"Compaction {done.outcome}"
    facts = [
        one_line(done.title, 40),
        clock(time, tz),
        done.trigger.replace("_", " "),
        one_line(done.model, 40),
        duration(done.duration_s),
    ]
    if done.cost_usd is not None:
        facts.append(cost(done.cost_usd))
    rest = f" {glyphs.separator} ".join(fact for fact in facts if fact)
    return Content.assemble((f"{glyphs.load_line} ", "bold $text-accent"), (title, "bold"), f"  {rest}")


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
        counts = Counter(fact.state for fact in done.facts)
        named = f" {glyphs.separator} ".join(f"{counts[state]} {state}" for state in reversed(ORDER))
        parts.append(f"facts: {named}")
    if edited:
        parts.append("edited since")
    if undone:
        parts.append("undone: what it replaced is back")
    return gap.join(reversed(parts) if numbers_last else parts)


def where(fact: Fact, history: str = "") -> str:
    """Where a fact stands now, in words.

    Args:
        fact: With the handle of the message that it comes from.
        history: Path of the file that holds what left; empty where there is none.
    """
    source = one_line(fact.source, 30)
    match fact.state:
        case "kept":
            return f"in the summary ({source})" if source else "in the summary"
        case "recoverable":
            file = f"conversation_history/{PurePath(history).name}" if history else ""
            return " and ".join(filter(None, (f"at {source} in the log" if source else "", file)))
        case "lost":
            return f"was at {source}" if source else ""


def ranked(facts: Iterable[Fact]) -> list[Fact]:
    """Lost ones first, heavier ones first."""
    return sorted(facts, key=lambda fact: (ORDER.index(fact.state), -fact.weight))


def fact_lines(facts: Iterable[Fact], glyphs: Glyphs, history: str = "", back: str = "") -> list[Content]:
    """One row per fact: what became of it, kind, text, place; how it comes ``back`` where it is not kept."""
    signs = {"kept": glyphs.check, "recoverable": glyphs.recoverable, "lost": glyphs.cross}
    return [
        Content.assemble(
            (f"{signs[fact.state]} {fact.state:<12}", COLOURS[fact.state]),
            (f"{fact.kind:<9} ", "$text-muted"),
            one_line(fact.text, 300),
            (f"  {where(fact, history)}{back if fact.state != 'kept' else ''}".rstrip(), "$text-muted"),
        )
        for fact in ranked(facts)
    ]


def message_lines(
    lines: Iterable[Difference], sign: Literal["-", " "], tz: tzinfo | None = None, scale: float = 1.0
) -> str:
    """The messages that left or stayed, one a line, with the size that the model had of each.

    Args:
        lines: What left, came and stayed.
        sign: ``-`` for what left, a space for what stayed.
        tz: Time zone of the clock; ``None`` for that of the machine.
        scale: Tokens as the model counts them for each counted one.
    """
    rows = [_message_row(line, tz, scale) for line in lines if line.sign == sign]
    if not rows:
        return "Nothing."
    where = "left the model's view; the log keeps all." if sign == "-" else "stayed as before."
    return "\n".join([f"{count(len(rows), 'message')} {where}", "", *rows])


def _message_row(line: Difference, tz: tzinfo | None, scale: float) -> str:
    head = line.head
    size, whole = (round(each * scale) for each in (sum(head.tokens.values()), line.full))
    full = f"  ({tokens(whole)} in full)" if whole > size else ""
    number = f"{'#' + str(head.seq):>7}  {clock(head.time, tz):<5}  {_kind(head):<10}"
    return f"{number} {tokens(size) if size else '':>7}  {one_line(line.title, 300)}{full}".rstrip()


def _kind(head: Head) -> str:
    return "summary" if head.type == CompactionComplete.TYPE else head.type.partition(".")[0]


def diff_lines(
    lines: Iterable[Difference], summary: str, tz: tzinfo | None = None, scale: float = 1.0
) -> str:
    """The view before and after, one message a line: ``-`` left, ``+`` came; long runs of others are counted.

    Args:
        lines: What left, came and stayed.
        summary: Text of the summary, shown where it came in.
        tz: Time zone of the clock; ``None`` for that of the machine.
        scale: Tokens as the model counts them for each counted one.
    """
    rows: list[str] = []
    for sign, group in groupby(lines, key=lambda line: line.sign):
        run = [_diff_row(line, summary, tz, scale) for line in group]
        if sign == " " and len(run) > 2 * _CONTEXT + 1:
            left_out = f"  … {len(run) - 2 * _CONTEXT:,} messages stayed as they were"
            run = [*run[:_CONTEXT], left_out, *run[-_CONTEXT:]]
        rows.extend(run)
    return "\n".join(rows)


def _diff_row(line: Difference, summary: str, tz: tzinfo | None, scale: float) -> str:
    row = f"{line.sign} {_message_row(line, tz, scale)}"
    if line.sign == "+" and line.head.type == CompactionComplete.TYPE:
        return "\n".join([row, *(f"+   {part}" for part in summary.splitlines())])
    return row


def summary_text(done: CompactionComplete) -> str:
    """What is read first: the summary, or why there is none, as long as that may be."""
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
        ("focus", one_line(done.focus, 200)),
        ("instructions", one_line(done.instructions, 400)),
        ("tokens before", f"{done.tokens_before:,}"),
        ("tokens after", f"{done.tokens_after:,}"),
        ("tokens removed", f"{done.tokens_removed:,}"),
        ("messages before", f"{done.messages_before:,}"),
        ("messages after", f"{done.messages_after:,}"),
        ("messages fewer", f"{done.messages_removed:,}"),
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
