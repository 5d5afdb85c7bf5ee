"""The agent of a conversation, with its tools and its governor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.instructions import system_instructions
from tui_app.agent.recorder import Recorder
from tui_app.agent.tools.toolset import build_toolset
from tui_app.agent.tools.workspace import Workspace
from tui_app.agent.turn import TurnRunner
from tui_app.context.compactor import Compactor
from tui_app.context.governor import ContextGovernor
from tui_app.context.limits import Limits
from tui_app.context.stages.relief import Surroundings
from tui_app.conversation.files_on_disk import FilesOnDisk
from tui_app.conversation.provider_compaction import ProviderCompaction
from tui_app.conversation.request import Opening
from tui_app.conversation.search import SessionSearch
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.switching import Carried
from tui_app.conversation.tool_gate import ToolGate
from tui_app.conversation.tooling import Tooling
from tui_app.conversation.writers import SummaryWriters


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a conversation's agent works: what it may read, its tools, and what every request carries."""

    workspace: Workspace
    tools: FunctionToolset[object]
    carried: Carried


def build_workplace(opening: Opening, history: SessionHistory, tooling: Tooling) -> Workplace:
    """Put instructions and tools together; whoever only measures a session must get the same."""
    folder = history.archive.folder
    own = (folder.tool_outputs, folder.conversation_history)
    working = {tool.__name__ for tool in tooling.working}
    instructions = system_instructions(opening.cwd, *own, working=working)
    workspace = Workspace(opening.cwd, extra=own)
    tools = build_toolset(workspace, SessionSearch(history.store, history.session), tooling.working)
    definitions = [tool.tool_def for tool in tools.tools.values()]
    return Workplace(workspace, tools, Carried(instructions, definitions))


def build_runner(
    opening: Opening,
    compactor: Compactor,
    limits: Limits,
    writers: SummaryWriters,
    around: Sequence[AbstractCapability[Any]],
    tooling: Tooling,
) -> tuple[TurnRunner, Carried]:
    """The agent with its tools and its governor, and what it adds to every request."""
    history = writers.history
    place = build_workplace(opening, history, tooling)
    files = FilesOnDisk(place.workspace)
    recorder = Recorder(history)
    provider = ProviderCompaction(history, compactor, wanted=opening.settings.provider_compaction)
    governor = ContextGovernor(
        compactor.policy,
        history=history,
        compactor=compactor,
        counter=history.counter,
        limits=limits,
        surroundings=Surroundings(checksum=files.checksum, contains=files.contains, digest=writers.digest),
    )
    agent: Agent[None, str] = Agent(
        None,
        name="plimsoll",
        instructions=place.carried.instructions,
        toolsets=[place.tools],
        # Innermost: what a hook declines is not asked about.
        capabilities=[provider, governor, recorder, *around, ToolGate(tooling.approvals, place.tools.tools)],
        retries=2,
    )
    return TurnRunner(agent, recorder, history.session), place.carried
