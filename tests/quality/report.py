"""The report as text: tables of numbers, with nothing of the sessions in it."""

from collections.abc import Iterable, Mapping, Sequence

from tests.quality.contexts import MASKED, PRODUCT
from tests.quality.measuring import Measured
from tests.quality.scores import Scores, average

COLUMNS = {
    "size": "size",
    "written": "written",
    "files": "files needed",
    "identifiers": "identifiers needed",
    "hard": "hard",
    "density": "density",
    "touched": "files touched",
    "verbs": "right verb",
    "false_claims": "false claims",
    "rules": "rules verbatim",
    "first": "first request",
    "latest": "latest request",
    "corrections": "corrections",
    "open_errors": "open errors",
    "solved_listed": "solved listed",
    "invented": "invented",
}
_FINE = frozenset(("size", "written"))
"""Columns whose aims are so small that two digits would hide a miss."""
_CHAIN = ("size", "written", "touched", "verbs", "false_claims", "rules", "first", "latest", "open_errors")


def render(measured: Measured, *, window: int, command: str) -> str:
    """The whole report as Markdown."""
    real = sum(case.real for case, _, _ in measured.cases)
    count = len(measured.cases)
    blocks = [
        f"`{command}`",
        f"{count} histories, {real} of them cut where another product really compacted, the others where "
        "the\nwindow would be full. Means over the histories in which a column has an object.",
        f"### What is sent in a window of {window:,} tokens",
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


def _budgets(measured: Measured) -> Iterable[str]:
    for budget, rows in measured.budgets.items():
        yield f"### The same {budget:,} tokens spent in different ways"
        yield _table("kept context", rows.items(), tuple(COLUMNS))
        yield _too_large(measured.clipped[budget])


def _too_large(clipped: Mapping[str, Sequence[bool]]) -> str:
    """Which contexts were larger than the budget, and what is left of those."""
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
    """Some digits behind the point; a dash where there is no object."""
    return "-" if value is None else f"{value:.{digits}f}"


def _speed(measured: Measured) -> str:
    times = ", ".join(f"{seconds:.1f} s for {size:,} tokens" for size, seconds in measured.seconds.items())
    same = sum(measured.same_bytes)
    return f"Summary and facts: {times}. The same bytes twice: {same} of {len(measured.same_bytes)}."


def _cases(measured: Measured) -> str:
    """One row a history, without its name: what the sessions are about is nobody's business."""
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
