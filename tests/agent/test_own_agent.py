"""The user's own agent is found by its name, or the error says why not."""

import gc
from pathlib import Path

import pytest

from tui_app.agent.own_agent import UnusableAgent, load_agent

AGENT = """
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

helper = Agent("openai:gpt-5-mini", system_prompt="You know the harbour.", defer_model_check=True)
made = Agent(TestModel())
paired = (helper, {"harbour": "north"})
class Box:
    inner = helper
def factory():
    return helper, 7
def broken():
    raise RuntimeError("no tide today")
number = 4
def refusing():
    raise ValueError("nah")
def wanting(day, *, harbour="north"):
    return helper
def leaving():
    raise SystemExit(3)
async def later():
    return helper
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "harbour_agents.py").write_text(AGENT)
    (tmp_path / "harbour_bad.py").write_text("1 / 0\n")
    (tmp_path / "harbour_leaves.py").write_text("raise SystemExit('goodbye')\n")
    (tmp_path / "harbour_lacks.py").write_text("import not_there_at_all\n")
    return tmp_path


@pytest.mark.parametrize("where", ["harbour_agents", "harbour_agents.py", "./harbour_agents.py"])
def test_an_agent_by_module_and_by_file(folder: Path, where: str) -> None:
    found = load_agent(f"{where}:helper", folder)
    assert (found.model_name, found.model, found.deps) == ("openai:gpt-5-mini", None, None)


@pytest.mark.parametrize(
    ("attribute", "deps"), [("paired", {"harbour": "north"}), ("factory", 7), ("Box.inner", None)]
)
def test_pairs_functions_and_nested_names(folder: Path, attribute: str, deps: object) -> None:
    assert load_agent(f"harbour_agents:{attribute}", folder).deps == deps


def test_a_model_it_was_made_with_is_taken_along(folder: Path) -> None:
    found = load_agent("harbour_agents:made", folder)
    assert found.model is not None
    assert found.model_name == "test:test"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("harbour_agents", "does not name an agent"),
        ("harbour_agents:", "does not name an agent"),
        ("harbour_nowhere:helper", "There is no module harbour_nowhere"),
        ("nowhere.py:helper", "There is no file"),
        ("harbour_agents:absent", "There is no absent in harbour_agents"),
        ("harbour_agents:number", "its type is int"),
        ("harbour_agents:broken", "no tide today"),
        ("harbour_agents:refusing", "harbour_agents:refusing was called and failed: ValueError, nah."),
        ("harbour_agents:wanting", "harbour_agents:wanting needs arguments (day), and is called with none."),
        ("harbour_agents:leaving", "harbour_agents:leaving was called and failed: SystemExit, 3."),
        (
            "harbour_agents:later",
            "harbour_agents:later is an async function, which cannot be awaited",
        ),
        ("harbour_leaves:helper", "harbour_leaves cannot be imported: SystemExit, goodbye."),
        ("harbour_bad:helper", "ZeroDivisionError"),
        ("harbour_lacks:helper", "not_there_at_all"),
        ("\x1b[31mred:helper", "There is no module"),
    ],
)
def test_why_a_name_leads_nowhere(folder: Path, name: str, said: str) -> None:
    with pytest.raises(UnusableAgent) as refused:
        load_agent(name, folder)
    assert said in str(refused.value)
    assert "\x1b" not in str(refused.value)


@pytest.mark.filterwarnings("error")
def test_a_coroutine_that_nobody_waits_for_is_closed(folder: Path) -> None:
    with pytest.raises(UnusableAgent, match="plain function"):
        load_agent("harbour_agents:later", folder)
    gc.collect()
