"""The figures of a session as tables of plain text, the same on the screen and in a shell."""

from collections.abc import Iterable, Mapping, Sequence

from tui_app.records import frozen
from tui_app.session.stats import CompactionRow, ModelRow, SessionStats
from tui_app.ui.text import cost, count, duration, one_line, percent, table_lines, tokens

_NAME_CELLS = 28
_UNKNOWN = "(unknown)"


@frozen
class Section:
    """A few lines under one word."""

    title: str
    lines: tuple[str, ...]


def sections(stats: SessionStats) -> list[Section]:
    """Everything there is a figure for, at most 76 columns wide."""
    found = [
        Section("Session", tuple(_session(stats))),
        Section("Models", tuple(_models(stats))),
        Section("Prompt cache", tuple(_cache(stats))),
        Section("Compactions", tuple(_compactions(stats))),
        Section("Digests and memory", tuple(_sides(stats))),
        Section("Tokens saved by stage", tuple(_stages(stats))),
        Section("Errors", tuple(_counted(stats.errors))),
        Section("Hooks", tuple(_counted(stats.hooks))),
    ]
    return [section for section in found if section.lines]


def _session(stats: SessionStats) -> Iterable[str]:
    failed = f", {stats.tool_failures:,} failed" if stats.tool_failures else ""
    calls = count(stats.tool_calls, "tool call")
    yield f"{count(stats.turns, 'turn')}, {count(stats.requests, 'request')}, {calls}{failed}"
    answers = sum(row.unpriced for row in stats.models)
    rest = stats.unpriced - answers
    unknown = f", {count(answers, 'answer')} of unknown price" if answers else ""
    unknown += f", {count(rest, 'other request')} of unknown price" if rest else ""
    if stats.sub_agents:
        yield count(stats.sub_agents, "sub-agent")
    others = " and ".join(("summaries", *(row.purpose for row in stats.sides)))
    known = stats.cost_usd or not stats.unpriced
    yield f"{cost(stats.cost_usd) if known else 'cost unknown'} with {others}{unknown}"


def _models(stats: SessionStats) -> Iterable[str]:
    if not stats.models:
        return _unpriced(stats.unpriced_models)
    head = ("model", "answers", "in", "cached", "out", "cost")
    return [*_table([head, *map(_model, stats.models)]), *_unpriced(stats.unpriced_models)]


def _unpriced(models: Mapping[str, int]) -> Iterable[str]:
    """Whose price is not known, and what a user can do about it."""
    for model, requests in models.items():
        name = one_line(model, _NAME_CELLS) or _UNKNOWN
        yield f"no price is known for {name}: {count(requests, 'request')} not counted"
    if models:
        yield "for a server of your own, set price_in and price_out in its endpoint"


def _model(row: ModelRow) -> Sequence[str]:
    price = cost(row.cost_usd) if row.unpriced < row.answers else "?"
    return (
        one_line(row.model, _NAME_CELLS) or _UNKNOWN,
        f"{row.answers:,}",
        tokens(row.input_tokens) if row.input_tokens or not row.output_tokens else "?",
        tokens(row.cache_read_tokens),
        tokens(row.output_tokens),
        price,
    )


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
    if not stats.compactions:
        return
    undone = any(row.undone for row in stats.compactions)
    head = ("trigger", "outcome", "times", *(["undone"] if undone else []), "removed", "time", "cost")
    yield from _table([head, *(_compaction(row, undone=undone) for row in stats.compactions)], left=2)
    if stats.retention is not None and stats.retention_min is not None:
        mean, least = percent(stats.retention), percent(stats.retention_min)
        yield f"facts kept by weight: {mean} on average, {least} at least"


def _compaction(row: CompactionRow, *, undone: bool) -> Sequence[str]:
    return (
        _word(row.trigger),
        _word(row.outcome),
        f"{row.count:,}",
        *([f"{row.undone:,}" if row.undone else ""] if undone else []),
        tokens(row.tokens_removed),
        duration(row.duration_s),
        cost(row.cost_usd) if row.unpriced < row.count else "?",
    )


def _sides(stats: SessionStats) -> Iterable[str]:
    if not stats.sides:
        return ()
    rows = [
        (
            row.purpose,
            f"{row.count:,}",
            tokens(row.input_tokens),
            tokens(row.output_tokens),
            cost(row.cost_usd) if row.unpriced < row.count else "?",
        )
        for row in stats.sides
    ]
    return _table([("for", "times", "in", "out", "cost"), *rows])


def _stages(stats: SessionStats) -> Iterable[str]:
    if not stats.stages:
        return ()
    rows = [
        (row.stage, f"{row.count:,}", f"{row.undone:,}" if row.undone else "", tokens(row.tokens_removed))
        for row in stats.stages
    ]
    return _table([("stage", "times", "undone", "tokens"), *rows])


def _counted(counts: Mapping[str, int]) -> Iterable[str]:
    return _table([(_word(name), f"{number:,}") for name, number in counts.items()])


def _word(name: str) -> str:
    """A name out of the log, which another version may have written."""
    return one_line(name, _NAME_CELLS).replace("_", " ")


def _table(rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """Rows in columns; all but the first ``left`` ones are aligned to the right."""
    return list(table_lines(rows, right=range(left, len(rows[0]) if rows else 0), least=7))
