"""MCP servers and skills: what each offers and costs, and what went wrong."""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, work

from tui_app.agent.mcp.status import Consent, McpPrompt, McpStatus, McpTool
from tui_app.conversation.message_actions import Overview, SkillRow
from tui_app.events import ServerAsked
from tui_app.records import frozen
from tui_app.references import is_writable
from tui_app.settings.edit import SettingsFile
from tui_app.settings.sources import SettingsError
from tui_app.text import count as times
from tui_app.text import plain_text
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.details import DetailsScreen, file_text, labelled
from tui_app.ui.dialogs.list import Asked, ListDialog, ListSpec
from tui_app.ui.dialogs.questions import EditDialog, Way, WaysDialog
from tui_app.ui.dialogs.sessions import Chosen, go_to
from tui_app.ui.slash import CustomCommand, prompt_commands
from tui_app.ui.tables import MUTED, Column
from tui_app.ui.text import clean, one_line, tokens
from tui_app.ui.widgets import wrapped

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Chat, Host

SETTLE_S = 600.0
"""Seconds for which the prompts of servers that start slowly are waited for, behind everything else."""
LOOK_S = 0.5
"""Seconds between two looks at the servers while the screen is open."""
NONE = (
    "No MCP server is configured. Add [mcp.NAME] with command or url to the settings file; see docs/mcp.md."
)
_NARROW = 50
"""Cells below which a row is its name and state alone."""


@frozen
class McpRow:
    """A server, or one of its tools."""

    server: McpStatus
    tool: McpTool | None
    name: str
    state: str
    tokens: int
    """Of each request."""
    about: str


def rows_of(servers: Sequence[McpStatus]) -> list[McpRow]:
    """Every server, with its tools below it."""
    rows = []
    for it in servers:
        rows.append(McpRow(it, None, it.name, it.words, it.tokens, it.error or it.where))
        for tool in it.tools:
            state = "by search" if tool.deferred else ""
            rows.append(McpRow(it, tool, f"  {tool.name}", state, tool.tokens, tool.description))
    return rows


def mcp_note(row: McpRow) -> str:
    """The marked row in words."""
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
    said = {
        f"Started again {times(server.restarts, 'time')} because it was lost.": server.restarts,
        f"The model searches for its tools: {server.saved:,} tokens of each request saved.": server.saved,
        f"Last error: {one_line(server.error, 600)}": server.error,
        f"It also has {has_too}.": has_too,
    }
    lines = [one_line(server.where, 300), *(line for line, there in said.items() if there)]
    return "\n".join([*lines, *(one_line(text, 200) for text in server.left_out[:4])])


def servers_title(it: ListDialog[McpRow]) -> str:
    """What they cost."""
    servers = [row.server for row in it.rows if row.tool is None]
    size, saved = (sum(getattr(server, what) for server in servers) for what in ("tokens", "saved"))
    more = f" · {tokens(saved)} saved" if saved else ""
    return f"MCP servers · {tokens(size)} tokens of each request{more}"


def _name_tone(row: McpRow) -> str:
    return "bold" if row.tool is None else ""


def _state_tone(row: McpRow) -> str:
    return "$text-error" if row.server.state == "failed" else MUTED


class McpScreen(ListDialog[McpRow], place="mcp"):
    """Follows the servers while it is open; starts one again when asked."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[McpRow](
        name="mcp",
        search="filter by server, tool or purpose",
        columns=(
            Column(attrgetter("name"), 34, _name_tone, share=3, leaves_at=_NARROW),
            Column(attrgetter("name"), tone=_name_tone, comes_below=_NARROW),
            Column(attrgetter("state"), 16, _state_tone),
            Column(
                lambda row: tokens(row.tokens) if row.tokens else "-", 8, "", right=True, leaves_at=_NARROW
            ),
            Column(lambda row: f"  {row.about}", leaves_at=_NARROW),
        ),
        title=servers_title,
        words=lambda row: f"{row.server.name} {row.server.where} {row.name} {row.state} {row.about}",
        note=mcp_note,
        empty="No matching server or tool.",
        none=NONE,
        key=lambda row: (row.server.name, row.name),
    )

    def __init__(self, statuses: Sequence[McpStatus], servers: "SessionServers") -> None:
        """Show servers.

        Args:
            statuses: As they are.
            servers: Reads and changes them.
        """
        super().__init__(rows_of(statuses))
        self._statuses, self._servers = tuple(statuses), servers

    def on_mount(self) -> None:
        self._follow()

    @work(exit_on_error=False)
    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self._look()

    async def _look(self) -> None:
        statuses = tuple(await self._servers.read())
        if statuses != self._statuses:
            self._statuses = statuses
            self.show(rows_of(statuses))

    def list_rows(self, rows: Sequence[McpRow]) -> None:
        """Show rows; the marked one may have other words by now."""
        super().list_rows(rows)
        if (row := self.marked) is not None:
            self.explain(row)

    def use(self, row: McpRow) -> None:
        """There is nothing to choose: what the row says stands below already."""
        self.explain(row)

    @work(group="reload", exit_on_error=False)
    async def action_reload(self) -> None:
        if (row := self.marked) is not None:
            name = row.server.name
            self.note(f"Starting {name} again.")
            await self._servers.reload([name])
            await self._look()

    @work(group="reload", exit_on_error=False)
    async def action_sign_in(self) -> None:
        if (row := self.marked) is None:
            return
        if not row.server.is_address:
            self.note(f"{row.server.name} is a program: there is nothing to sign in to.")
            return

        def show(consent: Consent) -> None:
            told = "\n".join(one_line(line, 2_000) for line in consent.text.splitlines())
            self.app.call_from_thread(self.note, told)

        self.note(f"Asking {row.server.name} how to sign in.")
        await self._servers.sign_in(row.server.name, show)
        await self._look()

    @work(group="reload", exit_on_error=False)
    async def action_switch(self) -> None:
        if (row := self.marked) is not None:
            said = await self._servers.switch(row.server.name, row.server.state == "off")
            await self._look()
            self.note(said)


# What a session has beside its own tools: its servers, and what ``/status`` says of all.

USAGE = "/mcp shows the servers; /mcp reload starts them again, /mcp reload NAME one of them."


async def overview(session: ChatSession) -> Overview:
    """How everything stands; nothing where the session can only be looked at, or has not loaded."""
    if session.read_only or session.conversation is None:
        return Overview()
    return await session.ask(lambda opened: opened.extras.overview())


async def mentions_of(session: ChatSession) -> Sequence[str]:
    """What the servers have to read, as an ``@`` in the prompt names it."""
    if session.conversation is None:
        return ()
    statuses = await SessionServers(session).read()
    mentions = (each.mention for status in statuses for each in status.resources)
    return [mention for mention in mentions if is_writable(mention)]


async def served(session: ChatSession, taken: Collection[str]) -> tuple[CustomCommand, ...]:
    """Slash commands of the prompts that servers have ready, once they have started."""

    async def look(opened: "OpenSession") -> Sequence[McpPrompt]:
        opened.extras.servers.start()
        await opened.extras.servers.settle(SETTLE_S)
        return [each for status in opened.extras.servers.statuses() for each in status.prompts]

    return tuple(each for each in prompt_commands(await session.ask(look)) if each.name not in taken)


@frozen
class SessionServers:
    """The MCP servers of a session, asked for on the engine's thread."""

    session: ChatSession

    async def read(self) -> Sequence[McpStatus]:
        return await self.session.ask(lambda opened: opened.extras.servers.statuses())

    async def reload(self, names: list[str]) -> None:
        """Start some again; all where none is named."""
        await self.session.ask(lambda opened: opened.extras.servers.reload(names))

    async def sign_in(self, name: str, announce: Callable[[Consent], None]) -> None:
        """Start one again and let the user sign in."""
        await self.session.ask(lambda opened: opened.extras.servers.sign_in(name, announce))

    async def switch(self, name: str, on: bool) -> str:
        """Switch one on or off, now and from now on; says what has come of it."""
        launch, word = self.session.launch, "on" if on else "off"
        await self.session.ask(lambda opened: opened.extras.servers.switch(name, on=on))
        if name not in launch.settings.mcp:
            return f"{name} is switched {word} in this session."
        try:
            file = SettingsFile(launch.paths, launch.env)
            await asyncio.to_thread(file.put, ("mcp", name, "enabled"), on)
        except (SettingsError, OSError) as error:
            return f"{name} is switched {word} in this session only: {one_line(str(error), 300)}"
        return f"{name} is switched {word}, in this session and in the settings."


async def show_mcp(app: "Host", session: ChatSession, argument: str) -> None:
    """Show the servers, or start them again."""
    words, servers = argument.split(), SessionServers(session)
    if session.read_only:
        session.say(session.read_only)
    elif not words:
        await app.push_screen_wait(McpScreen(await servers.read(), servers))
    elif words[0].lower() == "reload" and len(words) < 3:
        names, defined = words[1:], session.launch.settings.mcp
        if unknown := next((name for name in names if name not in defined), ""):
            there = ", ".join(defined) or "none"
            session.say(f"No MCP server {one_line(unknown, 40)}. Configured: {there}.")
        elif not defined:
            session.say("No MCP server is configured.")
        else:
            session.say(f"Starting again: {', '.join(names or defined)}. /mcp shows their state.")
            await servers.reload(names)
    else:
        session.say(USAGE)


def status_lines(all_of_it: Overview) -> list[str]:
    """Lines of ``/status``: instructions that are followed, servers, skills."""
    shares = {share.name: share.tokens for share in all_of_it.shares if share.category == "memory"}
    files = [] if all_of_it.instructed else ["off: project_instructions is false"]
    for file in all_of_it.files:
        size = f" {shares[file.path]:,} tokens" if file.text and file.path in shares else ""
        note = f" ({one_line(file.about, 200)})" if file.about else ""
        files.append(f"{one_line(file.path, 100)}{size}{note}")
    return [
        *labelled("Instructions", files),
        *labelled("MCP", (f"{server.name}: {server.words}" for server in all_of_it.servers)),
        *labelled("Checks", (one_line(state, 200) for state in all_of_it.language_servers)),
        *labelled("Skills", _joined(each.name for each in all_of_it.skills)),
        *labelled("Agents", _joined(each.name for each in all_of_it.agents.found)),
    ]


def _joined(names: Iterable[str]) -> list[str]:
    said = one_line(", ".join(one_line(name, 40) for name in names), 200)
    return [said] if said else []


# Skills: what there is for the model to load, where from, and which the conversation has loaded.

NO_SKILLS = (
    "There are no skills. Put one in .plimsoll/skills/NAME/SKILL.md; see docs/instructions-and-skills.md."
)
NO_AGENTS = "There are no agents. Put one in .plimsoll/agents/NAME.md; see docs/sub-agents.md."


class SkillsScreen(ListDialog[SkillRow]):
    """Dismisses with the skill to read, or ``None``."""

    KIND, NONE = "Skill", NO_SKILLS

    def __init__(
        self, rows: Sequence[SkillRow], refused: Sequence[str] = (), *, folder: Path | None = None
    ) -> None:
        """List skills, or agents, which are files of the same kind.

        Args:
            rows: All there are.
            refused: What is no usable skill, and why.
            folder: Files in it are named from there on; None names each from the root.
        """
        told = [one_line(text, 300) for text in refused[:3]]
        kind, used = self.KIND.lower(), sum(row.in_use for row in rows)

        def note(row: SkillRow) -> str:
            file = row.file
            if folder is not None and Path(file).is_relative_to(folder):
                file = str(Path(file).relative_to(folder))
            details = [one_line(each, 300) for each in (file, row.detail) if each]
            return "\n".join([one_line(row.description, 500), *details, *told])

        spec = ListSpec[SkillRow](
            name=f"{kind}s",
            search="filter by name or purpose",
            columns=(
                Column(lambda row: row.name, 24, "bold", leaves_at=_NARROW),
                Column(lambda row: row.name, tone="bold", comes_below=_NARROW),
                Column(
                    lambda row: "in use" if row.in_use else row.place,
                    10,
                    lambda row: "$text-success" if row.in_use else MUTED,
                ),
                Column(lambda row: row.description, tone="", leaves_at=_NARROW),
            ),
            title=lambda _: f"{self.KIND}s" if kind == "agent" else f"{self.KIND}s · {used} in use",
            note=note,
            empty="\n".join([f"No matching {kind}.", *told]),
            none="\n".join([self.NONE, *told]),
            enter="read it",
        )
        super().__init__(rows, spec)


class AgentsScreen(SkillsScreen, place="agents"):
    """Dismisses with the agent to read, what is asked of one, or ``None``."""

    KIND, NONE = "Agent", NO_AGENTS


_LONGEST = 200_000


async def show_skills(app: "Host", session: ChatSession) -> None:
    """List the skills; one that is chosen is shown in full."""
    all_of_it = await overview(session)
    folder = session.launch.cwd.resolve()
    await _show_files(app, session, SkillsScreen(all_of_it.skills, all_of_it.refused, folder=folder))


async def show_agents(app: "Host", session: ChatSession) -> None:
    """List the sub-agents that were sent, and the agents that can be; what is chosen is shown in full."""
    while True:
        rows = list[SkillRow]()
        if not session.read_only:
            rows = await session.ask(lambda opened: opened.conversation.agents.listed())
        files = (await overview(session)).agents
        for each in files.found:
            details = (", ".join(each.tools), each.model, each.policy, each.note)
            detail = "  ".join(filter(None, details))
            rows.append(SkillRow(each.name, each.description, each.place, str(each.file), detail=detail))
        screen = AgentsScreen(rows, files.refused, folder=session.launch.cwd.resolve())
        asked = await _show_files(app, session, screen)
        if asked is None or asked.row is None or asked.row.brief is None:
            return

        async def do(opened: "OpenSession", what: str = asked.what, name: str = asked.row.name) -> str:
            if what == "promote":
                return await opened.conversation.agents.promote(name)
            await opened.conversation.agents.stop_agent(name)
            return ""

        if id := await session.ask(do):
            await go_to(app, session, Chosen(id))
            return


async def _show_files(app: "Host", session: ChatSession, screen: SkillsScreen) -> Asked[SkillRow] | None:
    """Show what is chosen; what a key asks for is handed back."""
    chosen = await app.push_screen_wait(screen)
    if isinstance(chosen, Asked):
        return chosen
    if chosen and chosen.brief is not None:
        await app.push_screen_wait(DetailsScreen(chosen.name, chosen.brief or "It has not ended yet."))
    elif chosen:
        text = await asyncio.to_thread(file_text, Path(chosen.file), _LONGEST)
        await app.push_screen_wait(DetailsScreen(screen.KIND, text))
    return None


# What MCP servers have for the prompt, and what they ask the user: each value in a dialog of its own.


async def offer_served(screen: "Chat", written: Sequence[CustomCommand]) -> None:
    """Let the prompt offer what MCP servers have, once they have started.

    Args:
        screen: The chat.
        written: Commands out of files, whose names go first.
    """
    session, editor = screen.session, screen.pane.prompt.editor
    editor.completer.finder.resources = partial(mentions_of, session)
    editor.completer.custom = (*written, *await served(session, {each.name for each in written}))


# What a server asks the user: all of it is on the screen before anything is answered.

DECLINE = "Decline"
_ABOUT = "Esc declines. Never type a password or a key here: a program asks, not Plimsoll."
_MOST_FIELDS, _MOST_CHOICES = 12, 20
_TITLE_CELLS = 60
_WIDTH, _EDGES = 76, 7
"""Columns of a dialog at most, and rows and columns around what it says."""


class Declined(Exception):
    """There is no answer: the user gives none, or the question cannot be shown whole, as the message says."""


class ServerEditDialog(EditDialog):
    """Shows all that a server says, and takes no key of a user who is still writing a prompt."""

    ASKED = ".dialog > Static, Input"

    def __init__(self, title: str, about: str, text: str, refused: str = "") -> None:
        super().__init__(title, about, text, refused, verb="answer")
        # What is asked again has been read.
        self._is_read = bool(refused)

    def holds_back(self, event: events.Key | events.Paste) -> bool:
        """Whether a key or a paste was not meant for the answer."""
        self._is_read = self._is_read or self.stray.is_over
        if self._is_read:
            return super().holds_back(event)
        if isinstance(event, events.Paste):
            self.stray.write(event.text)
            return True
        return self.stray.catch(event)


async def ask_for_server(app: "Host", session: ChatSession, asked: ServerAsked) -> None:
    """Put a server's question to the user, and hand the answer on; Esc at any value declines."""
    values = None
    try:
        values = await _values(app, asked)
    except Declined as declined:
        session.say(f"Declined what {asked.server} asks{declined}.")
    await session.ask(lambda opened: opened.extras.answer(asked.id, values))


async def _values(app: "Host", asked: ServerAsked) -> dict[str, Any]:
    try:
        schema = json.loads(asked.schema)
        fields = schema.get("properties") or {}
        required = set(schema.get("required") or ())
    except (ValueError, AttributeError, TypeError):
        raise Declined from None
    if not isinstance(fields, dict) or len(fields) > _MOST_FIELDS:
        raise Declined
    head = f"{asked.server} asks: {asked.message}"
    if not fields:
        await _chosen(app, head, "", ["Accept"], "says yes")
    values: dict[str, Any] = {}
    for name, described in fields.items():
        field = described if isinstance(described, dict) else {}
        value = await _value(app, head, str(name), field, needed=name in required)
        if value is not None:
            values[str(name)] = value
    return values


async def _value(app: "Host", head: str, name: str, field: Mapping[str, Any], *, needed: bool) -> Any:
    """One value; None where it was left out."""
    title = _label(field.get("title") or name)
    about = plain_text(str(field.get("description") or ""))
    is_yes_or_no = field.get("type") == "boolean"
    choices = [True, False] if is_yes_or_no else field.get("enum")
    if isinstance(choices, list) and choices:
        if len(choices) > _MOST_CHOICES:
            raise Declined(f": it has {len(choices)} choices")
        names = ["yes", "no"] if is_yes_or_no else [_label(each) for each in choices]
        return choices[await _chosen(app, f"{head} · {title}", about, names)]
    refused, text = "", str(field.get("default", ""))
    note = "\n".join(filter(None, (_ABOUT, head, about)))
    _check_room(app, note, 3)
    while True:
        typed = await app.push_screen_wait(ServerEditDialog(title, note, text, refused))
        if typed is None:
            raise Declined
        if not typed and not needed:
            return None
        try:
            return read_value(typed, field)
        except ValueError as error:
            refused, text = str(error), typed


def _label(given: object) -> str:
    """A name of the server's, whole in one row."""
    label = one_line(plain_text(str(given)), 10 * _TITLE_CELLS)
    if len(label) > _TITLE_CELLS:
        raise Declined(": one of its names is too long to be shown")
    return label


async def _chosen(app: "Host", head: str, about: str, names: Sequence[str], what: str = "") -> int:
    """Which is chosen, by its place."""
    if len({*names, DECLINE}) <= len(names):
        # What one name says is not to be answered with what another stands for.
        names = [f"{at}. {name}" for at, name in enumerate(names, 1)]
    ways = [*(Way(name, what, at) for at, name in enumerate(names)), Way(DECLINE, "says no")]
    note = "\n".join(filter(None, (about, _ABOUT)))
    _check_room(app, f"{head}\n{note}", len(ways))
    if (at := await app.push_screen_wait(WaysDialog(head, ways, clean(note)))) is None:
        raise Declined
    return int(at)


def _check_room(app: "Host", text: str, rows: int) -> None:
    """Make sure that a dialog shows all of a text, beside so many rows. Raises ``Declined``."""
    lines = wrapped(clean(text), max(1, min(_WIDTH, app.size.width) - _EDGES)).starts
    if len(lines) + rows + _EDGES > app.size.height:
        raise Declined(": this window is too small to show all of it")


def read_value(typed: str, field: Mapping[str, Any]) -> Any:
    """What was typed, as the schema of the field wants it.

    Raises:
        ValueError: if it is something else; the text is a sentence.
    """
    kind = field.get("type", "string")
    if kind in ("integer", "number"):
        try:
            return int(typed) if kind == "integer" else float(typed)
        except ValueError:
            what = "whole number" if kind == "integer" else "number"
            raise ValueError(f"That is not a {what}.") from None
    if not typed:
        raise ValueError("This field is required.")
    least, most = field.get("minLength"), field.get("maxLength")
    if isinstance(least, int) and len(typed) < least:
        raise ValueError(f"At least {least} characters.")
    if isinstance(most, int) and len(typed) > most:
        raise ValueError(f"At most {most} characters.")
    return typed
