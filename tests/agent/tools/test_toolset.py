"""The tools as an agent runs them."""

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tui_app.agent.step_watch import StepWatch, without_nulls
from tui_app.agent.tools import files
from tui_app.agent.tools.commands import Cancelled, Stop
from tui_app.agent.tools.files import ShowsFile
from tui_app.agent.tools.history import HistoryHit, search_history
from tui_app.agent.tools.lookup import build_toolset
from tui_app.agent.tools.workspace import Workspace
from tui_app.conversation.approvals import Approvals


class Talk:
    """A history of three messages."""

    hits = (
        HistoryHit(3, "user", "We pay on sunday."),
        HistoryHit(142, "assistant", "Noted:\n" + "sunday " * 500),
        HistoryHit(150, "tool", "unrelated"),
    )

    def search(self, words: str, limit: int = 8) -> Sequence[HistoryHit]:
        return [hit for hit in self.hits if words in hit.text][:limit]

    def fetch(self, seq: int, session: str = "") -> HistoryHit | None:
        return next((hit for hit in self.hits if hit.seq == seq), None)


def agent_calling(
    ws: Workspace, tool: str, args: str | dict[str, object], *watching: StepWatch
) -> Agent[object, str]:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart(tool, args)])
        return ModelResponse(parts=[TextPart("done")])

    return Agent(
        FunctionModel(model), toolsets=[build_toolset(ws, Talk(), Approvals(print))], capabilities=watching
    )


async def returns_of(
    ws: Workspace, tool: str, args: str | dict[str, object], *watching: StepWatch
) -> list[ToolReturnPart]:
    run = await agent_calling(ws, tool, args, *watching).run("go")
    return [part for m in run.all_messages() for part in m.parts if isinstance(part, ToolReturnPart)]


async def result_of(ws: Workspace, tool: str, args: dict[str, object]) -> ToolReturnPart:
    (found,) = await returns_of(ws, tool, args)
    return found


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    (tmp_path / "a.txt").write_text("first\nsecond\n")
    return Workspace(tmp_path)


@pytest.mark.parametrize("as_text", [False, True])
async def test_null_for_an_optional_argument_is_none(ws: Workspace, as_text: bool) -> None:
    args: dict[str, object] = {"path": "a.txt", "start": None, "lines": None}
    (read,) = await returns_of(ws, "read_file", json.dumps(args) if as_text else args, StepWatch())
    assert read.model_response_str() == "1\tfirst\n2\tsecond"
    (refused,) = await returns_of(ws, "read_file", {"path": None}, StepWatch())
    assert "Input should be a valid string" in refused.model_response_str()


def test_null_is_left_where_it_is_a_value() -> None:
    schema = {
        "properties": {
            "needed": {"type": "integer"},
            "number": {"type": "integer", "default": 1},
            "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "listed": {"type": ["string", "null"]},
            "chosen": {"enum": ["a", "b"]},
            "whatever": {"$ref": "#/$defs/x"},
        },
        "required": ["needed"],
    }
    given = dict.fromkeys([*schema["properties"], "unknown"])
    left = without_nulls(given, schema)
    assert given.keys() - dict(left) == {"number", "chosen"}  # type: ignore[arg-type]
    assert without_nulls('{"number":nul', schema) == '{"number":nul'
    assert without_nulls('{"number":2}', schema) == '{"number":2}'


async def test_every_tool_answers_through_an_agent(ws: Workspace) -> None:
    expected = {
        "read_file": ({"path": "a.txt", "start": 2, "lines": 1}, "2\tsecond"),
        "ls": ({}, "a.txt  13 bytes"),
        "glob": ({"pattern": "*.txt"}, "a.txt"),
        "grep": ({"pattern": "FIRST", "ignore_case": True}, "a.txt:1: first"),
        "search_history": ({"query": "pay"}, "#3 user: We pay on sunday."),
    }
    for tool, (args, text) in expected.items():
        part = await result_of(ws, tool, dict(args))
        assert (part.content, part.outcome) == (text, "success")


async def test_a_problem_goes_back_to_the_model_as_one_sentence(ws: Workspace) -> None:
    part = await result_of(ws, "read_file", {"path": "../../etc/passwd"})
    assert part.outcome == "retried"
    assert "outside the workspace" in part.model_response_str()


async def test_five_wrong_paths_in_a_row_do_not_fail_the_turn(ws: Workspace) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked = sum(isinstance(message, ModelResponse) for message in messages)
        if asked < 5:
            return ModelResponse(parts=[ToolCallPart("read_file", {"path": f"no{asked}.txt"})])
        return ModelResponse(parts=[TextPart("gave up")])

    agent = Agent(FunctionModel(model), toolsets=[build_toolset(ws, Talk(), Approvals(print))])
    assert (await agent.run("go")).output == "gave up"


async def test_every_tool_and_argument_is_described(ws: Workspace) -> None:
    seen: list[AgentInfo] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info)
        return ModelResponse(parts=[TextPart("ok")])

    await Agent(FunctionModel(model), toolsets=[build_toolset(ws, Talk(), Approvals(print))]).run("go")
    tools = seen[0].function_tools
    assert {tool.name for tool in tools} == {"read_file", "ls", "glob", "grep", "search_history"}
    for tool in tools:
        assert tool.description
        assert all(each.get("description") for each in tool.parameters_json_schema["properties"].values())


async def test_cancelling_ends_the_wait_at_once_and_stops_the_thread(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, ended = threading.Event(), threading.Event()

    def endless_glob(ws: Workspace, pattern: str, *, stop: Stop, shows: ShowsFile) -> str:
        started.set()
        stop.cancelled.wait()
        ended.set()
        stop.late()
        raise AssertionError

    monkeypatch.setattr(files, "glob", endless_glob)
    task = asyncio.create_task(agent_calling(ws, "glob", {"pattern": "*"}).run("go"))
    await asyncio.to_thread(started.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(ended.wait, 10)


def test_a_set_event_raises_cancelled() -> None:
    stop = Stop()
    stop.cancelled.set()
    with pytest.raises(Cancelled):
        stop.late()


def test_a_handle_brings_a_message_back_whole() -> None:
    assert search_history(Talk(), "#142") == f"#142 assistant:\n{Talk.hits[1].text}"
    assert search_history(Talk(), " 3 ").startswith("#3 user:")
    assert search_history(Talk(), "#999") == "[the conversation has no message #999]"


def test_hits_in_a_list_are_single_bounded_lines() -> None:
    rows = search_history(Talk(), "sunday").split("\n\n")
    assert [row.partition(":")[0] for row in rows] == ["#3 user", "#142 assistant"]
    assert all("\n" not in row and len(row) < 650 for row in rows)
    assert search_history(Talk(), "nowhere") == "[nothing in the conversation matches 'nowhere']"
