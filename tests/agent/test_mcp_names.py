"""A server's tool never has the name of a built-in tool, offered or not."""

from types import SimpleNamespace
from typing import Any

import pytest

from tui_app.agent.mcp.offers import offer, without_clashes


def listed(name: str) -> Any:
    return SimpleNamespace(name=name, description="", input_schema={}, annotations=None)


@pytest.mark.parametrize(("server", "tool"), [("web", "fetch"), ("run", "command"), ("use", "skill")])
def test_a_name_of_ours_is_ours_also_while_the_tool_is_off(server: str, tool: str) -> None:
    offers = {server: offer(server, [listed(tool), listed("other")], None)}
    kept = without_clashes(offers, lambda: ())[server]
    assert [each.name for each in kept.tools] == [f"{server}_other"]
    assert kept.left_out == (f"{tool} is left out: a tool of Plimsoll is called {server}_{tool} already.",)
