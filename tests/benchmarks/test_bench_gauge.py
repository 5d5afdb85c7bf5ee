"""What one more message costs the gauge, whatever the conversation's length."""

from collections.abc import Sequence
from time import perf_counter

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from tests.benchmarks.measure import Comparison
from tests.benchmarks.sessions import turn, words
from tui_app.context.counting.encodings import NEAREST, TextCounter
from tui_app.context.counting.tally import MessageWeight, Tally
from tui_app.context.counting.tokens import TokenCounter
from tui_app.usage import Breakdown, ContextWindow

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
MESSAGES, LENGTH = 4_200, 430
"""About a million tokens."""
WINDOW = ContextWindow(limit=2_000_000, source="setting")
TOKENS = 1_000_000


def add_one(tally: Tally, counter: TokenCounter, number: int) -> float:
    """Seconds to count one more message and to know the new estimate."""
    request = ModelRequest(parts=[UserPromptPart(f"And what about the {words(number, 200)}?")])
    started = perf_counter()
    tally.add(MessageWeight(key=MESSAGES + number, tokens=counter.message(request)))
    usage = tally.usage(WINDOW, Breakdown(), model="openai:scripted")
    took = perf_counter() - started
    assert usage.messages == tally.messages
    return took


def recount(messages: Sequence[ModelMessage], text: TextCounter) -> float:
    """Seconds to count every message again."""
    counter = TokenCounter(text)
    started = perf_counter()
    total = sum(counter.message(message).total for message in messages)
    took = perf_counter() - started
    assert total >= TOKENS, f"only {total:,} tokens"
    return took


def test_gauge_after_one_message() -> None:
    text = TextCounter(NEAREST)
    text.load()
    counter, tally = TokenCounter(text), Tally()
    messages = [message for number in range(MESSAGES // 2) for _, message in turn(number, LENGTH, last=False)]
    tally.reset(
        (MessageWeight(key=key, tokens=counter.message(message)) for key, message in enumerate(messages)),
        trusted_after=0,
    )
    baseline = [recount(messages, text) for _ in range(5)]
    ours = [add_one(tally, counter, number) for number in range(400)]
    found = Comparison(
        name="gauge after one message of 200 words, against counting 1M tokens",
        ours=[1_000 * each for each in ours],
        baseline=[1_000 * each for each in baseline],
        unit="ms",
        most=1 / 1_000,
    )
    print(f"\n{found}")
    assert found.good
