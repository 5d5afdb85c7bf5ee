"""Extractors of facts: each module knows one kind, and reads nothing but a ``Reading``."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from operator import attrgetter

from tui_app.context.facts.commands import command_facts, error_facts
from tui_app.context.facts.details import detail_facts
from tui_app.context.facts.dialogue import decision_facts, question_facts, todo_facts
from tui_app.context.facts.files import Trail, file_facts
from tui_app.context.facts.observations import Reading, read_items
from tui_app.context.facts.rules import request_facts, rule_facts, said_facts
from tui_app.context.secrets import mask_secrets
from tui_app.context.view import Item
from tui_app.events import Fact

# Facts: what a history holds that must outlive it, as relations a user can read.
#
# A deterministic pass over the messages that are about to leave the view. It asks no model, so it works
# offline and gives the same facts for the same history; whether a summary kept them is judged afterwards.

_EXTRACTORS = (
    request_facts,
    rule_facts,
    said_facts,
    error_facts,
    question_facts,
    todo_facts,
    file_facts,
    decision_facts,
    command_facts,
    detail_facts,
)


def extract_facts(items: Sequence[Item], in_sight: Collection[int] = ()) -> tuple[Fact, ...]:
    """Collect the facts of a history.

    Rules and requests come only from what the user typed; summaries, tool output and reminders that programs
    put into user messages are never read as the user's words. Secrets are masked. Time is linear in the text.

    Args:
        items: The messages, in order of time; any agent's, complete or not.
        in_sight: Keys of those that stay in view: they yield no facts, but what they answer or solve is no
            longer open.

    Returns:
        Facts with their source and weight, weightiest first; equal weights in order of finding. The same
        items always give the same facts.
    """
    return facts_of(read_items(items, in_sight))


_SEPARATOR = " · "
_DEED = re.compile(r"^(created|written|edited|read|deleted|undone)(?: (\d{1,6})×)?$")
_MOST_CARRIED = 250
"""Details and decisions that are handed on from an earlier summary."""


def carry_facts(earlier: Sequence[Fact], fresh: Sequence[Fact]) -> tuple[Fact, ...]:
    """Add the facts of an earlier stretch, whose messages cannot be read any more, to those since.

    What was done to a file is added up; a command, an error and the tasks stand as they ended last; what was
    asked is answered by whatever came after it.

    Args:
        earlier: Facts of the stretch before, as they were then.
        fresh: Facts of what can be read.

    Returns:
        All that holds, weightiest first.
    """
    known = {(fact.kind, fact.text) for fact in fresh}
    since = {subject_of_fact(fact): fact for fact in fresh}
    kinds = {fact.kind for fact in fresh}
    kept: list[Fact] = []
    replaced: dict[Fact, Fact] = {}
    carried = 0
    for fact in earlier:
        newer = since.get(subject_of_fact(fact))
        if fact.kind == "file" and newer is not None:
            now = replaced.get(newer, newer)
            text = _added_up(fact.text, now.text)
            replaced[newer] = replace(now, text=text, weight=max(fact.weight, now.weight))
            continue
        over = newer is not None or (fact.kind in {"todo", "question"} and bool(kinds))
        if over or (fact.kind, fact.text) in known:
            continue
        if fact.kind in {"detail", "decision"}:
            carried += 1
            if carried > _MOST_CARRIED:
                continue
        kept.append(fact)
    every = (*kept, *(replaced.get(fact, fact) for fact in fresh))
    return tuple(sorted(every, key=attrgetter("weight"), reverse=True))


def subject_of_fact(fact: Fact) -> tuple[str, str]:
    """What a fact is about: a path, a command whichever way it ended, or the fact itself."""
    head, separator, _ = fact.text.partition(_SEPARATOR)
    if fact.kind == "file" and separator:
        return "file", fact.text.rpartition(_SEPARATOR)[0]
    if fact.kind in {"command", "error"} and separator:
        return "run", head
    return fact.kind, fact.text


def _added_up(before: str, after: str) -> str:
    """What was done to a file in two stretches, as one line."""
    path, _, earlier = before.rpartition(_SEPARATOR)
    trail = Trail(path)
    for deeds in (earlier, after.rpartition(_SEPARATOR)[2]):
        for match in map(_DEED.match, deeds.split(", ")):
            if match:
                trail.add(match[1], 0, 0, int(match[2] or 1))
    return f"{path}{_SEPARATOR}{trail.deeds()}"


def facts_of(reading: Reading) -> tuple[Fact, ...]:
    """Collect the facts of a history that has been read already; see ``extract_facts``."""
    unique: dict[tuple[str, str], Fact] = {}
    for extractor in _EXTRACTORS:
        for fact in extractor(reading):
            clean = replace(fact, text=mask_secrets(fact.text))
            unique.setdefault((clean.kind, clean.text), clean)
    return tuple(sorted(unique.values(), key=attrgetter("weight"), reverse=True))
