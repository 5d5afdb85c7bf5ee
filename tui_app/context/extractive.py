"""A summary without a model: the source's own lines, chosen, grouped and marked with their handles.

Used when there is no model, when it fails, and offline. Only headings, verbs and counts are ours; everything
else stands in the history word for word, so nothing can be invented. The same input gives the same text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tui_app.context.fact_extractors.candidates import Candidate, Tier, candidates
from tui_app.context.fact_extractors.carried import SECTIONS, Carried, take_apart
from tui_app.context.fact_extractors.language import one_line
from tui_app.context.fact_extractors.reading import read_items
from tui_app.context.fact_extractors.rules import clip_middle
from tui_app.context.items import Item
from tui_app.context.masking import mask_secrets

_SHARES: dict[Tier, float] = {
    Tier.REQUEST: 0.40,
    Tier.RULE: 0.50,
    Tier.ERROR: 0.20,
    Tier.CHANGED: 0.30,
    Tier.OPEN: 0.12,
    Tier.STATE: 0.15,
    Tier.DECISION: 0.12,
    Tier.DETAIL: 0.25,
    Tier.COMMAND: 0.10,
    Tier.READ: 0.12,
    Tier.DONE: 0.15,
    Tier.NEXT: 0.08,
}
"""Share of the budget each tier may take at first, in order of priority; what is left over is then given out
in the same order."""
_FOCUS_BOOST = 4.0
_Ranked = tuple[float, int, Candidate, int]
"""Negative weight, place, line and tokens: sorts weightiest first, older first among equals."""


def extractive_summary(
    items: Sequence[Item],
    *,
    budget_tokens: int,
    count: Callable[[str], int],
    focus: str = "",
    previous: str = "",
) -> str:
    """Summarise a history by extraction.

    Args:
        items: The messages that are to be replaced, in order of time.
        budget_tokens: Tokens the summary may take; never exceeded.
        count: Counts the tokens of a text.
        focus: Words whose lines are to be preferred.
        previous: An earlier summary that stands for what came before ``items``; it is updated: its rules, its
            first request, its files and what is still open stay, what was solved or replaced since goes. When
            it is empty, the newest summary among the items is taken.

    Returns:
        Markdown with the headings of ``SECTIONS`` that have something to say, and after each line the handle
        of its message. Empty when there is nothing to summarise or the budget holds not even one line.
    """
    reading = read_items(items)
    earlier = previous or (reading.summaries[-1] if reading.summaries else "")
    carried = take_apart(earlier) if earlier else Carried({})
    found = candidates(reading, carried)
    found = [candidate.saying(mask_secrets(candidate.text)) for candidate in found]
    found = _fit_requests(found, int(budget_tokens * _SHARES[Tier.REQUEST]), count)
    return _within(_choose(found, budget_tokens, count, _words(focus)), budget_tokens, count)


def marker_summary(count_removed: int) -> str:
    """The last resort: a fixed line that says how many messages were removed.

    Args:
        count_removed: Messages that left the view.

    Returns:
        One line; where the full history can be found is added by whoever places it.
    """
    noun = "message was" if count_removed == 1 else "messages were"
    return f"[{count_removed} earlier {noun} removed to make room. No summary could be made.]"


def _words(focus: str) -> tuple[str, ...]:
    return tuple(word for word in focus.casefold().split() if len(word) >= 3)


def _fit_requests(found: Sequence[Candidate], budget: int, count: Callable[[str], int]) -> list[Candidate]:
    """Clip requests, with a mark, that are larger than their part of the budget; short ones leave theirs."""
    costs = {place: count(c.line()) + 1 for place, c in enumerate(found) if c.tier is Tier.REQUEST}
    fitted = list(found)
    left = budget
    for waiting, place in enumerate(sorted(costs, key=costs.__getitem__)):
        share = left // (len(costs) - waiting)
        if costs[place] > share:
            fitted[place] = _clipped(found[place], costs[place], share, count)
        left -= min(costs[place], share)
    return fitted


def _clipped(candidate: Candidate, cost: int, share: int, count: Callable[[str], int]) -> Candidate:
    """Shorten until it fits; tokens are not spread evenly, so this takes a few tries."""
    characters = len(candidate.text)
    for _ in range(12):
        characters = characters * min(share, cost * 4 // 5) // max(1, cost)
        shorter = candidate.saying(clip_middle(candidate.text, characters))
        cost = count(shorter.line()) + 1
        if cost <= share or characters < 40:
            return shorter
    return candidate


@dataclass(slots=True)
class _Selection:
    """Lines chosen so far, and what is left to spend."""

    left: int
    waiting: dict[Tier, list[_Ranked]]
    chosen: list[tuple[int, Candidate]] = field(default_factory=list)

    def take(self, tier: Tier, allowed: int) -> None:
        """Take the best lines of a tier that fit, the weightiest first."""
        allowed = min(allowed, self.left)
        rest: list[_Ranked] = []
        for ranked in self.waiting[tier]:
            _, order, candidate, cost = ranked
            if cost <= allowed:
                allowed -= cost
                self.left -= cost
                self.chosen.append((order, candidate))
            else:
                rest.append(ranked)
        self.waiting[tier] = rest

    def drop_said_rules(self) -> None:
        """Rules that stand whole in a chosen request are not said twice."""
        said = "\n".join(one_line(candidate.text) for _, candidate in self.chosen)
        self.waiting[Tier.RULE] = [rule for rule in self.waiting[Tier.RULE] if rule[2].text not in said]


def _choose(
    found: Sequence[Candidate], budget: int, count: Callable[[str], int], focus: Sequence[str]
) -> list[Candidate]:
    """Take lines by priority: every tier within its share first, then whatever still fits."""
    waiting: dict[Tier, list[_Ranked]] = {tier: [] for tier in _SHARES}
    for order, candidate in enumerate(found):
        lowered = candidate.text.casefold()
        boost = _FOCUS_BOOST if any(word in lowered for word in focus) else 1.0
        cost = count(candidate.line()) + 1
        waiting[candidate.tier].append((-candidate.weight * boost, order, candidate, cost))
    for ranked in waiting.values():
        ranked.sort(key=_rank)
    selection = _Selection(budget - sum(count(f"## {name}") + 2 for name in SECTIONS), waiting)
    for tier, share in _SHARES.items():
        if tier is Tier.RULE:
            selection.drop_said_rules()
        selection.take(tier, int(budget * share))
    for tier in _SHARES:
        selection.take(tier, selection.left)
    return [candidate for _, candidate in sorted(selection.chosen, key=_order)]


def _rank(entry: _Ranked) -> tuple[float, int]:
    return entry[0], entry[1]


def _order(entry: tuple[int, Candidate]) -> int:
    return entry[0]


def _within(chosen: list[Candidate], budget: int, count: Callable[[str], int]) -> str:
    """Render; token counts do not add up exactly, so the least important lines go until the whole fits."""
    priority = {tier: place for place, tier in enumerate(_SHARES)}
    while chosen:
        text = _render(chosen)
        if count(text) <= budget:
            return text
        by_value = sorted(chosen, key=lambda candidate: (priority[candidate.tier], -candidate.weight))
        gone = {id(candidate) for candidate in by_value[len(by_value) * 9 // 10 :]}
        chosen = [candidate for candidate in chosen if id(candidate) not in gone]
    return ""


def _render(chosen: Sequence[Candidate]) -> str:
    blocks: list[str] = []
    for name in SECTIONS:
        lines = [candidate.line() for candidate in chosen if candidate.section == name]
        if lines:
            blocks.append("\n".join([f"## {name}", *lines]))
    return "\n\n".join(blocks)
