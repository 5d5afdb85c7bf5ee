"""Memory at rest, before and after the agent side has loaded, against a bare Textual app."""

import sys
from collections.abc import Mapping

import pytest

from tests.benchmarks.measure import Comparison
from tests.benchmarks.programs import HELLO, HELLO_PAINTED, PLIMSOLL, PROMPT_PAINTED, Lab, memory, settle
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
ROUNDS = 5
REST_S = 3.0
WAITING = (sys.executable, "-m", "tests.benchmarks.waiting")
Size = tuple[float, float]
TARGETS = (("memory before the agent side", 2.0), ("memory with pydantic-ai, one SDK and the tokenizer", 5.5))
ANSWER = "ready-and-resting"


def at_rest(lab: Lab, painted: bytes, *command: str) -> Size:
    """Memory some seconds after the first frame."""
    with lab.start(*command) as child:
        child.read_until(painted)
        settle(child, REST_S)
        return memory(child)


def after_an_answer(lab: Lab, env: Mapping[str, str]) -> Size:
    """Memory with pydantic-ai, one vendor's SDK and the tokenizer loaded, some seconds after an answer."""
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
    rounds = [
        (
            at_rest(lab, PROMPT_PAINTED, *WAITING),
            after_an_answer(lab, env),
            at_rest(lab, HELLO_PAINTED, *HELLO),
        )
        for _ in range(ROUNDS)
    ]
    found = [
        Comparison(
            name=f"{name} ({kind}), against a bare Textual app",
            ours=[each[which][number] for each in rounds],
            baseline=[each[2][number] for each in rounds],
            unit="MiB",
            most=most,
        )
        for number, kind in enumerate(("resident", "proportional"))
        for which, (name, most) in enumerate(TARGETS)
    ]
    print("", *found, sep="\n")
    assert all(each.good for each in found if "resident" in each.name)
