"""Sub-agents: a separate agent looks around in a context of its own, and only its answer comes back."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from pydantic_ai import Agent, ModelRetry, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import (
    AgentStreamEvent,
    FunctionToolResultEvent,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import UsageLimits

from tui_app.agent.agent_files import AgentFile, AgentFiles
from tui_app.agent.errors import describe_error
from tui_app.agent.instructions import EXPLORER
from tui_app.agent.tool_failures import AnswerCutOff, StepWatch
from tui_app.context.counting.prices import answer_cost
from tui_app.context.governor import ContextGovernor
from tui_app.context.policy import Policy
from tui_app.context.tool_titles import call_title
from tui_app.context.window_limits import Limits
from tui_app.events import (
    CompactionComplete,
    Payload,
    SubAgentCall,
    SubAgentEnd,
    SubAgentOutcome,
    SubAgentStart,
    SubAgentStep,
)
from tui_app.records import frozen
from tui_app.tool_specs import DELEGATE, EXPLORE
from tui_app.wires.answer_end import ASKED_AGAIN, as_known, why_not_whole

# Writes down what one run of a sub-agent does: a step for each answer of its model, with its calls.

RESULT_CHARS = 2_000
"""Characters of a result that are kept: what was looked at is still in the workspace."""


class SubAgentWatch(AbstractCapability[Any]):
    """Follows one run. A step is written when the next one begins, so it has the results of its calls."""

    def __init__(self, call: str, model: str, report: Callable[[Payload], object]) -> None:
        """Follow a run.

        Args:
            call: Id of the call that sent the sub-agent.
            model: Name of its model.
            report: Writes an event down and shows it.
        """
        self._call, self._model, self._report = call, model, report
        self._step: SubAgentStep | None = None
        """The one under way."""
        self._calls: dict[str, SubAgentCall] = {}
        """Its calls by id, in the order of the answer."""
        self._started = monotonic()
        self._ended = SubAgentEnd(tool_call_id=call, outcome="done")
        self.said = ""
        """The last text it wrote."""
        self.titles: list[tuple[str, str]] = []
        """Name and arguments of each call so far."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self.flush()
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Write a step down.

        Raises:
            AnswerCutOff: if it is not whole: neither its calls count, nor is it an answer.
        """
        response = as_known(response)
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        usage = response.usage
        self.said = text or self.said
        self.titles += [(call.tool_name, call.args_as_json_str()) for call in calls]
        self._step = SubAgentStep(
            tool_call_id=self._call,
            text=text,
            model=self._model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            cost_usd=answer_cost(response),
        )
        self._calls = {
            call.tool_call_id: SubAgentCall(name=call.tool_name, args=call.args_as_json_str())
            for call in calls
        }
        if why_not_whole(response) in ASKED_AGAIN:
            raise AnswerCutOff
        return response

    async def on_event(self, ctx: RunContext[Any], *, event: AgentStreamEvent) -> None:
        """Take the result of a call into its step."""
        if isinstance(event, FunctionToolResultEvent) and (part := event.part).tool_call_id in self._calls:
            text = part.model_response_str()
            self._calls[part.tool_call_id] = replace(
                self._calls[part.tool_call_id],
                outcome=part.outcome if part.outcome in ("success", "denied", "interrupted") else "error",
                text=text[:RESULT_CHARS],
                chars=len(text),
            )

    def compacted(self, payload: Payload) -> None:
        """Count what the sub-agent's own governor does; it is no event of the session's context."""
        if isinstance(payload, CompactionComplete) and payload.outcome == "success":
            self._ended = replace(self._ended, compactions=self._ended.compactions + 1)
        if isinstance(payload, CompactionComplete) and payload.input_tokens:
            self._write(
                SubAgentStep(
                    tool_call_id=self._call,
                    model=payload.model,
                    input_tokens=payload.input_tokens,
                    output_tokens=payload.output_tokens,
                    cost_usd=payload.cost_usd,
                )
            )

    def flush(self) -> None:
        """Write the step under way, as far as it got."""
        if self._step is not None:
            step = replace(self._step, calls=tuple(self._calls.values()))
            self._step, self._calls = None, {}
            self._write(step)

    def end(self, outcome: SubAgentOutcome, reason: str = "") -> None:
        """Write the end, with the sums of all steps."""
        self.flush()
        took = round(monotonic() - self._started, 3)
        self._report(replace(self._ended, outcome=outcome, reason=reason, duration_s=took))

    def _write(self, step: SubAgentStep) -> None:
        known = [cost for cost in (self._ended.cost_usd, step.cost_usd) if cost is not None]
        self._ended = replace(
            self._ended,
            steps=self._ended.steps + 1,
            calls=self._ended.calls + len(step.calls),
            input_tokens=self._ended.input_tokens + step.input_tokens,
            output_tokens=self._ended.output_tokens + step.output_tokens,
            cost_usd=sum(known) if known else None,
        )
        self._report(step)


AT_ONCE = 2
"""Sub-agents of one session that may work at the same time; more wait for their turn."""
ANSWER_CHARS = 16_000
"""Characters of an answer that come back at most."""
_ABOUT = (
    "Send a sub-agent to find something out in the workspace. It has the read-only tools and a context of "
    "its own; you get its answer and nothing else, so your context stays small. Use it for questions that "
    "take many looks, such as where and how something is done; look up a single file yourself. It knows "
    "nothing of this conversation."
)


@frozen(kw_only=True)
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
    """What those that explore look with."""
    working: Callable[[str], Sequence[Callable[..., Any]]] = lambda _: ()
    """Tools that change something, and say the name of the agent when they ask."""
    files: Callable[[], AgentFiles] = AgentFiles
    """The agents of the user's and the project's own."""
    project: Callable[[], str] = str
    """What the project and the user tell every model; agents from files read it too."""
    report: Callable[[Payload], object]
    """Writes an event down and shows it."""
    choose: Callable[[Model, str], Awaitable[tuple[str, Model]]]
    """Name and model of the next one, given the model of the turn and the one that its file names."""
    policy: Callable[[], Policy]
    limits: Limits
    bounds: Bounds
    around: Sequence[AbstractCapability[Any]] = ()
    """What follows every run of the session: hooks, telemetry."""
    folder: str = ""
    """The workspace, as they are told."""
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def send(self, call: str, task: str, model: Model, agent: AgentFile | None = None) -> str:
        """Run a sub-agent to its end.

        Args:
            call: Id of the call that asks for it.
            task: What it is to find out.
            model: The model of the turn.
            agent: Who is sent; None explores.

        Returns:
            Its answer, or how far it got where its steps or tokens were used up.

        Raises:
            ModelRetry: if it has failed; the text says why.
            asyncio.CancelledError: if the turn is cancelled.
        """
        if not task.strip():
            raise ModelRetry("The task is empty: say what to find out.")
        async with self._room:
            name, chosen = await self.choose(model, agent.model if agent is not None else "")
            steps = self.bounds.max_steps
            who = agent.name if agent is not None else ""
            start = SubAgentStart(tool_call_id=call, task=task, model=name, max_steps=steps, agent=who)
            self.report(start)
            watch = SubAgentWatch(call, name, self.report)
            try:
                answer = await self._run(watch, task, chosen, agent)
            except asyncio.CancelledError:
                watch.end("cancelled")
                raise
            except UsageLimitExceeded:
                reason = f"It used up its {steps} steps or {self.bounds.max_tokens:,} tokens."
                watch.end("stopped", reason)
                looked = "\n".join(f"- {call_title(tool, args)}" for tool, args in watch.titles[-40:])
                said = f"\n\nIts last words: {watch.said}" if watch.said else ""
                why = f"The sub-agent was stopped before it had an answer. {reason}"
                return f"{why} It looked at:\n{looked}{said}"[:ANSWER_CHARS]
            except Exception as error:  # whatever a provider raises: the model that asked goes on without it
                told = describe_error(error, model=name).message
                watch.end("failed", told)
                raise ModelRetry(f"The sub-agent failed: {told}") from error
            watch.end("done")
        cut = "\n[the answer was cut here]" if len(answer) > ANSWER_CHARS else ""
        return f"{answer[:ANSWER_CHARS]}{cut}"

    async def _run(self, watch: SubAgentWatch, task: str, model: Model, sent: AgentFile | None) -> str:
        steps = StepWatch()
        governor = ContextGovernor(self.policy(), limits=self.limits, listener=watch.compacted)
        instructions, toolsets = [EXPLORER.format(folder=self.folder)], [self.tools]
        if sent is not None:
            instructions = [await asyncio.to_thread(sent.instructions, self.folder), self.project()]
            wanted = [tool for tool in self.working(sent.name) if tool.__name__ in sent.tools]
            # Calls of several agents change files one after the other, as those of one turn do.
            toolsets.append(FunctionToolset(wanted, max_retries=2, docstring_format="google"))
        agent: Agent[None, str] = Agent(
            None,
            name=f"plimsoll-{sent.name if sent is not None else 'explore'}",
            instructions=list(filter(None, instructions)),
            toolsets=toolsets,
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
        return await _sent(agents, ctx, task)

    tool = Tool(explore, name=EXPLORE.name, description=_ABOUT, docstring_format="google")
    return FunctionToolset([tool], max_retries=2)


_SENDS = (
    "Send one of the agents that are listed under agents. It has a context of its own, knows nothing of this "
    "conversation, and you get its answer and nothing else."
)


def delegate_toolset(agents: SubAgents | None, files: Callable[[], AgentFiles]) -> FunctionToolset[Any]:
    """The tool through which a model sends agents of the user's own; without any there is none.

    Args:
        agents: Runs them; None where the tool is only measured.
        files: Which ones there are.
    """

    async def delegate(ctx: RunContext[Any], agent: str, task: str) -> str:
        """Send one.

        Args:
            ctx: The call.
            agent: Its name.
            task: What it is to do, complete in itself: what is meant, and what the answer should say.
        """
        if (named := files().named(agent)) is None:
            names = ", ".join(each.name for each in files().found) or "none"
            raise ModelRetry(f"There is no agent {agent!r:.80}. There are: {names}.")
        return await _sent(agents, ctx, task, named)

    tool = Tool(delegate, name=DELEGATE.name, description=_SENDS, docstring_format="google")
    return FunctionToolset([tool] if files().found else [], max_retries=2)


async def _sent(
    agents: SubAgents | None, ctx: RunContext[Any], task: str, agent: AgentFile | None = None
) -> str:
    if agents is None or not isinstance(ctx.model, Model):
        raise ModelRetry("There are no sub-agents here.")
    return await agents.send(ctx.tool_call_id or "", task, ctx.model, agent)
