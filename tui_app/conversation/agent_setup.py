"""The agent that answers in a session, ours or the user's own, with the governor in front of it."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.errors import describe_error
from tui_app.agent.instructions import MEMORY, instructions_text, system_instructions
from tui_app.agent.mcp.toolset import McpTools, mcp_tool_search
from tui_app.agent.own_agent import OwnAgent
from tui_app.agent.subagents import Bounds, SubAgents, delegate_toolset, explore_toolset
from tui_app.agent.tool_failures import StepWatch, ToolFailures
from tui_app.agent.tools.lookup import (
    Looking,
    build_toolset,
    looking_toolset,
    recall_toolset,
    skill_toolset,
)
from tui_app.agent.tools.workspace import Workspace
from tui_app.agent.turn import Additions, Manner, Recorder, TurnRunner
from tui_app.context.governor import ContextGovernor
from tui_app.context.tool_results.stages import StageHost
from tui_app.context.tool_room import SwitchedOff, ToolRoom
from tui_app.conversation.approvals import ToolGate
from tui_app.conversation.compactions import Compactions, ProviderCompaction
from tui_app.conversation.file_snapshots import FilesOnDisk
from tui_app.conversation.goals import Goals, GoalTools
from tui_app.conversation.open_request import Opening
from tui_app.conversation.session_extras import Extras
from tui_app.conversation.session_tools import Tooling
from tui_app.conversation.summary_writers import SummaryWriters
from tui_app.events import Notice
from tui_app.records import frozen
from tui_app.settings.spec import ExploreSettings, explore_settings


@frozen(kw_only=True)
class AgentSetup:
    """Puts together the agent of one session."""

    opening: Opening
    writers: SummaryWriters
    compactions: Compactions
    tooling: Tooling
    extras: Extras
    goals: Goals
    effort: str = "default"
    """How much the model thinks."""
    before: Sequence[AbstractCapability[Any]] = ()
    """What puts something in the view before the governor builds a request from it."""
    around: Sequence[AbstractCapability[Any]] = ()
    """What else follows a run: hooks, telemetry."""

    def runner(self, own: OwnAgent | None) -> TurnRunner:
        """The agent with all that its turns need; in the extras is noted what each of its requests carries.

        Args:
            own: The user's own agent; None is ours.
        """
        opening, extras, gate = self.opening, self.extras, self.tooling.approvals
        settings, history = opening.settings, extras.history
        recorder, steps = Recorder(history, opening.secrets()), StepWatch()
        manner = Manner(
            thinking=self.effort,
            prompt_cache=settings.prompt_cache,
            max_steps=settings.max_steps,
            silence_s=settings.answer_timeout_s,
        )
        if own is not None:
            files = FilesOnDisk(Workspace(opening.cwd))
            added = self._added(own, self._capabilities(recorder, steps, files))
            return TurnRunner(own.agent, recorder, history.session, added, steps, manner)
        workspace, tools, room = describe_tools(opening, self.tooling, extras)
        explore = explore_settings(settings.explore)
        if explore.enabled:
            looking = Looking(workspace, gate)
            agents = self._sub_agents(explore, looking)
            tools += [explore_toolset(agents), delegate_toolset(agents, agents.files)]
        tools.append(GoalTools(self.goals))
        ours = {name for each in tools for name in each.tools}
        asking = self.tooling.asking
        agent: Agent[None, str] = Agent(
            None,
            name="plimsoll",
            # What is the same in all sessions first; what changes stands behind what providers keep of that.
            instructions=[
                extras.overhead.instructions,
                extras.project.instructions,
                extras.server_instructions,
                extras.project.surroundings,
            ],
            toolsets=[*tools, McpTools(extras.servers)],
            # The gate innermost: what a hook declines is not asked about. What asks nowhere else asks here.
            capabilities=[
                extras.folders,
                *self._capabilities(recorder, steps, FilesOnDisk(workspace)),
                ToolFailures([tool.name for tool in extras.own]),
                *self.tooling.by_provider,
                room,
                mcp_tool_search(),
                ToolGate(gate, ours & asking, free=ours - asking, ahead=gate.ahead),
            ],
            retries=2,
        )
        cut_short = self.tooling.cut_short
        return TurnRunner(
            agent, recorder, history.session, Additions(), steps, manner, cut_short, opening.answers
        )

    def _capabilities(
        self, recorder: Recorder, steps: StepWatch, files: FilesOnDisk
    ) -> list[AbstractCapability[Any]]:
        """In the order in which they see a request."""
        history, compactor = self.extras.history, self.compactions.compactor
        governor = ContextGovernor(
            compactor.policy,
            history=history,
            compactor=compactor,
            counter=history.counter,
            limits=self.writers.shelf.limits,
            surroundings=StageHost(
                checksum=files.checksum,
                contains=files.contains,
                digest=self.writers.digest,
                cache=self.writers.cache_rates,
                sources=self.extras.overhead.sources,
            ),
            tell=history.append if self.opening.settings.tell_fullness else None,
        )
        wanted = self.opening.settings.provider_compaction
        by_provider = ProviderCompaction(history, compactor, wanted=wanted)
        before = [by_provider, steps, self.extras.overhead, *self.before]
        off = SwitchedOff(self.extras.off)
        return [*before, governor, recorder, *self.around, self.writers.sent, off]

    def _sub_agents(self, settings: ExploreSettings, looking: Looking) -> SubAgents:
        """Everything the sub-agents of the session need.

        Args:
            settings: Their model and bounds.
            looking: Where they look, and what rules leave them to see.
        """
        history, shelf, compactor = self.extras.history, self.writers.shelf, self.compactions.compactor

        async def choose(model: Model, own: str) -> tuple[str, Model]:
            if wanted := own or settings.model:
                try:
                    return wanted, await shelf.get(wanted)
                except Exception as error:  # as for any model: said, and the session's own does it
                    said = describe_error(error, model=wanted).message
                    history.append(Notice(text=f"{said} Sub-agents are run by {history.model}."))
            return history.model, model

        return SubAgents(
            tools=looking_toolset(looking),
            working=self.tooling.lent,
            files=lambda: self.extras.project.agents,
            project=lambda: instructions_text(self.extras.project.files),
            report=history.append,
            choose=choose,
            policy=lambda: compactor.policy,
            limits=shelf.limits,
            bounds=Bounds(max_steps=settings.max_steps, max_tokens=settings.max_tokens),
            around=self.around,
            folder=str(looking.workspace.root),
        )

    def _added(self, own: OwnAgent, capabilities: Sequence[AbstractCapability[Any]]) -> Additions:
        """What a run of the user's agent is given: its system prompt again, and a way back to what has left.

        Its tools are asked about: nobody here knows what they do.
        """
        gate, recall = self.tooling.approvals, recall_toolset(self.tooling.search)
        taken = {
            name for tools in own.agent.toolsets if isinstance(tools, FunctionToolset) for name in tools.tools
        }
        toolsets = [] if taken & recall.tools.keys() else [recall]
        ours = [name for tools in toolsets for name in tools.tools]
        return Additions(
            deps=own.deps,
            instructions=[own.system_prompt, *([MEMORY] if toolsets else [])],
            toolsets=toolsets,
            capabilities=[*capabilities, ToolFailures(ours), ToolGate(gate, free=ours, ahead=gate.ahead)],
        )


def describe_tools(
    opening: Opening, tooling: Tooling, extras: Extras
) -> tuple[Workspace, list[FunctionToolset[Any]], ToolRoom]:
    """Put instructions and tools together, and note in the extras what each request carries of them.

    Whoever only measures a session must get the same.

    Returns:
        What the agent may read, and the tools that only need the session; one that is described but not
        among them comes later; and which of them are found by searching.
    """
    history = extras.history
    folder = history.archive.folder
    own = (folder.tool_outputs, folder.conversation_history)
    readable = (*own, *extras.project.skill_folders)
    closed, withheld = opening.paths.own_folders, lambda: history.withheld
    workspace = Workspace(opening.cwd, readable, closed, withheld, opening.added, folder.path)
    tools = [
        build_toolset(workspace, tooling.search, tooling.approvals, tooling.working, tooling.project),
        skill_toolset(lambda: extras.project.skills),
    ]
    explore = explore_settings(opening.settings.explore)
    described = [*tools]
    if explore.enabled:
        described += [explore_toolset(None), delegate_toolset(None, lambda: extras.project.agents)]
    if (context := tooling.context) is not None:
        tools.append(context)
        if context.offered_to(history.model.partition(":")[0]):
            described.append(context)
    overhead = extras.overhead
    working = {tool.__name__ for tool in tooling.working}
    overhead.instructions = system_instructions(working, kept=own)
    every = (tool.tool_def for each in described for tool in each.tools.values())
    searched = opening.settings.tools.get("search", ())
    room = ToolRoom(history, lambda: overhead.instructions, searched, extras.off)
    extras.own = room.fitted([*every])
    overhead.tools, overhead.project = extras.sent_of(extras.own), extras.project.instructions
    overhead.surroundings, overhead.pieces = extras.project.surroundings, extras.project.pieces
    return workspace, tools, room
