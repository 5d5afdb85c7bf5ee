"""What is looked at between the steps of a turn: does the person steer, does the model go in circles."""

from collections.abc import Mapping
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, SkipToolExecution
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from tui_app.agent.error_wording import reason

SAME_WARNS = 3
"""The same call with the same result so often in a row: the model is told."""
SAME_STOPS = 6
"""So often: the turn is stopped."""


class Steered(Exception):
    """The person wants something else: the turn ends between two steps, with all that was done."""


class GoesInCircles(Exception):
    """The model repeats one call again and again; the text is the name of the tool."""


class StepWatch(AbstractCapability[Any]):
    """Ends a turn between two steps when asked to, or when it leads nowhere. One per conversation."""

    def __init__(self) -> None:
        self._wanted = False
        self._last = b""
        self._same = 0

    def begin(self) -> None:
        """A turn begins."""
        self._wanted, self._last, self._same = False, b"", 0

    def stop_at_next_step(self) -> None:
        """End the turn before its next request; an answer being written is its end anyway."""
        self._wanted = True

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """End the turn here if the person has asked for that.

        Raises:
            Steered: then.
        """
        if self._wanted:
            raise Steered
        return request_context

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Run a tool, unless it has just answered the very same several times.

        Raises:
            ModelRetry: if it has; the model reads that it has this result already.
            GoesInCircles: if the model goes on with it all the same.
        """
        try:
            result = await handler(args)
        except (ApprovalRequired, CallDeferred, SkipToolExecution):
            raise
        except Exception as failed:  # whatever it is, a model that meets it again and again goes in circles
            self._note(call.tool_name, args, reason(failed))
            raise
        self._note(call.tool_name, args, result)
        if self._same < SAME_WARNS:
            return result
        raise ModelRetry(
            f"This is the same call with the same result for the {_ordinal(self._same)} time in a row. "
            "Use what you have, or do something else."
        )

    def _note(self, tool: str, args: Mapping[str, Any], result: Any) -> None:
        seen = to_json((tool, args, result), fallback=repr, inf_nan_mode="constants", bytes_mode="base64")
        self._same = self._same + 1 if seen == self._last else 1
        self._last = seen
        if self._same >= SAME_STOPS:
            raise GoesInCircles(tool)


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
