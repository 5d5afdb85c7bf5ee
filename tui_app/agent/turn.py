"""Running one turn: from the log's view to the model and its tools, until it is done, cancelled or failed."""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from pydantic_ai import AgentRunResultEvent, CancellationToken, RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings, ThinkingLevel
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import UsageLimits

from tui_app.agent.recorder import Recorder
from tui_app.agent.steps import Steered, StepWatch
from tui_app.agent.tool_failures import ToolBroke
from tui_app.context.overflow.error_text import chain
from tui_app.context.requests.repair import INTERRUPTED
from tui_app.context.view import answers_of

NO_RESULT = "No result: an error stopped the turn before there was one."
"""What a call is answered with that was under way when something else ended the turn."""
ENDED = "No result: the program ended before there was one. What the call has done by then is not known."
"""What a call is answered with whose process was killed."""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended."""

    cancelled: bool = False
    error: Exception | None = None


class ProgramEnded(Exception):
    """The program was gone, killed or crashed, in the middle of a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What each run of an agent of somebody else is given on top of its own."""

    deps: Any = None
    instructions: Sequence[str | Callable[[RunContext[Any]], Awaitable[str]]] = ()
    toolsets: Sequence[AbstractToolset[Any]] = ()
    capabilities: Sequence[AbstractCapability[Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How turns are run, as far as a person has a say."""

    thinking: str = "default"
    """How much the model thinks; ``default`` leaves it to the model."""
    max_steps: int = 200
    """Model requests of one turn at most."""
    silence_s: float = 600.0
    """Seconds without a byte of an answer after which its request is given up."""


@dataclass(slots=True)
class TurnRunner:
    """Drives an agent through the turns of one conversation, one at a time."""

    agent: AbstractAgent[Any, Any]
    recorder: Recorder
    conversation_id: str = ""
    """Id under which all turns belong together in spans."""
    added: Additions = field(default_factory=Additions)
    steps: StepWatch = field(default_factory=StepWatch)
    """The one among the capabilities of the agent."""
    manner: Manner = field(default_factory=Manner)
    cut_short: MutableMapping[str, str] = field(default_factory=dict)
    """By the id of its call, what a command had printed that was stopped."""
    _token: CancellationToken | None = None

    @property
    def running(self) -> bool:
        """Whether a turn is under way."""
        return self._token is not None

    def cancel(self) -> None:
        """Stop the turn at once: the HTTP request is closed and running tools are told."""
        if self._token is not None:
            self._token.cancel()

    def steer(self) -> None:
        """End the turn as soon as the step under way is done; all of it counts."""
        self.steps.stop_at_next_step()

    async def run(self, history: Sequence[ModelMessage], model: Model) -> TurnResult:
        """Run a turn whose prompt is the last message of ``history``.

        Args:
            history: The agent view.
            model: The model that answers.

        Returns:
            How it ended; errors are returned, not raised, because what was done until then counts.
        """
        token = self._token = CancellationToken()
        self.steps.begin()
        try:
            events = self.agent.run_stream_events(
                None,
                message_history=list(history),
                model=model,
                conversation_id=self.conversation_id or None,
                cancellation_token=token,
                usage_limits=UsageLimits(request_limit=self.manner.max_steps),
                model_settings=self._settings(model),
                deps=self.added.deps,
                instructions=self.added.instructions or None,
                toolsets=self.added.toolsets or None,
                capabilities=self.added.capabilities or None,
            )
            async with events as stream:
                async for event in stream:
                    self._returned(event)
        except RunCancelled as cancelled:
            self._keep_partial(cancelled.all_messages())
            return TurnResult(cancelled=True)
        except Steered:
            return TurnResult()
        except Exception as error:  # every failure of a turn becomes an error a person reads
            self.recorder.broken_off()
            return TurnResult(error=error)
        finally:
            self._token = None
        return TurnResult()

    def _returned(self, event: AgentStreamEvent | AgentRunResultEvent[Any]) -> None:
        """Write down what the agent returned, where the last text of its model does not say it."""
        if isinstance(event, AgentRunResultEvent) and _by_tool(event.result.all_messages()):
            self.recorder.returned(event.result.output)

    def _settings(self, model: Model) -> ModelSettings:
        """What each request of the turn asks of the model and of its client."""
        settings = _thinking(self.manner.thinking)
        if model.provider is not None and "timeout" not in model.unsupported_settings:
            settings["timeout"] = self.manner.silence_s
        return settings

    def _keep_partial(self, messages: Sequence[ModelMessage]) -> None:
        """Write down the answer that was cut off; its unfinished tool calls never ran and are left out."""
        last = messages[-1] if messages else None
        if not isinstance(last, ModelResponse) or last.state == "complete":
            return
        said = [part for part in last.parts if not isinstance(part, ToolCallPart)]
        if said:
            self.recorder.answer(replace(last, parts=said))

    def close_calls(self, calls: Sequence[ToolCallPart], error: Exception | None = None) -> None:
        """Answer calls whose tool never finished, so that the history stays valid.

        Args:
            calls: Those without a result.
            error: What ended the turn, where no person did.
        """
        for call in calls:
            self.recorder.result(_closing(call, error, self.cut_short.pop(call.tool_call_id, "").strip()))


def _by_tool(messages: Sequence[ModelMessage]) -> bool:
    """Whether a run ended with the call of an output tool, and not with a text of its model."""
    return bool(messages) and isinstance(messages[-1], ModelRequest)


def _closing(call: ToolCallPart, error: Exception | None, printed: str) -> ToolReturnPart:
    """The result of a call that has none: why not, and what had come of it."""
    match error:
        case None:
            content = INTERRUPTED
        case ProgramEnded():
            content = ENDED
        case _:
            content = NO_RESULT
    if printed:
        content = f"{content} Printed until then:\n{printed}"
    outcome: Literal["interrupted", "failed"] = "interrupted"
    broke = next((one for one in chain(error) if isinstance(one, ToolBroke)), None) if error else None
    if broke is not None and broke.call == call.tool_call_id:
        content, outcome = str(broke), "failed"
    return ToolReturnPart(
        tool_name=call.tool_name, content=content, tool_call_id=call.tool_call_id, outcome=outcome
    )


def _thinking(level: str) -> ModelSettings:
    if level == "default":
        return ModelSettings()
    return ModelSettings(thinking=False if level == "off" else cast("ThinkingLevel", level))


def open_calls(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """Tool calls of the newest answer that no later message answers."""
    open_now: dict[str, ToolCallPart] = {}
    for message in messages:
        if isinstance(message, ModelResponse):
            open_now = {part.tool_call_id: part for part in message.parts if isinstance(part, ToolCallPart)}
            continue
        for call_id in answers_of(message):
            open_now.pop(call_id, None)
    return list(open_now.values())
