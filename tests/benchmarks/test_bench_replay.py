"""What a pass of the governor and a whole replay cost, however long the conversation is."""

from collections.abc import Sequence
from time import process_time

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse

from tests.benchmarks.measure import Comparison
from tests.conversation.simulating_kit import prompt, session, words
from tui_app.context.counting.encodings import NEAREST, TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.policy import PLIMSOLL
from tui_app.conversation.replay import Replay

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
TURNS = [(300, 200, 400), (250, 150), (), (500, 300), (60,), (350, 350, 350)]
"""About 14,000 tokens."""
MILLION = 73
"""How often the turns make a million tokens."""
WINDOW = 8_000
"""So small that the shortest conversation is compacted too."""


@pytest.fixture(scope="module")
def text() -> TextCounter:
    loaded = TextCounter(NEAREST)
    loaded.load()
    return loaded


def fresh(text: TextCounter, window: int) -> Replay:
    return Replay(PLIMSOLL, window, text, TokenCounter(text), lambda *_: None)


async def one_pass(replay: Replay, new: Sequence[ModelMessage]) -> float:
    """Milliseconds of processor time for a request with some new messages."""
    started = process_time()
    for message in new:
        replay.history.append(message)
    await replay.ask(words("."))
    return 1_000 * (process_time() - started)


async def test_a_pass_with_one_new_message(text: TextCounter) -> None:
    messages = [*session(TURNS * MILLION), prompt("Go on.")]
    colds, warms = [], []
    for _ in range(3):
        replay = fresh(text, 4_000_000)
        colds.append(await one_pass(replay, messages))
        assert replay.requests[-1].tokens >= 1_000_000
        for number in range(30):
            replay.history.append(words(f"Done {number}."))
            warms.append(await one_pass(replay, [prompt(f"And berth {number}? Look at all its lines.")]))
    found = Comparison(
        name="pass with one new message over 1M tokens, against a first pass",
        ours=warms,
        baseline=colds,
        unit="ms",
        most=1 / 100,
    )
    print(f"\n{found}")
    assert found.good


async def per_million(text: TextCounter, turns: int, rounds: int) -> list[float]:
    """Seconds of processor time that a replay takes for each million tokens in it."""
    messages, took = session(TURNS * turns), []
    for _ in range(rounds):
        replay = fresh(text, WINDOW)
        started = process_time()
        await replay.play(messages)
        seconds = process_time() - started
        took.append(seconds * 1_000_000 / sum(replay.counter.message(message).total for message in messages))
        assert len(replay.requests) == sum(isinstance(message, ModelResponse) for message in messages)
    return took


async def test_a_replay_grows_with_the_conversation_and_no_faster(text: TextCounter) -> None:
    await per_million(text, 2, 1)
    short, middle, long = (
        await per_million(text, 1, 9),
        await per_million(text, 7, 5),
        await per_million(text, MILLION, 3),
    )
    for name, baseline in (("14k", short), ("100k", middle)):
        found = Comparison(
            name=f"replay of 1M tokens in a window of 8k, per million tokens, against {name}",
            ours=long,
            baseline=baseline,
            unit="s",
            most=2,
        )
        print(f"\n{found}")
        assert found.good
