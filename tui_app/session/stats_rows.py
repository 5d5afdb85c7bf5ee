"""The rows of a session's figures."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """What one model was asked in turns, and what it cost. Tokens are those its provider reported."""

    model: str
    answers: int = 0
    input_tokens: int = 0
    """Cached ones included."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """Answers whose price is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRow:
    """Compactions that started and ended in the same way."""

    trigger: str
    outcome: str
    """``imported`` where another program has made them."""
    count: int = 0
    undone: int = 0
    """How many of them were taken back since, by an undo or a rewind."""
    tokens_removed: int = 0
    """Those of compactions that were taken back since are not in it."""
    duration_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """How many of them asked a model whose price is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRow:
    """What models were asked beside turns and compactions: ``digests`` of archived results, or ``memory``."""

    purpose: str
    count: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    """How many of them have no known price."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """What one stage saves now."""

    stage: str
    count: int = 0
    undone: int = 0
    """How many of them were taken back, by a person or by a rewind; their tokens are saved no more."""
    tokens_removed: int = 0
    """Of truncation: summed over requests, because it cuts each one anew."""


def mean(values: Sequence[float]) -> float | None:
    """The mean of shares; None where there are none."""
    return round(sum(values) / len(values), 4) if values else None
