"""What a session has beside its own tools: instructions of the project, skills, MCP servers; and their cost.

Instructions and names of skills are part of every request. They are read when a session is opened, and again
after each compaction: in between every request begins with the same bytes, which a provider may have cached.
"""

import asyncio
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from tui_app.agent.instructions import (
    InstructionFile,
    Skills,
    find_skills,
    instructions_text,
    read_instructions,
    skill_body,
    skills_text,
)
from tui_app.agent.mcp.connection import CallFailed
from tui_app.agent.mcp.server import SCHEMA_CHARS, Offered
from tui_app.agent.mcp.servers import McpServers, SeenTools
from tui_app.agent.mcp.sign_in import TokenStore
from tui_app.agent.mcp.status import McpStatus
from tui_app.context.compaction.plan import Addition
from tui_app.context.counting.attachments import image_type
from tui_app.context.counting.tokens import TokenCounter
from tui_app.conversation.attachments import AttachedFile, NamedPath
from tui_app.conversation.message_actions import Overview, Share, SkillRow
from tui_app.conversation.open_request import Opening
from tui_app.conversation.session_history import EventBus, SessionHistory
from tui_app.events import (
    CompactionComplete,
    Notice,
    Record,
    ServerAsked,
    SessionRestored,
    SessionRewind,
    ToolCall,
    ToolResult,
)
from tui_app.files import MayRead, Refused, anything
from tui_app.settings.tables import servers_here
from tui_app.text import plain_text
from tui_app.tool_specs import PLAN, TODO, USE_SKILL
from tui_app.usage import Breakdown


@dataclass(slots=True)
class ProjectContext:
    """Instructions of the project and skills as the model is told of them."""

    cwd: Path
    config: Path
    """The user's own folder of settings."""
    instructed: bool = True
    """Whether instructions of the project are read at all."""
    trusted: bool = True
    """Whether the user trusts the working folder; else nothing of it is read."""
    may_read: MayRead = anything
    """What the rules say of files."""
    files: tuple[InstructionFile, ...] = ()
    skills: Skills = field(default_factory=Skills)

    def reload(self) -> None:
        follows = self.instructed and self.trusted
        self.files = read_instructions(self.cwd, self.may_read) if follows else ()
        self.skills = find_skills(self.cwd if self.trusted else None, self.config, self.may_read)

    def heard(self, record: Record) -> None:
        if isinstance(record.data, CompactionComplete) and record.data.outcome == "success":
            self.reload()

    def instructions(self) -> str:
        """What the model reads, before everything that was said; empty for nothing."""
        return "\n\n".join(filter(None, (instructions_text(self.files), skills_text(self.skills))))

    @property
    def skill_folders(self) -> tuple[Path, ...]:
        """Folders outside of the working folder in which tools may read what belongs to a skill."""
        inside = self.cwd.resolve()
        folders = (skill.folder for skill in self.skills.found)
        return tuple(folder for folder in folders if not folder.resolve().is_relative_to(inside))


@dataclass(slots=True)
class SkillsInUse:
    """The skills a conversation has loaded, for its compactions: no summary has to hold them."""

    history: SessionHistory
    project: ProjectContext
    _seen: int = 0
    _asked: dict[str, tuple[int, str]] = field(default_factory=dict)
    _loaded: list[tuple[int, str]] = field(default_factory=list)
    _left: dict[int, list[tuple[int, str]]] = field(default_factory=dict)
    """By the number of a rewind, what was loaded before it."""

    def names(self) -> list[str]:
        """Their names, the one loaded last at the end; reads the heads that the log has got since."""
        for head in self.history.store.heads(self.history.session, self._seen):
            self._seen = head.seq
            if head.type == ToolCall.TYPE and head.title.startswith(f"{USE_SKILL.name} "):
                self._asked[head.ids[0]] = head.seq, head.title.removeprefix(f"{USE_SKILL.name} ")
            elif head.type == ToolResult.TYPE and head.ids and head.ids[0] in self._asked:
                asked = self._asked.pop(head.ids[0])
                self._loaded += [asked] if head.state == "success" else []
            elif head.type == SessionRestored.TYPE:
                self._loaded = self._left.pop(head.ref, self._loaded)
            elif head.type == SessionRewind.TYPE:
                self._left[head.seq] = self._loaded
                self._loaded = [each for each in self._loaded if each[0] < head.ref]
        return list(dict.fromkeys(name for _, name in reversed(self._loaded)))[::-1]

    def additions(self) -> Sequence[Addition]:
        """Name and instructions of each, as they are now."""
        additions = []
        for name in self.names() if self.project.skills.found else ():
            skill = self.project.skills.named(name)
            if skill is None:
                continue
            try:
                additions.append(Addition(f"Skill in use: {name}", skill_body(skill)))
            except Refused:
                continue
        return additions


# What every request of a conversation carries beside its messages: instructions and tool definitions.


@dataclass(slots=True)
class RequestOverhead:
    """As far as it is known: what was put together at the start, then what the last request really held."""

    instructions: str = ""
    tools: Sequence[ToolDefinition] = field(default_factory=tuple)
    project: Callable[[], str] = str
    """The part of the instructions that is counted as memory: those of the project, names of skills."""
    servers: Callable[[], str] = str
    """Another such part: what MCP servers say."""

    def tokens(self, counter: TokenCounter) -> Breakdown:
        memory = counter.unscaled(counter.instructions(self.project()))
        memory += counter.unscaled(counter.instructions(self.servers()))
        return counter.carried(self.instructions, self.tools) + Breakdown(memory=memory)


class OverheadWatch(AbstractCapability[Any]):
    """Keeps a ``RequestOverhead`` true: tools may come and go, and another agent's are known only then."""

    def __init__(self, overhead: RequestOverhead) -> None:
        self._overhead = overhead

    def get_ordering(self) -> CapabilityOrdering:
        """In front of the governor, which counts what this notes."""
        return CapabilityOrdering(position="outermost")

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        parameters = request_context.model_request_parameters
        parts = [part.content for part in parameters.instruction_parts or ()]
        apart = self._overhead.project(), self._overhead.servers()
        self._overhead.instructions = "\n\n".join(part for part in parts if part not in apart)
        self._overhead.tools = (*parameters.function_tools, *parameters.output_tools)
        return request_context


# Everything together, with what it takes of each request.

QUESTION_CHARS = 2_000
"""Characters of a server's question that are shown."""
OURS = "Plimsoll"
"""What the program's own tools are called among those of servers."""


@dataclass(slots=True)
class Extras:
    """Belongs to one session."""

    opening: InitVar[Opening]
    history: SessionHistory
    project: ProjectContext
    in_use: SkillsInUse
    own: Sequence[ToolDefinition] = field(default_factory=tuple)
    """The program's own tools."""
    overhead: RequestOverhead = field(default_factory=RequestOverhead)
    servers: McpServers = field(init=False)
    left_out: str = ""
    """That the folder is not trusted, and what does not count for that; empty where all does."""
    restarts: dict[str, int] = field(default_factory=dict)
    """By server, how often it was started again as far as that was told."""
    told: dict[str, str] = field(default_factory=dict)
    """By server, what was said of it last."""
    questions: "dict[str, asyncio.Future[dict[str, Any] | None]]" = field(default_factory=dict)
    """Questions of servers that wait for the user, by id."""
    attended: bool = field(default=False, init=False)
    """Whether there is a user who can be asked."""
    measure: Callable[[], object] | None = None
    """Called whenever a server comes or goes; None for a session that is only looked at."""

    def __post_init__(self, opening: Opening) -> None:
        self.attended = opening.attended
        self.servers = McpServers(
            # The user's own agent brings its own tools along.
            {} if opening.agent else servers_here(opening.settings.mcp, opening.cwd),
            opening.program_place(opening.env),
            SeenTools(opening.paths.state / "mcp.json"),
            self,
            tokens=TokenStore(opening.keys.keyring, opening.paths.state / "mcp-sign-ins.json"),
            patient=not opening.attended,
        )
        self.overhead.servers = self.servers.instructions

    def additions(self) -> Sequence[Addition]:
        """What compactions keep as it is now: plan, todo list, skills in use."""
        folder = self.history.archive.folder
        return (
            Addition("Plan", folder.read_note(folder.plan_file), PLAN.name),
            Addition("Todo list", folder.read_note(folder.todo_file), TODO.name),
            *self.in_use.additions(),
        )

    def heard(self, status: McpStatus) -> None:
        if self.measure is None:
            return
        if status.state == "failed":
            self._tell(status.name, f"MCP server {status.name}: {status.error} /mcp shows more.")
        elif status.state == "ready" and status.restarts > self.restarts.get(status.name, 0):
            self.restarts[status.name] = status.restarts
            self._tell(status.name, f"MCP server {status.name} was started again. {status.error}")
        elif status.state == "ready" and status.left_out:
            told = " ".join(status.left_out[:3])
            more = f" {len(status.left_out) - 3} more." if len(status.left_out) > 3 else ""
            self._tell(f"{status.name} left out", f"MCP server {status.name}: {told}{more}")
        self.overhead.tools = (*self.own, *(tool.definition for _, tool in self.servers.offered()))
        self.measure()

    def without(self, servers: Sequence[McpStatus]) -> None:
        for status in servers:
            self._tell(
                status.name,
                f"This request goes out without the tools of {status.name}: the server is still starting.",
            )

    async def ask(self, server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        """Put a question of a server to the user; None where nobody can be asked, or nobody answers."""
        shown = plain_text(message)[:QUESTION_CHARS]
        if not self.attended:
            self._tell(
                f"{server} asks", f"MCP server {server} asks: {shown} Nobody can be asked here: declined."
            )
            return None
        id = f"{server}-{len(self.told)}-{time.monotonic_ns()}"
        answer: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        self.questions[id] = answer
        try:
            self.history.append(
                ServerAsked(id=id, server=server, message=shown, schema=json.dumps(schema)[:SCHEMA_CHARS])
            )
            return await answer
        finally:
            self.questions.pop(id, None)

    def answer(self, id: str, values: dict[str, Any] | None) -> None:
        """Answer a question of a server; None declines it. One that waits no more is left alone."""
        if (waiting := self.questions.get(id)) is not None and not waiting.done():
            waiting.set_result(values)

    async def resource(self, mention: str) -> "AttachedFile | NamedPath | None":
        """The resource of a server that a prompt names; None where it names none."""
        try:
            found = await self.servers.read(mention)
        except CallFailed as error:
            return NamedPath(mention, plain_text(str(error)))
        if found is None:
            return None
        if isinstance(found, str):
            return AttachedFile(mention, found)
        if kind := image_type(found):
            return AttachedFile(mention, picture=found, media_type=kind)
        try:
            text = found.decode()
        except UnicodeDecodeError:
            return NamedPath(mention, "it is neither text nor a picture")
        return AttachedFile(mention, text)

    async def server_instructions(self) -> str:
        """What servers say, once they have started: every request begins with it."""
        await self.servers.gather()
        return self.servers.instructions()

    def _tell(self, about: str, text: str) -> None:
        """Say something of a server, once until there is something else to say of it."""
        if self.told.get(about) != text:
            self.told[about] = text
            self.history.append(Notice(text=text))

    def other_names(self) -> Collection[str]:
        return [tool.name for tool in self.own]

    def overview(self) -> Overview:
        """Everything there is, in plain values."""
        in_use = self.in_use.names()
        return Overview(
            servers=self.servers.statuses(),
            files=self.project.files,
            skills=tuple(
                SkillRow(skill.name, skill.description, skill.place, str(skill.file), skill.name in in_use)
                for skill in self.project.skills.found
            ),
            refused=self.project.skills.refused,
            shares=self.shares(),
            instructed=self.project.instructed,
        )

    def shares(self) -> tuple[Share, ...]:
        """What the tools of each server, instructions and skills take of each request."""
        servers = [Share("tools", status.name, status.tokens) for status in self.servers.statuses()]
        return self._shares([share for share in servers if share.tokens])

    def last_known(self) -> tuple[list[ToolDefinition], tuple[Share, ...]]:
        """Definitions that the servers had when they last ran, and the shares with them; none is started."""
        known = {
            name: self.servers.seen.of(server) or []
            for name, server in self.servers.defined.items()
            if server.enabled
        }
        shares = [Share("tools", name, self._tools(tools)) for name, tools in known.items() if tools]
        return [tool for tools in known.values() for tool in tools], self._shares(shares)

    def _shares(self, servers: Sequence[Share]) -> tuple[Share, ...]:
        ours = Share("tools", OURS, self._tools(self.own))
        instructions = [
            Share("memory", file.path, self._text(instructions_text([file])))
            for file in self.project.files
            if file.text
        ]
        skills = Share("memory", "skills", self._text(skills_text(self.project.skills)))
        said = Share("memory", "MCP instructions", self._text(self.servers.instructions()))
        return tuple(each for each in (ours, *servers, *instructions, skills, said) if each.tokens)

    def weigh(self, tool: Offered) -> int:
        return self._tools([tool.definition])

    def _tools(self, tools: Sequence[ToolDefinition]) -> int:
        return round(self.history.counter.tools(tools) * self.history.factor)

    def _text(self, text: str) -> int:
        return round(self.history.counter.text(text) * self.history.factor) if text else 0


def extras_of(opening: Opening, history: SessionHistory, bus: EventBus | None = None) -> Extras:
    """Read what the project and the user have; no server is started.

    Args:
        opening: Which session, with what settings.
        history: Its view and log.
        bus: Where compactions are heard of; None for a session that is only looked at.
    """
    instructed, trusted = opening.settings.project_instructions, opening.trusted
    project = ProjectContext(opening.cwd, opening.paths.config, instructed, trusted, opening.may_read())
    if not opening.agent:
        project.reload()
        if bus is not None:
            bus.listen(project.heard)
    left_out = "" if trusted else opening.brought().notice
    return Extras(opening, history, project, SkillsInUse(history, project), left_out=left_out)
