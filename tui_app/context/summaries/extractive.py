"""A summary without a model: the source's own lines, chosen, grouped and marked with their handles.

Used when there is no model, when it fails, and offline. Only headings, verbs and counts are ours; everything
else stands in the history word for word, so nothing can be invented. The same input gives the same text.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from tui_app.context.facts.candidates import SHOWN, Candidate, Carried, Tier, bullets, candidates, take_apart
from tui_app.context.facts.commands import FAILED
from tui_app.context.facts.observations import LAST_DONE, one_line, read_items
from tui_app.context.facts.rules import clip_middle
from tui_app.context.secrets import mask_secrets
from tui_app.context.view import Item

# Which lines go into a summary when not all of them fit.

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
        if candidate.folder and (neighbours := folders[candidate.folder]) > 1:
            # Below its folder, with its part of the folder's line.
            cost = count(candidate.below()) + 1 + -(-count(f"- {candidate.folder}\n") // neighbours)
        else:
            cost = count(candidate.line()) + 1
        waiting[candidate.tier].append((-candidate.weight * boost, order, candidate, cost))
    for ranked in waiting.values():
        ranked.sort(key=itemgetter(0, 1))
    selection = _Selection(budget - sum(count(f"## {name}") + 2 for name in SHOWN), waiting)
    if budget < _LITTLE:
        selection.take(Tier.REQUEST, request_budget(budget))
    for tier, share in (*FLOORS.items(), *SHARES.items()):
        if tier is Tier.RULE:
            selection.drop_said_rules()
        selection.take(tier, int(budget * share))
    for tier in SHARES:
        selection.take(tier, selection.left)
    chosen = [candidate for _, candidate in sorted(selection.chosen, key=itemgetter(0))]
    # Commands are not told twice: failed ones by their error, and the newest.
    told = {one.text.partition(FAILED)[0] + _FAILED_COMMAND for one in chosen if one.tier is Tier.ERROR}
    told |= {one.text.removeprefix(LAST_DONE) for one in chosen if one.tier is Tier.STATE}
    return [one for one in chosen if one.tier is not Tier.COMMAND or one.text not in told]


_BEGINNING = 400
"""Characters that are quoted of a request that stands whole beside the summary."""


def extractive_summary(
    items: Sequence[Item],
    *,
    budget_tokens: int,
    count: Callable[[str], int],
    focus: str = "",
    previous: str = "",
    words_beside: int = 0,
    in_sight: Collection[int] = (),
) -> str:
    """Summarise a history by extraction.

    Args:
        items: The messages that are to be replaced, in order of time, and those around them that stay.
        budget_tokens: Tokens the summary may take; never exceeded.
        count: Counts the tokens of a text.
        focus: Words whose lines are to be preferred.
        previous: An earlier summary that stands for what came before ``items``; it is updated: its rules, its
            first request, its files and what is still open stay, what was solved or replaced since goes. When
            it is empty, the newest summary among the items is taken.
        words_beside: Characters kept beside the summary for what the user typed: a long request that has
            room there is quoted in its beginning only.
        in_sight: Keys of the messages that stay: nothing is quoted from them, but what they answer or solve
            is no longer open.

    Returns:
        Markdown with the headings of ``SHOWN`` that have something to say, and after each line the handle
        of its message. Empty when there is nothing to summarise or the budget holds not even one line.
    """
    reading = read_items(items, in_sight)
    earlier = previous or (reading.summaries[-1] if reading.summaries else "")
    carried = take_apart(earlier) if earlier else Carried({})
    found = candidates(reading, carried)
    found = [candidate.saying(mask_secrets(candidate.text)) for candidate in found]
    found = _fit_requests(found, request_budget(budget_tokens), count, words_beside)
    words = tuple(word for word in focus.casefold().split() if len(word) >= 3)
    chosen = choose(found, budget_tokens, count, words)
    priority = {tier: place for place, tier in enumerate(SHARES)}
    # Token counts do not add up exactly, so the least important lines go until the whole fits.
    while chosen:
        text = _render(chosen)
        if count(text) <= budget_tokens:
            return text
        by_value = sorted(chosen, key=lambda candidate: (priority[candidate.tier], -candidate.weight))
        gone = {id(candidate) for candidate in by_value[len(by_value) * 9 // 10 :]}
        chosen = [candidate for candidate in chosen if id(candidate) not in gone]
    return ""


def marker_summary(count_removed: int) -> str:
    """The last resort: a fixed line that says how many messages were removed.

    Args:
        count_removed: Messages that left the view.

    Returns:
        One line; where the full history can be found is added by whoever places it.
    """
    noun = "message was" if count_removed == 1 else "messages were"
    return f"[{count_removed} earlier {noun} removed to make room. No summary could be made.]"


def _fit_requests(
    found: Sequence[Candidate], budget: int, count: Callable[[str], int], words_beside: int
) -> list[Candidate]:
    """Clip requests, with a mark, that stand beside the summary or are larger than their part of the budget.

    Short ones leave what they do not need to the others.
    """
    # One carried over may not stand whole beside the summary.
    found = [
        _quoted(one)
        if one.tier is Tier.REQUEST and not one.carried and len(one.text) <= words_beside
        else one
        for one in found
    ]
    costs = {place: count(c.line()) + 1 for place, c in enumerate(found) if c.tier is Tier.REQUEST}
    fitted = list(found)
    left = budget
    for waiting, place in enumerate(sorted(costs, key=costs.__getitem__)):
        share = left // (len(costs) - waiting)
        if costs[place] > share:
            short = _quoted(found[place]) if words_beside else found[place]
            fitted[place] = _clipped(short, count(short.line()) + 1, share, count)
        left -= min(costs[place], share)
    return fitted


def _quoted(request: Candidate) -> Candidate:
    return request.saying(clip_middle(request.text, _BEGINNING))


def _clipped(candidate: Candidate, cost: int, share: int, count: Callable[[str], int]) -> Candidate:
    """Shorten until it fits; tokens are not spread evenly, so this takes a few tries."""
    if cost <= share:
        return candidate
    characters = len(candidate.text)
    for _ in range(12):
        characters = characters * min(share, cost * 4 // 5) // max(1, cost)
        shorter = candidate.saying(clip_middle(candidate.text, characters))
        cost = count(shorter.line()) + 1
        if cost <= share or characters < 40:
            return shorter
    return candidate


def _render(chosen: Sequence[Candidate]) -> str:
    blocks: list[str] = []
    for name in SHOWN:
        lines = list(bullets([candidate for candidate in chosen if candidate.section == name]))
        if lines:
            blocks.append("\n".join([f"## {name}", *lines]))
    return "\n\n".join(blocks)
