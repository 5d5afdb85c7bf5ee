"""The agent that answers in a session, ours or the person's own, with the governor in front of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
from tui_app.agent.tools.skill import skill_toolset
from tui_app.agent.tools.toolset import build_toolset, recall_toolset
from tui_app.agent.tools.workspace import Workspace
from tui_app.agent.turn import Additions, Manner, TurnRunner
from tui_app.context.compactor import Compactor
from tui_app.context.governor import ContextGovernor
from tui_app.context.limits import Limits
from tui_app.context.stages.relief import Surroundings
from tui_app.conversation.carried import Carried, CarriedWatch
from tui_app.conversation.extras import Extras
from tui_app.conversation.files_on_disk import FilesOnDisk
from tui_app.conversation.provider_compaction import ProviderCompaction
from tui_app.conversation.search import SessionSearch
from tui_app.conversation.writers import SummaryWriters


@dataclass(frozen=True, slots=True, kw_only=True)
class Governed:
    """Who governs the requests of a session, and whom they belong to."""

    writers: SummaryWriters
    compactor: Compactor
    limits: Limits
    provider_compaction: bool
    around: Sequence[AbstractCapability[Any]] = ()
    """What else follows a run: hooks, telemetry."""
    manner: Manner = field(default_factory=Manner)

    def capabilities(
        self, recorder: Recorder, carried: Carried, steps: StepWatch, files: FilesOnDisk
    ) -> list[AbstractCapability[Any]]:
        """In the order in which they see a request."""
        history, compactor = self.writers.history, self.compactor
        around = Surroundings(checksum=files.checksum, contains=files.contains, digest=self.writers.digest)
        governor = ContextGovernor(
            compactor.policy,
            history=history,
            compactor=compactor,
            counter=history.counter,
            limits=self.limits,
            surroundings=around,
        )
        provider = ProviderCompaction(history, compactor, wanted=self.provider_compaction)
        return [provider, steps, CarriedWatch(carried), governor, recorder, *self.around]


def build_runner(governed: Governed, cwd: Path, own: OwnAgent | None, extras: Extras) -> TurnRunner:
    """Put the agent of a session together, and note in its extras what each of its requests carries.

    Args:
        governed: The session and its governor.
        cwd: Folder that tools work in.
        own: The person's own agent; None is ours.
        extras: MCP servers, instructions of the project, skills.
    """
    history = governed.writers.history
    folder = history.archive.folder
    extra = (folder.tool_outputs, folder.conversation_history)
    workspace = Workspace(cwd, extra=(*extra, *extras.standing.skill_folders))
    search = SessionSearch(history.store, history.session)
    recorder, carried, steps = Recorder(history), extras.carried, StepWatch()
    capabilities = governed.capabilities(recorder, carried, steps, FilesOnDisk(workspace))
    if own is not None:
        added = _added(own, recall_toolset(search), capabilities)
        return TurnRunner(own.agent, recorder, history.session, added, steps, governed.manner)
    carried.instructions = system_instructions(cwd, *extra)
    tools = [build_toolset(workspace, search), skill_toolset(lambda: extras.standing.skills)]
    carried.tools = extras.own = [tool.tool_def for each in tools for tool in each.tools.values()]
    carried.standing = extras.standing.text
    agent: Agent[None, str] = Agent(
        None,
        name="plimsoll",
        instructions=[carried.instructions, carried.standing],
        toolsets=[*tools, McpTools(extras.servers)],
        capabilities=capabilities,
        retries=2,
    )
    return TurnRunner(agent, recorder, history.session, steps=steps, manner=governed.manner)


def _added(
    own: OwnAgent, recall: FunctionToolset[Any], capabilities: Sequence[AbstractCapability[Any]]
) -> Additions:
    """What a run of the person's agent is given: its system prompt again, and a way back to what has left."""
    taken = _tool_names(own.agent)
    toolsets = [] if taken & recall.tools.keys() else [recall]
    return Additions(
        deps=own.deps,
        instructions=[own.system_prompt, *([MEMORY] if toolsets else [])],
        toolsets=toolsets,
        capabilities=capabilities,
    )


def _tool_names(agent: AbstractAgent[Any, Any]) -> set[str]:
    return {name for tools in agent.toolsets if isinstance(tools, FunctionToolset) for name in tools.tools}
