"""What is left of the facts of a conversation in what a model is given in the end."""

from collections.abc import Iterator, Sequence

from pydantic_ai.messages import ModelMessage

from tui_app.context.compaction.retention import judge
from tui_app.context.summaries.transcript import message_text
from tui_app.conversation.simulating.outcome import FactsKept
from tui_app.events import Fact, FactState

_STATES: tuple[FactState, ...] = ("kept", "recoverable", "lost")


def facts_kept(
    facts: Sequence[Fact], messages: Sequence[ModelMessage], given: Sequence[ModelMessage]
) -> FactsKept:
    """Look every fact up.

    A fact is kept when the message it was found in is given as it was, or its words stand anywhere in what is
    given; see ``retention.judge``.

    Args:
        facts: Of the whole conversation; their handles count its messages from 1.
        messages: The whole conversation.
        given: What the model is given.
    """
    text = "\n".join(map(message_text, given))
    judged, _ = judge(facts, replacement_text=text)
    whole = set(_still_whole(messages, given))
    states = ["kept" if fact.source in whole else fact.state for fact in judged]
    weights = {
        state: sum(fact.weight for fact, its in zip(judged, states, strict=True) if its == state)
        for state in _STATES
    }
    total = sum(weights.values())
    return FactsKept(
        retention=round(weights["kept"] / total, 4) if total > 0 else 1.0,
        recoverable=round(weights["recoverable"] / total, 4) if total > 0 else 0.0,
        counts={state: states.count(state) for state in _STATES},
    )


def _still_whole(messages: Sequence[ModelMessage], given: Sequence[ModelMessage]) -> Iterator[str]:
    """Handles of the messages of which every part is given; they may have been joined to others."""
    here = {id(part) for message in given for part in message.parts}
    for key, message in enumerate(messages, 1):
        if all(id(part) in here for part in message.parts):
            yield f"#{key}"
