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
"""What others raise around a tool that did not run: there is no result to speak of."""

SAME_WARNS = 3
"""The same call with the same result so often in a row: the model is told."""

SAME_STOPS = 6
"""So often: the turn is stopped."""


class Steered(Exception):
    """The user wants something else: the turn ends between two steps, with all that was done."""


class AnswerCutOff(Exception):
    """An answer has broken off: no tool that it calls is run, as nobody knows how it would have gone on."""


class RepeatedCall(Exception):
    """The model repeats one call again and again; the text is the name of the tool."""


class HalfCall(ModelRetry):
    """An answer was stopped in a call, which is not run; the model makes it again."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"This call was not run: {reason} before it was complete. Make it shorter, or split it."
        )


class StepWatch(OutermostCapability):
    """Ends a turn between two steps when asked to, or when it leads nowhere; runs no call by halves.

    One per conversation, before the governor, which would compact for a turn that ends.
    """

    def __init__(self) -> None:
        self._wanted = False
        self._last = b""
        self._same = 0

    def begin(self) -> None:
        self._wanted, self._last, self._same = False, b"", 0

    def stop_at_next_step(self) -> None:
        """End the turn before its next request; an answer being written is its end anyway."""
        self._wanted = True

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """End the turn here if the user has asked for that.

        Raises:
            Steered: then.
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
        """Take a call without its nulls, unless its answer was stopped in it.

        Raises:
            HalfCall: if it was; a few times in a row end the turn.
        """
        last = next((each for each in reversed(ctx.messages) if isinstance(each, ModelResponse)), None)
        half = half_call(last) if last is not None else None
        if last is not None and half is not None and half.tool_call_id == call.tool_call_id:
            raise HalfCall(incomplete_reason(last))
        return await handler(without_nulls(args, tool_def.parameters_json_schema))

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, args: dict[str, Any], handler: Handler, **_: Any
    ) -> Any:
        """Run a tool, unless it has just answered the very same several times.

        Raises:
            ModelRetry: if it has; the model reads that it has this result already.
            RepeatedCall: if the model goes on with it all the same.
        """
        try:
            result = await handler(args)
        except NOT_RUN:
            raise
        except Exception as failed:  # whatever it is, a model that meets it again and again goes in circles
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
    """Arguments without those that are null where null is no value and none is needed.

    Many models write every argument of a tool; one that is optional is left out by that.
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
    """Whether null may be a value by a schema; by one that says nothing of it, it may."""
    if not isinstance(schema, dict):
        return True
    if isinstance(kinds := schema.get("type"), str | list):
        return "null" in ([kinds] if isinstance(kinds, str) else kinds)
    if isinstance(values := schema.get("enum"), list):
        return None in values
    choices = schema.get("anyOf") or schema.get("oneOf")
    return any(map(_takes_null, choices)) if isinstance(choices, list) else True
