"""Rows of a session's statistics."""

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
"""Fields of events that the statistics are computed from. None of them is long."""


@frozen(kw_only=True)
class ModelRow:
    """Requests of turns to one model, and their cost. Tokens are those that the provider reported."""

    model: str
    answers: int = 0
    input_tokens: int = 0
    """Includes cached tokens."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Answers without a known price."""


@frozen(kw_only=True)
class CompactionRow:
    """Compactions with the same trigger and outcome."""

    trigger: str
    outcome: str
    """``imported`` for those made by another program."""
    count: int = 0
    undone: int = 0
    """How many were undone since, by an undo or a rewind."""
    tokens_removed: int = 0
    """Without compactions that were undone."""
    duration_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """How many used a model without a known price."""


@frozen(kw_only=True)
class SideRow:
    """Requests outside of turns and compactions, by purpose: ``digests``, ``memory`` or ``handoff``."""

    purpose: str
    count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """How many have no known price."""


@frozen(kw_only=True)
class StageRow:
    """Present savings of one stage."""

    stage: str
    count: int = 0
    undone: int = 0
    """How many were undone, by the user or by a rewind; their tokens no longer count."""
    tokens_removed: int = 0
    """For truncation the sum over all requests, because it cuts each one again."""


@dataclass(slots=True)
class Shares:
    """Mean and minimum of shares from 0 to 1."""

    number: int = 0
    total: float = 0.0
    least: float | None = None
    partial: int = 0
    """Number of shares below 1."""

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
    """Add the figures of an event to the row with this key, ignoring those that the row does not have."""
    row, names = rows.get(key, new), type(new).__dataclass_fields__
    numbers = {name: data[name] for name in FIGURES if isinstance(data.get(name), int | float)}
    values = {
        name: getattr(row, name) + value for name, value in {**numbers, **more}.items() if name in names
    }
    rows[key] = replace(row, **values)


def number(data: Mapping[str, Any], name: str) -> int:
    return int(data.get(name) or 0)
