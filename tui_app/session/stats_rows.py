"""The rows of a session's figures."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tui_app.records import frozen

FIGURES: tuple[str, ...] = (
    "model", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd",
    "duration_s", "outcome",
    "trigger", "tokens_removed", "retention", "prefix_kept", "kind", "compaction", "rewrite", "failed",
    "hook", "to", "job", "cut", "context_tokens", "cache_hour", "messages", "messages_left", "total", "parts",
    "broken", "again",
)  # fmt: skip
"""Fields of events that the figures are made of; none of them is long."""


@frozen(kw_only=True)
class ModelRow:
    """What one model was asked in turns, and what it cost. Tokens are those its provider reported."""

    model: str
    answers: int = 0
    input_tokens: int = 0
    """Cached ones included."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Answers whose price is not known."""


@frozen(kw_only=True)
class CompactionRow:
    """Compactions that started and ended in the same way."""

    trigger: str
    outcome: str
    """``imported`` where another program has made them."""
    count: int = 0
    undone: int = 0
    """How many of them were undone since, by an undo or a rewind."""
    tokens_removed: int = 0
    """Those of compactions that were undone since are not in it."""
    duration_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """How many of them asked a model whose price is not known."""


@frozen(kw_only=True)
class SideRow:
    """What models were asked beside turns and compactions: ``digests`` of archived results, or ``memory``."""

    purpose: str
    count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """How many of them have no known price."""


@frozen(kw_only=True)
class StageRow:
    """What one stage saves now."""

    stage: str
    count: int = 0
    undone: int = 0
    """How many of them were undone, by the user or by a rewind; their tokens are saved no more."""
    tokens_removed: int = 0
    """Of truncation: summed over requests, because it cuts each one anew."""


@dataclass(slots=True)
class Shares:
    """Shares of something, from 0 to 1, as far as anything is said of them all together."""

    number: int = 0
    total: float = 0.0
    least: float | None = None
    partial: int = 0
    """How many are less than 1."""

    def add(self, share: float) -> None:
        self.number += 1
        self.total += share
        self.least = share if self.least is None else min(self.least, share)
        self.partial += share < 1.0

    @property
    def mean(self) -> float | None:
        return round(self.total / self.number, 4) if self.number else None


Row = TypeVar("Row", ModelRow, CompactionRow, SideRow, StageRow)


def add(rows: dict[Any, Row], key: object, new: Row, data: Mapping[str, Any], **more: int) -> None:
    """Add figures of an event to the row of their name; what a row does not have is left out."""
    row, names = rows.get(key, new), type(new).__dataclass_fields__
    numbers = {name: data[name] for name in FIGURES if isinstance(data.get(name), int | float)}
    values = {
        name: getattr(row, name) + value for name, value in {**numbers, **more}.items() if name in names
    }
    rows[key] = replace(row, **values)


def number(data: Mapping[str, Any], name: str) -> int:
    """One figure of an event; 0 where it has none."""
    return int(data.get(name) or 0)
