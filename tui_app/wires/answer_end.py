"""The end of a response: whether it is complete, why not, and whether its usage report is plausible."""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from itertools import count
from typing import Any, Final

from pydantic_ai.messages import (
    BaseToolCallPart,
    FinishReason,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from tui_app.files import object_in, toml_beside

CUT_OFF: Final = "the model's answer was cut off"
TOO_LONG: Final = "the model's answer was cut off at its length limit"
FULL: Final = "the model's answer was cut off where the context window was full"
FILTERED: Final = "the provider's filter stopped the model's answer"
PAUSED: Final = "the provider paused the model's answer again and again"
MALFORMED: Final = "the model's answer or tool call was malformed"
STOPPED: Final = "the provider stopped the model's answer"
ASKED_AGAIN: Final = frozenset({CUT_OFF, MALFORMED, STOPPED})
"""Ends after which the request is retried. No call of such an answer is run."""
_WHOLE: Final = ""

_MEANINGS = {
    "whole": _WHOLE, "cut_off": CUT_OFF, "too_long": TOO_LONG, "full": FULL, "filtered": FILTERED,
    "paused": PAUSED, "malformed": MALFORMED, "stopped": STOPPED,
}  # fmt: skip
STOPS: Mapping[str, Mapping[str, str]] = {
    protocol: {word: _MEANINGS[meaning] for meaning, words in row.items() for word in words}
    for protocol, row in toml_beside(__file__, "stops").items()
}
"""The meaning of each protocol's finish reasons."""
_STOPS = {word.lower(): end for stops in STOPS.values() for word, end in stops.items()}
"""All of them together: relays forward the reason of another protocol's server."""
_FINISH: Mapping[str, FinishReason] = {
    TOO_LONG: "length",
    FULL: "length",
    FILTERED: "content_filter",
    CUT_OFF: "error",
    PAUSED: "error",
    MALFORMED: "error",
    STOPPED: "error",
}
_ENDINGS: Mapping[str | None, str] = {"length": TOO_LONG, "content_filter": FILTERED, "error": CUT_OFF}


def incomplete_reason(answer: ModelResponse) -> str:
    """Return why a response is incomplete; empty if there is no sign of that.

    A stream may end cleanly in the middle of an answer, behind a proxy that dropped its server. In protocols
    with a finish reason, pydantic-ai then assumes ``stop``, but has no original reason of the provider. A
    server that never sends reasons still sends the usage, which comes last.
    """
    word = _finish_reason(answer)
    if reason := _STOPS.get(word.lower()) or _ENDINGS.get(answer.finish_reason):
        return reason
    if answer.finish_reason is None and answer.provider_response_id is not None and answer.parts and not word:
        # In all other protocols, the end of every stream has a reason.
        return CUT_OFF
    taken_for_whole = answer.finish_reason == "stop" and answer.provider_response_id is not None
    unsaid = taken_for_whole and not word and not answer.usage.has_values()
    return CUT_OFF if answer.state != "complete" or unsaid else _WHOLE


def provider_end_text(answer: ModelResponse) -> str:
    """Return the same with the provider's own words, if it has any that add something."""
    reason, details = incomplete_reason(answer), answer.provider_details or {}
    if reason == FILTERED and (message := details.get("refusal") or details.get("block_reason_message")):
        return f"{reason}: {message}".rstrip(".")
    word = _finish_reason(answer)
    if reason in (MALFORMED, STOPPED) or (word and word.lower() not in _STOPS):
        return f"{reason or STOPPED} ({word})"
    return reason


def has_content(answer: ModelResponse) -> bool:
    """Return whether it has a text or a call. Thinking alone, or nothing, is no answer."""
    return any(
        isinstance(part, BaseToolCallPart) or (isinstance(part, TextPart) and part.content.strip() != "")
        for part in answer.parts
    )


def _finish_reason(answer: ModelResponse) -> str:
    """Return the provider's own finish reason; empty for none."""
    reason = (answer.provider_details or {}).get("finish_reason")
    return reason if isinstance(reason, str) else ""


def half_call(answer: ModelResponse) -> ToolCallPart | None:
    """Return the call in which a limit or filter stopped an answer; None if all calls are complete.

    Calls before the last part are complete, because another part follows. The last one is complete if its
    arguments are a non-empty object: none or an empty one are also the state before the first argument.
    """
    last = answer.parts[-1] if answer.parts else None
    if not isinstance(last, ToolCallPart) or incomplete_reason(answer) not in (TOO_LONG, FULL, FILTERED):
        return None
    args = object_in(last.args) if isinstance(last.args, str) else last.args
    return None if args else last


def with_unique_calls(response: ModelResponse) -> ModelResponse:
    """Give each call of an answer a unique id. Some servers repeat ids, and such calls cannot be answered.

    The first of several calls keeps its id.
    """
    ids = [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]
    if len(set(ids)) == len(ids):
        return response
    taken, parts = set(ids), list[ModelResponsePart]()
    seen = set[str]()
    for part in response.parts:
        own = part
        if isinstance(own, ToolCallPart):
            if (call_id := own.tool_call_id) in seen:
                numbered = (f"{call_id}_{number}" for number in count(2))
                own = replace(own, tool_call_id=next(id for id in numbered if id not in taken))
            seen.add(own.tool_call_id)
            taken.add(own.tool_call_id)
        parts.append(own)
    return replace(response, parts=parts)


def without_calls(response: ModelResponse) -> ModelResponse | None:
    """Return a cut-off answer without its calls; None for one that is complete or has no calls."""
    rest = [part for part in response.parts if not isinstance(part, ToolCallPart)]
    if len(rest) == len(response.parts) or incomplete_reason(response) not in ASKED_AGAIN:
        return None
    return replace(response, parts=rest, state="interrupted")


_TOKENS_MOST = 1_000_000_000
"""Maximum plausible token count; a larger one is invalid."""
_FIGURES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def as_known(answer: ModelResponse) -> ModelResponse:
    """Return the response with a known finish reason and a plausible usage report in whole numbers.

    What the program does next depends on the reason, and the log and all sums on the report. pydantic-ai
    knows only the reasons of each vendor's own API, and servers report fractions, negative or impossible
    numbers.
    """
    known = _STOPS.get(_finish_reason(answer).lower())
    if known is not None:
        calls = any(isinstance(part, ToolCallPart) for part in answer.parts)
        whole: FinishReason = "tool_call" if calls else "stop"
        finish = _FINISH.get(known, answer.finish_reason or whole)
        answer = answer if finish == answer.finish_reason else replace(answer, finish_reason=finish)
    figures = {name: getattr(answer.usage, name) for name in _FIGURES}
    plain = {name: _plain(tokens) for name, tokens in figures.items()}
    if plain == figures and all(type(tokens) is int for tokens in figures.values()):
        return answer
    usage = copy(answer.usage)
    for name, tokens in plain.items():
        setattr(usage, name, tokens)
    return replace(answer, usage=usage)


def _plain(tokens: object) -> int:
    if not isinstance(tokens, int | float) or not 0 <= tokens <= _TOKENS_MOST:
        return 0
    return int(tokens)


_OWN_MARK, _LIBRARYS_MARK = ("plimsoll", "context"), ("__pydantic_ai__", "context_input_tokens")
"""Where a response's metadata have the context size of its last request."""


def context_input(answer: ModelResponse) -> int:
    """Return the input tokens of an answer's last request; its usage is the sum if there were several."""
    for place, name in (_OWN_MARK, _LIBRARYS_MARK):
        marks = (answer.metadata or {}).get(place)
        if isinstance(marks, Mapping) and isinstance(tokens := marks.get(name), int):
            return _plain(tokens)
    return answer.usage.input_tokens


def with_context(metadata: Mapping[str, Any] | None, usage: RequestUsage) -> dict[str, Any]:
    """Return the metadata of an answer continued by another request, with the size of that request alone."""
    place, name = _OWN_MARK
    return {**(metadata or {}), place: {**(metadata or {}).get(place, {}), name: usage.input_tokens}}
