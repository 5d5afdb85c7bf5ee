"""The agent that answers in a session, ours or the person's own, with the governor in front of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.instructions import MEMORY, system_instructions
from tui_app.agent.mcp.toolset import McpTools
from tui_app.agent.own_agent import OwnAgent
from tui_app.agent.recorder import Recorder
from tui_app.agent.steps import StepWatch
from tui_app.agent.subagents import explore_toolset
from tui_app.agent.tool_failures import ToolFailures
from tui_app.agent.tools.looking import Looking
from tui_app.agent.tools.skill import skill_toolset
from tui_app.agent.tools.toolset import build_toolset, recall_toolset
from tui_app.agent.tools.workspace import Workspace
from tui_app.agent.turn import Additions, Manner, TurnRunner
from tui_app.context.compaction.compactor import Compactor
from tui_app.context.governor import ContextGovernor
from tui_app.context.tool_results.stages import Surroundings
from tui_app.context.window_limits import Limits
from tui_app.conversation.approvals import Approvals
from tui_app.conversation.carried import Carried, CarriedWatch
from tui_app.conversation.exploring import sub_agents
from tui_app.conversation.extras import Extras
from tui_app.conversation.files_on_disk import FilesOnDisk
from tui_app.conversation.provider_compaction import ProviderCompaction
from tui_app.conversation.request import Opening
from tui_app.conversation.search import SessionSearch
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.tool_gate import ToolGate
from tui_app.conversation.tooling import Tooling, own_folders
from tui_app.conversation.writers import SummaryWriters
from tui_app.settings.explore import ExploreSettings, explore_settings


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
        surroundings = Surroundings(
            checksum=files.checksum, contains=files.contains, digest=self.writers.digest
        )
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
