"""Simulation of a conversation under policies, without calling a model."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse

from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.ledger.facts import session_facts
from tui_app.context.ledger.retention import judge, weighted_facts
from tui_app.context.policy import Policy
from tui_app.context.summaries.prompt import message_text
from tui_app.context.views.view import Item
from tui_app.conversation.audits.replay import FactsKept, Outcome, Replay
from tui_app.conversation.audits.transcript import Recorded
from tui_app.events import Fact, FactState
from tui_app.records import frozen, picked
from tui_app.refusals import Refusal

STATES: tuple[FactState, ...] = ("kept", "recoverable", "lost")


def look_up_facts(facts: Sequence[Fact], items: Sequence[Item], given: Sequence[ModelMessage]) -> list[Fact]:
    """Look up every fact in what the model is given.

    A fact is kept if its message is given unchanged, or its words are anywhere in the given text; see
    ``judge``.

    Args:
        facts: Of the whole conversation.
        items: The whole conversation, by the handles of the facts.
        given: What the model is given.
    """
    text = "\n".join(map(message_text, given))
    judged, _ = judge(facts, replacement_text=text)
    # Messages with all their parts given. They may have been merged with others.
    here = {id(part) for message in given for part in message.parts}
    whole = {f"#{item.key}" for item in items if all(id(part) in here for part in item.message.parts)}
    return [replace(fact, state="kept") if fact.source in whole else fact for fact in judged]


def count_facts(judged: Sequence[Fact]) -> FactsKept:
    """Add up the states of facts."""
    weights = dict.fromkeys(STATES, 0.0)
    for fact in weighted_facts(judged):
        weights[fact.state] += fact.weight
    total = sum(weights.values())
    return FactsKept(
        retention=round(weights["kept"] / total, 4) if total > 0 else 1.0,
        recoverable=round(weights["recoverable"] / total, 4) if total > 0 else 0.0,
        counts={state: sum(fact.state == state for fact in judged) for state in STATES},
    )


@frozen(kw_only=True)
class Simulation:
    """One conversation, replayed."""

    recorded: Recorded
    messages: int
    """Each is one prompt, one answer or one result."""
    answers: int
    model: str
    """The model whose tokenizer and prices apply; empty if unknown."""
    tokens: int
    """Of all messages together."""
    windows: tuple[tuple[Outcome, ...], ...]
    """One tuple per window, in the order given, with one outcome per policy."""

    def to_json(self) -> dict[str, Any]:
        source = self.recorded
        return {
            "source": source.name,
            **picked(source, "format title"),
            "answers": self.answers,
            "model": self.model or None,
            **picked(self, "messages tokens"),
            "skipped": [picked(skipped, "line reason") for skipped in source.skipped],
            "notes": list(source.notes),
            "windows": [
                {**picked(of[0].window, "limit reserve"), "policies": [outcome.to_json() for outcome in of]}
                for of in self.windows
            ],
        }


async def simulate(
    recorded: Recorded,
    policies: Sequence[Policy],
    windows: Sequence[int],
    model: str = "",
    *,
    watch: Callable[[str, int, int, int], object] = lambda *_: None,
    retention: str = "auto",
) -> Simulation:
    """Replay a conversation under each policy in each window.

    Args:
        recorded: The conversation.
        policies: At least one.
        windows: Window sizes in tokens, at least one.
        model: The model whose tokenizer and prices apply; empty for the one that answered.
        watch: Called for every request with the policy, the window, the number of requests replayed so far
            over all policies and windows, and their total.
        retention: Retention of caches that must be requested: ``auto``, ``1h`` or ``off``.

    Raises:
        Refusal: if it has no answer, or no request fits a window.
    """
    items = recorded.original_items()
    messages = tuple(item.message for item in items)
    answers = sum(isinstance(message, ModelResponse) for message in messages)
    if not answers:
        raise Refusal(f"{recorded.name} holds no answer of a model: there is nothing to replay.")
    name = model or recorded.model
    text = TextCounter(encoding_name(name))
    await asyncio.to_thread(text.load)
    counter = TokenCounter(text, model=name)
    facts = await asyncio.to_thread(session_facts, items)
    replays, total = count(), answers * len(windows) * len(policies)

    async def play(policy: Policy, window: int) -> Outcome:
        before = answers * next(replays)

        def told(requests: int) -> None:
            watch(policy.name, window, before + requests, total)

        replay = Replay(policy, window, counter, model=name, retention=retention, watch=told)
        await replay.play(messages)
        if not any(request.tokens for request in replay.requests):
            needed = min(request.needed for request in replay.requests)
            raise Refusal(
                f"A window of {window:,} tokens is too small for {recorded.name}: "
                f"its smallest request needs {needed:,}, with what is kept for the answer."
            )
        known, limited = replay.known_window, policy.automatic
        # Building the next request adds events that are no part of the replay.
        work, given = replay.work, replay.outgoing()
        return Outcome(
            policy=policy.name,
            window=known,
            background_mark=policy.background_mark(known) if limited else 0,
            blocking_mark=policy.blocking_mark(known) if limited else 0,
            requests=tuple(replay.requests),
            work=work,
            view=tuple(replay.view()),
            view_tokens=replay.history.usage().total,
            facts=count_facts(await asyncio.to_thread(look_up_facts, facts, items, given)),
        )

    played = [tuple([await play(policy, window) for policy in policies]) for window in windows]
    return Simulation(
        recorded=recorded,
        messages=len(messages),
        answers=answers,
        model=name,
        tokens=sum(counter.message(message).total for message in messages),
        windows=tuple(played),
    )
