"""Checks between the steps of a turn: steering, loops, answers that were cut off."""

from collections.abc import Mapping
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import RawToolArgs, WrapToolValidateHandler
from pydantic_ai.capabilities import WrapToolExecuteHandler as Handler
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, SkipToolExecution
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition
from pydantic_core import from_json, to_json

from tui_app.agent.error_sentences import reason
from tui_app.wires.answer_end import half_call, incomplete_reason
from tui_app.wires.library import OutermostCapability

NOT_RUN = (ApprovalRequired, CallDeferred, SkipToolExecution)
"""Raised by others around a tool that did not run, so that there is no result."""

SAME_WARNS = 3
"""Identical calls with identical results in a row after which the model is warned."""

SAME_STOPS = 6
"""Number of them after which the turn is stopped."""


class Steered(Exception):
    """The user wants something else: the turn ends between two steps, keeping all that was done."""


class AnswerCutOff(Exception):
    """An answer was cut off. None of its tool calls is run, because its rest is unknown."""


class RepeatedCall(Exception):
    """The model repeats one call again and again; the text is the name of the tool."""


class HalfCall(ModelRetry):
    """An answer ended within a call. The call is not run, and the model makes it again."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"This call was not run: {reason} before it was complete. Make it shorter, or split it."
        )


class StepWatch(OutermostCapability):
    """Ends a turn between two steps on request, or when it makes no progress. Never runs an incomplete call.

    One per conversation. It comes before the governor, which would otherwise compact for a turn that ends.
    """

    def __init__(self) -> None:
        self._wanted = False
        self._last = b""
        self._same = 0

    def begin(self) -> None:
        self._wanted, self._last, self._same = False, b"", 0

    def stop_at_next_step(self) -> None:
        """End the turn before its next request. A turn without another request ends anyway."""
        self._wanted = True

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """End the turn here if the user has asked for that.

        Raises:
            Steered: if so.
        """
        if self._wanted:
            raise Steered
        return request_context

    async def wrap_tool_validate(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: RawToolArgs,
        handler: WrapToolValidateHandler,
    ) -> dict[str, Any]:
        """Validate a call without its nulls, unless its answer was cut off within it.

        Raises:
            HalfCall: if it was; several in a row end the turn.
        """
        last = next((each for each in reversed(ctx.messages) if isinstance(each, ModelResponse)), None)
        half = half_call(last) if last is not None else None
        if last is not None and half is not None and half.tool_call_id == call.tool_call_id:
            raise HalfCall(incomplete_reason(last))
        return await handler(without_nulls(args, tool_def.parameters_json_schema))

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, args: dict[str, Any], handler: Handler, **_: Any
    ) -> Any:
        """Run a tool, and stop the model from repeating it.

        Raises:
            ModelRetry: if the same call has had the same result several times; the model reads that.
            RepeatedCall: if the model repeats it all the same.
        """
        try:
            result = await handler(args)
        except NOT_RUN:
            raise
        except Exception as failed:  # whatever it is, a model that gets it again and again makes no progress
            self._note(call.tool_name, args, reason(failed))
            raise
        self._note(call.tool_name, args, result)
        if self._same < SAME_WARNS:
            return result
        ordinal = {1: "first", 2: "second", 3: "third"}.get(self._same, f"{self._same}th")
        raise ModelRetry(
            f"This is the same call with the same result for the {ordinal} time in a row. "
            "Use what you have, or do something else."
        )

    def _note(self, tool: str, args: Mapping[str, Any], result: Any) -> None:
        seen = to_json((tool, args, result), fallback=repr, inf_nan_mode="constants", bytes_mode="base64")
        self._same = self._same + 1 if seen == self._last else 1
        self._last = seen
        if self._same >= SAME_STOPS:
            raise RepeatedCall(tool)


def without_nulls(args: RawToolArgs, schema: Mapping[str, Any]) -> RawToolArgs:
    """Remove null arguments where null is no valid value and the argument is optional.

    Many models write every argument of a tool, with null for those they mean to leave out.
    """
    try:
        given = from_json(args) if isinstance(args, str) else args
    except ValueError:
        return args
    if not isinstance(given, dict):
        return args
    required, known = schema.get("required", ()), schema.get("properties", {})
    kept = {
        name: value
        for name, value in given.items()
        if value is not None or name in required or name not in known or _takes_null(known[name])
    }
    return args if len(kept) == len(given) else kept


def _takes_null(schema: Any) -> bool:
    """Whether a schema allows null; one that does not say allows it."""
    if not isinstance(schema, dict):
        return True
    if isinstance(kinds := schema.get("type"), str | list):
        return "null" in ([kinds] if isinstance(kinds, str) else kinds)
    if isinstance(values := schema.get("enum"), list):
        return None in values
    choices = schema.get("anyOf") or schema.get("oneOf")
    return any(map(_takes_null, choices)) if isinstance(choices, list) else True
