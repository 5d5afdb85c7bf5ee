"""The tools of a session: their size in a request, and a switch for each."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from tui_app.records import frozen
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.list import ListDialog, ListSpec, OpenList
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.text import one_line, tokens

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Host


@frozen
class ToolRow:
    """One tool."""

    name: str
    owner: str
    """Plimsoll, or the MCP server that provides it."""
    about: str
    tokens: int
    is_searched: bool
    """Whether the model must find it by search first."""
    is_off: bool

    @property
    def state(self) -> str:
        return "off" if self.is_off else "by search" if self.is_searched else "on"


def _title(it: ListDialog[ToolRow]) -> str:
    size = sum(row.tokens for row in it.rows if row.state == "on")
    return f"Tools · {tokens(size)} tokens of each request"


def _note(row: ToolRow) -> str:
    when = "not sent" if row.is_off else "sent once found" if row.is_searched else "of each request"
    about = one_line(row.about, 300) or "It does not say what it does."
    return f"{about}\n{row.owner}: {row.tokens:,} tokens, {when}."


class ToolsScreen(OpenList[ToolRow]):
    """Switches tools off and on while it is open."""

    SPEC = ListSpec[ToolRow](
        name="tools",
        search="filter by name, server or purpose",
        columns=(
            Column(lambda row: row.name, tone=lambda row: MUTED if row.is_off else "bold"),
            Column(lambda row: row.state, 11, lambda row: "$text-warning" if row.is_off else MUTED),
            Column(lambda row: tokens(row.tokens), 8, tone="", right=True),
        ),
        title=_title,
        words=lambda row: f"{row.name} {row.owner} {row.state} {row.about}",
        note=_note,
        empty="No matching tool.",
        enter="switch off or on",
        key=lambda row: row.name,
        section=lambda row: row.owner,
    )


async def show_tools(app: "Host", session: ChatSession) -> None:
    """List the tools, and switch some of them off for the session."""
    screen = ToolsScreen(await session.ask(_rows))
    app.push_screen(screen)
    while (wish := await screen.next_request()) and wish.row:
        screen.show(await session.ask(partial(_switched, wish.row.name)))


def _switched(name: str, opened: "OpenSession") -> Sequence[ToolRow]:
    opened.extras.switch((name, "on" if name in opened.extras.off else "off"))
    return _rows(opened)


def _rows(opened: "OpenSession") -> Sequence[ToolRow]:
    off, counter = opened.extras.off, opened.extras.history.counter
    own = (
        (tool.name, "Plimsoll", tool.description or "", counter.tools([replace(tool, defer_loading=False)]))
        for tool in opened.extras.own
    )
    served = [(server.name, tool) for server in opened.extras.servers.statuses() for tool in server.tools]
    searched = {tool.name for tool in opened.extras.own if tool.defer_loading}
    searched |= {tool.name for _, tool in served if tool.deferred}
    every = [*own, *((tool.name, server, tool.description, tool.tokens) for server, tool in served)]
    return [ToolRow(*each, is_searched=each[0] in searched, is_off=each[0] in off) for each in every]
