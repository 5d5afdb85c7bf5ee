"""Tools that raise: the model is told what failed and goes on; the traceback goes to the program's log."""

import logging
from collections.abc import Collection, Mapping
from traceback import walk_tb
from typing import Any

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import (
    RawToolArgs,
    WrapToolValidateHandler,
)
from pydantic_ai.capabilities import (
    WrapToolExecuteHandler as Handler,
)
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    RunCancelled,
    RunTimedOut,
    SkipToolExecution,
    ToolFailed,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.output import OutputContext
from pydantic_ai.tools import ToolDefinition
from pydantic_core import from_json, to_json

from tui_app.agent.error_sentences import plain, reason
from tui_app.context.storage_errors import storage_error
from tui_app.wires.answer_end import half_call, why_not_whole
from tui_app.wires.error_text import (
    chain,
)
from tui_app.wires.library import OutermostCapability

_log = logging.getLogger(__name__)
_MOST_TOLD = 2_000
"""Characters of an exception's message that the model is told."""


class ToolBroke(Exception):
    """A tool failed in a way that no model can go on from; the text is what its call is answered with.

    Args:
        tool: Name of the tool.
        call: Id of the call; empty where an answer was no call.
        error: What it raised.
    """

    def __init__(self, tool: str, call: str, error: BaseException) -> None:
        super().__init__(_failure(tool, error))
        self.tool, self.call, self.error = tool, call, error


class ToolFailures(OutermostCapability):
    """Makes what a tool raises its result. One per conversation.

    Only what the tool itself has raised, and the agent's own hooks, which this is around, have let pass:
    whatever fails around it is no failure of the tool.

    Args:
        ours: Names of the tools that write into the session's log. Where they cannot, the turn ends.
    """

    def __init__(self, ours: Collection[str]) -> None:
        self._ours = frozenset(ours)
        self._raised: dict[str, Exception] = {}
        """What the tools that are under way have raised, by the id of the call."""

    async def on_tool_execute_error(
        self, ctx: RunContext[Any], *, call: ToolCallPart, error: Exception, **_: Any
    ) -> Any:
        """Remember that it was the tool.

        Raises:
            Exception: always what the tool has raised.
        """
        # The turn is to end, or the session's log cannot be written.
        ends = _is_cancelling(error) or (call.tool_name in self._ours and storage_error(error) is not None)
        # The last of the retries that the tool may ask for; not the tool has raised this.
        used_up = isinstance(error, UnexpectedModelBehavior) and isinstance(error.__cause__, ModelRetry)
        if not ends and not (used_up and ctx.retry >= ctx.max_retries):
            self._raised[call.tool_call_id] = error
        raise error

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, args: dict[str, Any], handler: Handler, **_: Any
    ) -> Any:
        """Run a tool.

        Raises:
            ToolFailed: if it raises; the model reads why.
            ToolBroke: if it is the agent that is made wrongly.
        """
        try:
            return await handler(args)
        except (Exception, SystemExit) as error:
            if not isinstance(error, SystemExit) and self._raised.get(call.tool_call_id) is not error:
                raise
            _log.error("the tool %s failed", call.tool_name, exc_info=error)
            if isinstance(error, UserError):
                raise ToolBroke(call.tool_name, call.tool_call_id, error) from error
            raise ToolFailed(_failure(call.tool_name, error)) from error
        finally:
            self._raised.pop(call.tool_call_id, None)

    async def on_output_process_error(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any, error: Exception
    ) -> Any:
        """End the turn: a function that takes the answer may have done half of its work.

        Raises:
            ToolBroke: always, but for what asks the model for another answer.
        """
        if isinstance(error, ValidationError | ToolBroke) or _is_cancelling(error):
            raise error
        call = output_context.tool_call
        name = call.tool_name if call is not None else "that takes the answer"
        _log.error("the output function %s failed", name, exc_info=error)
        raise ToolBroke(name, call.tool_call_id if call is not None else "", error) from error


def _is_cancelling(error: Exception) -> bool:
    """A time that has run out within the tool is no cancelling."""
    return isinstance(error, RunCancelled) and not isinstance(error, RunTimedOut)


def _failure(tool: str, error: BaseException) -> str:
    return f"The tool {plain(tool)} failed: {reason(error, _MOST_TOLD)}"


# Checks between the steps of a turn: whether the user steers, whether the model goes in circles.

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


class GoesInCircles(Exception):
    """The model repeats one call again and again; the text is the name of the tool."""


class HalfCall(ModelRetry):
    """An answer was stopped in a call, which is not run; the model makes it again."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"This call was not run: {reason} before it was complete. Make it shorter, or split it."
        )


class StepWatch(OutermostCapability):
    """Ends a turn between two steps when asked to, or when it leads nowhere; runs no call by halves.

    One per conversation, in front of the governor, which would compact for a turn that ends.
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
            raise HalfCall(why_not_whole(last))
        return await handler(without_nulls(args, tool_def.parameters_json_schema))

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, args: dict[str, Any], handler: Handler, **_: Any
    ) -> Any:
        """Run a tool, unless it has just answered the very same several times.

        Raises:
            ModelRetry: if it has; the model reads that it has this result already.
            GoesInCircles: if the model goes on with it all the same.
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
            raise GoesInCircles(tool)


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


# Telling a damaged answer of a provider from a mistake of our own.

_STUMBLES = (AttributeError, TypeError, KeyError, IndexError, ValueError)
"""What code raises that was handed something else than the protocol says."""
_READERS = frozenset({"_get_event_iterator", "_process_streamed_response", "_process_response"})
"""Where models of pydantic-ai read an answer."""


def came_damaged(error: BaseException) -> bool:
    """Whether an error arose while an answer was read, from what was in it.

    A server may send ``null`` where an object belongs; each library that reads it stumbles in its own way.
    """
    for one in chain(error):
        for frame, _ in walk_tb(one.__traceback__ if isinstance(one, _STUMBLES) else None):
            module = str(frame.f_globals.get("__name__", ""))
            if frame.f_code.co_name in _READERS and module.startswith("pydantic_ai.models"):
                return True
    return False
