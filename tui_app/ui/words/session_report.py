"""Statistics of a session in words: turns, models, cache, compactions, savings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tui_app.records import frozen
from tui_app.session.stats import SessionStats
from tui_app.session.stats_rows import ModelRow
from tui_app.ui.words.text import cost, count, duration, one_line, percent, table_lines, tokens

_MODEL_CELLS = 28

_UNKNOWN = "(unknown)"


@frozen
class Section:
    """A title with a few lines."""

    title: str
    lines: tuple[str, ...]


def sections(stats: SessionStats) -> list[Section]:
    """Return everything that has a figure, at most 76 columns wide."""
    found = [
        Section("Session", tuple(_session(stats))),
        Section("Models", tuple(_models(stats))),
        Section("Prompt cache", tuple(_cache(stats))),
        Section("Compactions", tuple(_compactions(stats))),
        Section("Digests and memory", tuple(_figures(stats.sides, "for", "times", "in", "out", "cost"))),
        Section("Tokens saved by stage", tuple(_figures(stats.stages, "stage", "times", "undone", "tokens"))),
        Section("Errors", tuple(_counted(stats.errors))),
        Section("Hooks", tuple(_counted(stats.hooks))),
    ]
    return [section for section in found if section.lines]


def _session(stats: SessionStats) -> Iterable[str]:
    failed = f", {stats.tool_failures:,} failed" if stats.tool_failures else ""
    calls = count(stats.tool_calls, "tool call")
    yield f"{count(stats.turns, 'turn')}, {count(stats.requests, 'request')}, {calls}{failed}"
    if stats.sub_agents:
        yield count(stats.sub_agents, "sub-agent")
    if stats.unpriced and not stats.cost_usd:
        yield "cost unknown"
        return
    answers = sum(row.unpriced for row in stats.models)
    rest = stats.unpriced - answers
    unknown = f", {count(answers, 'answer')} of unknown price" if answers else ""
    unknown += f", {count(rest, 'other request')} of unknown price" if rest else ""
    others = " and ".join(("summaries", *(row.purpose for row in stats.sides)))
    yield f"{cost(stats.cost_usd)} with {others}{unknown}"


def _models(stats: SessionStats) -> Iterable[str]:
    yield from _figures(stats.models, "model", "answers", "in", "cached", "out", "cost")
    # Models without a known price, and what the user can do about it.
    for model, requests in stats.unpriced_models.items():
        name = one_line(model, _MODEL_CELLS) or _UNKNOWN
        yield f"{count(requests, 'request')} to {name} came without a price: not counted"
    if stats.unpriced_models:
        yield "for your own server, set price_in and price_out in its endpoint"


def _cache(stats: SessionStats) -> Iterable[str]:
    if stats.prefix_kept is not None and stats.prefix_kept_min is not None:
        least = f" (lowest {percent(stats.prefix_kept_min)})" if stats.prefix_breaks else ""
        yield f"{percent(stats.prefix_kept)} of each request was already sent before{least}"
        yield f"{count(stats.prefix_breaks, 'request')} could not reuse the cache"
    if stats.cache_share:
        yield f"providers read {percent(stats.cache_share)} of the input from their caches"
    read = sum(row.cache_read_tokens for row in stats.models)
    if written := sum(row.cache_write_tokens for row in stats.models):
        yield f"{tokens(read)} tokens were read from them, {tokens(written)} written into them"


def _compactions(stats: SessionStats) -> Iterable[str]:
    undone = ["undone"] if any(row.undone for row in stats.compactions) else []
    names = ("trigger", "outcome", "times", *undone, "removed", "time", "cost")
    yield from _figures(stats.compactions, *names, left=2)
    if stats.retention is not None and stats.retention_min is not None:
        mean, least = percent(stats.retention), percent(stats.retention_min)
        yield f"facts kept (weighted): {mean} average, {least} minimum"


def _counted(counts: Mapping[str, int]) -> Iterable[str]:
    return _table([(_word(name), f"{number:,}") for name, number in counts.items()])


def _word(name: str) -> str:
    """Return a name from the log, which another version may have written."""
    return one_line(name, _MODEL_CELLS).replace("_", " ")


_CELLS: Mapping[str, Callable[[Any], str]] = {
    "model": lambda row: one_line(row.model, _MODEL_CELLS) or _UNKNOWN,
    "answers": lambda row: f"{row.answers:,}",
    "trigger": lambda row: _word(row.trigger),
    "outcome": lambda row: _word(row.outcome),
    "for": lambda row: row.purpose,
    "stage": lambda row: row.stage,
    "times": lambda row: f"{row.count:,}",
    "undone": lambda row: f"{row.undone:,}" if row.undone else "",
    "in": lambda row: tokens(row.input_tokens) if row.input_tokens or not row.output_tokens else "?",
    "cached": lambda row: tokens(row.cache_read_tokens),
    "out": lambda row: tokens(row.output_tokens),
    "removed": lambda row: tokens(row.tokens_removed),
    "tokens": lambda row: tokens(row.tokens_removed),
    "time": lambda row: duration(row.duration_s),
    "cost": lambda row: (
        cost(row.cost_usd)
        if row.unpriced < (row.answers if isinstance(row, ModelRow) else row.count)
        else "?"
    ),
}
"""The columns: how each is written in a row."""


def _figures(rows: Sequence[object], *names: str, left: int = 1) -> list[str]:
    """Return rows below the titles of their columns; empty if there are none."""
    return (
        _table([names, *([_CELLS[name](row) for name in names] for row in rows)], left=left) if rows else []
    )


def _table(rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Return rows in columns; all but the first ``left`` ones are right-aligned."""
    return list(table_lines(rows, right=range(left, len(rows[0]) if rows else 0), least=7))
