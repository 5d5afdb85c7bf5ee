"""Tools that raise: the model is told what failed and goes on; the traceback goes to the program's log."""

import logging
import math
import re
import unicodedata
from collections.abc import Collection, Mapping
from traceback import walk_tb
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError
from pydantic_ai import RunContext
from pydantic_ai.capabilities import (
    RawToolArgs,
    WrapToolExecuteHandler,
    WrapToolValidateHandler,
)
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelHTTPError,
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
from pydantic_core import to_json

from tui_app.agent.models import is_loopback
from tui_app.context.answer_end import half_call, why_not_whole
from tui_app.context.attempts import OutermostCapability
from tui_app.context.overflow.error_text import (
    asked_pause,
    chain,
    full_text,
    provider_message,
    status_of,
    url_of,
)
from tui_app.context.secrets import MASK, mask_secrets
from tui_app.context.storage_errors import StorageError, storage_error
from tui_app.context.window_limits import ContextTooLarge
from tui_app.events import Error
from tui_app.providers import how_to_start, key_variable

# The sentences for what can go wrong in a turn: what happened, and what to do next.

OTHER_MODEL = "choose another model with /model"
ABOUT_A_FILE = (
    "The cause is a picture or a file: send a smaller one, or a picture with fewer pixels. "
    "If it was sent earlier, compact the conversation with ctrl+g."
)
_SENTENCE = 200
_DETAIL = 4_000
_KEY = re.compile(r"\b(sk|pk|rk|xai)-[\w*.-]{6,}|\bgsk_\w{6,}|\bBearer\s+\S+", re.IGNORECASE)
_CLASS_NAME = re.compile(r"\b(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exceeded|Timeout)\b:?\s*")
_REFUSED = re.compile(r"connection refused|all connection attempts failed|actively refused", re.IGNORECASE)
_UNKNOWN_HOST = re.compile(
    r"name or service not known|nodename nor servname|getaddrinfo|name resolution|no address associated",
    re.IGNORECASE,
)
_CERTIFICATE = re.compile(r"certificate|\bssl\b|\btls\b", re.IGNORECASE)


def masked(text: str) -> str:
    """The text without API keys, not even those a provider shows in part."""
    return _KEY.sub(MASK, mask_secrets(text))


def plain(text: str, limit: int = _SENTENCE) -> str:
    """Foreign text as part of a sentence: one line, masked, without class names or control characters.

    Args:
        text: Text of a provider, a tool or a library.
        limit: Characters it may have.
    """
    return _one_line(_CLASS_NAME.sub("", " ".join(masked(text).split())), limit)


def reason(error: BaseException, limit: int = _SENTENCE) -> str:
    """Name an exception with its own words: one line, masked.

    Args:
        error: What was raised; of a group with one member, that one.
        limit: Characters it may have.
    """
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    try:
        said = str(error)
    except Exception:  # it may fail at that too
        said = ""
    return _one_line(f"{type(error).__name__}: {masked(said)}", limit).rstrip(" :")


def _one_line(text: str, limit: int) -> str:
    clean = "".join(char for char in " ".join(text.split()) if unicodedata.category(char)[0] != "C").strip()
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"


def raw_detail(error: BaseException) -> str:
    """What the exception and its causes say, for whoever asks for details; masked and bounded."""
    causes = list(chain(error))
    lines = dict.fromkeys(f"{type(one).__name__}: {one}" for one in causes)
    # What a provider says in its headers about its limits: how many requests and tokens, and until when.
    headers: dict[str, str] = {}
    for one in causes:
        if isinstance(one, ModelHTTPError):
            headers.update({name.lower(): value for name, value in (one.headers or {}).items()})
    limits = (name for name in headers if "ratelimit" in name or name == "retry-after")
    text = masked("\n".join([*lines, *(f"{name}: {headers[name]}" for name in limits)]))
    text = "".join(char for char in text if char in "\n\t" or unicodedata.category(char)[0] != "C")
    return text if len(text) <= _DETAIL else text[:_DETAIL] + "…"


def too_long(model: str, limit: int | None, requested: int | None) -> Error:
    """The request does not fit the model's window; numbers are its reason only where they explain it.

    Args:
        model: Name of the model.
        limit: Tokens it takes, as far as known.
        requested: Tokens of the request, as far as known.
    """
    sizes = f" ({requested:,} tokens)" if requested else ""
    window = f"the {limit:,} tokens {model} takes" if limit else f"what {model} takes"
    message = f"The conversation{sizes} is longer than {window}."
    if limit and requested and requested <= limit:
        fits = f"{requested:,} of {limit:,} tokens would fit by the numbers known here"
        message = f"The provider says the conversation is too long for {model}, although {fits}."
    return Error(
        kind="context_overflow",
        message=message,
        hint="Press ctrl+g to compact it, see /context for what takes room, or pick a larger model "
        "with /model.",
        limit=limit,
        requested=requested,
    )


def no_room(model: str, large: ContextTooLarge) -> Error:
    """What every request carries leaves no room: compacting is no help."""
    return Error(
        kind="context_overflow",
        message=f"There is no room for the conversation in {model}: {plain(large.carried, 2 * _SENTENCE)}.",
        hint="Switch off tools or servers that are not needed, shorten the instructions, or pick a larger "
        "model with /model.",
        limit=large.limit,
        requested=large.requested,
    )


def too_large_at_once(error: BaseException, model: str, limit: int | None, requested: int | None) -> Error:
    """A limit of the account for a single request, in the provider's own words: waiting is no help."""
    words = next((said for one in chain(error) if (said := provider_message(one))), "")
    return Error(
        kind="context_overflow",
        message=f"The provider refuses single requests of this size for {model}: {plain(words).rstrip('.')}.",
        hint="Waiting does not help: compact the conversation with ctrl+g, raise the account's limit, or "
        f"{OTHER_MODEL}.",
        limit=limit,
        requested=requested,
    )


def only_thought(model: str, written: int) -> Error:
    """The answer was cut off at its length limit before a word of it was said.

    Args:
        model: Name of the model.
        written: Tokens of it that were written all the same; 0 where nobody knows.
    """
    tokens = f" ({written:,} tokens)" if written else ""
    return Error(
        kind="provider",
        message=f"The thinking of {model} used up the room for its answer{tokens}; there is no answer.",
        hint=f"Lower the effort with /effort, have its server allow longer answers, or {OTHER_MODEL}.",
        retryable=True,
    )


def wrong_key(error: BaseException, model: str) -> Error:
    where = key_variable(model)
    if where is None:
        endpoint, named, _ = model.partition(":")
        own = f"the key that endpoints.{endpoint}.key_env names (or name one there)"
        where = own if named else "the key of this endpoint"
    if isinstance(error, ModelHTTPError) and error.status_code == 403:
        message = f"The provider does not allow this key to use {model}{_reason(error)}."
        hint = f"Check what the account behind {where} may use, or {OTHER_MODEL}."
    else:
        message = f"The provider did not accept the API key for {model}."
        hint = f"Check {where}, or {OTHER_MODEL}."
    return Error(kind="auth", message=message, hint=hint)


def missing_key(variable: str, model: str) -> Error:
    return Error(
        kind="auth",
        message=f"There is no API key for {model}: {variable} is not set.",
        hint=f"Set {variable} and start again, or {OTHER_MODEL}.",
    )


def unknown_model(error: BaseException, model: str) -> Error:
    suggestions = (one.suggested_model_id for one in chain(error) if isinstance(one, ModelHTTPError))
    named = re.search(r"Did you mean '([^']+)'", str(error))
    suggestion = next((name for name in suggestions if name), named[1] if named else None)
    meant = f"Did you mean {plain(suggestion)}? " if suggestion else ""
    return Error(
        kind="input",
        message=f"The provider has no model named {model}{_reason(error)}.",
        hint=f"{meant}Choose a model with /model; for a server of your own also check its base URL.",
    )


def rate_limited(error: BaseException, model: str) -> Error:
    """Too much at once; the same request may pass a little later."""
    wait = ""
    if seconds := asked_pause(error):
        whole = max(1, math.ceil(seconds))
        wait = f"{whole} s" if whole < 120 else f"{math.ceil(whole / 60)} min"
    return Error(
        kind="rate_limit",
        message=f"The provider is limiting requests to {model}"
        + (f" and asks to wait {wait}." if wait else "."),
        hint=f"Wait {wait or 'a moment'} and send again, or {OTHER_MODEL}.",
        retryable=True,
    )


def out_of_credit(_error: BaseException, model: str) -> Error:
    """Quota or credit is used up; waiting does not help."""
    return Error(
        kind="rate_limit",
        message=f"The account used for {model} has no credit or quota left.",
        hint=f"Check the billing page of the provider, or {OTHER_MODEL}.",
    )


def used_up_today(_error: BaseException, model: str) -> Error:
    """The quota of a day; the next minutes bring nothing."""
    return Error(
        kind="rate_limit",
        message=f"The daily quota for {model} is used up.",
        hint=f"Continue when the provider renews it, raise it there, or {OTHER_MODEL}.",
    )


def not_now(error: BaseException, model: str) -> Error:
    """The provider was busy with something else that the request needs."""
    return Error(
        kind="provider",
        message=f"The provider could not take the request to {model} just now (HTTP {status_of(error)}).",
        hint=f"Send again in a moment, or {OTHER_MODEL}.",
        retryable=True,
    )


def provider_down(error: BaseException, model: str) -> Error:
    status = next((one.status_code for one in chain(error) if isinstance(one, ModelHTTPError)), None)
    busy = status in (503, 529) or "overloaded" in full_text(error).lower()
    code = f" (HTTP {status})" if status else ""
    return Error(
        kind="provider",
        message=f"The provider of {model} "
        + ("is overloaded" if busy else "had an internal error")
        + f"{code}.",
        hint=f"Send again in a moment, or {OTHER_MODEL}.",
        retryable=True,
    )


def refused(error: BaseException, model: str) -> Error:
    """The provider does not want this request, for a reason it may have given."""
    return Error(
        kind="provider",
        message=f"The provider refused the request to {model}{_reason(error)}.",
        hint=f"Press ctrl+o for its full answer, or {OTHER_MODEL}.",
    )


def _reason(error: BaseException) -> str:
    """What the provider says, behind a colon; empty where it says nothing."""
    said = plain(provider_message(error)).rstrip(".。")
    return f": {said}" if said else ""


def page_came(_error: BaseException, model: str) -> Error:
    """A web page with HTTP 200: of a network that wants a sign-in, or of what stands at a wrong address."""
    return Error(
        kind="network",
        message=f"A web page came in place of an answer of {model}.",
        hint=f"Check the base URL, and whether the network or a proxy wants a sign-in; or {OTHER_MODEL}.",
        retryable=True,
    )


def timed_out(error: BaseException, model: str) -> Error:
    return Error(
        kind="network",
        message=f"{_server(error, model)} did not answer in time.",
        hint=f"Send again, or {OTHER_MODEL}.",
        retryable=True,
    )


def sent_on(error: BaseException, model: str) -> Error:
    """A redirect that leads nowhere, as of a base URL without its path or one that wants ``https``."""
    return Error(
        kind="network",
        message=f"{_server(error, model)} sends requests on to another address, and none of them answers"
        f" (HTTP {status_of(error)}).",
        hint=f"Check its base URL, then send again; or {OTHER_MODEL}.",
    )


def unreachable(error: BaseException, model: str) -> Error:
    """The connection could not be made, or broke."""
    text, server = full_text(error), _server(error, model)
    if _UNKNOWN_HOST.search(text):
        message, hint = f"The address of {server} could not be found.", "Check the network and the base URL"
    elif is_absent(error):
        start = how_to_start(model, urlsplit(url_of(error)).port)
        message, hint = f"Nothing answers at {server}.", start or "Start the server, or check its base URL"
    elif _REFUSED.search(text):
        message, hint = f"{server} refused the connection.", "Check that the server runs and its base URL"
    elif _CERTIFICATE.search(text):
        message, hint = f"The connection to {server} is not secure.", "Check its certificate and any proxy"
    else:
        message, hint = f"The connection to {server} broke.", "Check the network"
    return Error(
        kind="network",
        message=message[0].upper() + message[1:],
        hint=f"{hint}, then send again; or {OTHER_MODEL}.",
        retryable=True,
    )


def is_absent(error: BaseException) -> bool:
    """Whether nothing listens where a server of this machine is expected: a later try finds the same."""
    return is_loopback(url_of(error)) and _REFUSED.search(full_text(error)) is not None


def disk_trouble(told: StorageError) -> Error:
    """The disk or the sessions file takes nothing more; no model has to do with it."""
    return Error(kind="internal", message=plain(told.message), hint=told.hint)


def is_network_text(text: str) -> bool:
    """Whether a text without a known type speaks of a connection that could not be made."""
    return _REFUSED.search(text) is not None or _UNKNOWN_HOST.search(text) is not None


def _server(error: BaseException, model: str) -> str:
    """Host and port that were called, without any password in the address."""
    parts = urlsplit(url_of(error))
    if not parts.hostname:
        return f"The server of {model}"
    return f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname


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
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        error: Exception,
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
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
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
        """Take a call, unless its answer was stopped in it.

        Raises:
            HalfCall: if it was; a few times in a row end the turn.
        """
        last = next((each for each in reversed(ctx.messages) if isinstance(each, ModelResponse)), None)
        half = half_call(last) if last is not None else None
        if last is not None and half is not None and half.tool_call_id == call.tool_call_id:
            raise HalfCall(why_not_whole(last))
        return await handler(args)

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
