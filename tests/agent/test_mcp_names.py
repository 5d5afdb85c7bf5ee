"""No tool of a server has the name of one of ours, whether ours is offered at present or not."""

from types import SimpleNamespace
from typing import Any

import pytest

from tui_app.agent.mcp.server import offer, without_clashes
from tui_app.agent.subagents import TOOL
from tui_app.agent.tools.toolset import USE_SKILL, CommandTool, FileTools, NoteTools, ReadTools
from tui_app.agent.tools.web import WebTool
from tui_app.settings.spec import OUR_TOOLS


def listed(name: str) -> Any:
    return SimpleNamespace(name=name, description="", input_schema={}, annotations=None)


@pytest.mark.parametrize(("server", "tool"), [("web", "fetch"), ("run", "command"), ("use", "skill")])
def test_a_name_of_ours_is_ours_also_while_the_tool_is_off(server: str, tool: str) -> None:
    offers = {server: offer(server, [listed(tool), listed("other")], None)}
    kept = without_clashes(offers, lambda: ())[server]
    assert [each.definition.name for each in kept.tools] == [f"{server}_other"]
    assert kept.left_out == (f"{tool} is left out: a tool of Plimsoll is called {server}_{tool} already.",)


def test_every_tool_of_ours_has_its_name_reserved() -> None:
    classes = (ReadTools, FileTools, CommandTool, NoteTools, WebTool)
    tools = {
        name
        for each in classes
        for name, value in vars(each).items()
        if not name.startswith("_") and callable(value)
    }
    assert tools | {USE_SKILL, TOOL} == OUR_TOOLS
