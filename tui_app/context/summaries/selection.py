"""Which lines go into a summary when not all of them fit."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tui_app.context.fact_extractors.carried import SHOWN
from tui_app.context.fact_extractors.commands import FAILED
from tui_app.context.fact_extractors.labels import LAST_DONE
from tui_app.context.fact_extractors.language import one_line
from tui_app.context.fact_extractors.lines import Candidate, Tier

FLOORS: dict[Tier, float] = {
    Tier.BEFORE: 0.12,
    Tier.CHANGED: 0.10,
    Tier.STATE: 0.08,
    Tier.OPEN: 0.06,
    Tier.DONE: 0.08,
    Tier.DECISION: 0.06,
    Tier.COMMAND: 0.06,
    Tier.NEXT: 0.03,
}
"""Share of the budget that nothing dearer may take away: without these nobody can go on with the work."""
SHARES: dict[Tier, float] = {
    Tier.REQUEST: 0.40,
    Tier.RULE: 0.50,
    Tier.ERROR: 0.20,
    Tier.CHANGED: 0.35,
    Tier.BEFORE: 0.30,
    Tier.OPEN: 0.12,
    Tier.STATE: 0.15,
    Tier.DECISION: 0.12,
    Tier.READ: 0.12,
    Tier.CHANGE: 0.12,
    Tier.SEEN: 0.12,
    Tier.DETAIL: 0.25,
    Tier.COMMAND: 0.10,
    Tier.DONE: 0.15,
    Tier.NEXT: 0.08,
    Tier.PASTED: 0.0,
}
"""Share of the budget each tier may take at first, in order of priority; what is left over is then given out
in the same order."""
_FAILED_COMMAND = " · failed"
_LITTLE = 1_000
"""Tokens below which a summary is about what was asked before anything else."""
_REQUESTS_IN_LITTLE = 0.7
_FOCUS_BOOST = 4.0
_Ranked = tuple[float, int, Candidate, int]
"""Negative weight, place, line and tokens: sorts weightiest first, older first among equals."""


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
        requests = (one for _, one in self.chosen if one.tier is Tier.REQUEST)
        said = "\n".join(one_line(request.text) for request in requests)
        for tier in (Tier.RULE, Tier.PASTED):
            self.waiting[tier] = [rule for rule in self.waiting[tier] if rule[2].text not in said]


def request_budget(budget: int) -> int:
    """Tokens of a summary's budget that requests may take."""
    return int(budget * (_REQUESTS_IN_LITTLE if budget < _LITTLE else SHARES[Tier.REQUEST]))


def choose(
    found: Sequence[Candidate], budget: int, count: Callable[[str], int], focus: Sequence[str]
) -> list[Candidate]:
    """Take lines by priority: every tier within its share first, then whatever still fits.

    Args:
        found: The lines, in the order in which they are to be shown.
        budget: Tokens all of them may take, headings included.
        count: Tokens of a text.
        focus: Words, in small letters, whose lines weigh more.

    Returns:
        The lines taken, in the order given.
    """
    waiting: dict[Tier, list[_Ranked]] = {tier: [] for tier in SHARES}
    folders = Counter(candidate.folder for candidate in found)
    for order, candidate in enumerate(found):
        lowered = candidate.text.casefold()
        boost = _FOCUS_BOOST if any(word in lowered for word in focus) else 1.0
        cost = _cost(candidate, folders[candidate.folder], count)
        waiting[candidate.tier].append((-candidate.weight * boost, order, candidate, cost))
    for ranked in waiting.values():
        ranked.sort(key=_rank)
    selection = _Selection(budget - sum(count(f"## {name}") + 2 for name in SHOWN), waiting)
    if budget < _LITTLE:
        selection.take(Tier.REQUEST, request_budget(budget))
    for tier, share in (*FLOORS.items(), *SHARES.items()):
        if tier is Tier.RULE:
            selection.drop_said_rules()
        selection.take(tier, int(budget * share))
    for tier in SHARES:
        selection.take(tier, selection.left)
    return _without_told([candidate for _, candidate in sorted(selection.chosen, key=_order)])


def _without_told(chosen: Sequence[Candidate]) -> list[Candidate]:
    """The lines less those of commands told elsewhere: failed ones by their error, and the newest."""
    told = {one.text.partition(FAILED)[0] + _FAILED_COMMAND for one in chosen if one.tier is Tier.ERROR}
    told |= {one.text.removeprefix(LAST_DONE) for one in chosen if one.tier is Tier.STATE}
    return [one for one in chosen if one.tier is not Tier.COMMAND or one.text not in told]


def _cost(candidate: Candidate, neighbours: int, count: Callable[[str], int]) -> int:
    """Tokens of a line; of one that stands below its folder, with its part of the folder's line."""
    if not candidate.folder or neighbours < 2:
        return count(candidate.line()) + 1
    return count(candidate.below()) + 1 + -(-count(f"- {candidate.folder}\n") // neighbours)


def _rank(entry: _Ranked) -> tuple[float, int]:
    return entry[0], entry[1]


def _order(entry: tuple[int, Candidate]) -> int:
    return entry[0]
