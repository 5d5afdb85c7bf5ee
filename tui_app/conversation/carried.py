"""What every request of a conversation carries beside its messages: instructions and tool definitions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from tui_app.context.tokens import TokenCounter
from tui_app.context.usage import Breakdown


@dataclass(slots=True)
class Carried:
    """As far as it is known: what was put together at the start, then what the last request really held."""

    instructions: str = ""
    tools: Sequence[ToolDefinition] = field(default_factory=tuple)

    def tokens(self, counter: TokenCounter) -> Breakdown:
        """Its size, without any factor."""
        return counter.carried(self.instructions, self.tools)


class CarriedWatch(AbstractCapability[Any]):
    """Keeps ``Carried`` true: tools may come and go, and another agent's are known only then."""

    def __init__(self, carried: Carried) -> None:
        self._carried = carried

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Note what goes out."""
        parameters = request_context.model_request_parameters
        self._carried.instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
        self._carried.tools = (*parameters.function_tools, *parameters.output_tools)
        return request_context
