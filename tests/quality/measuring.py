"""All measurements over all cases."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from pydantic_ai.messages import ModelMessage

from tests.quality.cases import Case
from tests.quality.chains import chained, played
from tests.quality.contexts import (
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
from tests.quality.scores import Scores, invented, score, wrong_claims
from tests.quality.truth import Truth, truth_of
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.facts import extract_facts
from tui_app.context.policy import PLIMSOLL
from tui_app.context.summaries.writer import extractive_summary
from tui_app.context.view import Item

PLAYED = {"default policy": PLIMSOLL, "compaction alone": COMPACTION_ALONE}
CHAINS = (1, 2, 3, 5)
OURS_UNASKED = "ours, before anybody asks for a compaction"
OURS_ALONE = "compaction alone, no old outputs hidden first"
OURS_LONG = "ours, where the history is at least two windows long"
LONG = 600_000
"""Tokens of the session that speed is measured on."""


@dataclass(slots=True)
class Measured:
    """Everything the report prints. Keys are names of contexts, in order of first use."""

    window: dict[str, list[Scores]] = field(default_factory=dict)
    budgets: dict[int, dict[str, list[Scores]]] = field(default_factory=dict)
    clipped: dict[int, dict[str, list[bool]]] = field(default_factory=dict)
    """By budget and context, of each history whether it was too large and clipped."""
    chains: dict[int, list[Scores]] = field(default_factory=dict)
    played: dict[str, list[Scores]] = field(default_factory=dict)
    cases: list[tuple[Case, float, Scores]] = field(default_factory=list)
    """Every case with the share of it that cannot leave, and the scores of our result."""
    complaints: list[str] = field(default_factory=list)
    """False claims and inventions of ours, word for word; for the terminal, never for a committed page."""
    same_bytes: list[bool] = field(default_factory=list)
    seconds: dict[int, float] = field(default_factory=dict)
    """Time of one compaction by size of the history in tokens."""


async def measure(case: Case, into: Measured, window: int, budgets: Sequence[int], text: TextCounter) -> None:
    """Measure one case."""
    truth = truth_of(case)
    governed = Governed(text, window)
    ours = context_of(await governed.compacted(case.before), governed)
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
        into.chains.setdefault(times, []).append(score(kept, truth, case.tokens, text.count))
    for name, policy in PLAYED.items():
        kept = await played(case.before, window, text, policy)
        into.played.setdefault(name, []).append(score(kept, truth, case.tokens, text.count))


def _at_budgets(case: Case, truth: Truth, into: Measured, budgets: Sequence[int], text: TextCounter) -> None:
    """What is written alone, against the same number of tokens spent otherwise."""
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
    """Time a summary with its facts for a session of so many tokens, and for one of half the size."""
    for wanted in (most // 2, most):
        messages = _long(cases, wanted)
        items = [Item(key, message) for key, message in enumerate(messages, 1)]
        start = perf_counter()
        extract_facts(items)
        extractive_summary(items, budget_tokens=2_000, count=text.count)
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
