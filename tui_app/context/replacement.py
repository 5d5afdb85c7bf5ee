"""What takes the place of compacted history: summary, the person's own words, facts, and the way back."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import CompactionPart, ModelRequest

from tui_app.context.items import Item, is_summary
from tui_app.context.render import clip, prompts_of

_KEY = "plimsoll"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TAG = "conversation_summary"
"""pydantic-ai sends a summary inside this tag; the text itself must not be able to close it."""
WAY_BACK = (
    "Everything before this point is kept. To get a message back use search_history with its number, for "
    "example `#12`, or search_history with words."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What a previous summary carried, so that it is updated and never wrapped in another one."""

    summary: str = ""
    prompts: tuple[tuple[int, str], ...] = ()
    facts: str = ""


def earlier_summary(items: Sequence[Item]) -> Earlier:
    """Collect what the summaries among ``items`` carried; text of other programs' summaries counts whole."""
    summaries: list[str] = []
    prompts: list[tuple[int, str]] = []
    facts: list[str] = []
    for item in items:
        for part in item.message.parts if is_summary(item.message) else ():
            if isinstance(part, CompactionPart):
                own = _own(part.metadata)
                summaries.append(str(own.get("summary") or part.content or ""))
                prompts.extend((int(key), str(text)) for key, text in own.get("prompts", ()))
                facts.append(str(own.get("facts", "")))
    return Earlier(
        summary="\n\n".join(filter(None, summaries)),
        prompts=tuple(prompts),
        facts="\n".join(filter(None, facts)),
    )


def _own(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    own = (metadata or {}).get(_KEY)
    return own if isinstance(own, Mapping) else {}


def choose_prompts(
    earlier: Sequence[tuple[int, str]], old: Sequence[Item], budget: int, count: Callable[[str], int]
) -> tuple[tuple[int, str], ...]:
    """Pick what the person said, word for word: the first request, then the newest, within a budget.

    Args:
        earlier: Prompts a previous summary carried.
        old: Messages that leave now.
        budget: Tokens all of them may take.
        count: Tokens of a text.

    Returns:
        Handle and text, oldest first. A prompt longer than a quarter of the budget is clipped in the middle.
    """
    said = dict(earlier)
    said.update((key, text) for key, text in prompts_of(old) if text.strip())
    if not said:
        return ()
    order = list(said)
    ranked = [order[0], *reversed(order[1:])]
    longest = max(200, budget)
    chosen: dict[int, str] = {}
    spent = 0
    for key in ranked:
        text = clip(said[key], longest)
        cost = count(text) + 4
        if spent + cost > budget and chosen:
            continue
        chosen[key] = text
        spent += cost
    return tuple((key, chosen[key]) for key in order if key in chosen)


def summary_message(
    summary: str, prompts: Sequence[tuple[int, str]], facts: str, extra: str = WAY_BACK
) -> ModelRequest:
    """Build the request that stands for compacted history.

    The parts are also kept in the metadata, which is never sent, so that the next compaction updates them.
    """
    sections = [summary.strip()]
    if prompts:
        said = "\n".join(f"- #{key}: {text}" for key, text in prompts)
        sections.append(f"## Said by the user, word for word\n{said}")
    if facts.strip():
        sections.append(f"## Also worth keeping\n{facts.strip()}")
    sections.append(extra)
    text = "\n\n".join(sections).replace(f"</{_TAG}", f"<\\/{_TAG}").replace(f"<{_TAG}", f"<\\{_TAG}")
    own = {"summary": summary, "prompts": [[key, said] for key, said in prompts], "facts": facts}
    return ModelRequest(parts=[CompactionPart(text, metadata={_KEY: own})], timestamp=_EPOCH)


def key_ranges(items: Sequence[Item], left: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Describe which visible messages leave, as inclusive ranges of their numbers.

    A range never spans a message that stays.
    """
    ranges: list[tuple[int, int]] = []
    open_range = False
    for item in items:
        if item.key not in left:
            open_range = False
            continue
        if open_range and item.key > ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], item.key)
        else:
            ranges.append((item.key, item.key))
        open_range = True
    return tuple(ranges)
