"""Lines that an extractive summary may hold, each with its section, its tier and its weight."""

from collections.abc import Iterator
from dataclasses import replace

from tui_app.context.fact_extractors import carried as sections
from tui_app.context.fact_extractors.carried import Carried
from tui_app.context.fact_extractors.commands import latest_runs, untold_runs
from tui_app.context.fact_extractors.details import detail_facts, folders_of
from tui_app.context.fact_extractors.files import file_trails
from tui_app.context.fact_extractors.labels import FIRST_REQUEST, LAST_DONE, LATEST_REQUEST
from tui_app.context.fact_extractors.lines import Candidate, Tier, from_fact, kept, key_of
from tui_app.context.fact_extractors.narrative import Told, last_words, milestones, plans, turns
from tui_app.context.fact_extractors.outcomes import command_of
from tui_app.context.fact_extractors.paths import common_root, shortened
from tui_app.context.fact_extractors.reading import Reading, Said
from tui_app.context.fact_extractors.rules import REQUEST_LIMIT, Rule, clip_middle, find_rules, first_request
from tui_app.context.fact_extractors.talk import AWAITS_ANSWER, AWAITS_RESULT, decision_facts, question_facts
from tui_app.context.fact_extractors.todos import current_todos, todo_facts
from tui_app.context.fact_extractors.work_lines import (
    change_lines,
    command_lines,
    detail_lines,
    file_lines,
    open_error_lines,
)

_MANY = 8
"""Files that came up by their names only, below which their common folder is not worth a line of its own."""
_MOST_DECISIONS = 500
"""More than fit; which of them are taken is for weight and focus to say."""


def candidates(reading: Reading, carried: Carried) -> list[Candidate]:
    """Collect every line a summary could hold.

    Args:
        reading: The history.
        carried: The earlier summary, empty when there is none.

    Returns:
        Lines in the order in which they are to be shown within their sections.
    """
    runs = latest_runs(reading)
    trails = file_trails(reading, carried.trails())
    details = detail_facts(reading)
    root = common_root(trail.path for trail in trails) or common_root(folders_of(details), fewest=_MANY)
    return [
        *_requests(reading, carried),
        *_rules(reading, carried),
        *kept(carried, sections.BEFORE, Tier.BEFORE, 1.0),
        *_done(reading, carried),
        *_decisions(reading, carried),
        *file_lines(reading, trails, root),
        *change_lines(reading, carried, root),
        *command_lines(reading, carried),
        *open_error_lines(reading, carried, runs),
        *_state(reading, carried, root),
        *_open(reading, carried),
        *detail_lines(details, carried, root),
    ]


def _requests(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    first, latest = _first(reading, carried), carried.request(LATEST_REQUEST)
    if reading.typed:
        latest = reading.typed[-1]
    for entry in carried.other_intents():
        yield Candidate(sections.INTENT, Tier.REQUEST, entry.text, entry.key, 2.0)
    for label, said in ((FIRST_REQUEST, first), (LATEST_REQUEST, latest)):
        repeated = (
            label == LATEST_REQUEST and first is not None and said is not None and said.key == first.key
        )
        if said is not None and not repeated:
            yield replace(_request(label, said), carried=said.index < 0)


def _first(reading: Reading, carried: Carried) -> Said | None:
    carries = carried.request(FIRST_REQUEST)
    return carries or (first_request(reading.typed) if reading.typed and not carried.sections else None)


def _request(label: str, said: Said) -> Candidate:
    text = f"{label} (#{said.key}): {clip_middle(said.text, REQUEST_LIMIT)}"
    return Candidate(sections.INTENT, Tier.REQUEST, text, said.key, 4.0, labelled=True)


def _rules(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    """Rules word for word; what only reads like one comes behind them."""
    latest = carried.request(LATEST_REQUEST)
    # What was the latest request then may leave the summary now; its rules must not leave with it.
    before = find_rules(Reading(typed=[latest])) if latest else []
    rules = [rule for rule in find_rules(reading, [*carried.rules(), *before]) if not rule.replaced]
    for rule in sorted(rules, key=_is_pasted):
        weight = rule.strength + 0.5 * reading.recency(rule.said.index)
        tier = Tier.PASTED if rule.pasted else Tier.RULE
        yield Candidate(sections.CONSTRAINTS, tier, rule.text, rule.said.key or None, weight)


def _is_pasted(rule: Rule) -> bool:
    return rule.pasted


def _done(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    yield from kept(carried, sections.DONE, Tier.DONE, 0.5)
    for todo in current_todos(reading):
        if todo.state == "done":
            yield Candidate(sections.DONE, Tier.DONE, f"{todo.text} · done", todo.key, 1.0)
    first = _first(reading, carried)
    told = [(turn, 1.2) for turn in turns(reading, FIRST_REQUEST if first else "", first.key if first else 0)]
    words = last_words(reading)
    said = "\n".join([*(turn.text for turn, _ in told), words.text if words else ""])
    told += [(step, 0.8) for step in reversed(list(milestones(reading))) if step.text not in said]
    for step, weight in sorted(told, key=_when):
        yield Candidate(sections.DONE, Tier.DONE, step.text, step.key, weight + reading.recency(step.index))


def _when(told: tuple[Told, float]) -> int:
    return told[0].index


def _decisions(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    yield from kept(carried, sections.DECISIONS, Tier.DECISION, 0.8)
    for fact in sorted(decision_facts(reading, _MOST_DECISIONS), key=key_of):
        yield from_fact(fact, sections.DECISIONS, Tier.DECISION)


def _state(reading: Reading, carried: Carried, root: str) -> Iterator[Candidate]:
    words, runs = last_words(reading), untold_runs(reading)
    if words is None and not runs:
        yield from kept(carried, sections.STATE, Tier.STATE, 1.0)
    if words is not None:
        yield Candidate(sections.STATE, Tier.STATE, f"Last said: {words.text}", words.key, 2.0)
    if runs:
        run = runs[-1]
        shown = f"`{run.what}`" if command_of(run.action) else shortened(run.what, root)
        text = f"{LAST_DONE}{shown} · {'ok' if run.ok else 'failed'}"
        yield Candidate(sections.STATE, Tier.STATE, text, run.action.key, 1.5)


def _open(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    """What waits: tasks, questions, and what the assistant said it would do next."""
    todos = todo_facts(reading)
    listed = bool(current_todos(reading))
    moved_on = bool(reading.typed or reading.spoken or reading.actions)
    for entry in carried.entries(sections.NEXT):
        waits = entry.text.endswith((AWAITS_ANSWER, AWAITS_RESULT))
        task = entry.text.endswith((" · open", " · in progress"))
        if not (waits and moved_on) and not (task and listed):
            yield Candidate(sections.NEXT, Tier.OPEN if task else Tier.NEXT, entry.text, entry.key, 0.8)
    for fact in (*todos, *question_facts(reading)):
        yield from_fact(fact, sections.NEXT, Tier.OPEN)
    for plan in plans(reading):
        yield Candidate(sections.NEXT, Tier.NEXT, plan.text, plan.key, 1.0)
