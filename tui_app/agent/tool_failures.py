"""Failures of tools: the model gets the error and continues; the program's log gets the traceback."""

import logging
from collections.abc import Callable, Collection
from dataclasses import replace
from traceback import walk_tb
from typing import Any

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import WrapToolExecuteHandler as Handler
from pydantic_ai.exceptions import (
    ModelRetry,
    RunCancelled,
    RunTimedOut,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.output import OutputContext

from tui_app.agent.error_sentences import plain, reason
from tui_app.context.storage_errors import storage_error
from tui_app.wires.error_text import chain
from tui_app.wires.library import OutermostCapability

_log = logging.getLogger(__name__)
_MOST_CHARS = 2_000
"""Maximum characters of an exception's message sent to the model."""


class ToolBroke(Exception):
    """A tool failed in a way that no model can continue from; the text is the answer to its call.

    Args:
        tool: Name of the tool.
        call: Id of the call; empty if an answer was no call.
        error: What it raised.
    """

    def __init__(self, tool: str, call: str, error: BaseException) -> None:
        super().__init__(_failure(tool, error))
        self.tool, self.call, self.error = tool, call, error


class ToolFailures(OutermostCapability):
    """Turns a tool's exception into its result. One per conversation.

    It handles only exceptions raised by the tool itself and passed on by the agent's own hooks, which are
    inside of this. A failure around the tool is no failure of the tool.

    Args:
        ours: Names of the tools that write to the session's log. If they cannot, the turn ends.
    """

    def __init__(self, ours: Collection[str]) -> None:
        self._ours = frozenset(ours)
        self._raised: dict[str, Exception] = {}
        """Exceptions of running tools, by the id of the call."""

    async def on_tool_execute_error(
        self, ctx: RunContext[Any], *, call: ToolCallPart, error: Exception, **_: Any
    ) -> Any:
        """Remember that the tool itself raised it.

        Raises:
            Exception: always, what the tool has raised.
        """
        # The turn is ending, or the session's log cannot be written.
        ends = _is_cancelling(error) or (call.tool_name in self._ours and storage_error(error) is not None)
        # After the last retry a tool may request, this was raised by pydantic-ai, not by the tool.
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
            ToolBroke: if the agent itself is misconfigured.
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
        """End the turn: an output function that failed may have done half of its work.

        Raises:
            ToolBroke: always, unless the model is asked for another answer.
        """
        if isinstance(error, ValidationError | ToolBroke) or _is_cancelling(error):
            raise error
        call = output_context.tool_call
        name = call.tool_name if call is not None else "that takes the answer"
        _log.error("the output function %s failed", name, exc_info=error)
        raise ToolBroke(name, call.tool_call_id if call is not None else "", error) from error


def rewrite_failure(error: Exception, rewrite: Callable[[Any], Any]) -> None:
    """Change what the model reads of a tool's error, in whichever form it was raised.

    The error stays the same object, because its handler checks by identity whether the tool raised it.
    """
    error.args = tuple(map(rewrite, error.args))
    match error:
        case ModelRetry() | ToolFailed():
            error.message = rewrite(error.message)
        case ToolRetryError(tool_retry=part):
            error.tool_retry = replace(part, content=rewrite(part.content))
        case ToolFailedError(tool_failed=part):
            error.tool_failed = replace(part, content=rewrite(part.content))


def _is_cancelling(error: Exception) -> bool:
    """A timeout within the tool is no cancellation."""
    return isinstance(error, RunCancelled) and not isinstance(error, RunTimedOut)


def _failure(tool: str, error: BaseException) -> str:
    return f"The tool {plain(tool)} failed: {reason(error, _MOST_CHARS)}"


_STUMBLES = (AttributeError, TypeError, KeyError, IndexError, ValueError)
"""Raised by code that gets something the protocol does not allow."""
_READERS = frozenset({"_get_event_iterator", "_process_streamed_response", "_process_response"})
"""Functions in which pydantic-ai's models read an answer."""


def is_damaged_answer(error: BaseException) -> bool:
    """Whether an error was caused by the content of an answer while it was read.

    A server may send ``null`` where an object belongs; each library that reads it fails in its own way.
    """
    for one in chain(error):
        for frame, _ in walk_tb(one.__traceback__ if isinstance(one, _STUMBLES) else None):
            module = str(frame.f_globals.get("__name__", ""))
            if frame.f_code.co_name in _READERS and module.startswith("pydantic_ai.models"):
                return True
    return False
