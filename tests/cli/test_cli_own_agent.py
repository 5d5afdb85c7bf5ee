"""``plimsoll run --agent``: what an agent returns in a form of its own, and where its failures are told."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll

AGENT = """
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

class Ferry(BaseModel):
    name: str
    times: list[str]

class Odd:
    pass

def said(name: str) -> str:
    return f"Booked on\\n{name}."

def odd(name: str) -> Any:
    return Odd()

def failing(name: str) -> str:
    raise KeyError("sunday")

def model(*steps):
    async def stream(messages, info):
        step = steps[sum(isinstance(each, ModelResponse) for each in messages)]
        if isinstance(step, str):
            yield step
        else:
            yield {0: DeltaToolCall(*step)}
    return FunctionModel(stream_function=stream)

FINAL = "final_result"
ferry = '{"name": "Elsa Ö", "times": ["09:00", "17:30"]}'
typed = Agent(model((FINAL, ferry)), output_type=Ferry)
number = Agent(model((FINAL, '{"response": 7}')), output_type=int)
spoken = Agent(model((FINAL, '{"name": "Elsa"}')), output_type=said)
strange = Agent(model((FINAL, '{"name": "Elsa"}')), output_type=odd)
plain = Agent(model("Just text."), output_type=[str, Ferry])
broken = Agent(model(("failing", '{"name": "Elsa"}'), "A pity."), tools=[failing])
"""


@pytest.fixture(autouse=True)
def _agents(project: Path) -> None:
    (project / "agents.py").write_text(AGENT)


@pytest.mark.parametrize(
    ("agent", "out"),
    [
        ("typed", '{"name":"Elsa Ö","times":["09:00","17:30"]}\n'),
        ("number", "7\n"),
        ("spoken", "Booked on\nElsa.\n"),
        ("plain", "Just text.\n"),
    ],
)
def test_what_it_returns_is_printed(plimsoll: Plimsoll, agent: str, out: str) -> None:
    result = plimsoll("run", "When?", "--agent", f"agents.py:{agent}", "--yes")
    assert (result.code, result.out) == (0, out)


def test_what_is_no_json_is_told_in_words(plimsoll: Plimsoll) -> None:
    result = plimsoll("run", "When?", "--agent", "agents.py:strange", "--yes")
    assert result.code == 0
    assert "Odd object" in json.loads(result.out)


def test_it_is_an_event_and_part_of_the_exports(plimsoll: Plimsoll) -> None:
    result = plimsoll("run", "When?", "--agent", "agents.py:typed", "--json")
    events = [json.loads(line) for line in result.out.splitlines()]
    [event] = [each for each in events if each["type"] == "agent.output"]
    assert event["data"] == {"text": '{"name":"Elsa Ö","times":["09:00","17:30"]}', "structured": True}
    assert event["seq"] > 0
    for form in ("markdown", "html"):
        exported = plimsoll("export", event["session"], "--format", form)
        assert exported.code == 0
        assert "17:30" in exported.out.partition("Answer")[2]


def test_what_a_tool_raises_is_told_to_the_model_and_logged(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    result = plimsoll("run", "When?", "--agent", "agents.py:broken", "--yes")
    assert (result.code, result.out) == (0, "A pity.\n")
    assert "failing Elsa, failed" in result.err
    assert "Traceback" not in result.err
    log = (plimsoll_home / "state/plimsoll.log").read_text()
    assert "the tool failing failed" in log
    assert "KeyError: 'sunday'" in log
