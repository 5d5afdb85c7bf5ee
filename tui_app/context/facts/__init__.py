"""Extractors of facts: each module knows one kind, and reads nothing but a ``Reading``."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from operator import attrgetter

from tui_app.context.facts.commands import command_facts, error_facts
from tui_app.context.facts.details import detail_facts
from tui_app.context.facts.dialogue import decision_facts, question_facts, todo_facts
from tui_app.context.facts.files import file_facts
from tui_app.context.facts.observations import Reading, read_items
from tui_app.context.facts.rules import request_facts, rule_facts
from tui_app.context.secrets import mask_secrets
from tui_app.context.view import Item
from tui_app.events import Fact

# Facts: what a history holds that must outlive it, as relations a person can read.
#
# A deterministic pass over the messages that are about to leave the view. It asks no model, so it works
# offline and gives the same facts for the same history; whether a summary kept them is judged afterwards.

_EXTRACTORS = (
    request_facts,
    rule_facts,
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


def facts_of(reading: Reading) -> tuple[Fact, ...]:
    """Collect the facts of a history that has been read already; see ``extract_facts``."""
    unique: dict[tuple[str, str], Fact] = {}
    for extractor in _EXTRACTORS:
        for fact in extractor(reading):
            clean = replace(fact, text=mask_secrets(fact.text))
            unique.setdefault((clean.kind, clean.text), clean)
    return tuple(sorted(unique.values(), key=attrgetter("weight"), reverse=True))
