"""Every tool is declared once, and its declaration matches its function."""

import ast
import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset

import tui_app
from tui_app.agent.diagnostics.diagnostics import DiagnosticsTool
from tui_app.agent.instructions.prompts import PROMPTS
from tui_app.agent.mcp.toolset import mcp_tool_search
from tui_app.agent.subagents import subagent_toolset
from tui_app.agent.tools.ask_tool import AskTool
from tui_app.agent.tools.command_tool import CommandTool, TaskTool
from tui_app.agent.tools.lookup import ReadTools, skill_toolset
from tui_app.agent.tools.note_tools import NoteTools
from tui_app.agent.tools.toolset import FileTools
from tui_app.agent.tools.web import WebTool
from tui_app.context.compaction.compaction_tool import ContextToolset
from tui_app.context.tool_room import SwitchedOff
from tui_app.conversation.turns.goals import Goals
from tui_app.tool_specs import TOOLS, tool_spec

_OWNERS = (ReadTools, FileTools, CommandTool, NoteTools, TaskTool, AskTool, WebTool)
FUNCTIONS: dict[str, Any] = (
    {
        name: value
        for each in (*_OWNERS, DiagnosticsTool)
        for name, value in vars(each).items()
        if not name.startswith("_") and callable(value)
    }
    | {
        name: tool.function
        for toolset in (
            subagent_toolset(None, lambda: SimpleNamespace(found=True)),  # type: ignore[arg-type,return-value]
            skill_toolset(lambda: SimpleNamespace(found=True)),  # type: ignore[arg-type,return-value]
        )
        for name, tool in toolset.tools.items()
    }
    | {"end_goal": Goals.end_goal, "compact_context": ContextToolset.compact_context}
)
PACKAGE = Path(tui_app.__file__).parent
UNLIKE_WORDS = tuple(name for name in TOOLS if "_" in name and name != "web_fetch")
"""Tool names that are not also words, programs or settings, so that any occurrence means the tool."""


def test_every_tool_is_declared() -> None:
    assert set(FUNCTIONS) == set(TOOLS)
    assert all(spec.name == name for name, spec in TOOLS.items())


@pytest.mark.parametrize("name", TOOLS)
def test_arguments_that_are_declared_exist(name: str) -> None:
    spec, known = TOOLS[name], set(inspect.signature(FUNCTIONS[name]).parameters)
    title = spec.title
    named = {spec.body_argument} | ({title.argument, title.place} if title is not None else set())
    assert named - {""} <= known
    if title is not None and title.paged:
        assert {"start", "lines"} <= known


def test_nothing_is_known_of_other_tools() -> None:
    other = tool_spec("other")
    assert (other.rule, other.changes, other.verb, other.editor) == ("other", False, "", "other")


def literals(tree: ast.AST) -> list[str]:
    """Return the strings of a module, without its docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


def test_no_other_module_names_a_tool() -> None:
    named = re.compile(rf"(?<!\w)(?:{'|'.join(UNLIKE_WORDS)})(?!\w)")
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(map(named.search, literals(ast.parse(path.read_text()))))
    }
    assert found == {"tool_specs.py"}


async def test_a_tool_that_is_switched_off_is_neither_sent_nor_found() -> None:
    sent: list[set[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        sent.append({tool.name for tool in info.function_tools})
        if len(sent) == 1:
            return ModelResponse(parts=[ToolCallPart("search_tools", {"queries": ["harbour"]})])
        return ModelResponse(parts=[TextPart("Aye.")])

    tools = ExternalToolset(
        [
            ToolDefinition(name="tide", description="The tide of the harbour", defer_loading=True),
            ToolDefinition(name="berth", description="A berth of the harbour", defer_loading=True),
            ToolDefinition(name="anchor"),
        ]
    )
    off = SwitchedOff({"berth", "anchor"})
    agent = Agent(FunctionModel(answer), toolsets=[tools], capabilities=[off, mcp_tool_search()])
    await agent.run("Where to?")
    assert sent == [{"search_tools"}, {"search_tools", "tide"}]


def test_texts_for_models_name_tools_that_there_are() -> None:
    named = {name for text in PROMPTS.values() for name in re.findall(r"`([a-z_]+)`", text)}
    assert named - {"start"} <= set(TOOLS), "of arguments there is only that one"
