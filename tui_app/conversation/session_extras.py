"""Everything a request carries besides its messages: servers, tools, instructions, skills."""

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Literal

from pydantic_ai.tools import ToolDefinition

from tui_app.agent.instructions.instructions import InstructionFile, instructions_text
from tui_app.agent.mcp.seen_tools import SeenTools
from tui_app.agent.mcp.servers import McpServers, found_by_search
from tui_app.agent.mcp.status import SCHEMA_CHARS, CallFailed, McpStatus
from tui_app.agent.mcp.tokens import TokenStore
from tui_app.context.compaction.plan import Addition
from tui_app.conversation.answers import OpenQuestions
from tui_app.conversation.attachments import AttachedFile, NamedPath, attached_bytes
from tui_app.conversation.files.files_on_disk import FilesOnDisk
from tui_app.conversation.history.event_bus import EventBus
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.message_actions import Overview, Share, SkillRow
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.requests.project_context import ProjectContext
from tui_app.conversation.requests.project_use import ProjectUse
from tui_app.conversation.requests.request_overhead import RequestOverhead
from tui_app.events import Notice, ServerAsked, ToolSwitch
from tui_app.records import like
from tui_app.session.model_state import switched_off
from tui_app.settings.tables import defer_above, servers_for
from tui_app.text import plain_text
from tui_app.tool_specs import PLAN, TODO

QUESTION_CHARS = 2_000
"""Characters of a server's question that are shown."""
OURS = "Plimsoll"
"""Name for the program's own tools in lists that also show those of servers."""


class Extras:
    """Servers, tools, instructions and skills of one session. No server starts before ``servers.start``.

    Args:
        opening: Which session, with which settings.
        history: Its view and log.
        bus: Source of compaction events; None for a session that is only inspected.

    Attributes:
        own: The program's own tools, including those that are off.
        off: Names of the tools that are off: by the settings, and as switched in the session.
        workspace: Where files are read that a compaction re-attaches.
        masked: Masks secrets in a text.
        left_out: A notice that the folder is not trusted, and what is ignored for that reason; else empty.
        restarts: By server, the number of restarts already reported.
        told: By server, the newest notice about it.
        defer_above: Share of the window above which tools of servers are found by search; 0 for never.
        attended: Whether there is a user who can be asked.
        language_servers: Returns the running language servers, as text.
        measure: Called whenever a server starts or stops; None for a session that is only inspected.
    """

    def __init__(self, opening: Opening, history: SessionHistory, bus: EventBus | None = None) -> None:
        self.history, self.project = history, ProjectContext(opening)
        self.in_use = ProjectUse(history, self.project)
        if not opening.agent:
            self.project.reload()
            if bus is not None:
                bus.listen(self.project.on_record)
                bus.listen(self.in_use.on_record)
        self.left_out = "" if opening.trusted else opening.brought().notice
        self.defer_above = defer_above(opening.settings.tools)
        off = opening.settings.tools.get("off", ())
        self.off = switched_off(history.store, history.session, off)
        self.own: Sequence[ToolDefinition] = ()
        self.attended, self.masked = opening.attended, opening.secrets().masked
        self.restarts, self.told = dict[str, int](), dict[str, str]()
        self._answers = OpenQuestions[dict[str, Any] | None]()
        self.language_servers: Callable[[], tuple[str, ...]] = tuple
        self.measure: Callable[[], object] | None = None
        self.workspace = opening.workspace(withheld=lambda: self.history.withheld)
        self.servers = McpServers(
            # The user's own agent supplies its own tools.
            {} if opening.agent else servers_for(opening.settings.mcp, opening.cwd),
            opening.program_place(opening.env),
            SeenTools(opening.paths.state / "mcp.json"),
            self,
            tokens=TokenStore(opening.keys, opening.paths.state / "mcp-sign-ins.json"),
            patient=not opening.attended,
        )
        self.overhead = RequestOverhead()

    def for_agent(self, history: SessionHistory, bus: EventBus) -> "Extras":
        """The same servers, project and tools for the session of a subagent."""
        theirs = copy(self)
        theirs.history, theirs.overhead = history, RequestOverhead()
        theirs.in_use = ProjectUse(history, self.project)
        bus.listen(theirs.in_use.on_record)
        return theirs

    def additions(self) -> Sequence[Addition]:
        """What compactions keep in its current form: plan, to-do list, skills in use."""
        folder = self.history.archive.folder
        return (
            Addition("Plan", folder.read_note(folder.plan_file), PLAN.name),
            Addition("Todo list", folder.read_note(folder.todo_file), TODO.name),
            *self.in_use.additions(),
        )

    def file(self, path: str) -> str | None:
        """A file as the tools show it now, with secrets masked; None if they would not show it."""
        page = FilesOnDisk(self.workspace, self.project.may_read).page(path)
        return None if page is None else self.masked(page)

    def on_status(self, status: McpStatus) -> None:
        if self.measure is None:
            return
        if status.state == "failed":
            self._tell(status.name, f"MCP server {status.name}: {status.error}", "servers")
        elif status.state == "ready" and status.restarts > self.restarts.get(status.name, 0):
            self.restarts[status.name] = status.restarts
            self._tell(status.name, f"MCP server {status.name} was started again. {status.error}")
        elif status.state == "ready" and status.left_out:
            text = " ".join(status.left_out[:3])
            more = f" {len(status.left_out) - 3} more." if len(status.left_out) > 3 else ""
            self._tell(f"{status.name} left out", f"MCP server {status.name}: {text}{more}")
        self._set_overhead()

    def _set_overhead(self) -> None:
        searched, offered = self.servers.searched(), self.servers.offered()
        loaded = (tool for server, tool in offered if server.settings.name not in searched)
        self.overhead.tools = self.sent_of((*self.own, *loaded))
        if self.measure is not None:
            self.measure()

    def sent_of(self, tools: Iterable[ToolDefinition]) -> tuple[ToolDefinition, ...]:
        """Only the tools that are not off."""
        return tuple(tool for tool in tools if tool.name not in self.off)

    def switch(self, *switches: tuple[str, Literal["on", "off"]]) -> None:
        """Switch tools off or on from the next request on, and log it."""
        for name, state in switches:
            if (name in self.off) != (state == "off"):
                self.off ^= {name}
                self.history.append(ToolSwitch(name=name, state=state))
                self._set_overhead()

    def without(self, servers: Sequence[McpStatus]) -> None:
        for status in servers:
            lacks = f"This request is sent without the tools of {status.name}"
            self._tell(status.name, f"{lacks}: the server is still starting.")

    async def ask(self, server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        """Ask the user a server's question. Returns None without a user, or if the user declines."""
        shown = plain_text(message)
        refused = "" if self.attended else f"asks: {shown} No one can answer here: declined."
        if len(shown) > QUESTION_CHARS:
            refused = "asks too much to be shown: declined."
        if refused:
            self._tell(f"{server} asks", f"MCP server {server} {refused}")
            return None
        id = f"{server}-{len(self.told)}-{time.monotonic_ns()}"
        asked = ServerAsked(id=id, server=server, message=shown, schema=json.dumps(schema)[:SCHEMA_CHARS])
        return await self._answers.ask(id, lambda: self.history.append(asked))

    def answer(self, id: str, values: dict[str, Any] | None) -> None:
        """Answer a server's question; None declines it. Ignored if the question is no longer open."""
        self._answers.answer(id, values)

    async def resource(self, mention: str) -> "AttachedFile | NamedPath | None":
        """The server resource a prompt mentions; None if it mentions none."""
        try:
            found = await self.servers.read(mention)
        except CallFailed as error:
            return NamedPath(mention, plain_text(str(error)))
        if found is None:
            return None
        return AttachedFile(mention, found) if isinstance(found, str) else attached_bytes(mention, found)

    async def server_instructions(self) -> str:
        """Instructions of the servers, once they have started. Every request starts with them."""
        await self.servers.gather()
        return self.servers.instructions()

    def _tell(self, about: str, text: str, *actions: str) -> None:
        """Log a notice about a server, unless it repeats the last one."""
        if self.told.get(about) != text:
            self.told[about] = text
            self.history.append(Notice(text=text, actions=actions))

    def other_names(self) -> Collection[str]:
        return [tool.name for tool in self.own]

    def overview(self) -> Overview:
        """Everything in use, as plain values for the screen."""
        in_use, project, files = self.in_use.skills(), self.project, [*self.project.files]
        for path in dict.fromkeys(self.in_use.folders().values()):
            files.append(InstructionFile(path, note="as its folder was read", text=path))
        skills = [
            SkillRow(skill.name, skill.description, skill.place, str(skill.file), skill.name in in_use)
            for skill in project.skills.found
        ]
        return like(
            Overview,
            project,
            servers=self.servers.statuses(),
            files=tuple(files),
            skills=tuple(skills),
            refused=project.skills.refused,
            shares=self.shares(),
            language_servers=self.language_servers(),
        )

    def shares(self) -> tuple[Share, ...]:
        """Tokens that each server's tools, instructions and skills take of every request."""
        servers = []
        for status in self.servers.statuses():
            on = replace(status, tools=tuple(tool for tool in status.tools if tool.name not in self.off))
            servers.append(Share("tools", status.name, on.tokens, on.saved))
        return self._shares(servers)

    def last_known(self) -> tuple[list[ToolDefinition], tuple[Share, ...]]:
        """Definitions the servers had when they last ran, and their shares. No server is started."""
        known = {
            name: self.sent_of(self.servers.seen.of(server) or ())
            for name, server in self.servers.defined.items()
            if server.enabled
        }
        sizes = {name: self._tools(tools) for name, tools in known.items()}
        searched = found_by_search(sizes, self.room())
        shares = [
            Share("tools", name, 0, size) if name in searched else Share("tools", name, size)
            for name, size in sizes.items()
        ]
        loaded = [tool for name, tools in known.items() if name not in searched for tool in tools]
        return loaded, self._shares(shares)

    def _shares(self, servers: Sequence[Share]) -> tuple[Share, ...]:
        ours = Share("tools", OURS, self._tools(self.sent_of(self.own)))
        instructions = [
            Share("memory", file.path, self._text(instructions_text([file])))
            for file in self.project.files
            if file.text
        ]
        lists = [Share("memory", kind, self._text(text)) for kind, text in self.project.lists().items()]
        paths = self.in_use.folders()
        seen = self.history.view.visible() if paths else ()
        folders = [
            Share("memory", paths[head.seq], round(sum(head.tokens.values()) * self.history.factor))
            for head in seen
            if head.seq in paths
        ]
        mcp = Share("memory", "MCP instructions", self._text(self.servers.instructions()))
        every = (ours, *servers, *instructions, *folders, *lists, mcp)
        return tuple(each for each in every if each.tokens or each.saved)

    def weigh(self, tool: ToolDefinition) -> int:
        return self._tools([tool])

    def room(self) -> int:
        return round(self.history.usage().window.limit * self.defer_above)

    def sent(self) -> Collection[str]:
        return {tool.name for tool in self.overhead.tools}

    def _tools(self, tools: Sequence[ToolDefinition]) -> int:
        return round(self.history.counter.tools(tools) * self.history.factor)

    def _text(self, text: str) -> int:
        return round(self.history.counter.text(text) * self.history.factor) if text else 0
