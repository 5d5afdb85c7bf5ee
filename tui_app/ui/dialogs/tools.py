"""The tools of a session: what each takes of a request, and a switch for each."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.content import Content
from textual.widgets import Input

from tui_app.records import frozen
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.keys import Hint
from tui_app.ui.text import one_line, tokens

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Host

_OWN = "Plimsoll"
_NAME_CELLS, _STATE_CELLS, _TOKENS_CELLS = 34, 11, 8


@frozen
class ToolRow:
    """One tool."""

    name: str
    owner: str
    """Plimsoll, or the MCP server that has it."""
    about: str
    tokens: int
    is_searched: bool
    """Whether the model has to search for it first."""
    is_off: bool

    @property
    def state(self) -> str:
        return "off" if self.is_off else "by search" if self.is_searched else "on"


Switch = Callable[[str], Awaitable[Sequence[ToolRow]]]


class ToolsScreen(FilterDialog[ToolRow, None]):
    """Switches tools off and on again while it is open."""

    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "switch off or on", 1),
        Hint("up/down", "choose", 2),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "tools"
    PLACEHOLDER = "filter by name, server or purpose"
    LEAST = 28
    EMPTY = "No matching tool."

    def __init__(self, rows: Sequence[ToolRow], switch: Switch) -> None:
        """List tools.

        Args:
            rows: All there are.
            switch: Switches one off, or on again, by its name; returns all as they are then.
        """
        super().__init__()
        self._switch, self._marked = switch, ""
        self.offer(rows)

    @property
    def title_text(self) -> str:
        size = sum(row.tokens for row in self._rows if row.state == "on")
        return f"Tools · {self.how_many} · {tokens(size)} tokens of each request"

    def text_of(self, row: ToolRow) -> str:
        return f"{row.name} {row.owner} {row.state} {row.about}"

    def section_of(self, row: ToolRow) -> str:
        return row.owner

    def line(self, row: ToolRow, width: int) -> Content:
        cells = min(_NAME_CELLS, max(12, width - _STATE_CELLS - _TOKENS_CELLS))
        name = one_line(row.name, cells - 1)
        return Content.assemble(
            (name + " " * (cells - Content(name).cell_length), "$text-muted" if row.is_off else "bold"),
            (f"{row.state:<{_STATE_CELLS}}", "$text-warning" if row.is_off else "$text-muted"),
            f"{tokens(row.tokens):>{_TOKENS_CELLS}}",
        )

    def first(self) -> int:
        names = [row.name for row in self.shown]
        return names.index(self._marked) if self._marked in names else 0

    def explain(self, row: ToolRow) -> None:
        self._marked = row.name
        when = "not sent" if row.is_off else "sent once found" if row.is_searched else "of each request"
        about = one_line(row.about, 300) or "It does not say what it does."
        self.note(f"{about}\n{row.owner}: {row.tokens:,} tokens, {when}.")

    def use(self, row: ToolRow) -> None:
        self._turn(row)

    @work(group="switch", exit_on_error=False)
    async def _turn(self, row: ToolRow) -> None:
        self.offer(await self._switch(row.name))
        self.narrow(self.query_one(Input).value)


async def show_tools(app: "Host", session: ChatSession) -> None:
    """List the tools, and switch some off for the session."""

    async def switch(name: str) -> Sequence[ToolRow]:
        def switched(opened: "OpenSession") -> Sequence[ToolRow]:
            opened.turns.runner.switched_off.names ^= {name}
            return _rows(opened)

        return await session.ask(switched)

    await app.push_screen_wait(ToolsScreen(await session.ask(_rows), switch))


def _rows(opened: "OpenSession") -> Sequence[ToolRow]:
    off, counter = opened.turns.runner.switched_off.names, opened.extras.history.counter
    own = (
        (tool.name, _OWN, tool.description or "", counter.tools([replace(tool, defer_loading=False)]))
        for tool in opened.extras.own
    )
    served = [(server.name, tool) for server in opened.extras.servers.statuses() for tool in server.tools]
    searched = {tool.name for tool in opened.extras.own if tool.defer_loading}
    searched |= {tool.name for _, tool in served if tool.deferred}
    every = [*own, *((tool.name, server, tool.description, tool.tokens) for server, tool in served)]
    return [ToolRow(*each, is_searched=each[0] in searched, is_off=each[0] in off) for each in every]
