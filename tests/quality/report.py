"""The report: all measurements of all cases as tables of numbers, which reveal nothing of the sessions."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from pydantic_ai.messages import ModelMessage

from tests.quality.cases import Case
from tests.quality.chains import chained, played
from tests.quality.contexts import (
    MASKED,
    PRODUCT,
    Context,
    head_and_tail,
    ledger,
    masked,
    masked_within,
    product,
    product_within,
    raw_tail,
    what_cannot_leave,
)
from tests.quality.governed import COMPACTION_ALONE, Governed, bare_summary, context_of
from tests.quality.scores import Scores, average, invented, score, wrong_claims
from tests.quality.truth import Truth, truth_of
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.ledger.facts import session_facts
from tui_app.context.policy import PLIMSOLL
from tui_app.context.views.view import Item
from tui_app.context.windows.window_limits import ContextTooLarge

# Measurements of all cases.


PLAYED = {"default policy": PLIMSOLL, "compaction alone": COMPACTION_ALONE}
CHAINS = (1, 2, 3, 5)
OURS_UNASKED = "ours, before anybody asks for a compaction"
OURS_ALONE = "compaction alone, no old outputs hidden first"
OURS_LONG = "ours, where the history is at least two windows long"
LONG = 600_000
"""Tokens of the session used to measure speed."""


@dataclass(slots=True)
class Measured:
    """All data of the report. Keys are names of contexts, in order of first use."""

    window: dict[str, list[Scores]] = field(default_factory=dict)
    budgets: dict[int, dict[str, list[Scores]]] = field(default_factory=dict)
    clipped: dict[int, dict[str, list[bool]]] = field(default_factory=dict)
    """By budget and context: whether each history's context was too large and clipped."""
    chains: dict[int, list[Scores]] = field(default_factory=dict)
    played: dict[str, list[Scores]] = field(default_factory=dict)
    cases: list[tuple[Case, float, Scores]] = field(default_factory=list)
    """Each case with the share of it that cannot be removed, and the scores of our result."""
    complaints: list[str] = field(default_factory=list)
    """Our false claims and inventions, verbatim. Print them only on the terminal, never in a committed
    report.
    """
    same_bytes: list[bool] = field(default_factory=list)
    seconds: dict[int, float] = field(default_factory=dict)
    """Seconds of one compaction, by size of the history in tokens."""
    refused: Counter[str] = field(default_factory=Counter)
    """Requests that cannot fit even with everything removable left out, by the table that lacks them."""


async def measure(case: Case, into: Measured, window: int, budgets: Sequence[int], text: TextCounter) -> None:
    truth = truth_of(case)
    governed = Governed(text, window)
    try:
        ours = context_of(await governed.compacted(case.before), governed)
    except ContextTooLarge:
        into.refused["histories"] += 1  # nothing is sent, so there is nothing to score
        return
    again = Governed(text, window)
    into.same_bytes.append(context_of(await again.compacted(case.before), again).text == ours.text)
    size = ours.tokens
    unasked, alone = Governed(text, window), Governed(text, window, COMPACTION_ALONE)
    contexts = [
        ours,
        context_of(await unasked.send(case.before), unasked, OURS_UNASKED),
        context_of(await alone.compacted(case.before), alone, OURS_ALONE),
        raw_tail(case.before, size, text.count, "raw tail of the same size"),
        head_and_tail(case.before, size, text.count),
        masked(case.before, text.count),
        ledger(case.before, ours.written_tokens, text.count),
    ]
    if case.product:
        contexts.append(product(case.product, case.product_tail, text.count))
    for context in contexts:
        scores = score(context, truth, case.tokens, text.count)
        into.window.setdefault(context.name, []).append(scores)
        if context is ours:
            stays = governed.size(what_cannot_leave(case.before)) / case.tokens
            into.cases.append((case, stays, scores))
            if case.tokens >= 2 * window:
                into.window.setdefault(OURS_LONG, []).append(scores)
    _complain(into, case, ours, truth)
    _at_budgets(case, truth, into, budgets, text)
    for times in CHAINS:
        kept = await chained(case.before, times, window, text)
        into.refused["requests in chains"] += kept.refused
        into.chains.setdefault(times, []).append(score(kept, truth, case.tokens, text.count))
    for name, policy in PLAYED.items():
        kept = await played(case.before, window, text, policy)
        into.refused["requests as played"] += kept.refused
        into.played.setdefault(name, []).append(score(kept, truth, case.tokens, text.count))


def _at_budgets(case: Case, truth: Truth, into: Measured, budgets: Sequence[int], text: TextCounter) -> None:
    """Compare the written part with other uses of the same number of tokens."""
    for budget in budgets:
        rows = into.budgets.setdefault(budget, {})
        contexts = [
            bare_summary(case.before, budget, text),
            raw_tail(case.before, budget, text.count),
            head_and_tail(case.before, budget, text.count),
            masked_within(case.before, budget, text.count),
            ledger(case.before, budget, text.count),
        ]
        if case.product:
            contexts.append(product_within(case.product, budget, text.count))
        for context in contexts:
            rows.setdefault(context.name, []).append(score(context, truth, case.tokens, text.count))
            too_large = into.clipped.setdefault(budget, {})
            too_large.setdefault(context.name, []).append(context.clipped)


def _complain(into: Measured, case: Case, ours: Context, truth: Truth) -> None:
    into.complaints += [f"{case.name}: false claim {claim}" for claim in wrong_claims(ours.written, truth)]
    into.complaints += [f"{case.name}: invented {name}" for name in invented(ours.written, truth.source)]


def time_long_sessions(cases: Sequence[Case], into: Measured, text: TextCounter, most: int = LONG) -> None:
    """Time a summary with its facts, for a session of so many tokens and for one of half that size."""
    for wanted in (most // 2, most):
        messages = _long(cases, wanted)
        items = [Item(key, message) for key, message in enumerate(messages, 1)]
        start = perf_counter()
        session_facts(items)
        bare_summary(messages, 2_000, text)
        into.seconds[wanted] = perf_counter() - start


def _long(cases: Sequence[Case], tokens: int) -> list[ModelMessage]:
    messages: list[ModelMessage] = []
    total = 0
    while cases and total < tokens:
        for case in cases:
            if total < tokens:
                messages += case.before
                total += case.tokens
    return messages


# Renders the report as tables of numbers, which reveal nothing of the sessions.


COLUMNS = {
    "size": "size",
    "written": "written",
    "files": "files needed",
    "identifiers": "identifiers needed",
    "hard": "hard",
    "lines": "lines needed",
    "density": "density",
    "touched": "files touched",
    "verbs": "right verb",
    "false_claims": "false claims",
    "rules": "rules verbatim",
    "first": "first request",
    "latest": "latest request",
    "prompts": "prompts whole",
    "corrections": "corrections",
    "open_errors": "open errors",
    "solved_listed": "solved listed",
    "invented": "invented",
}
_FINE = frozenset(("size", "written"))
"""Columns whose targets are so small that two digits would hide a miss."""
_CHAIN = ("size", "written", "touched", "verbs", "false_claims", "rules", "first", "latest", "open_errors")


def render(measured: Measured, *, window: int, command: str) -> str:
    real = sum(case.real for case, _, _ in measured.cases)
    count = len(measured.cases)
    blocks = [
        f"`{command}`",
        f"{count} histories, {real} of them cut where another product really compacted, the others where "
        "the\nwindow would be full. Means over the histories in which a column has an object.",
        f"### What is sent in a window of {window:,} tokens",
        *_refused(measured, window),
        _table("kept context", measured.window.items(), tuple(COLUMNS)),
        *_budgets(measured),
        "### Several compactions in a row",
        _table("compactions", ((str(times), rows) for times, rows in measured.chains.items()), _CHAIN),
        "### Played as it happened",
        _table("policy", measured.played.items(), tuple(COLUMNS)),
        "### Speed and repetition",
        _speed(measured),
        "### Every history",
        _cases(measured),
    ]
    return "\n\n".join(blocks) + "\n"


def _refused(measured: Measured, window: int) -> Iterable[str]:
    if told := ", ".join(f"{count} {what}" for what, count in measured.refused.items() if count):
        yield f"Refused, because larger than {window:,} tokens whatever is left out: {told}."


def _budgets(measured: Measured) -> Iterable[str]:
    for budget, rows in measured.budgets.items():
        yield f"### The same {budget:,} tokens spent in different ways"
        yield _table("kept context", rows.items(), tuple(COLUMNS))
        yield _too_large(measured.clipped[budget])


def _too_large(clipped: Mapping[str, Sequence[bool]]) -> str:
    """Contexts larger than the budget, and how much of them is left."""
    told = [
        f"{name}: {sum(clipped[name])} of {len(clipped[name])} histories ({keeps} is kept)"
        for name, keeps in ((MASKED, "the end"), (PRODUCT, "the beginning"))
        if name in clipped
    ]
    return f"Too large and clipped to the budget: {'; '.join(told)}."


def _table(head: str, rows: Iterable[tuple[str, Sequence[Scores]]], columns: Sequence[str]) -> str:
    lines = [
        f"| {head} | " + " | ".join(COLUMNS[name] for name in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for name, scores in rows:
        means = average(scores)
        lines.append(f"| {name} | " + " | ".join(_cell(column, means[column]) for column in columns) + " |")
    return "\n".join(lines)


def _cell(column: str, value: float | None) -> str:
    return number(value, 3 if column in _FINE else 2)


def number(value: float | None, digits: int = 2) -> str:
    """A number with fixed decimals; a dash if there is nothing to measure."""
    return "-" if value is None else f"{value:.{digits}f}"


def _speed(measured: Measured) -> str:
    times = ", ".join(f"{seconds:.1f} s for {size:,} tokens" for size, seconds in measured.seconds.items())
    same = sum(measured.same_bytes)
    return f"Summary and facts: {times}. The same bytes twice: {same} of {len(measured.same_bytes)}."


def _cases(measured: Measured) -> str:
    """One row per history, without its name: reports must not reveal what sessions are about."""
    columns = tuple(COLUMNS)
    lines = [
        "| history | tokens | cut | cannot leave | " + " | ".join(COLUMNS[name] for name in columns) + " |",
        "|---" * (len(columns) + 4) + "|",
    ]
    for place, (case, stays, scores) in enumerate(measured.cases, 1):
        cells = " | ".join(_cell(name, getattr(scores, name)) for name in columns)
        cut = "real" if case.real else "made"
        lines.append(f"| {place}, {case.format} | {case.tokens:,} | {cut} | {number(stays)} | {cells} |")
    return "\n".join(lines)
