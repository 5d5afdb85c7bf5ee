"""The agent that answers in a session, ours or the person's own, with the governor in front of it."""

from collections.abc import Callable, Collection, MutableMapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.errors import describe_error
from tui_app.agent.instructions import MEMORY, instructions_text, skills_text, system_instructions
from tui_app.agent.mcp.server import Offered
from tui_app.agent.mcp.servers import McpServers, McpTools, SeenTools
from tui_app.agent.mcp.status import McpStatus
from tui_app.agent.own_agent import OwnAgent
from tui_app.agent.subagents import Bounds, SubAgents, explore_toolset
from tui_app.agent.tool_failures import StepWatch, ToolFailures
from tui_app.agent.tools.commands import ProcessRunner
from tui_app.agent.tools.toolset import (
    CommandTool,
    FileTools,
    Looking,
    Notes,
    NoteTools,
    build_toolset,
    looking_toolset,
    recall_toolset,
    skill_toolset,
)
from tui_app.agent.tools.web import WebTool
from tui_app.agent.tools.workspace import Workspace
from tui_app.agent.turn import Additions, Manner, Recorder, TurnRunner
from tui_app.context.compaction.compactor import Compactor
from tui_app.context.compaction.plan import Addition
from tui_app.context.governor import ContextGovernor
from tui_app.context.tool_results.stages import StageHost
from tui_app.context.window_limits import Limits
from tui_app.conversation.approvals import Approvals, ToolGate, command_line_rules
from tui_app.conversation.compactions import ProviderCompaction, SummaryWriters
from tui_app.conversation.file_snapshots import FileKeeper, FilesOnDisk
from tui_app.conversation.hooks import without_keys
from tui_app.conversation.message_actions import Overview, Share, SkillRow
from tui_app.conversation.model_switch import ModelSwitch
from tui_app.conversation.open_request import Opening
from tui_app.conversation.project_context import Carried, CarriedWatch, SkillsInUse, Standing, StandingFiles
from tui_app.conversation.search import SessionSearch
from tui_app.conversation.session_history import EventBus, SessionHistory
from tui_app.events import ApprovalDecided, Notice, Record, ToolOutput
from tui_app.paths import Paths
from tui_app.session.workspace import KeptFiles, SessionFolder
from tui_app.settings.approvals import rules_of
from tui_app.settings.spec import ExploreSettings, explore_settings
from tui_app.tool_specs import FILE_LOOKERS

# The tools of a conversation that change something, put together from what the settings allow.

MOST_DECISIONS = 500
"""So many of the newest are shown."""


@dataclass(frozen=True, slots=True)
class Tooling:
    """What stands around the tools of one conversation."""

    approvals: Approvals
    files: FileKeeper
    working: tuple[Callable[..., Any], ...]
    """The tools themselves; none in read-only mode."""
    asking: frozenset[str] = frozenset()
    """Names of the built-in tools that ask for themselves, those that look at files among them."""
    cut_short: MutableMapping[str, str] = field(default_factory=dict)
    """By the id of its call, what a command had printed that was stopped."""

    def decisions(self) -> list[Record]:
        """What was decided about calls in this session, the newest first."""
        store, session = self.files.history.store, self.files.history.session
        newest = islice(store.newest(session, (ApprovalDecided.TYPE,)), MOST_DECISIONS)
        found = (store.record(session, head.seq) for head in newest)
        return [record for record in found if record is not None]


def make_tooling(opening: Opening, history: SessionHistory, folder: SessionFolder) -> Tooling:
    """Put the tools together."""
    settings = opening.settings
    approvals = Approvals(
        history.append,
        rules=(*rules_of(settings.approvals), *command_line_rules(opening.allow)),
        read_only=settings.read_only,
        attended=opening.attended,
        yes=opening.yes,
    )
    workspace = Workspace(opening.cwd, closed=own_folders(opening.paths))
    files = FileKeeper(history, KeptFiles(folder.kept_files), workspace)
    working: tuple[Callable[..., Any], ...] = ()
    noting: tuple[Callable[..., Any], ...] = ()
    cut_short: dict[str, str] = {}
    if not settings.read_only:
        notes = NoteTools(Notes(folder.plan_file, folder.todo_file))
        writing = FileTools(workspace, approvals, files)
        command = _command(opening, history, approvals, cut_short)
        working = (writing.write_file, writing.edit_file, command.run_command)
        noting = (notes.todo, notes.plan)
        if settings.web_fetch != "off":
            web = WebTool(approvals, private=settings.web_fetch == "any")
            working = (*working, web.web_fetch)
    asking = frozenset(tool.__name__ for tool in working) | FILE_LOOKERS
    return Tooling(approvals, files, (*working, *noting), asking, cut_short)


def own_folders(paths: Paths) -> tuple[Path, ...]:
    """Folders of the program's own: whoever writes there could allow himself anything."""
    return (paths.config, paths.data, paths.state, paths.cache)


def _command(
    opening: Opening, history: SessionHistory, approvals: Approvals, cut_short: dict[str, str]
) -> CommandTool:
    named = [endpoint.key_env for endpoint in opening.settings.endpoints.values()]
    return CommandTool(
        ProcessRunner(opening.cwd, without_keys(opening.env, named)),
        approvals,
        lambda call, text: _show(history, call, text),
        opening.settings.command_timeout_s,
        cut_short,
    )


def _show(history: SessionHistory, call: str, text: str) -> None:
    history.append(ToolOutput(tool_call_id=call, text=text))


# The sub-agents of a session: which model they have, what they may look with, and where it is written.


def sub_agents(
    settings: ExploreSettings,
    writers: SummaryWriters,
    compactor: Compactor,
    limits: Limits,
    looking: Looking,
    around: Sequence[AbstractCapability[Any]],
) -> SubAgents:
    """Everything the sub-agents of one session need.

    Args:
        settings: Their model and bounds.
        writers: The session, and the models it can use.
        compactor: Knows the policy in force.
        limits: What is known about the models' windows.
        looking: Where they look, and what rules leave them to see.
        around: What follows every run of the session.
    """
    history = writers.history

    async def choose(model: Model) -> tuple[str, Model]:
        if wanted := settings.model:
            try:
                return wanted, await writers.shelf.get(wanted)
            except Exception as error:  # as for any model: said, and the session's own does it
                said = describe_error(error, model=wanted).message
                history.append(Notice(text=f"{said} Sub-agents are run by {history.model}."))
        return history.model, model

    return SubAgents(
        tools=looking_toolset(looking),
        report=history.append,
        choose=choose,
        policy=lambda: compactor.policy,
        limits=limits,
        bounds=Bounds(max_steps=settings.max_steps, max_tokens=settings.max_tokens),
        around=around,
        folder=str(looking.workspace.root),
    )


# What a session has beside its own tools: MCP servers, the project's instructions, skills; their cost.

OURS = "Plimsoll"
"""What the program's own tools are called among those of servers."""


@dataclass(slots=True)
class Extras:
    """Belongs to one session."""

    opening: InitVar[Opening]
    history: SessionHistory
    standing: Standing
    in_use: SkillsInUse
    own: Sequence[ToolDefinition] = field(default_factory=tuple)
    """The program's own tools."""
    carried: Carried = field(default_factory=Carried)
    servers: McpServers = field(init=False)
    _models: ModelSwitch | None = None
    """Measures anew; None for a session that is only looked at."""

    def __post_init__(self, opening: Opening) -> None:
        """Know the servers that are set; none is started."""
        self.servers = McpServers(
            # A person's own agent brings its own tools along.
            {} if opening.agent else opening.settings.mcp,
            opening.env,
            opening.cwd,
            SeenTools(opening.paths.state / "mcp.json"),
            self,
        )

    def additions(self) -> Sequence[Addition]:
        """What compactions carry along: plan, todo list, skills in use."""
        return (*StandingFiles(self.history.archive.folder)(), *self.in_use())

    def follow(self, models: ModelSwitch) -> None:
        """Measure anew whenever a server comes or goes, and say which one failed."""
        self._models = models

    def heard(self, status: McpStatus) -> None:
        """See ``McpHost``."""
        if self._models is None:
            return
        if status.state == "failed":
            self.history.append(Notice(text=f"MCP server {status.name}: {status.error} /mcp shows more."))
        self.carried.tools = (*self.own, *self._offered())
        self._models.measure()

    def other_names(self) -> Collection[str]:
        """See ``McpHost``."""
        return [tool.name for tool in self.own]

    def overview(self) -> Overview:
        """How everything stands, in plain values."""
        in_use = self.in_use.names()
        return Overview(
            servers=self.servers.statuses(),
            files=self.standing.files,
            skills=tuple(
                SkillRow(skill.name, skill.description, skill.place, str(skill.file), skill.name in in_use)
                for skill in self.standing.skills.found
            ),
            refused=self.standing.skills.refused,
            shares=self.shares(),
            instructed=self.standing.instructed,
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
            for file in self.standing.files
            if file.text
        ]
        skills = Share("memory", "skills", self._text(skills_text(self.standing.skills)))
        return tuple(each for each in (ours, *servers, *instructions, skills) if each.tokens)

    def _offered(self) -> list[ToolDefinition]:
        return [tool.definition for _, tool in self.servers.offered()]

    def weigh(self, tool: Offered) -> int:
        """Tokens of a tool's definition in the current model's own tokens."""
        return self._tools([tool.definition])

    def _tools(self, tools: Sequence[ToolDefinition]) -> int:
        return round(self.history.counter.tools(tools) * self.history.factor)

    def _text(self, text: str) -> int:
        return round(self.history.counter.text(text) * self.history.factor) if text else 0


def extras_of(opening: Opening, history: SessionHistory, bus: EventBus | None = None) -> Extras:
    """Read what the project and the person have; no server is started.

    Args:
        opening: Which session, with what settings.
        history: Its view and log.
        bus: Where compactions are heard of; None for a session that is only looked at.
    """
    standing = Standing(opening.cwd, opening.paths.config, opening.settings.project_instructions)
    if not opening.agent:
        standing.read()
        if bus is not None:
            bus.listen(standing.heard)
    return Extras(opening, history, standing, SkillsInUse(history, standing))


@dataclass(frozen=True, slots=True, kw_only=True)
class Governed:
    """Who governs the requests of a session, and whom they belong to."""

    writers: SummaryWriters
    compactor: Compactor
    limits: Limits
    around: Sequence[AbstractCapability[Any]] = ()
    """What else follows a run: hooks, telemetry."""

    def capabilities(
        self, recorder: Recorder, carried: Carried, steps: StepWatch, files: FilesOnDisk, *, provider: bool
    ) -> list[AbstractCapability[Any]]:
        """In the order in which they see a request; ``provider`` says whether one may compact by itself."""
        history, compactor = self.writers.history, self.compactor
        surroundings = StageHost(checksum=files.checksum, contains=files.contains, digest=self.writers.digest)
        governor = ContextGovernor(
            compactor.policy,
            history=history,
            compactor=compactor,
            counter=history.counter,
            limits=self.limits,
            surroundings=surroundings,
        )
        by_provider = ProviderCompaction(history, compactor, wanted=provider)
        return [by_provider, steps, CarriedWatch(carried), governor, recorder, *self.around]


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a conversation's agent works: what it may read, and its tools."""

    workspace: Workspace
    tools: Sequence[FunctionToolset[Any]]
    """Those that only need the session; a tool that is described but not here comes later."""


def build_workplace(opening: Opening, history: SessionHistory, tooling: Tooling, extras: Extras) -> Workplace:
    """Put instructions and tools together, and note in the extras what each request carries of them.

    Whoever only measures a session must get the same.
    """
    folder = history.archive.folder
    own = (folder.tool_outputs, folder.conversation_history)
    working = {tool.__name__ for tool in tooling.working}
    readable = (*own, *extras.standing.skill_folders)
    workspace = Workspace(opening.cwd, extra=readable, closed=own_folders(opening.paths))
    search = SessionSearch(history.store, history.session)
    tools = [
        build_toolset(workspace, search, tooling.approvals, tooling.working),
        skill_toolset(lambda: extras.standing.skills),
    ]
    described = [*tools]
    if explore_settings(opening.settings.explore).enabled:
        described.append(explore_toolset(None))
    extras.own = [tool.tool_def for each in described for tool in each.tools.values()]
    carried = extras.carried
    carried.instructions = system_instructions(opening.cwd, *own, working=working)
    carried.tools, carried.standing = extras.own, extras.standing.text
    return Workplace(workspace, tools)


def build_runner(
    opening: Opening, governed: Governed, tooling: Tooling, own: OwnAgent | None, extras: Extras
) -> TurnRunner:
    """Put the agent of a session together, and note in its extras what each of its requests carries.

    Args:
        opening: What the person has set, and the folder that tools work in.
        governed: The session and its governor.
        tooling: Tools that change something, and who is asked about them.
        own: The person's own agent; None is ours.
        extras: MCP servers, instructions of the project, skills.
    """
    history, settings = governed.writers.history, opening.settings
    recorder, steps = Recorder(history), StepWatch()
    manner = Manner(
        thinking=settings.thinking, max_steps=settings.max_steps, silence_s=settings.answer_timeout_s
    )
    watched = recorder, extras.carried, steps
    provider = settings.provider_compaction
    if own is not None:
        recall = recall_toolset(SessionSearch(history.store, history.session))
        files = FilesOnDisk(Workspace(opening.cwd))
        capabilities = governed.capabilities(*watched, files, provider=provider)
        added = _added(own, recall, capabilities, tooling.approvals)
        return TurnRunner(own.agent, recorder, history.session, added, steps, manner)
    place = build_workplace(opening, history, tooling, extras)
    capabilities = governed.capabilities(*watched, FilesOnDisk(place.workspace), provider=provider)
    looking = Looking(place.workspace, tooling.approvals)
    explorers = _sub_agents(governed, looking, explore_settings(settings.explore))
    agent: Agent[None, str] = Agent(
        None,
        name="plimsoll",
        instructions=[extras.carried.instructions, extras.carried.standing],
        toolsets=[*place.tools, *explorers, McpTools(extras.servers)],
        # The gate innermost: what a hook declines is not asked about. What does not ask for itself asks here.
        capabilities=[*capabilities, _failures(extras), _tool_gate(tooling, extras)],
        retries=2,
    )
    cut_short = tooling.cut_short
    return TurnRunner(agent, recorder, history.session, Additions(), steps, manner, cut_short)


def _failures(extras: Extras) -> ToolFailures:
    return ToolFailures([tool.name for tool in extras.own])


def _tool_gate(tooling: Tooling, extras: Extras) -> ToolGate:
    ours = {tool.name for tool in extras.own}
    approvals = tooling.approvals
    return ToolGate(approvals, ours & tooling.asking, free=ours - tooling.asking, ahead=approvals.ahead)


def _sub_agents(governed: Governed, looking: Looking, explore: ExploreSettings) -> list[FunctionToolset[Any]]:
    """The tool that sends sub-agents out, unless a person has switched it off."""
    if not explore.enabled:
        return []
    parts = governed.writers, governed.compactor, governed.limits, looking, governed.around
    return [explore_toolset(sub_agents(explore, *parts))]


def _added(
    own: OwnAgent,
    recall: FunctionToolset[Any],
    capabilities: Sequence[AbstractCapability[Any]],
    gate: Approvals,
) -> Additions:
    """What a run of the person's agent is given: its system prompt again, and a way back to what has left.

    Its tools are asked about: nobody here knows what they do.
    """
    taken = _tool_names(own.agent)
    toolsets = [] if taken & recall.tools.keys() else [recall]
    ours = [name for tools in toolsets for name in tools.tools]
    return Additions(
        deps=own.deps,
        instructions=[own.system_prompt, *([MEMORY] if toolsets else [])],
        toolsets=toolsets,
        capabilities=[*capabilities, ToolFailures(ours), ToolGate(gate, free=ours, ahead=gate.ahead)],
    )


def _tool_names(agent: AbstractAgent[Any, Any]) -> set[str]:
    return {name for tools in agent.toolsets if isinstance(tools, FunctionToolset) for name in tools.tools}
