"""What every request of a conversation carries beside its messages: instructions and tool definitions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.counting.usage import Breakdown


def _nothing() -> str:
    return ""


@dataclass(slots=True)
class Carried:
    """As far as it is known: what was put together at the start, then what the last request really held."""

    instructions: str = ""
    tools: Sequence[ToolDefinition] = field(default_factory=tuple)
    standing: Callable[[], str] = _nothing
    """What stands among the instructions and is counted as memory: those of the project, names of skills."""

    def tokens(self, counter: TokenCounter) -> Breakdown:
        """Its size, without any factor."""
        memory = counter.unscaled(counter.instructions(self.standing()))
        return counter.carried(self.instructions, self.tools) + Breakdown(memory=memory)


class CarriedWatch(AbstractCapability[Any]):
    """Keeps ``Carried`` true: tools may come and go, and another agent's are known only then."""

    def __init__(self, carried: Carried) -> None:
        self._carried = carried

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Note what goes out."""
        parameters = request_context.model_request_parameters
        parts = [part.content for part in parameters.instruction_parts or ()]
        standing = self._carried.standing()
        self._carried.instructions = "\n\n".join(part for part in parts if part != standing)
        self._carried.tools = (*parameters.function_tools, *parameters.output_tools)
        return request_context
