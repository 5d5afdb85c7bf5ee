"""Tools by which a model starts subagents and manages them."""

from collections.abc import Callable
from typing import Any, Literal, Protocol

from pydantic_ai import RunContext, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.instructions.agent_files import AgentFile, AgentFiles
from tui_app.agent.instructions.prompts import PROMPTS
from tui_app.providers import SEARCHING
from tui_app.records import frozen
from tui_app.system.project_files import Refused
from tui_app.tool_specs import AGENTS, DELEGATE, EXPLORE, FORK, ToolSpec

NONE_HERE = "A sub-agent sends no others: do it yourself."
Action = Literal["list", "send", "wait", "stop"]


@frozen(kw_only=True)
class Order:
    """The task of a subagent."""

    call: str
    """Id of the call that starts it."""
    task: str
    agent: AgentFile | None = None
    """Which agent to start; None for an explorer or a fork."""
    fork: bool = False
    """Whether it starts with everything the session has sent to its model."""
    background: bool = False
    """Whether the turn continues without its answer."""

    @property
    def kind(self) -> str:
        return self.agent.name if self.agent is not None else FORK.name if self.fork else EXPLORE.name


class Senders(Protocol):
    """Starts the subagents of one session."""

    async def send(self, order: Order) -> str:
        """Start a subagent. Returns its brief, or its name if it works in the background.

        Raises:
            ToolFailed: if there is no task, or it failed; the text tells why.
        """
        ...

    async def tend(self, action: Action, name: str, text: str) -> str:
        """Manage running subagents. Returns text for the model.

        Raises:
            ToolFailed: if there is none of that name, or nothing to do.
        """
        ...


async def _for_models(ctx: RunContext[Any], tool: ToolDefinition) -> ToolDefinition | None:
    return tool if offered_to(tool.name, ctx.model.system) else None


def offered_to(tool: str, provider: str) -> bool:
    """Whether the models of a provider get one of these tools."""
    return provider not in SEARCHING or tool not in (FORK.name, AGENTS.name)


def subagent_toolset(senders: Senders | None, files: Callable[[], AgentFiles]) -> FunctionToolset[Any]:
    """The subagent tools of one session.

    Args:
        senders: Starts the subagents; None if there can be none, or the tools are only measured.
        files: The agents defined by the user and the project.
    """

    def sending() -> Senders:
        if senders is None:
            raise ToolFailed(NONE_HERE)
        return senders

    async def explore(ctx: RunContext[Any], task: str, background: bool = False) -> str:
        """Send one.

        Args:
            ctx: The call.
            task: What to find out, complete in itself: what is meant, and what the answer should name.
            background: Go on at once.
        """
        return await sending().send(Order(call=ctx.tool_call_id or "", task=task, background=background))

    async def fork(ctx: RunContext[Any], task: str, background: bool = False) -> str:
        """Send one.

        Args:
            ctx: The call.
            task: What to do, and what to report.
            background: Go on at once.
        """
        order = Order(call=ctx.tool_call_id or "", task=task, fork=True, background=background)
        return await sending().send(order)

    async def delegate(ctx: RunContext[Any], agent: str, task: str, background: bool = False) -> str:
        """Send one.

        Args:
            ctx: The call.
            agent: Its name.
            task: What it is to do, complete in itself: what is meant, and what the answer should say.
            background: Go on at once.
        """
        try:
            named = files().get(agent, "agent")
        except Refused as refused:
            raise ToolFailed(f"{refused}.") from refused
        call, background = ctx.tool_call_id or "", background or named.background
        order = Order(call=call, task=task, agent=named, fork=named.fork, background=background)
        return await sending().send(order)

    async def agents(_ctx: RunContext[Any], action: Action = "list", name: str = "", text: str = "") -> str:
        """See to sub-agents: wait for a brief, send one more words, also after its end.

        Args:
            _ctx: The call.
            action: What to do.
            name: Such as `fork-1`; none waits for the first.
            text: What to send.
        """
        return await sending().tend(action, name, text)

    rows: list[tuple[Callable[..., Any], ToolSpec, str]] = [
        (explore, EXPLORE, "sends_explorer"),
        (fork, FORK, "sends_fork"),
        (agents, AGENTS, ""),
        *([(delegate, DELEGATE, "sends_agent")] if files().found else []),
    ]
    tools = [
        Tool(
            work,
            name=spec.name,
            description=PROMPTS.get(about),
            prepare=_for_models,
            docstring_format="google",
        )
        for work, spec, about in rows
    ]
    return FunctionToolset(tools, max_retries=2)
