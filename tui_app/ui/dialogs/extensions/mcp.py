"""MCP servers: their tools, costs, states and errors; and the overview in ``/status``."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work

from tui_app.agent.mcp.status import Consent, McpPrompt, McpStatus, McpTool
from tui_app.conversation.message_actions import Overview
from tui_app.records import frozen
from tui_app.references import is_writable
from tui_app.refusals import Refusal
from tui_app.settings.edit import SettingsFile
from tui_app.settings.sources import SettingsError
from tui_app.text import count as times
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.details import labelled
from tui_app.ui.dialogs.list import NARROW, Asked, ListDialog, ListSpec
from tui_app.ui.slash import CustomCommand, prompt_commands
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.text import one_line, tokens

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Chat, Host

SETTLE_S = 600.0
"""Seconds to wait for the prompts of slowly starting servers, in the background."""
LOOK_S = 0.5
"""Seconds between two updates while the screen is open."""
NONE = (
    "No MCP server is configured. Add [mcp.NAME] with command or url to the settings file; see docs/mcp.md."
)


@frozen
class McpRow:
    """A server, or one of its tools."""

    server: McpStatus
    tool: McpTool | None
    name: str
    state: str
    tokens: int
    """Per request."""
    about: str


def rows_of(servers: Sequence[McpStatus]) -> list[McpRow]:
    """Return every server, followed by its tools."""
    rows = []
    for it in servers:
        rows.append(McpRow(it, None, it.name, it.description, it.tokens, it.error or it.where))
        for tool in it.tools:
            state = "by search" if tool.deferred else ""
            rows.append(McpRow(it, tool, f"  {tool.name}", state, tool.tokens, tool.description))
    return rows


def mcp_note(row: McpRow) -> str:
    """Describe the marked row."""
    server, tool = row.server, row.tool
    if tool is not None:
        hint = " The server says it is read-only; that is only a hint." if tool.claims_read_only else ""
        about = one_line(tool.description, 400) or "The server does not say what it does."
        when = "saved until the model finds it by searching" if tool.deferred else "of each request"
        return f"{about}\n{tool.tokens:,} tokens {when}.{hint}"
    has = {
        times(len(server.resources), "resource"): server.resources,
        times(len(server.prompts), "prompt"): server.prompts,
        "instructions": server.instructions,
    }
    has_too = ", ".join(what for what, there in has.items() if there)
    notes = {
        f"Started again {times(server.restarts, 'time')} because it was lost.": server.restarts,
        f"The model searches for its tools: {server.saved:,} tokens of each request saved.": server.saved,
        f"Last error: {one_line(server.error, 600)}": server.error,
        f"It also has {has_too}.": has_too,
    }
    lines = [one_line(server.where, 300), *(line for line, there in notes.items() if there)]
    return "\n".join([*lines, *(one_line(text, 200) for text in server.left_out[:4])])


def servers_title(it: ListDialog[McpRow]) -> str:
    """Return the title with the cost of all servers."""
    servers = [row.server for row in it.rows if row.tool is None]
    size, saved = (sum(getattr(server, what) for server in servers) for what in ("tokens", "saved"))
    more = f" · {tokens(saved)} saved" if saved else ""
    return f"MCP servers · {tokens(size)} tokens of each request{more}"


def _name_tone(row: McpRow) -> str:
    return "bold" if row.tool is None else ""


class McpScreen(ListDialog[McpRow], place="mcp"):
    """Shows the servers' current state while it is open; restarts, switches and signs in to servers."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[McpRow](
        name="mcp",
        search="filter by server, tool or purpose",
        columns=(
            Column(attrgetter("name"), 34, _name_tone, share=3, leaves_at=NARROW),
            Column(attrgetter("name"), tone=_name_tone, comes_below=NARROW),
            Column(
                attrgetter("state"), 16, lambda row: "$text-error" if row.server.state == "failed" else MUTED
            ),
            Column(
                lambda row: tokens(row.tokens) if row.tokens else "-", 8, "", right=True, leaves_at=NARROW
            ),
            Column(lambda row: f"  {row.about}", leaves_at=NARROW),
        ),
        title=servers_title,
        words=lambda row: f"{row.server.name} {row.server.where} {row.name} {row.state} {row.about}",
        note=mcp_note,
        empty="No matching server or tool.",
        none=NONE,
        key=lambda row: (row.server.name, row.name),
    )

    def __init__(self, statuses: Sequence[McpStatus], session: ChatSession) -> None:
        super().__init__(rows_of(statuses))
        self._statuses, self._session = tuple(statuses), session

    def on_mount(self) -> None:
        self._follow()

    @work
    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self._look()

    async def _look(self, message: str = "") -> None:
        statuses = tuple(await self._session.ask(_statuses))
        if message or statuses != self._statuses:
            self._statuses = statuses
            self.show(rows_of(statuses), message)

    def list_rows(self, rows: Sequence[McpRow]) -> None:
        """Show rows, and explain the marked one again, whose text may have changed."""
        super().list_rows(rows)
        if (row := self.marked) is not None:
            self.explain(row)

    def use(self, row: McpRow) -> None:
        """Explain the row: there is nothing to choose."""
        self.explain(row)

    def answer(self, asked: Asked[McpRow]) -> None:
        if asked.row is not None:
            self._change(asked.what, asked.row.server)

    @work
    async def _change(self, what: str, server: McpStatus) -> None:
        name, message = server.name, ""

        def show(consent: Consent) -> None:
            text = "\n".join(one_line(line, 2_000) for line in consent.text.splitlines())
            self.app.call_from_thread(self.note, text)

        if what == "reload":
            self.note(f"Starting {name} again.")
            await self._session.ask(lambda opened: opened.extras.servers.reload([name]))
        elif what == "switch":
            message = await _switch(self._session, name, on=server.state == "off")
        elif server.is_address:
            self.note(f"Asking {name} how to sign in.")
            await self._session.ask(lambda opened: opened.extras.servers.sign_in(name, show))
        else:
            message = f"{name} is a program: there is nothing to sign in to."
        await self._look(message)


USAGE = "/mcp shows the servers; /mcp reload starts them again, /mcp reload NAME one of them."


async def overview(session: ChatSession) -> Overview:
    """Return the overview of servers, skills and files; empty in a read-only or unopened session."""
    if session.read_only or session.conversation is None:
        return Overview()
    return await session.ask(lambda opened: opened.extras.overview())


async def mentions_of(session: ChatSession) -> Sequence[str]:
    """List the servers' resources, as an ``@`` mention in the prompt."""
    if session.conversation is None:
        return ()
    statuses = await session.ask(_statuses)
    mentions = (each.mention for status in statuses for each in status.resources)
    return [mention for mention in mentions if is_writable(mention)]


async def served(session: ChatSession, taken: Collection[str]) -> tuple[CustomCommand, ...]:
    """Return slash commands for the servers' prompts, once the servers have started."""

    async def look(opened: "OpenSession") -> Sequence[McpPrompt]:
        opened.extras.servers.start()
        await opened.extras.servers.settle(SETTLE_S)
        return [each for status in opened.extras.servers.statuses() for each in status.prompts]

    return tuple(each for each in prompt_commands(await session.ask(look)) if each.name not in taken)


def _statuses(opened: "OpenSession") -> Sequence[McpStatus]:
    return opened.extras.servers.statuses()


async def _switch(session: ChatSession, name: str, *, on: bool) -> str:
    """Switch a server on or off, now and in the settings; returns the result in words."""
    launch, word = session.launch, "on" if on else "off"
    await session.ask(lambda opened: opened.extras.servers.switch(name, on=on))
    if name not in launch.settings.mcp:
        return f"{name} is switched {word} in this session."
    try:
        file = SettingsFile(launch.paths, launch.env)
        await asyncio.to_thread(file.put, ("mcp", name, "enabled"), on)
    except (SettingsError, OSError) as error:
        return f"{name} is switched {word} in this session only: {one_line(str(error), 300)}"
    return f"{name} is switched {word}, in this session and in the settings."


async def show_mcp(app: "Host", session: ChatSession, argument: str) -> None:
    """Show the servers, or restart them."""
    words = argument.split()
    if not words:
        await app.push_screen_wait(McpScreen(await session.ask(_statuses), session))
    elif words[0].lower() == "reload" and len(words) < 3:
        names, defined = words[1:], session.launch.settings.mcp
        if unknown := next((name for name in names if name not in defined), ""):
            there = ", ".join(defined) or "none"
            raise Refusal(f"No MCP server {one_line(unknown, 40)}. Configured: {there}.")
        if not defined:
            raise Refusal("No MCP server is configured.")
        session.reply(f"Starting again: {', '.join(names or defined)}. /mcp shows their state.")
        await session.ask(lambda opened: opened.extras.servers.reload(names))
    else:
        raise Refusal(USAGE)


def status_lines(all_of_it: Overview) -> list[str]:
    """Return lines of ``/status``: instructions, servers, language servers, skills and agents."""
    shares = {share.name: share.tokens for share in all_of_it.shares if share.category == "memory"}
    files = [] if all_of_it.instructed else ["off: project_instructions is false"]
    for file in all_of_it.files:
        size = f" {shares[file.path]:,} tokens" if file.text and file.path in shares else ""
        note = f" ({one_line(file.about, 200)})" if file.about else ""
        files.append(f"{one_line(file.path, 100)}{size}{note}")
    return [
        *labelled("Instructions", files),
        *labelled("MCP", (f"{server.name}: {server.description}" for server in all_of_it.servers)),
        *labelled("Checks", (one_line(state, 200) for state in all_of_it.language_servers)),
        *labelled("Skills", _joined(each.name for each in all_of_it.skills)),
        *labelled("Agents", _joined(each.name for each in all_of_it.agents.found)),
    ]


def _joined(names: Iterable[str]) -> list[str]:
    line = one_line(", ".join(one_line(name, 40) for name in names), 200)
    return [line] if line else []


async def offer_served(screen: "Chat", written: Sequence[CustomCommand]) -> None:
    """Offer the MCP servers' resources and prompts in the editor, once the servers have started.

    Args:
        screen: The chat.
        written: Commands from files, whose names take precedence.
    """
    session, editor = screen.session, screen.pane.prompt.editor
    editor.completer.finder.resources = partial(mentions_of, session)
    editor.completer.custom = (*written, *await served(session, {each.name for each in written}))
