"""Limiting the tokens of tool definitions: named tools are off, rarely used ones are searched for."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from pydantic_ai.tools import ToolDefinition

from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.tool_room import RARELY_USED, ToolRoom

TOOLS = [
    ToolDefinition(name=name, description="Look at boats. " * 20) for name in ("read_file", *RARELY_USED)
]


@dataclass
class Sized:
    limit: int
    factor: float = 1.0
    counter: TokenCounter = TokenCounter(TextCounter(None))  # noqa: RUF009 - counts the same for all

    def usage(self) -> Any:
        return SimpleNamespace(window=SimpleNamespace(limit=self.limit))


def searched(room: ToolRoom) -> set[str]:
    return {tool.name for tool in room.fitted(TOOLS) if tool.defer_loading}


def test_tools_are_searched_for_by_name_and_for_want_of_room() -> None:
    off: set[str] = set()
    sized = Sized(1_000_000)
    room = ToolRoom(sized, str, ["read_file"], off)
    assert searched(room) == {"read_file"}
    sized.limit = round(sized.counter.tools(TOOLS[1:]) * 2)
    assert searched(room) == {"read_file", *RARELY_USED}
    off.update(RARELY_USED)
    assert searched(room) == {"read_file"}, "what is off takes no room"


def test_what_is_rarely_used_is_searched_for_above_a_third_of_the_window() -> None:
    sized = Sized(1_000_000)
    room = ToolRoom(sized, lambda: "Be brief.")
    taken = sized.counter.overhead("Be brief.", TOOLS).total
    sized.limit = round(taken * 3.1)
    assert searched(room) == set()
    sized.limit = round(taken * 2.9)
    assert searched(room) == RARELY_USED
    sized.limit = round(taken * 3.1)
    assert searched(room) == RARELY_USED, "it does not go to and fro"
    sized.limit = round(taken * 4.2)
    assert searched(room) == set()
