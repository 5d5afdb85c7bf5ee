"""A summary without a model: the source's own lines, chosen, grouped and marked with their handles.

Used when there is no model, when it fails, and offline. Only headings, verbs and counts are ours; everything
else stands in the history word for word, so nothing can be invented. The same input gives the same text.
"""

from collections.abc import Callable, Collection, Sequence

from tui_app.context.fact_extractors.candidates import candidates
from tui_app.context.fact_extractors.carried import SHOWN, Carried, take_apart
from tui_app.context.fact_extractors.lines import Candidate, Tier, bullets
from tui_app.context.fact_extractors.reading import read_items
from tui_app.context.fact_extractors.rules import clip_middle
from tui_app.context.items import Item
from tui_app.context.masking import mask_secrets
from tui_app.context.summaries.selection import SHARES, choose, request_budget

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
    return _within(choose(found, budget_tokens, count, _words(focus)), budget_tokens, count)


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


def _fit_requests(
    found: Sequence[Candidate], budget: int, count: Callable[[str], int], words_beside: int
) -> list[Candidate]:
    """Clip requests, with a mark, that stand beside the summary or are larger than their part of the budget.

    Short ones leave what they do not need to the others.
    """
    found = [_beginning(one, words_beside) if one.tier is Tier.REQUEST else one for one in found]
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


def _beginning(request: Candidate, words_beside: int) -> Candidate:
    """A request as it is quoted when it stands whole beside the summary, as one carried over may not."""
    return request if request.carried or len(request.text) > words_beside else _quoted(request)


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


def _within(chosen: list[Candidate], budget: int, count: Callable[[str], int]) -> str:
    """Render; token counts do not add up exactly, so the least important lines go until the whole fits."""
    priority = {tier: place for place, tier in enumerate(SHARES)}
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
    for name in SHOWN:
        lines = list(bullets([candidate for candidate in chosen if candidate.section == name]))
        if lines:
            blocks.append("\n".join([f"## {name}", *lines]))
    return "\n\n".join(blocks)
