"""Sub-agents: a separate agent looks around in a context of its own, and only its answer comes back."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import Agent, ModelRetry, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import UsageLimits

from tui_app.agent.errors import describe_error
from tui_app.agent.instructions import EXPLORER
from tui_app.agent.steps import StepWatch
from tui_app.agent.subagent_watch import SubAgentWatch
from tui_app.context.governor import ContextGovernor
from tui_app.context.policy import Policy
from tui_app.context.tool_titles import call_title
from tui_app.context.window_limits import Limits
from tui_app.events import Payload, SubAgentStart

AT_ONCE = 2
"""Sub-agents of one session that may work at the same time; more wait for their turn."""
ANSWER_CHARS = 16_000
"""Characters of an answer that come back at most."""
TOOL = "explore"
_ABOUT = (
    "Send a sub-agent to find something out in the workspace. It has the read-only tools and a context of "
    "its own; you get its answer and nothing else, so your context stays small. Use it for questions that "
    "take many looks, such as where and how something is done; look up a single file yourself. It knows "
    "nothing of this conversation."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How far one sub-agent may go."""

    max_steps: int
    """Model requests."""
    max_tokens: int
    """Tokens read and written, over all requests."""


@dataclass(slots=True, kw_only=True)
class SubAgents:
    """Sends the sub-agents of one conversation out. A sub-agent has no way to send others."""

    tools: FunctionToolset[Any]
    """What they may look with."""
    report: Callable[[Payload], object]
    """Writes an event down and shows it."""
    choose: Callable[[Model], Awaitable[tuple[str, Model]]]
    """Name and model of the next one, given the model of the turn."""
    policy: Callable[[], Policy]
    limits: Limits
    bounds: Bounds
    around: Sequence[AbstractCapability[Any]] = ()
    """What follows every run of the session: hooks, telemetry."""
    folder: str = ""
    """The workspace, as they are told."""
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def send(self, call: str, task: str, model: Model) -> str:
        """Run a sub-agent to its end.

        Args:
            call: Id of the call that asks for it.
            task: What it is to find out.
            model: The model of the turn.

        Returns:
            Its answer, or how far it got where its steps or tokens were used up.

        Raises:
            ModelRetry: if it has failed; the text says why.
            asyncio.CancelledError: if the turn is cancelled.
        """
        if not task.strip():
            raise ModelRetry("The task is empty: say what to find out.")
        async with self._room:
            name, chosen = await self.choose(model)
            steps = self.bounds.max_steps
            self.report(SubAgentStart(tool_call_id=call, task=task, model=name, max_steps=steps))
            watch = SubAgentWatch(call, name, self.report)
            return await self._followed(watch, task, name, chosen)

    async def _followed(self, watch: SubAgentWatch, task: str, name: str, model: Model) -> str:
        try:
            answer = await self._run(watch, task, model)
        except asyncio.CancelledError:
            watch.end("cancelled")
            raise
        except UsageLimitExceeded:
            reason = f"It used up its {self.bounds.max_steps} steps or {self.bounds.max_tokens:,} tokens."
            watch.end("stopped", reason)
            return _unfinished(watch, reason)
        except Exception as error:  # whatever a provider raises: the model that asked can go on without it
            told = describe_error(error, model=name).message
            watch.end("failed", told)
            raise ModelRetry(f"The sub-agent failed: {told}") from error
        watch.end("done")
        return (
            answer if len(answer) <= ANSWER_CHARS else f"{answer[:ANSWER_CHARS]}\n[the answer was cut here]"
        )

    async def _run(self, watch: SubAgentWatch, task: str, model: Model) -> str:
        steps, governor = (
            StepWatch(),
            ContextGovernor(self.policy(), limits=self.limits, listener=watch.compacted),
        )
        agent: Agent[None, str] = Agent(
            None,
            name="plimsoll-explore",
            instructions=EXPLORER.format(folder=self.folder),
            toolsets=[self.tools],
            capabilities=[steps, governor, watch, *self.around],
            retries=2,
        )
        steps.begin()
        bounds = UsageLimits(request_limit=self.bounds.max_steps, total_tokens_limit=self.bounds.max_tokens)
        try:
            async with agent.run_stream_events(task, model=model, usage_limits=bounds) as stream:
                async for event in stream:
                    if isinstance(event, AgentRunResultEvent):
                        return str(event.result.output)
        finally:
            await governor.aclose()
        return watch.said


def explore_toolset(agents: SubAgents | None) -> FunctionToolset[Any]:
    """The one tool through which a model sends sub-agents; without any it can be measured, not used."""

    async def explore(ctx: RunContext[Any], task: str) -> str:
        """Send one.

        Args:
            ctx: The call.
            task: What to find out, complete in itself: what is meant, and what the answer should name.
        """
        if agents is None or not isinstance(ctx.model, Model):
            raise ModelRetry("There are no sub-agents here.")
        return await agents.send(ctx.tool_call_id or TOOL, task, ctx.model)

    tool = Tool(explore, name=TOOL, description=_ABOUT, docstring_format="google")
    return FunctionToolset([tool], max_retries=2)


def _unfinished(watch: SubAgentWatch, reason: str) -> str:
    """What can be said of a sub-agent that was stopped."""
    looked = "\n".join(f"- {call_title(name, args)}" for name, args in watch.titles[-40:])
    said = f"\n\nIts last words: {watch.said}" if watch.said else ""
    return f"The sub-agent was stopped before it had an answer. {reason} It looked at:\n{looked}{said}"[
        :ANSWER_CHARS
    ]
