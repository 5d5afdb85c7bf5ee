"""Construction of the agent of a session, ours or the user's own, with its context governor."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.instructions.instructions import MEMORY, system_instructions
from tui_app.agent.mcp.toolset import McpTools, mcp_tool_search
from tui_app.agent.own_agent import OwnAgent
from tui_app.agent.step_watch import StepWatch
from tui_app.agent.subagents import Senders, offered_to, subagent_toolset
from tui_app.agent.tool_failures import ToolFailures
from tui_app.agent.tools.lookup import Looking, build_toolset, looking_toolset, recall_toolset, skill_toolset
from tui_app.agent.tools.workspace import Workspace
from tui_app.agent.turn import Manner, Recorder, TurnRunner
from tui_app.context.governor import ContextGovernor
from tui_app.context.tool_results.stages import StageHost
from tui_app.context.tool_room import SwitchedOff, ToolRoom
from tui_app.conversation.agents.session_tools import Tooling
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.conversation.compactions.provider_compaction import ProviderCompaction
from tui_app.conversation.compactions.summary_writers import SummaryWriters
from tui_app.conversation.consent.tool_gate import ToolGate
from tui_app.conversation.files.files_on_disk import FilesOnDisk
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.hooks.request_hook import RequestHook
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.session_extras import Extras
from tui_app.conversation.turns.goals import Goals, GoalTools
from tui_app.records import frozen
from tui_app.settings.spec import ExploreSettings

Watching = tuple[Recorder, StepWatch]
"""The recorder of a run, and the watch over its steps."""


@frozen(kw_only=True)
class AgentSetup:
    """Builds the agent of one session."""

    opening: Opening
    writers: SummaryWriters
    compactions: Compactions
    tooling: Tooling
    extras: Extras
    goals: Goals
    effort: str = "default"
    """Reasoning effort of the model."""
    before: Sequence[AbstractCapability[Any]] = ()
    """Capabilities that add to the view before the governor builds a request from it."""
    around: Sequence[AbstractCapability[Any]] = ()
    """Further capabilities around a run, such as hooks and telemetry."""
    senders: Senders | None = None
    """Starts subagents; None if there are none."""

    def runner(self, own: OwnAgent | None) -> TurnRunner:
        """Build the agent with everything its turns need, and set in the extras what each request carries.

        Args:
            own: The user's own agent; None for ours.
        """
        opening, extras, tooling = self.opening, self.extras, self.tooling
        options: dict[str, Any] = {"thinking": self.effort, "max_steps": opening.settings.max_steps}
        if own is not None:
            watching, inner = self._capabilities(Workspace(opening.cwd))
            return self._runner(own.agent, watching, self._added(own, inner), **options)
        workspace, tools, room = describe_tools(opening, tooling, extras)
        if ExploreSettings(**opening.settings.explore).enabled:
            tools.append(subagent_toolset(self.senders, lambda: extras.project.agents))
        tools.append(GoalTools(self.goals))
        watching, inner = self._capabilities(workspace)
        agent: Agent[None, str] = Agent(
            None,
            name="plimsoll",
            # First what all sessions share, so that providers can cache it; what changes comes last.
            instructions=[
                extras.overhead.instructions,
                extras.project.instructions,
                extras.server_instructions,
                extras.project.surroundings,
            ],
            toolsets=[*tools, McpTools(extras.servers)],
            # The gate is innermost: a call that a hook declines is never asked about. Tools that do not ask
            # themselves ask here.
            capabilities=[
                RequestHook(extras.in_use.add_folder_instructions),
                *inner,
                ToolFailures([tool.name for tool in extras.own]),
                *tooling.by_provider,
                room,
                mcp_tool_search(),
                self._gate(tools),
            ],
            retries=2,
        )
        return self._runner(agent, watching, {}, **options)

    def agent_runner(self, instructions: Sequence[str], tools: Collection[str]) -> TurnRunner:
        """Build the agent of a subagent that starts with only its task.

        It has read-only tools and those its file names.

        Args:
            instructions: Its system prompt, in parts.
            tools: Names of its additional tools.
        """
        overhead, tooling = self.extras.overhead, self.tooling
        workspace = _workspace(self.opening, self.extras)
        functions = [tool for tool in tooling.working if tool.__name__ in tools]
        toolsets = [
            looking_toolset(Looking(workspace, tooling.gate)),
            FunctionToolset[Any](functions, max_retries=2, docstring_format="google"),
        ]
        overhead.instructions = "\n\n".join(instructions)
        overhead.tools = [tool.tool_def for each in toolsets for tool in each.tools.values()]
        failing = ToolFailures(sorted(tool.name for tool in overhead.tools))
        watching, inner = self._capabilities(workspace)
        every, parts = [*inner, failing, self._gate(toolsets)], list(instructions)
        agent: Agent[None, str] = Agent(
            None, name="plimsoll-agent", instructions=parts, toolsets=toolsets, capabilities=every, retries=2
        )
        return self._runner(agent, watching, {})

    def _runner(
        self, agent: AbstractAgent[Any, Any], watching: Watching, added: Mapping[str, Any], **options: Any
    ) -> TurnRunner:
        recorder, steps = watching
        opening, session = self.opening, self.extras.history.session
        cache, silence_s = opening.settings.prompt_cache, opening.settings.answer_timeout_s
        manner = Manner(prompt_cache=cache, silence_s=silence_s, **options)
        cut_short = self.tooling.cut_short
        return TurnRunner(agent, recorder, session, added, steps, manner, cut_short, opening.answers)

    def _gate(self, tools: Iterable[FunctionToolset[Any]]) -> ToolGate:
        ours, asking = {name for each in tools for name in each.tools}, self.tooling.asking
        return ToolGate(self.tooling.gate, ours & asking, free=ours - asking, ahead=self.tooling.ahead)

    def _capabilities(self, workspace: Workspace) -> tuple[Watching, list[AbstractCapability[Any]]]:
        """The recorder, the watch over the steps, and all capabilities that see a request, in order."""
        history, compactor, files = self.extras.history, self.compactions.compactor, FilesOnDisk(workspace)
        recorder, steps = Recorder(history, self.opening.secrets()), StepWatch()
        digest, cache, sources = self.writers.digest, self.writers.cache_rates, self.extras.overhead.sources
        host = StageHost(
            checksum=files.checksum, contains=files.contains, digest=digest, cache=cache, sources=sources
        )
        governor = ContextGovernor(
            compactor.policy,
            history=history,
            compactor=compactor,
            counter=history.counter,
            limits=self.writers.shelf.limits,
            surroundings=host,
            tell=history.append if self.opening.settings.tell_fullness else None,
        )
        by_provider = ProviderCompaction(history, compactor, wanted=self.opening.settings.provider_compaction)
        before = [by_provider, steps, RequestHook(self.extras.overhead.note_request), *self.before]
        after = [*self.around, self.writers.sent, SwitchedOff(self.extras.off)]
        return (recorder, steps), [*before, governor, recorder, *after]

    def _added(self, own: OwnAgent, capabilities: Sequence[AbstractCapability[Any]]) -> dict[str, Any]:
        """Arguments for a run of the user's own agent: its system prompt, and a tool to recall old messages.

        All its tools ask for approval, because their effects are unknown here.
        """
        gate, recall = self.tooling.approvals, recall_toolset(self.tooling.search)
        taken = {
            name for tools in own.agent.toolsets if isinstance(tools, FunctionToolset) for name in tools.tools
        }
        toolsets = [] if taken & recall.tools.keys() else [recall]
        ours = [name for tools in toolsets for name in tools.tools]
        return {
            "deps": own.deps,
            "instructions": [own.system_prompt, *([MEMORY] if toolsets else [])],
            "toolsets": toolsets,
            "capabilities": [*capabilities, ToolFailures(ours), ToolGate(gate, free=ours, ahead=gate.ahead)],
        }


def describe_tools(
    opening: Opening, tooling: Tooling, extras: Extras
) -> tuple[Workspace, list[FunctionToolset[Any]], ToolRoom]:
    """Build instructions and tools, and set in the extras what each request carries of them.

    Used both to run and to only measure a session, so that both get the same figures.

    Returns:
        What the agent may read; the tools that need only the session, although more may be described and
        added later; and which of them are found by search.
    """
    history = extras.history
    workspace = _workspace(opening, extras)
    tools = [
        build_toolset(workspace, tooling.search, tooling.gate, tooling.working, tooling.project),
        skill_toolset(lambda: extras.project.skills),
    ]
    described, provider = [*tools], history.model.partition(":")[0]
    if ExploreSettings(**opening.settings.explore).enabled:
        described.append(subagent_toolset(None, lambda: extras.project.agents))
    if (context := tooling.context) is not None:
        tools.append(context)
        if context.offered_to(provider):
            described.append(context)
    overhead = extras.overhead
    working = {tool.__name__ for tool in tooling.working}
    overhead.instructions = system_instructions(working, kept=_kept(history))
    named = (each for one in described for each in one.tools.values())
    every = (each.tool_def for each in named if offered_to(each.name, provider))
    searched = opening.settings.tools.get("search", ())
    room = ToolRoom(history, lambda: overhead.instructions, searched, extras.off)
    extras.own = room.fitted([*every])
    overhead.tools = extras.sent_of(extras.own)
    overhead.project, overhead.servers = extras.project, extras.servers
    return workspace, tools, room


def _kept(history: SessionHistory) -> tuple[Path, Path]:
    folder = history.archive.folder
    return folder.tool_outputs, folder.conversation_history


def _workspace(opening: Opening, extras: Extras) -> Workspace:
    history = extras.history
    readable, folder = (*_kept(history), *extras.project.skill_folders), history.archive.folder.path
    return opening.workspace(extra=readable, withheld=lambda: history.withheld, session=folder)
