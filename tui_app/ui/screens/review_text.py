"""The words of a review: what would leave and stay, at what price, and which facts are at risk."""

from collections.abc import Iterable

from textual.content import Content

from tui_app.events import CompactionProgress, CompactionProposed, Fact
from tui_app.ui.format import cost, count, percent, tokens
from tui_app.ui.glyphs import Glyphs
from tui_app.ui.safe_text import clean, one_line
from tui_app.ui.screens.compaction_text import COLOURS

CANNOT = "It cannot be applied like this"


def progress_line(progress: CompactionProgress, glyphs: Glyphs) -> str:
    """``part 1 of 2, 840 tokens so far · claude-sonnet-5``."""
    of = f"part {progress.part} of {progress.parts}, " if progress.parts > 1 else ""
    by = f" {glyphs.separator} {progress.model}" if progress.model else ""
    return clean(f"{of}{count(progress.tokens_written, 'token')} so far{by}")


def numbers_line(proposed: CompactionProposed, glyphs: Glyphs) -> str:
    """``203 messages leave, 9 stay · 3 results are in files · 91.5k → about 6.2k tokens · $0.004``."""
    leave, stay = proposed.messages_leave, proposed.messages_stay
    parts = [f"{count(leave, 'message')} {_verb(leave, 'leave')}, {stay:,} {_verb(stay, 'stay')}"]
    if proposed.in_files:
        where = "is in a file" if proposed.in_files == 1 else "are in files"
        parts.append(f"{proposed.in_files} of their results {where}")
    parts.append(
        f"{tokens(proposed.tokens_before)} {glyphs.arrow} about {tokens(proposed.tokens_after)} tokens"
    )
    if proposed.cost_usd is not None:
        parts.append(cost(proposed.cost_usd))
    return f" {glyphs.separator} ".join(parts)


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb


def facts_line(proposed: CompactionProposed, glyphs: Glyphs) -> str:
    """``Facts: 98 % kept by weight · 7 recoverable · 1 lost``; empty where none were found."""
    if proposed.retention is None:
        return ""
    parts = [f"Facts: {percent(proposed.retention)} kept by weight"]
    for state in ("recoverable", "lost"):
        number = sum(fact.state == state for fact in proposed.facts)
        parts.extend([f"{number} {state}"] if number else [])
    if len(parts) > 1:
        parts.append("enter keeps one")
    return f" {glyphs.separator} ".join(parts)


def at_risk(facts: Iterable[Fact]) -> list[Fact]:
    """Facts that the summary does not hold: lost ones first, weightier ones first."""
    missing = [fact for fact in facts if fact.state != "kept"]
    return sorted(missing, key=lambda fact: (fact.state != "lost", -fact.weight))


def risk_row(fact: Fact, glyphs: Glyphs, *, kept: bool) -> Content:
    """One fact at risk, or that it stands in the text by now."""
    state = "kept" if kept else fact.state
    signs = {"kept": glyphs.check, "recoverable": glyphs.recoverable, "lost": glyphs.cross}
    return Content.assemble(
        (f"{signs[state]} {state:<12}", COLOURS[state]),
        (f"{fact.kind:<9} ", "$text-muted"),
        one_line(fact.text, 300),
        (f"  {one_line(fact.source, 30)}".rstrip(), "$text-muted"),
    )


def verbatim(fact: Fact) -> str:
    """The line of a summary that holds a fact word for word, with where it comes from."""
    return f"- {fact.text} ({fact.source})" if fact.source else f"- {fact.text}"


def problem_line(proposed: CompactionProposed) -> str:
    """Why it cannot be applied; empty where it can."""
    return f"{CANNOT}: {one_line(proposed.problem, 200)}." if proposed.problem else ""
