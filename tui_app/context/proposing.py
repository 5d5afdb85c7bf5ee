"""From a written summary to a proposal: facts checked, replacement built and weighed."""

import asyncio
from dataclasses import dataclass, replace

from tui_app.context.events import CompactionComplete, Fact
from tui_app.context.facts import extract_facts
from tui_app.context.history import History, Proposal
from tui_app.context.items import Item
from tui_app.context.planner import Plan
from tui_app.context.render import message_text, prompts_of
from tui_app.context.replacement import choose_prompts, earlier_summary, key_ranges, summary_message
from tui_app.context.retention import judge, missing_facts
from tui_app.context.summary import Summary, SummaryFailed, SummaryTask
from tui_app.context.usage import CATEGORIES, Breakdown


def summary_task(plan: Plan) -> SummaryTask:
    """What the summariser is given: the messages that leave, less the summaries it is to update."""
    earlier = earlier_summary(plan.split.old)
    fresh = tuple(item for item in plan.split.old if not _is_earlier(item))
    return SummaryTask(
        items=fresh, previous=earlier.summary, focus=plan.focus, budget_tokens=plan.summary_budget
    )


def _is_earlier(item: Item) -> bool:
    return bool(earlier_summary((item,)).summary)


@dataclass(frozen=True, slots=True)
class _Draft:
    prompts: tuple[tuple[int, str], ...]
    facts_text: str
    facts: tuple[Fact, ...]
    retention: float


async def propose(history: History, plan: Plan, summary: Summary, blank: CompactionComplete) -> Proposal:
    """Check a summary against what it replaces and build the replacement.

    Args:
        history: The view; only read.
        plan: What the job set out to do.
        summary: What was written.
        blank: The completion event with everything known before.

    Raises:
        SummaryFailed: if the summary is blank.
    """
    if not summary.text.strip():
        raise SummaryFailed("the model answered nothing")
    version = history.version
    # Facts of a long history take a while to extract; a person may cancel meanwhile.
    draft = await asyncio.to_thread(_draft, plan, summary)
    message = summary_message(summary.text, draft.prompts, draft.facts_text)
    tokens = history.weigh(Item(0, message))
    left = frozenset(item.key for item in plan.split.old)
    visible = [item for item in (*plan.split.head, *plan.split.old, *plan.split.recent)]
    visible.sort(key=_order(history))
    stays = len(plan.split.head) + len(plan.split.recent)
    after = plan.floor + tokens.total
    complete = replace(
        blank,
        outcome="success",
        performed_by=summary.performed_by,
        model=summary.model or blank.model,
        title=summary.title or default_title(plan),
        summary=summary.text,
        removed=key_ranges(visible, left),
        tokens=nonzero(tokens),
        tokens_after=after,
        messages_after=stays + 1,
        tokens_removed=plan.tokens_before - after,
        messages_removed=len(left) - 1,
        retention=round(draft.retention, 4),
        facts=draft.facts,
        input_tokens=summary.input_tokens,
        output_tokens=summary.output_tokens,
        cost_usd=summary.cost_usd,
    )
    return Proposal(complete=complete, message=message, left=left, version=version)


def _order(history: History) -> "_Position":
    return _Position({item.key: index for index, item in enumerate(history.items())})


@dataclass(frozen=True, slots=True)
class _Position:
    places: dict[int, int]

    def __call__(self, item: Item) -> int:
        return self.places.get(item.key, len(self.places))


def _draft(plan: Plan, summary: Summary) -> _Draft:
    """The slow part, run in a thread: what was said, and which facts the summary left out."""
    earlier = earlier_summary(plan.split.old)
    prompts = choose_prompts(earlier.prompts, plan.split.old, plan.prompts_budget, _rough)
    facts = extract_facts(plan.split.old)
    standing = "\n".join(
        [summary.text, *(text for _, text in prompts), *map(_text, (*plan.split.head, *plan.split.recent))]
    )
    missing = missing_facts(facts, standing, plan.facts_budget, _rough)
    judged, retention = judge(facts, replacement_text=f"{standing}\n{missing}", recoverable=True)
    return _Draft(prompts=prompts, facts_text=missing, facts=judged, retention=retention)


def _text(item: Item) -> str:
    return message_text(item.message)


def _rough(text: str) -> int:
    """Tokens of a text for budgets: characters through three, which rather over- than undercounts."""
    return -(-len(text) // 3)


def default_title(plan: Plan) -> str:
    """A title for the checkpoint when the summary has none: the first words of the latest request."""
    said = prompts_of(plan.split.old) or prompts_of((*plan.split.head, *plan.split.recent))
    words = said[-1][1].split()[:6] if said else []
    return " ".join(words)[:60] or "conversation"


def nonzero(tokens: Breakdown) -> dict[str, int]:
    """Token categories that are not empty, as stored in the log."""
    return {name: value for name in CATEGORIES if (value := getattr(tokens, name))}
