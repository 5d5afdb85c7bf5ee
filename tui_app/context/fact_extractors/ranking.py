"""How much a fact counts: who said it, how new it is, how often it came up."""

from typing import Literal

from tui_app.context.fact_extractors.reading import Reading
from tui_app.events import Fact

FactKind = Literal["rule", "request", "file", "command", "error", "decision", "todo", "question", "detail"]

BASE: dict[str, float] = {
    "rule": 4.0,
    "request": 4.0,
    "error": 3.0,
    "question": 2.5,
    "file": 2.0,
    "todo": 1.8,
    "decision": 1.4,
    "command": 1.0,
    "detail": 0.4,
}
"""Weight of each kind before source, recency and repetition; the user's own words stand above all."""


def handle(key: int) -> str:
    """The handle by which a message is got back."""
    return f"#{key}"


def make_fact(
    reading: Reading,
    kind: FactKind,
    text: str,
    *,
    key: int,
    index: int,
    factor: float = 1.0,
    times: int = 1,
) -> Fact:
    """Build a fact and weigh it.

    Args:
        reading: The history it comes from.
        kind: What it is.
        text: The relation, as a person reads it.
        key: Log number of the message.
        index: Place of the message in the history.
        factor: 1 for the usual weight of its kind; more or less where an extractor knows better.
        times: How often it came up.

    Returns:
        The fact, in state ``kept``; retention decides later.
    """
    recent = 0.6 + 0.4 * reading.recency(index)
    repeated = 1.0 + 0.1 * min(times - 1, 5)
    weight = round(BASE[kind] * factor * recent * repeated, 4)
    return Fact(kind=kind, text=text, source=handle(key), weight=weight)
