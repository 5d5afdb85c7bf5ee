"""Memory at rest, before and after the agent side has loaded, against a bare Textual app."""

import sys
from collections.abc import Mapping

import pytest

from tests.benchmarks.measure import Comparison, in_turn
from tests.benchmarks.programs import HELLO, HELLO_PAINTED, PLIMSOLL, PROMPT_PAINTED, Lab, memory, settle
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
ROUNDS = 5
REST_S = 3.0
WAITING = (sys.executable, "-m", "tests.benchmarks.waiting")
ANSWER = "ready-and-resting"


def at_rest(lab: Lab, painted: bytes, *command: str) -> float:
    """Mebibytes some seconds after the first frame."""
    with lab.start(*command) as child:
        child.read_until(painted)
        settle(child, REST_S)
        return memory(child)


def after_an_answer(lab: Lab, env: Mapping[str, str]) -> float:
    """Mebibytes with pydantic-ai, one vendor's SDK and the tokenizer loaded, some seconds after an answer."""
    with lab.start(*PLIMSOLL, "--model", "openai-chat:scripted", env=env) as child:
        child.read_until(PROMPT_PAINTED)
        settle(child, REST_S)
        child.write("hello\r")
        child.read_until(ANSWER.encode())
        settle(child, REST_S)
        return memory(child)


def test_idle_memory(lab: Lab, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = Text(ANSWER)
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": fake_openai.base_url}
    light, hello = in_turn(
        lambda: at_rest(lab, PROMPT_PAINTED, *WAITING), lambda: at_rest(lab, HELLO_PAINTED, *HELLO), ROUNDS
    )
    full, again = in_turn(
        lambda: after_an_answer(lab, env), lambda: at_rest(lab, HELLO_PAINTED, *HELLO), ROUNDS
    )
    before = Comparison(
        name="memory before the agent side, against a bare Textual app",
        ours=light,
        baseline=hello,
        unit="MiB",
        most=2.0,
    )
    after = Comparison(
        name="memory with pydantic-ai, one SDK and the tokenizer",
        ours=full,
        baseline=again,
        unit="MiB",
        most=5.5,
    )
    print(f"\n{before}\n{after}")
    assert before.good
    assert after.good
