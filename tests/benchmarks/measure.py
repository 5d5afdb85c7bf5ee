"""Measuring in turn, and saying what came out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Samples of two things, taken in turn so that a busy moment hits both."""

    name: str
    ours: Sequence[float]
    baseline: Sequence[float]
    unit: str
    most: float
    """Largest ratio that is good enough."""

    @property
    def ratio(self) -> float:
        """Median of ours over median of the baseline."""
        return median(self.ours) / median(self.baseline)

    @property
    def good(self) -> bool:
        """Whether the target is met."""
        return self.ratio <= self.most

    def __str__(self) -> str:
        ours, baseline = _spread(self.ours, self.unit), _spread(self.baseline, self.unit)
        ratio = f"{self.ratio:.2f}x" if self.ratio >= 0.01 else f"1/{1 / self.ratio:,.0f}"
        most = f"{self.most:g}x" if self.most >= 0.01 else f"1/{1 / self.most:,.0f}"
        verdict = "met" if self.good else "MISSED"
        return f"{self.name}: {ours} against {baseline} = {ratio} (at most {most}: {verdict})"


def in_turn(
    ours: Callable[[], float], baseline: Callable[[], float], rounds: int
) -> tuple[list[float], list[float]]:
    """Measure two things alternately, after one round that only warms caches up."""
    ours(), baseline()
    pairs = [(ours(), baseline()) for _ in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def percentile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least this share of all do not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _spread(samples: Sequence[float], unit: str) -> str:
    middle = f"{median(samples):.4g}"
    return f"{middle} {unit} ({min(samples):.4g} to {max(samples):.4g}, n={len(samples)})"
