"""From a written summary to a proposal: facts checked, replacement built and weighed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelRequest

from tui_app.context.compaction.planner import Plan
from tui_app.context.compaction.ranges import key_ranges
from tui_app.context.compaction.replacement import (
    Earlier,
    Words,
    acknowledging,
    choose_prompts,
    earlier_notes,
    earlier_summary,
    said_beside,
    summary_message,
    superseded_in,
)
from tui_app.context.compaction.retention import judge, missing_facts
from tui_app.context.fact_extractors.typed import typed_text
from tui_app.context.facts import extract_facts
from tui_app.context.history import History, Proposal
from tui_app.context.items import Item
from tui_app.context.requests.originals import Unabridged
from tui_app.context.stages.marks import is_acknowledgement, mark_of
from tui_app.context.summaries.forms import framed
from tui_app.context.summaries.render import message_text, prompts_of
from tui_app.context.summaries.summary import Summary, SummaryTask
from tui_app.events import CompactionComplete, Fact

_OPEN_TOKENS = 200
"""Room for what awaits the person where a policy wants no facts: two questions."""


def summary_task(plan: Plan, whole: Unabridged) -> SummaryTask:
    """What the summariser is given: the messages that leave, less the summaries it is to update.

    Args:
        plan: What the job set out to do.
        whole: The view as it was before any stage touched it.
    """
    fresh = tuple(
        item for item in plan.leaving if not is_acknowledgement(item.message) and not earlier_notes((item,))
    )
    return SummaryTask(
        items=fresh,
        whole=whole,
        previous=earlier_notes(plan.leaving),
        focus=plan.focus,
        instructions=plan.instructions,
        budget_tokens=plan.summary_budget,
    )


async def propose(
    history: History,
    plan: Plan,
    whole: Unabridged,
    summary: Summary,
    blank: CompactionComplete,
    *,
    way_back: str,
) -> Proposal:
    """Check a summary against what it replaces and build the replacement.

    Args:
        history: The view; only read.
        plan: What the job set out to do.
        whole: The view as it was before any stage touched it: facts are read from there.
        summary: What was written.
        blank: The completion event with everything known before.
        way_back: How the model can get at what left; empty where it cannot.
    """
    # Facts of a long history take a while to extract; a person may cancel meanwhile.
    draft = await asyncio.to_thread(_draft, plan, whole, summary, recoverable=bool(way_back))
    message = _message(plan, summary, draft, way_back)
    said = acknowledging(plan.form.acknowledgement) if plan.form.acknowledgement else None
    tokens = history.weigh(Item(0, message))
    added = tokens.total + (history.weigh(Item(0, said)).total if said else 0)
    written = _written(blank, plan, summary, draft, tokens.nonzero())
    left = frozenset(item.key for item in plan.split.old)
    complete = _measured(written, plan, left, plan.sizes.of(added))
    files = sum(bool(mark_of(part).get("file")) for item in plan.split.old for part in item.message.parts)
    return Proposal(complete=complete, message=message, left=left, acknowledgement=said, in_files=files)


def _written(
    blank: CompactionComplete, plan: Plan, summary: Summary, draft: "_Draft", tokens: dict[str, int]
) -> CompactionComplete:
    """Add what was written, by whom and at what price, and what became of the facts."""
    return replace(
        blank,
        outcome="success",
        performed_by=summary.performed_by,
        model=summary.model or blank.model,
        title=summary.title or default_title(plan),
        summary=summary.text,
        tokens=tokens,
        retention=round(draft.retention, 4),
        facts=draft.facts,
    )


def _message(plan: Plan, summary: Summary, draft: "_Draft", way_back: str) -> ModelRequest:
    """The replacement in the policy's own wording."""
    form, count = plan.form, len(plan.split.old)
    shown = framed(form, summary.text, count=count, written=summary.performed_by != "marker")
    back = way_back if form.way_back else ""
    own = (draft.words, draft.missing, draft.rules)
    return summary_message(summary.text, *own, back, shown, additions=plan.additions)


def _measured(
    complete: CompactionComplete, plan: Plan, left: frozenset[int], tokens: int
) -> CompactionComplete:
    """Add what leaves, where the summary stands, and how large the view will be.

    ``tokens`` is the size of what comes.
    """
    split, after = plan.split, plan.floor + tokens
    return replace(
        complete,
        removed=key_ranges((*split.head, *split.old, *split.recent), left),
        behind=split.behind,
        tokens_after=after,
        messages_after=len(split.head) + len(split.recent) + plan.added,
        tokens_removed=plan.tokens_before - after,
        messages_removed=len(left) - plan.added,
    )


@dataclass(frozen=True, slots=True)
class _Draft:
    words: Words
    missing: str
    rules: tuple[Fact, ...]
    facts: tuple[Fact, ...]
    retention: float


def _draft(plan: Plan, whole: Unabridged, summary: Summary, *, recoverable: bool) -> _Draft:
    """The slow part, run in a thread: what was said, and which facts the summary left out."""
    split, earlier = plan.split, earlier_summary(plan.leaving)
    left = {item.key for item in plan.leaving}
    old = tuple(item for item in whole.items if item.key in left)
    words = choose_prompts(earlier, old, plan.prompts_budget, _rough)
    words = replace(words, replaced=superseded_in(earlier, whole.items))
    facts = _facts(earlier, whole)
    standing = "\n".join(
        [summary.text, *(text for _, text in words.prompts), *map(_text, (*split.head, *split.recent))]
    )
    wanted, budget = _wanted(plan, facts, words, summary)
    missing = missing_facts(wanted, standing, budget, _rough)
    judged, retention = judge(facts, replacement_text=f"{standing}\n{missing}", recoverable=recoverable)
    rules = tuple(fact for fact in facts if fact.kind == "rule")
    return _Draft(words=words, missing=missing, rules=rules, facts=judged, retention=retention)


def _wanted(
    plan: Plan, facts: tuple[Fact, ...], words: Words, summary: Summary
) -> tuple[tuple[Fact, ...], int]:
    """Facts to bring back, and their tokens: what the person's words do not need is theirs.

    Where a policy wants none, what awaits the person is brought back all the same: without it their next
    words, perhaps a bare yes, would answer nothing.
    """
    if not plan.facts_budget:
        return tuple(fact for fact in facts if fact.kind == "question"), _OPEN_TOKENS
    spare = plan.prompts_budget - said_beside(words, summary.text, _rough)
    return facts, plan.facts_budget + max(0, spare)


def _facts(earlier: Earlier, whole: Unabridged) -> tuple[Fact, ...]:
    """Facts of what goes out of sight, and the rules of what left before; weightiest first."""
    fresh = extract_facts(whole.items, whole.in_sight)
    known = {fact.text for fact in fresh if fact.kind == "rule"}
    carried = (rule for rule in earlier.rules if rule.text not in known)
    return tuple(sorted((*carried, *fresh), key=_weight, reverse=True))


def _weight(fact: Fact) -> float:
    return fact.weight


def _text(item: Item) -> str:
    return message_text(item.message)


def _rough(text: str) -> int:
    """Tokens of a text for budgets: characters through three, which rather over- than undercounts."""
    return -(-len(text) // 3)


def _typed(items: Sequence[Item]) -> list[str]:
    return [typed for _, text in prompts_of(items) if (typed := typed_text(text))]


def default_title(plan: Plan) -> str:
    """A title for the checkpoint when the summary has none: the first words of the latest request."""
    said = _typed(plan.split.old) or _typed((*plan.split.head, *plan.split.recent))
    words = said[-1].split()[:6] if said else []
    return " ".join(words)[:60] or "conversation"
