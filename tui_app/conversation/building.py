"""The agent of a conversation, with its tools and its governor."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability

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
from tui_app.conversation.switching import Carried
from tui_app.conversation.tool_gate import ToolGate
from tui_app.conversation.tooling import Tooling
from tui_app.conversation.writers import SummaryWriters


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
    folder = history.archive.folder
    own = (folder.tool_outputs, folder.conversation_history)
    tools_by_name = {tool.__name__ for tool in tooling.working}
    instructions = system_instructions(opening.cwd, *own, working=tools_by_name)
    workspace = Workspace(opening.cwd, extra=own)
    files = FilesOnDisk(workspace)
    tools = build_toolset(workspace, SessionSearch(history.store, history.session), tooling.working)
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
        instructions=instructions,
        toolsets=[tools],
        # Innermost: what a hook declines is not asked about.
        capabilities=[provider, governor, recorder, *around, ToolGate(tooling.approvals, tools.tools)],
        retries=2,
    )
    definitions = [tool.tool_def for tool in tools.tools.values()]
    return TurnRunner(agent, recorder, history.session), Carried(instructions, definitions)
