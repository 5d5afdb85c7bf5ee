"""Lines that an extractive summary may hold, each with its section, its tier and its weight."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from tui_app.context.events import Fact
from tui_app.context.fact_extractors import carried as sections
from tui_app.context.fact_extractors.carried import Carried, Entry
from tui_app.context.fact_extractors.commands import (
    FAILED,
    LINE_BREAK,
    Run,
    command_facts,
    error_facts,
    latest_runs,
)
from tui_app.context.fact_extractors.details import SEEN_IN, detail_facts, grouped
from tui_app.context.fact_extractors.files import file_trails
from tui_app.context.fact_extractors.narrative import Told, last_words, milestones, plans, turns
from tui_app.context.fact_extractors.outcomes import command_of
from tui_app.context.fact_extractors.reading import Reading, Said
from tui_app.context.fact_extractors.rules import (
    REQUEST_LIMIT,
    clip_middle,
    find_rules,
    first_request,
)
from tui_app.context.fact_extractors.talk import AWAITS_ANSWER, AWAITS_RESULT, decision_facts, question_facts
from tui_app.context.fact_extractors.todos import current_todos, todo_facts

_MOST_DECISIONS, _MOST_DETAILS = 500, 800
"""More than fit; which of them are taken is for weight and focus to say."""


class Tier(Enum):
    """Kinds of lines, by how dear they are when there is little room."""

    REQUEST = "request"
    RULE = "rule"
    ERROR = "error"
    CHANGED = "changed file"
    OPEN = "open"
    STATE = "state"
    DECISION = "decision"
    DETAIL = "detail"
    COMMAND = "command"
    READ = "read file"
    DONE = "done"
    NEXT = "next"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One line that may go into the summary."""

    section: str
    tier: Tier
    text: str
    key: int | None
    """Log number of its message; None when an earlier summary did not say."""
    weight: float
    labelled: bool = False
    """Whether the handle already stands inside the text."""

    def line(self) -> str:
        """The bullet: later lines indented, so that nothing quoted can pass for a heading of ours."""
        body = "\n  ".join(line for line in self.text.splitlines() if line.strip())
        handle = "" if self.key is None or self.labelled else f" (#{self.key})"
        return f"- {body}{handle}"

    def saying(self, text: str) -> "Candidate":
        """The same line with another text."""
        return replace(self, text=text)


def candidates(reading: Reading, carried: Carried) -> list[Candidate]:
    """Collect every line a summary could hold.

    Args:
        reading: The history.
        carried: The earlier summary, empty when there is none.

    Returns:
        Lines in the order in which they are to be shown within their sections.
    """
    runs = latest_runs(reading)
    return [
        *_requests(reading, carried),
        *_rules(reading, carried),
        *_done(reading, carried),
        *_decisions(reading, carried),
        *_files(reading, carried),
        *_commands(reading, carried),
        *_errors(reading, carried, runs),
        *_state(reading, carried, runs),
        *_open(reading, carried),
        *_details(reading, carried),
    ]


def _requests(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    first, latest = carried.request(sections.FIRST_REQUEST), carried.request(sections.LATEST_REQUEST)
    if reading.typed:
        first = first or (None if carried.sections else first_request(reading.typed))
        latest = reading.typed[-1]
    for entry in carried.other_intents():
        yield Candidate(sections.INTENT, Tier.REQUEST, entry.text, entry.key, 2.0)
    for label, said in ((sections.FIRST_REQUEST, first), (sections.LATEST_REQUEST, latest)):
        repeated = (
            label == sections.LATEST_REQUEST
            and first is not None
            and said is not None
            and said.key == first.key
        )
        if said is not None and not repeated:
            yield _request(label, said)


def _request(label: str, said: Said) -> Candidate:
    text = f"{label} (#{said.key}): {clip_middle(said.text, REQUEST_LIMIT)}"
    return Candidate(sections.INTENT, Tier.REQUEST, text, said.key, 4.0, labelled=True)


def _rules(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    """Rules word for word."""
    latest = carried.request(sections.LATEST_REQUEST)
    # What was the latest request then may leave the summary now; its rules must not leave with it.
    before = find_rules(Reading(typed=[latest])) if latest else []
    for rule in find_rules(reading, [*carried.rules(), *before]):
        if not rule.replaced:
            weight = rule.strength + 0.5 * reading.recency(rule.said.index)
            yield Candidate(sections.CONSTRAINTS, Tier.RULE, rule.text, rule.said.key or None, weight)


def _done(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    yield from _kept(carried, sections.DONE, Tier.DONE, 0.5)
    for todo in current_todos(reading):
        if todo.state == "done":
            yield Candidate(sections.DONE, Tier.DONE, f"{todo.text} · done", todo.key, 1.0)
    told = [(turn, 1.2) for turn in turns(reading)]
    words = last_words(reading)
    said = "\n".join([*(turn.text for turn, _ in told), words.text if words else ""])
    told += [(step, 0.8) for step in reversed(list(milestones(reading))) if step.text not in said]
    for step, weight in sorted(told, key=_when):
        yield Candidate(sections.DONE, Tier.DONE, step.text, step.key, weight + reading.recency(step.index))


def _when(told: tuple[Told, float]) -> int:
    return told[0].index


def _decisions(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    yield from _kept(carried, sections.DECISIONS, Tier.DECISION, 0.8)
    for fact in sorted(decision_facts(reading, _MOST_DECISIONS), key=_key_of):
        yield _from_fact(fact, sections.DECISIONS, Tier.DECISION)


def _files(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    """Changed files first, then those only read; newest last within each."""
    trails = file_trails(reading, carried.trails())
    for changed in (True, False):
        tier = Tier.CHANGED if changed else Tier.READ
        for trail in trails:
            if trail.changed() == changed:
                weight = 1.0 + reading.recency(trail.index) + 0.1 * min(sum(trail.counts.values()), 5)
                yield Candidate(sections.FILES, tier, f"{trail.path} · {trail.deeds()}", trail.key, weight)


def _commands(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    facts = command_facts(reading)
    new = {fact.text.rpartition("` · ")[0][1:] for fact in facts}
    for what, entry in carried.commands().items():
        if what not in new:
            # A model writes about files in its own way; such a line is as dear as ours about a changed file.
            own = what != entry.text
            tier, weight = (Tier.COMMAND, 0.5) if own else (Tier.CHANGED, 1.0)
            yield Candidate(sections.FILES, tier, entry.text, entry.key, weight)
    for fact in facts:
        yield _from_fact(fact, sections.FILES, Tier.COMMAND)


def _errors(reading: Reading, carried: Carried, runs: dict[str, Run]) -> Iterator[Candidate]:
    """Open errors; carried ones go when the same was run since, and one error is told once."""
    since = {run.what for run in runs.values()} | {
        _target(run.what) for run in runs.values() if run.ok and _target(run.what)
    }
    for what, entry in carried.errors().items():
        if what not in since and _target(what) not in since:
            yield Candidate(sections.ERRORS, Tier.ERROR, entry.text, entry.key, 1.0)
    told: set[str] = set()
    for fact in sorted(error_facts(reading), key=_key_of, reverse=True):
        first = fact.text.partition(FAILED)[2].split(LINE_BREAK)[0]
        if fact.kind == "error" and first not in told:
            told.add(first)
            yield _from_fact(fact, sections.ERRORS, Tier.ERROR)


def _target(what: str) -> str:
    """The path of a tool's use (``Edit a.py``), so that another tool that changed it counts as well."""
    tool, separator, path = what.partition(" ")
    return path if separator and " " not in path and tool[:1].isalpha() else ""


def _state(reading: Reading, carried: Carried, runs: dict[str, Run]) -> Iterator[Candidate]:
    words = last_words(reading)
    if words is None and not runs:
        yield from _kept(carried, sections.STATE, Tier.STATE, 1.0)
    if words is not None:
        yield Candidate(sections.STATE, Tier.STATE, f"Last said: {words.text}", words.key, 2.0)
    if runs:
        run = list(runs.values())[-1]
        shown = f"`{run.what}`" if command_of(run.action) else run.what
        text = f"Last done: {shown} · {'ok' if run.ok else 'failed'}"
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
        yield _from_fact(fact, sections.NEXT, Tier.OPEN)
    for plan in plans(reading):
        yield Candidate(sections.NEXT, Tier.NEXT, plan.text, plan.key, 1.0)


def _details(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    """Values and names by the file they belong to, some to a line."""
    known = " ".join(entry.text for entry in carried.entries(sections.DETAILS))
    yield from _kept(carried, sections.DETAILS, Tier.DETAIL, 0.5)
    facts = (
        fact for fact in detail_facts(reading, _MOST_DETAILS) if fact.text.partition(SEEN_IN)[0] not in known
    )
    for text, part in grouped(facts):
        weight = sum(fact.weight for fact in part) / len(part)
        yield Candidate(sections.DETAILS, Tier.DETAIL, text, max(map(_key_of, part)), weight)


def _kept(carried: Carried, section: str, tier: Tier, weight: float) -> Iterator[Candidate]:
    """Entries of the earlier summary as they were; the newest of them weigh most."""
    entries: tuple[Entry, ...] = carried.entries(section)
    for place, entry in enumerate(entries):
        yield Candidate(section, tier, entry.text, entry.key, weight + 0.2 * place / len(entries))


def _from_fact(fact: Fact, section: str, tier: Tier) -> Candidate:
    return Candidate(section, tier, fact.text, _key_of(fact), fact.weight)


def _key_of(fact: Fact) -> int:
    return int(fact.source.removeprefix("#"))
