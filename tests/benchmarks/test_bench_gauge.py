"""What one more message costs the gauge, whatever the conversation's length."""

from time import perf_counter

import pytest
from pydantic_ai.messages import ModelRequest, UserPromptPart

from tests.benchmarks.measure import Comparison
from tests.benchmarks.programs import Lab
from tests.benchmarks.sessions import words, write_session
from tui_app.context.encodings import NEAREST, TextCounter
from tui_app.context.events import GaugeChanged, UserMessage
from tui_app.context.tokens import TokenCounter
from tui_app.conversation.opening import OpenSession, open_session
from tui_app.conversation.request import Opening
from tui_app.paths import Paths
from tui_app.settings import Settings

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
MESSAGES = 4_200
TOKENS = 1_000_000


def add_one(opened: OpenSession, number: int) -> float:
    """Seconds to count a message, write it to the log and publish the gauge."""
    history = opened.conversation.history
    text = f"And what about the {words(number, 200)}?"
    request = ModelRequest(parts=[UserPromptPart(text)])
    started = perf_counter()
    tokens = history.counter.message(request)
    history.append(UserMessage(text=text, tokens={"user": tokens.total}), request)
    return perf_counter() - started


def recount(opened: OpenSession, text: TextCounter) -> float:
    """Seconds to count every message again."""
    messages = [item.message for item in opened.conversation.history.items()]
    counter = TokenCounter(text)
    started = perf_counter()
    total = sum(counter.message(message).total for message in messages)
    took = perf_counter() - started
    assert total >= TOKENS, f"only {total:,} tokens"
    return took


async def test_gauge_after_one_message(lab: Lab, paths: Paths) -> None:
    session = write_session(paths, MESSAGES, length=430)
    opening = Opening(settings=Settings(), paths=paths, env={}, cwd=lab.workspace, session=session)
    opened = open_session(opening)
    try:
        await opened.prepare()
        records = aiter(opened.conversation.watch())
        ours = [add_one(opened, number) for number in range(200)]
        text = TextCounter(NEAREST)
        text.load()
        baseline = [recount(opened, text) for _ in range(5)]
        first = [(await anext(records)).data for _ in range(2)]
        assert isinstance(first[1], GaugeChanged), "the gauge was told"
    finally:
        await opened.close()
    found = Comparison(
        name="gauge after one message (log write included), against counting 1M tokens",
        ours=[1_000 * each for each in ours],
        baseline=[1_000 * each for each in baseline],
        unit="ms",
        most=1 / 1_000,
    )
    print(f"\n{found}")
    assert found.good
